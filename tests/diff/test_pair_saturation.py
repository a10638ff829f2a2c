"""What is said of ONNX Runtime on a CPU without VNNI, against NumPy: the sums of VPMADDUBSW, products of uint8 and int8 added in pairs
of 16 bits that saturate, in the order in which the kernels for matrices and convolutions read them.
"""
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from typed_files import PROGRAM, run, sqnr_db

F = onnx.TensorProto.FLOAT
rng = np.random.default_rng(21)


def saturating_rows(data, weights):
    """[rows, terms] codes of data times [outputs, terms] codes of weights."""
    if data.shape[1] % 2:
        data, weights = np.pad(data, ((0, 0), (0, 1))), np.pad(weights, ((0, 0), (0, 1)))
    products = data[:, None, :].astype(np.int64) * weights[None].astype(np.int64)
    pairs = products[..., 0::2] + products[..., 1::2]
    clipped = np.clip(pairs, -32768, 32767)
    return clipped.sum(-1), products.sum(-1), int((clipped != pairs).sum())


def patches(codes, zero, kernel, stride, pad):
    """[places, kernel positions x channels] of one image [channels, height, width], channels last, as im2col lays them."""
    channels, height, width = codes.shape
    padded = np.full((channels, height + 2 * pad, width + 2 * pad), zero, codes.dtype)
    padded[:, pad:pad + height, pad:pad + width] = codes
    rows = []
    for y in range(0, height + 2 * pad - kernel + 1, stride):
        for x in range(0, width + 2 * pad - kernel + 1, stride):
            rows.append(padded[:, y:y + kernel, x:x + kernel].transpose(1, 2, 0).reshape(-1))
    return np.array(rows)


