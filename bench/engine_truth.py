"""What an engine itself gives of the files that `vernier convert` writes, beside what is simulated.

    python bench/engine_truth.py measure RECORD --on tensorrt|openvino --python PYTHON [--data FOLDER] [--samples 20] [--networks NETWORK...]
    python bench/engine_truth.py table RECORD

RECORD is bench/results/engines/ENGINE.json; docs/truth.md holds its table. Each file is measured by `vernier verify --on`: the SQNR in dB
of the network's worst output over the samples, against the float32 file in ONNX Runtime. --data: inputs that bench/networks.py has
made already, where the shared data are not. Evidence: run, on the engine and the device that the record names.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import networks

FORMATS = {"float32": [], "fp16": ["--fp16"], "bf16": ["--bf16"], "fp8": ["--fp8"], "int8": ["--int8"]}
TARGETS = {"tensorrt": list(FORMATS), "openvino": ["float32", "fp16", "int8"]}
FEW = {"style-candy": 4, "yolox-nano": 8}  # large inputs


def worst(figures):
    return min(float(output["sqnr_db"]) for output in figures["outputs"])


def measured(arguments, network, form, folder, data):
    """What came of one file."""
    model, typed = networks.model_file(network), pathlib.Path(folder, "typed.onnx")
    if form == "float32":
        typed = model
    else:
        subprocess.run([arguments.program, "convert", model, *FORMATS[form], "--target", arguments.on, "--data", data, "--samples", "20",
                        "-o", typed, "-qq"], check=True, stdout=subprocess.DEVNULL)
    carries = [word for carry in networks.CARRIES.get(network, []) for word in ("--carry", carry)]
    samples = str(min(arguments.samples, FEW.get(network, arguments.samples)))
    done = subprocess.run([arguments.program, "verify", model, typed, "--data", data, "--samples", samples, *carries, "--on", arguments.on,
                           "--python", arguments.python, "--json", *arguments.engine_options.split()], capture_output=True, text=True)
    if done.returncode != 0:
        error = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        return {"refused": (error or ["error: " + done.stderr[-300:]])[0][7:]}
    report = json.loads(done.stdout)
    engine = report["engine"]
    return {"engine": engine["engine"], "samples": report["samples"], "measured_db": worst(engine["figures"]),
            "simulated_db": worst(report["figures"]), "kernels": engine["kernels"], "other_formats": engine["other_formats"],
            "machine": report["machine"], "onnxruntime": report["onnxruntime_version"]}


def measure(arguments):
    record = {"on": arguments.on, "options": arguments.engine_options, "networks": {}}
    path = pathlib.Path(arguments.record)
    with tempfile.TemporaryDirectory() as folder:
        for network in arguments.networks or networks.NETWORKS:
            data = networks.data_file(arguments.data, network) if arguments.data else networks.make(folder, network, arguments.samples)
            row = record["networks"][network] = {}
            for form in TARGETS[arguments.on]:
                row[form] = measured(arguments, network, form, folder, data)
                print(network, form, json.dumps(row[form])[:300], flush=True)
                path.write_text(json.dumps(record, indent=1) + "\n")


def cell(one):
    if "refused" in one:
        return "refused | "
    return f"{one['measured_db']:.1f} | " + ("" if one["simulated_db"] > 300 else f"{one['simulated_db']:.1f}")


def table(arguments):
    record = json.loads(pathlib.Path(arguments.record).read_text())
    rows = record["networks"]
    first = next(one for row in rows.values() for one in row.values() if "engine" in one)
    print(f"{first['engine']}{' ' + record['options'] if record['options'] else ''}; simulated beside ONNX Runtime {first['onnxruntime']}\n")
    forms = list(next(iter(rows.values())))
    print("| network | samples | " + " | ".join(f"{form}: engine | simulated" for form in forms) + " |")
    print("|---|---|" + "---|---|" * len(forms))
    for network, row in rows.items():
        samples = next((one["samples"] for one in row.values() if "samples" in one), "")
        print(f"| {network} | {samples} | " + " | ".join(cell(row[form]) for form in forms) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("record")
    one.add_argument("--program", default="build/release/apps/vernier/vernier")
    one.add_argument("--on", choices=TARGETS, required=True)
    one.add_argument("--python", default="python3")
    one.add_argument("--data")
    one.add_argument("--samples", type=int, default=20)
    one.add_argument("--engine-options", default="", help="further options of verify, such as '--inference-precision f32'")
    one.add_argument("--networks", nargs="+")
    commands.add_parser("table").add_argument("record")
    arguments = parser.parse_args()
    measure(arguments) if arguments.command == "measure" else table(arguments)


if __name__ == "__main__":
    main()
