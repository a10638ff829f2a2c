"""Writes widths.onnx, a convolution over images of any width, and up.npz and down.npz: the same samples, 10, 20 and 30 wide, in both
orders."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

weight = numpy_helper.from_array(np.random.RandomState(0).randn(4, 1, 3, 3).astype(np.float32), "w")
image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 8, "width"])
result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, "width"])
conv = helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1, 1, 1, 1])
graph = helper.make_graph([conv], "g", [image], [result], [weight])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "widths.onnx")
random = np.random.RandomState(1)
samples = [random.rand(1, 1, 8, width).astype(np.float32) for width in (10, 20, 30)]
np.savez("up.npz", **{f"sample_{i}": sample for i, sample in enumerate(samples)})
np.savez("down.npz", **{f"sample_{i}": sample for i, sample in enumerate(reversed(samples))})
