"""Networks with masks, and samples of the first: make_masked.py FOLDER

masked.onnx has a product that reads scores with a mask, and one that reads an infinity; softmax.onnx a constant mask."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1])
rng = np.random.default_rng(1)
weight = numpy_helper.from_array(rng.normal(size=(16, 4)).astype(np.float32), "weight")
graph = helper.make_graph(
    [helper.make_node("Add", ["scores", "mask"], ["masked"], name="add_mask"),
     helper.make_node("MatMul", ["masked", "weight"], ["product"], name="product"),
     helper.make_node("Exp", ["other"], ["grown"], name="exp"),
     helper.make_node("MatMul", ["grown", "weight"], ["second"], name="second"),
     helper.make_node("Add", ["product", "second"], ["y"], name="sum")],
    "masked", [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 16]) for name in ("scores", "mask", "other")],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, 4])], [weight])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "masked.onnx")
scores = rng.normal(size=(10, 8, 16)).astype(np.float32)
other = rng.normal(size=(10, 8, 16)).astype(np.float32)
other[3, 0, 0] = 200  # whose exponential no float32 holds
np.savez(folder / "masked.npz", scores=scores, other=other,
         mask=np.where(rng.random((10, 8, 16)) < 0.2, np.float32(-1e9), np.float32(0)))

graph = helper.make_graph(
    [helper.make_node("Add", ["x", "mask"], ["masked"], name="add_mask"), helper.make_node("Softmax", ["masked"], ["y"], name="softmax")],
    "softmax", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
    [numpy_helper.from_array(np.array([0, 0, -1e9, 0], np.float32), "mask")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "softmax.onnx")
