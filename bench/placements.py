"""Where Q/DQ pairs may stand: what each placement costs in kernels of NVIDIA's compiler and in accuracy.

    python bench/placements.py [--program build/release/apps/vernier/vernier] [--capability 8.9] [--modelopt PYTHON] [NETWORK...]

Of each shared network: FP16; INT8 as `convert` places it; with pairs on the skip branches of residual Adds; with float16 instead of
float32 between the INT8 layers; with both; with a pair in front of every other operator that passes codes on; and ModelOpt's file where
--modelopt names a Python that has it. Prints the table of docs/records/placement.md: kernels, those of them that read INT8 and multiply, and
the signal-to-noise ratio of the worst output over the samples that calibrated it (simulated; of ModelOpt's file run by ONNX Runtime).
Needs `scripts/bootstrap --with tensorrt-rtx`. Evidence: compiled, not run.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx

import networks
from engine_kernels import inspected

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLES = 4
PASSES_CODES = ["Add", "AveragePool", "Clip", "Concat", "Conv", "ConvTranspose", "Gemm", "GlobalAveragePool", "MatMul", "MaxPool", "Mul", "Relu",
                "Resize", "Transpose"]
PLACEMENTS = {
    "FP16": ["--fp16"],
    "INT8": ["--int8"],
    "skip branches": ["--int8", "--quantize-residuals"],
    "FP16 between": ["--int8", "--fp16"],
    "both": ["--int8", "--fp16", "--quantize-residuals"],
    "all operators": ["--int8", "--op-types-to-quantize"],
}
MULTIPLIES = ("correlation", "gemm")


def on_codes(report):
    return sum(kernel["kind"] in MULTIPLIES and any(tensor["type"] == "int8" for tensor in kernel["inputs"]) for kernel in report["kernels"])


def cell(file, db, arguments, network):
    report = inspected(arguments.program, file, network, arguments.capability)
    return "refused" if report is None else f"{len(report['kernels'])}, {on_codes(report)}, {db:.1f} dB"


def decibels(output):
    return float(output["sqnr_db"])  # "inf" is written as a text


def present(network):
    """Of PASSES_CODES what the network has: an operator that it has not is refused by name."""
    operators = {node.op_type for node in onnx.load(networks.model_file(network), load_external_data=False).graph.node}
    return [name for name in PASSES_CODES if name in operators]


def ours(network, data, options, file, arguments):
    command = "quantize" if "--op-types-to-quantize" in options else "convert"
    if command == "quantize":
        options = ["--op-types-to-quantize", *present(network)]
    done = subprocess.run([arguments.program, command, networks.model_file(network), "--data", data, "-o", file, "-qq", *options],
                          capture_output=True, text=True)
    if "--quantize-residuals" in options and done.returncode == 2:
        return ""  # it has none
    if done.returncode:
        sys.exit(f"{network} {options}: {done.stderr}")
    verified = subprocess.run([arguments.program, "verify", networks.model_file(network), file, "--data", data, "--json", "-qq"],
                              capture_output=True, text=True)
    figures = json.loads(verified.stdout)["figures"]["outputs"]
    return cell(file, min(map(decibels, figures)), arguments, network)


def modelopts(network, data, file, arguments):
    done = subprocess.run([arguments.modelopt, ROOT / "bench/peer_quantize.py", "modelopt-max", networks.model_file(network), data, data, "--keep", file],
                          capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    result = json.loads(lines[-1].removeprefix("RESULT ")) if lines else {"failed": f"ended with code {done.returncode}"}
    if "failed" in result:
        print(f"{network}: ModelOpt: {result['failed']}", file=sys.stderr)
        return "no file"
    return cell(file, result["db"], arguments, network)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/apps/vernier/vernier")
    parser.add_argument("--capability", default="8.9")
    parser.add_argument("--modelopt", help="a Python that has ModelOpt's ONNX part and onnxruntime")
    parser.add_argument("networks", nargs="*")
    arguments = parser.parse_args()
    titles = [*PLACEMENTS, *(["ModelOpt"] if arguments.modelopt else [])]
    print("| network | " + " | ".join(titles) + " |\n|---|" + "---|" * len(titles))
    with tempfile.TemporaryDirectory() as folder:
        for network in arguments.networks or networks.NETWORKS:
            data = networks.make(folder, network, SAMPLES)
            file = pathlib.Path(folder, "typed.onnx")
            cells = [ours(network, data, options, file, arguments) for options in PLACEMENTS.values()]
            if arguments.modelopt:
                cells.append(modelopts(network, data, pathlib.Path(folder, "modelopt.onnx"), arguments))
            print(f"| {network} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
