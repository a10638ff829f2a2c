"""Networks with what a network may have and seldom has: make_odd.py FOLDER."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])


def write(name, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "odd", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), FOLDER / name)


x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])
words = helper.make_tensor("words", TensorProto.STRING, [2, 2], [b"a", b"bc", b"d", b"e"])
relu, text = helper.make_node("Relu", ["x"], ["y"], "relu"), helper.make_node("Identity", ["words"], ["text"], "text")
write("strings.onnx", [relu, text], [x], [y, helper.make_tensor_value_info("text", TensorProto.STRING, [2, 2])], [words])

open_x = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
write("no_shape.onnx", [relu], [open_x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
np.savez(FOLDER / "no_shape.npz", x=np.ones((2, 4), np.float32))

weight = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)
for name, factor in (("one.onnx", 1), ("two.onnx", 2)):
    write(name, [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], [x], [y], [numpy_helper.from_array(weight * np.float32(factor), "w")])

rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 32])
write("products.onnx", [helper.make_node("MatMul", ["x", "w"], ["queries"], "queries"),
                        helper.make_node("Transpose", ["queries"], ["keys"], "keys", perm=[0, 2, 1]),
                        helper.make_node("MatMul", ["queries", "keys"], ["y"], "scores")],
      [rows], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32, 32])],
      [numpy_helper.from_array(np.random.default_rng(2).normal(size=(32, 32)).astype(np.float32), "w")])
np.savez(FOLDER / "products.npz", x=np.random.default_rng(3).normal(size=(4, 1, 32, 32)).astype(np.float32))
