"""A model with more than 2 GB of weights through the whole program: seconds, memory, and the results in ONNX Runtime.

    python bench/two_gigabytes.py [--build build/release] [--layers 34] [--size 4096] [--work FOLDER]

Makes a chain of square MatMul and Relu with random weights beside the file (34 of 4096: 2.3 GB) and runs inspect, convert --fp16,
calibrate, quantize (int8, int8-weight-only) and diagnose on it with a few samples, each as a process of its own; what they write
is run in ONNX Runtime on one more sample and compared with the float model there. One file of results at a time lies on the
disk. Writes bench/results/two_gigabytes.json and prints the table. Takes 8 GB of memory, 6 GB of disk and some minutes.
Needs GNU time, onnx, onnxruntime and numpy.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

from paragraph import filled

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/two_gigabytes.json"
SAMPLES = 4

RUN = """
import sys
import numpy as np
import onnxruntime

options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
np.save(sys.argv[3], session.run(None, {session.get_inputs()[0].name: np.load(sys.argv[2])[0]})[0])
"""


def write_model(path, layers, size):
    """y = the chain of x; weights of variance 2 / size keep the values' size behind a Relu."""
    rng = np.random.default_rng(0)
    initializers, nodes, before = [], [], "x"
    with open(path.with_name(path.name + ".data"), "wb") as file:
        for index in range(layers):
            tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[size, size],
                                 data_location=TensorProto.EXTERNAL)
            each = size * size * 4
            for key, value in (("location", path.name + ".data"), ("offset", index * each), ("length", each)):
                tensor.external_data.add(key=key, value=str(value))
            initializers.append(tensor)
            file.write((rng.standard_normal((size, size), np.float32) * np.float32((2 / size) ** 0.5)).tobytes())
            last = index == layers - 1
            nodes.append(helper.make_node("MatMul", [before, f"w{index}"], ["y" if last else f"m{index}"], name=f"product{index}"))
            if not last:
                before = f"r{index}"
                nodes.append(helper.make_node("Relu", [f"m{index}"], [before], name=f"relu{index}"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "two_gigabytes", [value("x", TensorProto.FLOAT, [1, size])],
                              [value("y", TensorProto.FLOAT, [1, size])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return layers * size * size * 4


def timed(command, folder):
    start = time.perf_counter()
    run = subprocess.run(["/usr/bin/time", "-f", "%M", "-o", str(folder / "peak"), *map(str, command)], cwd=folder,
                         capture_output=True, text=True, check=False)
    return {"exit": run.returncode, "seconds": round(time.perf_counter() - start, 1),
            "peak_bytes": int((folder / "peak").read_text().split()[-1]) * 1024, "said": run.stderr.strip().splitlines()[-3:]}


def outputs_of(model, folder, name):
    run = timed([sys.executable, "-c", RUN, model, folder / "judged.npy", folder / name], folder)
    return np.load(folder / name) if run["exit"] == 0 else run["said"]


def sqnr_db(ref, got):
    return round(float(10 * np.log10(np.sum(ref.astype(np.float64) ** 2) / np.sum((ref.astype(np.float64) - got) ** 2))), 2)


def section(results):
    """Of docs/records/foreign-files.md, which compare_calibration.py writes."""
    weights = results["weights_bytes"]
    lines = [f"## A model of {weights / 1e9:.1f} GB", "",
             filled("`bench/two_gigabytes.py` makes and deletes a chain of MatMul and Relu with FP32 weights in a file of their own, more than one protobuf message can hold. "
                    f"{results['samples']} samples. Memory is the largest resident set, mapped weights included, as a multiple of the weights. SQNR compares the output model with "
                    "the float one, both in ONNX Runtime, on another sample."), "",
             "| step | s | memory, times the weights | file, GB | SQNR, dB |", "|---|---:|---:|---:|---:|"]
    for row in results["rows"]:
        if row.get("stopped"):
            lines.append(f"| {row['step']} | not done after {row['seconds']:.0f} | {row['peak_bytes'] / weights:.1f}, still growing | - | - |")
            continue
        if row["exit"] not in (0, 1):
            lines.append(f"| {row['step']} | failed: exit code {row['exit']} | - | - | - |")
            continue
        size = f"{row['file_bytes'] / 1e9:.2f}" if "file_bytes" in row else "-"
        lines.append(f"| {row['step']} | {row['seconds']:.0f} | {row['peak_bytes'] / weights:.1f} | {size} | {row.get('sqnr_db', '-')} |")
    return [*lines, ""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--layers", type=int, default=34)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--work", help="where the temporary folder is made")
    options = parser.parse_args()
    vernier = (ROOT / options.build / "apps/vernier/vernier").resolve()
    with tempfile.TemporaryDirectory(dir=options.work) as scratch:
        folder = pathlib.Path(scratch)
        model = folder / "model.onnx"
        weights = write_model(model, options.layers, options.size)
        rng = np.random.default_rng(1)
        np.save(folder / "calibration.npy", rng.standard_normal((SAMPLES, 1, options.size), np.float32))
        np.save(folder / "judged.npy", rng.standard_normal((1, 1, options.size), np.float32))
        reference = outputs_of(model, folder, "reference.npy")
        data = ["--data", folder / "calibration.npy"]
        steps = {
            "inspect model": [model],
            "convert --fp16": [model, "--fp16", "-o", "typed.onnx"],
            "calibrate": [model, *data, "-o", "ranges.json"],
            "quantize int8": [model, "--quantize-mode", "int8", *data, "-o", "typed.onnx"],
            "quantize int8-weight-only": [model, "--quantize-mode", "int8-weight-only", *data, "-o", "typed.onnx"],
            "diagnose --int8 --no-latency": [model, "--int8", "--no-latency", "--no-options", "--min-sqnr", "20", *data, "--json"],
        }
        rows = []
        for name, arguments in steps.items():
            words = name.split()
            verb = words[:2] if words[0] == "inspect" else words[:1]
            flags = words[1:] if words[0] == "diagnose" else []
            row = {"step": name, **timed([vernier, *verb, *arguments, *[f for f in flags if f not in arguments]], folder)}
            typed = folder / "typed.onnx"
            if typed.exists():
                files = [typed, folder / "typed.onnx.data"]
                row["file_bytes"] = sum(file.stat().st_size for file in files if file.exists())
                got = outputs_of(typed, folder, "got.npy")
                if isinstance(got, np.ndarray) and isinstance(reference, np.ndarray):
                    row["sqnr_db"] = sqnr_db(reference, got)
                else:
                    row["onnxruntime"] = got if isinstance(got, list) else reference
                for file in files:
                    file.unlink(missing_ok=True)
            rows.append(row)
            print(json.dumps(row), flush=True)
    results = {"weights_bytes": weights, "samples": SAMPLES, "cores": len(os.sched_getaffinity(0)), "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print("\n".join(section(results)))
    return 0 if all(row["exit"] in (0, 1) and "onnxruntime" not in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
