"""A weight on the left of a product, as mixing over tokens, mel filterbanks and graph convolutions have it: its rows are the output
channels, and each has a scale of its own."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import networks
from networks import FLOAT
from test_traits import vernier

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from held_out import outputs_of  # noqa: E402


def unequal_rows(random, *shape):
    rows = np.ones(shape[-2], np.float32)
    rows[0] = 40
    return (random.normal(0, 0.2, shape) * rows[:, None]).astype(np.float32)


def product(kind):
    b = networks.Builder(3)
    transposed = kind == "gemm, transposed"
    shape = {"a batch of weights": (3, 16, 24)}.get(kind, (16, 24))
    weight = unequal_rows(b.random, *shape)
    if "gemm" in kind:
        b.add("Gemm", [b.constant("w", weight.T.copy() if transposed else weight), "x"], "y", transA=int(transposed))
        inside, outside = [24, 10], [16, 10]
    else:
        b.add("MatMul", [b.constant("w", weight), "x"], "y")
        inside, outside = [[*([1, 3] if len(shape) == 3 else [1]), size, 10] for size in (24, 16)]
    axis = len(shape) - 2 + (1 if transposed else 0)
    return b.model([("x", FLOAT, inside)], [("y", FLOAT, outside)]), b.random.standard_normal((12, *inside)).astype(np.float32), axis


def decibels_of_small_rows(folder, samples):
    reference, got = (np.stack([out[0].reshape(-1, 16, 10)[:, 1:] for out in outputs_of(folder / name, list(samples))])
                      for name in ("net.onnx", "low.onnx"))
    return 10 * np.log10((reference**2).sum() / ((reference - got)**2).sum())


@pytest.mark.parametrize("kind", ["matrix", "a batch of weights", "gemm", "gemm, transposed"])
@pytest.mark.parametrize("target, low", [("tensorrt", "int8"), ("openvino", "int8"), ("tensorrt", "fp8")])
def test_each_row_has_a_scale(tmp_path, kind, target, low):
    model, samples, axis = product(kind)
    onnx.save(model, tmp_path / "net.onnx")
    np.savez(tmp_path / "data.npz", x=samples)
    vernier("quantize", "net.onnx", f"--{low}", "--target", target, "--data", "data.npz", "-o", "low.onnx", folder=tmp_path)
    written = onnx.load(tmp_path / "low.onnx")
    stored = {tensor.name: tensor for tensor in written.graph.initializer}
    scales = [(node, numpy_helper.to_array(stored[node.input[1]])) for node in written.graph.node
              if node.op_type == "DequantizeLinear" and node.input[0] in stored and stored[node.input[0]].data_type in
              (TensorProto.INT8, TensorProto.FLOAT8E4M3FN)]
    [(dequantize, scale)] = scales
    assert scale.shape == (16,) and {a.name: a.i for a in dequantize.attribute}["axis"] == axis
    assert decibels_of_small_rows(tmp_path, samples) > (30 if low == "int8" else 24)