def quantized_file(operator, weight, scale, zero, shape, result_shape, folder, **attributes):
    """Data through a uint8 pair, weights as int8 codes with a scale each, and for a Conv a pair behind, fine enough to do nothing."""
    axis = 0 if operator == "Conv" or attributes.get("transB") else 1
    steps = (np.abs(weight).max(tuple(i for i in range(weight.ndim) if i != axis)) / 127).astype(np.float32)
    form = [-1 if i == axis else 1 for i in range(weight.ndim)]
    codes = np.clip(np.rint(weight / steps.reshape(form)), -127, 127).astype(np.int8)
    constants = {"s": np.float32(scale), "z": np.uint8(zero), "c": codes, "ws": steps, "wz": np.zeros(len(steps), np.int8)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="q"),
             helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="d"),
             helper.make_node("DequantizeLinear", ["c", "ws", "wz"], ["w"], name="w", axis=axis),
             helper.make_node(operator, ["d", "w"], ["r" if operator == "Conv" else "y"], name="layer", **attributes)]
    if operator == "Conv":
        constants |= {"rs": np.float32(40 / 255), "rz": np.uint8(128)}
        nodes += [helper.make_node("QuantizeLinear", ["r", "rs", "rz"], ["rq"], name="rq"),
                  helper.make_node("DequantizeLinear", ["rq", "rs", "rz"], ["y"], name="rd")]

    def write(name, graph_nodes, values):
        graph = helper.make_graph(graph_nodes, "g", [helper.make_tensor_value_info("x", F, shape)],
                                  [helper.make_tensor_value_info("y", F, result_shape)],
                                  [numpy_helper.from_array(value, key) for key, value in values.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / name)
    write("quantized.onnx", nodes, constants)
    write("float.onnx", [helper.make_node(operator, ["x", "w"], ["y"], name="layer", **attributes)], {"w": weight})
    return codes, steps, constants


def report(folder, x, command="verify"):
    np.savez(folder / "data.npz", x=x)
    words = ["verify", folder / "float.onnx", folder / "quantized.onnx"] if command == "verify" else [
        "debug", "loss", folder / "float.onnx", folder / "quantized.onnx"]
    return json.loads(run(PROGRAM, *words, "--data", folder / "data.npz", "--json"))


def check(found, reference, saturated, count):
    told = found["saturated_pairs"]
    assert [layer["name"] for layer in told["layers"]] == ["layer"]
    assert told["layers"][0]["saturated"] == count
    assert told["figures"]["outputs"][0]["sqnr_db"] == pytest.approx(sqnr_db([(reference, saturated)]), abs=0.01)
    assert any("VNNI" in text and "'layer'" in text for text in found["warnings"])


@pytest.mark.parametrize("operator, attributes", [("MatMul", {}), ("Gemm", {"transB": 1}), ("Gemm", {"alpha": 0.5})])
@pytest.mark.parametrize("zero, terms", [(0, 24), (77, 25)])
def test_products_of_matrices(operator, attributes, zero, terms, tmp_path):
    weight = np.abs(rng.normal(0.5, 0.1, (terms, 6))).astype(np.float32)
    stored = weight.T.copy() if attributes.get("transB") else weight
    scale = 4 / 255
    codes, steps, _ = quantized_file(operator, stored, scale, zero, [3, terms], [3, 6], tmp_path, **attributes)
    x = rng.uniform(1, min(3, (255 - zero) * scale), (8, 3, terms)).astype(np.float32)
    data = np.clip(np.rint(x / np.float32(scale)) + zero, 0, 255).astype(np.int64).reshape(-1, terms)
    rows = codes.astype(np.int64) if attributes.get("transB") else codes.T.astype(np.int64)
    clipped, _, count = saturating_rows(data, rows)
    alpha = attributes.get("alpha", 1)
    got = (clipped - zero * rows.sum(1)) * scale * steps.astype(np.float64) * alpha
    reference = (x.reshape(-1, terms).astype(np.float64) @ weight) * alpha
    assert count > 0
    for command in ("verify", "debug loss"):
        check(report(tmp_path, x, command), reference, got, count)


@pytest.mark.parametrize("channels, group, stride, pad", [(4, 1, 1, 1), (3, 1, 2, 1), (4, 2, 1, 0), (5, 1, 1, 2)])
def test_convolutions(channels, group, stride, pad, tmp_path):
    weight = (np.abs(rng.normal(0.5, 0.1, (4, channels // group, 3, 3))) / channels).astype(np.float32)
    scale, zero = 4 / 255, 30
    side = (7 + 2 * pad - 3) // stride + 1
    codes, steps, constants = quantized_file("Conv", weight, scale, zero, [1, channels, 7, 7], [1, 4, side, side], tmp_path, group=group,
                                             strides=[stride] * 2, pads=[pad] * 4)
    x = rng.uniform(0.5, 3, (4, 1, channels, 7, 7)).astype(np.float32)
    data = np.clip(np.rint(x / np.float32(scale)) + zero, 0, 255).astype(np.int64)
    per_group, outputs = channels // group, 4 // group
    clipped = np.zeros((4, 4, side * side))
    reference = np.zeros_like(clipped)
    count = 0
    for image in range(4):
        for g in range(group):
            of_group = slice(g * per_group, (g + 1) * per_group)
            rows = codes[g * outputs:(g + 1) * outputs].astype(np.int64).transpose(0, 2, 3, 1).reshape(outputs, -1)
            read = patches(data[image, 0, of_group], zero, 3, stride, pad)
            sums, _, saturated = saturating_rows(read, rows)
            count += saturated
            clipped[image, g * outputs:(g + 1) * outputs] = (sums - zero * rows.sum(1)).T
            floats = weight[g * outputs:(g + 1) * outputs].transpose(0, 2, 3, 1).reshape(outputs, -1).astype(np.float64)
            reference[image, g * outputs:(g + 1) * outputs] = (patches(x[image, 0, of_group].astype(np.float64), 0, 3, stride, pad) @ floats.T).T
    result = clipped * scale * steps.astype(np.float64)[None, :, None]
    step, middle = float(constants["rs"]), int(constants["rz"])
    got = (np.clip(np.rint(result / step) + middle, 0, 255) - middle) * step
    assert count > 0
    found = report(tmp_path, x)
    told = found["saturated_pairs"]
    assert told["layers"][0]["saturated"] == count
    assert told["figures"]["outputs"][0]["sqnr_db"] == pytest.approx(sqnr_db([(reference, got)]), abs=0.1)  # steps that lie on an edge


def test_nothing_is_said_where_nothing_saturates(tmp_path):
    weight = rng.normal(0, 0.3, (24, 6)).astype(np.float32)
    quantized_file("MatMul", weight, 4 / 255, 0, [3, 24], [3, 6], tmp_path)
    found = report(tmp_path, rng.uniform(0, 1, (8, 3, 24)).astype(np.float32))
    assert "saturated_pairs" not in found
    assert not any("VNNI" in text for text in found["warnings"])
