"""What NVIDIA's compiler makes of the files that `vernier convert` writes of the shared networks, without a GPU.

    python bench/engine_kernels.py [--program build/release/apps/vernier/vernier] [--capability 8.9] [NETWORK...]

Prints the table of docs/records/engines.md: kernels of the engine, how many of them compute no layer, and how many layers run in
another format than the file says. Needs `scripts/bootstrap --with tensorrt-rtx`. Evidence: compiled, not run.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import networks

ROOT = pathlib.Path(__file__).resolve().parents[1]
FORMATS = ("fp16", "bf16", "int8", "fp8")

def inspected(program, file, network, capability):
    """The report, or nothing where the compiler refuses the file."""
    shapes = networks.COMPILED_SHAPES.get(network)
    done = subprocess.run([program, "inspect", "engine", file, "--python", ROOT / ".deps/engines/bin/python", "--json",
                           "--compute-capability", capability, *(["--shapes", shapes] if shapes else [])], capture_output=True, text=True)
    if done.returncode == 4:
        return None
    done.check_returncode()
    return json.loads(done.stdout)


def cell(report):
    if report is None:
        return "refused"
    differ = sum(layer["differs"] for layer in report["layers"])
    return f"{len(report['kernels'])} ({len(report['helpers'])})" + (f", {differ} differ" if differ else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/apps/vernier/vernier")
    parser.add_argument("--capability", default="8.9")
    parser.add_argument("networks", nargs="*")
    arguments = parser.parse_args()
    print("| network | layers | float32 | " + " | ".join(FORMATS) + " |\n|---|---|---|" + "---|" * len(FORMATS))
    with tempfile.TemporaryDirectory() as folder:
        for network in arguments.networks or networks.NETWORKS:
            data = networks.make(folder, network, 2)
            plain = inspected(arguments.program, networks.model_file(network), network, arguments.capability)
            cells = [str(len(plain["layers"])) if plain else "", cell(plain)]
            for form in FORMATS:
                typed = pathlib.Path(folder, f"{form}.onnx")
                subprocess.run([arguments.program, "convert", networks.model_file(network), f"--{form}", "--data", data, "-o", typed,
                                "-qq"], check=True, stdout=subprocess.DEVNULL)
                cells.append(cell(inspected(arguments.program, typed, network, arguments.capability)))
            print(f"| {network} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
