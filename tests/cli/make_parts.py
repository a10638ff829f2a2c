"""make_parts.py FOLDER: a detector with boxes up to 320 and scores up to 1 in one output and picks in another, the same with
Q/DQ pairs that have one scale for both, a network of three opinion scores, and inputs."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def save(path, nodes, outputs, constants):
    graph = helper.make_graph([helper.make_node(op, inputs, result, name, **more) for op, inputs, result, name, more in nodes], "parts",
                              [helper.make_tensor_value_info("x", FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info(*output) for output in outputs],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def detector(path, rng, quantized):
    rng = np.random.default_rng(rng)
    constants = {"wb": rng.normal(0, 0.5, (4, 3, 1, 1)).astype(np.float32), "wc": rng.normal(0, 0.8, (5, 3, 1, 1)).astype(np.float32),
                 "stride": np.float32(320), "rare": np.float32(2), "shape": np.array([1, 9, 64], np.int64),
                 "scale": np.float32(2.5), "zero": np.int8(0), "scores": np.array([4], np.int64), "end": np.array([9], np.int64),
                 "axis": np.array([1], np.int64)}
    joined = "dequantized" if quantized else "joined"
    nodes = [("Conv", ["x", "wb"], ["box"], "box", {}), ("Sigmoid", ["box"], ["inside"], "inside", {}),
             ("Mul", ["inside", "stride"], ["boxes"], "boxes", {}), ("Conv", ["x", "wc"], ["class"], "class", {}),
             ("Sub", ["class", "rare"], ["rarely"], "rarely", {}), ("Sigmoid", ["rarely"], ["shares"], "shares", {}),
             ("Concat", ["boxes", "shares"], ["joined"], "joined", {"axis": 1})]
    if quantized:
        nodes += [("QuantizeLinear", ["joined", "scale", "zero"], ["values"], "quantize", {}),
                  ("DequantizeLinear", ["values", "scale", "zero"], ["dequantized"], "dequantize", {})]
    nodes += [("Reshape", [joined, "shape"], ["output0"], "output0", {}),
              ("Slice", ["output0", "scores", "end", "axis"], ["only"], "only", {}),
              ("ReduceMax", ["only"], ["best"], "best", {"axes": [1], "keepdims": 0}),
              ("TopK", ["best", "axis"], ["most", "picks"], "picks", {})]
    save(path, nodes, [("output0", FLOAT, [1, 9, 64]), ("picks", INT64, [1, 1])], constants)


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(5)
    detector(folder / "detector.onnx", 3, quantized=False)
    detector(folder / "one_scale.onnx", 3, quantized=True)
    weight = rng.normal(0, 0.2, (3, 3)).astype(np.float32)
    save(folder / "opinions.onnx", [("GlobalAveragePool", ["x"], ["p"], "pool", {}), ("Flatten", ["p"], ["f"], "flatten", {}),
                                    ("Gemm", ["f", "w"], ["opinions"], "opinions", {})], [("opinions", FLOAT, [1, 3])], {"w": weight})
    red = np.array([1.0, 0.6, 0.2]).reshape(3, 1, 1)
    np.savez(folder / "x.npz", x=(rng.normal(0, 1, (12, 1, 3, 8, 8)) + red).astype(np.float32))


if __name__ == "__main__":
    main()
