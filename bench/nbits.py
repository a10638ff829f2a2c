"""Products with 4-bit weights in ONNX Runtime: FP32, all in Q/DQ pairs (`--target tensorrt`), and `--target onnxruntime`.

    bench/nbits.py [folder]

Four products of 1024 inputs and outputs in a row, one form a line; medians of 15 runs in turns, on one thread. The SQNR is that of
the last file as a user runs it. Writes nbits.json into the folder.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import run
from onnx import helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("VERNIER_PROGRAM", str(ROOT / "build/release/apps/vernier/vernier"))
SIZE, LAYERS = 1024, 4
FORMS = {"MatMul": ("MatMul", {}, "LeakyRelu"), "Gemm, transB": ("Gemm", {"transB": 1}, "LeakyRelu"),
         "MatMul, Relu": ("MatMul", {}, "Relu"), "Gemm, transB, Relu": ("Gemm", {"transB": 1}, "Relu")}


def network(kind, attributes, activation):
    rng = np.random.default_rng(0)
    nodes, constants, last = [], [], "x"
    for i in range(LAYERS):
        constants.append(numpy_helper.from_array((rng.standard_normal((SIZE, SIZE)) / np.sqrt(SIZE)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node(kind, [last, f"w{i}"], [f"p{i}"], f"product{i}", **attributes))
        nodes.append(helper.make_node(activation, [f"p{i}"], [f"a{i}"], f"activation{i}"))
        last = f"a{i}"
    nodes.append(helper.make_node("Neg", [last], ["y"], "last"))
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", SIZE]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def measured(folder, name, rows):
    onnx.save(network(*FORMS[name]), folder / "float.onnx")
    for target in ("tensorrt", "onnxruntime"):
        words = [PROGRAM, "quantize", folder / "float.onnx", "--int4", "--target", target, "-o", folder / f"{target}.onnx"]
        subprocess.run(words, check=True, capture_output=True)
    sessions = {key: session(folder / f"{key}.onnx") for key in ("float", "tensorrt", "onnxruntime")}
    for count in rows:
        x = np.random.default_rng(count).standard_normal((count, SIZE)).astype(np.float32)
        times = {key: [] for key in sessions}
        for _ in range(15):
            for key, running in sessions.items():
                start = time.perf_counter()
                running.run(None, {"x": x})
                times[key].append(1e3 * (time.perf_counter() - start))
        real, low = (sessions[key].run(None, {"x": x})[0].astype(np.float64) for key in ("float", "onnxruntime"))
        sqnr = 10 * np.log10(np.sum(real**2) / np.sum((real - low) ** 2))
        yield {"form": name, "rows": count, "sqnr_db": round(float(sqnr), 2),
               **{f"{key}_ms": round(statistics.median(list_), 2) for key, list_ in times.items()}}


def main():
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for name in FORMS:
            for row in measured(pathlib.Path(folder), name, (1, 8, 64)):
                made.append(row)
                print(f"| {name} | {row['rows']} | {row['float_ms']} | {row['tensorrt_ms']} | {row['onnxruntime_ms']} | {row['sqnr_db']} |", flush=True)
    record = {"machine": run.machine(), "rows": made}
    (pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "nbits.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
