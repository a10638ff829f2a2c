"""Weights in blocks of 4 bits in ONNX Runtime: its optimizer makes MatMulNBits of products that `quantize` leaves in Q/DQ,
the others are written as MatMulNBits, and the rule of `check placement` names exactly those that it would not fuse."""
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from typed_files import PROGRAM, figures, optimized_session, run, session, sqnr_db, vernier

F = onnx.TensorProto.FLOAT
SIZE = 128
rng = np.random.default_rng(54)

# The nodes behind x by name, the rank of x, and the form that the file has: "pairs", "packed", or "expanded", which
# neither side can help.
FORMS = {
    "matmul": (["MatMul"], 2, "pairs"),
    "of three dimensions": (["MatMul", "Add row"], 3, "pairs"),
    "relu behind an Add": (["MatMul", "Add", "Relu"], 3, "pairs"),
    "bias": (["MatMul", "Add"], 2, "pairs"),
    "bias of a Gemm": (["Gemm bias"], 2, "pairs"),
    "transposed": (["Gemm transB"], 2, "pairs"),
    "sigmoid": (["Gemm bias", "Sigmoid"], 2, "pairs"),
    "relu": (["MatMul", "Relu"], 3, "packed"),
    "clip": (["MatMul", "Clip"], 2, "packed"),
    "relu behind a bias": (["MatMul", "Add", "Relu"], 2, "packed"),
    "relu behind a transposed": (["Gemm transB", "Relu"], 2, "packed"),
    "residual": (["MatMul", "Add x"], 2, "packed"),
    "bias of a row": (["Gemm row"], 2, "packed"),
    "bias of one value": (["Gemm scalar"], 2, "packed"),
    "shared": (["MatMul", "Neg", "MatMul"], 3, "packed"),
    "alpha": (["Gemm alpha"], 2, "expanded"),
    "beta": (["Gemm beta"], 2, "expanded"),
    "transposed data": (["Gemm transA"], 2, "expanded"),
}


def write(folder, words, rank):
    """`words` in a chain from x to y, and four samples."""
    weight = rng.standard_normal((SIZE, SIZE)).astype(np.float32) / np.float32(11)
    bias = rng.standard_normal(SIZE).astype(np.float32)
    constants = {"w": weight, "b": bias, "row": bias[None], "scalar": bias[:1], "low": np.float32(0)}
    nodes, last = [], "x"
    for i, word in enumerate([*words, "Neg"]):
        kind, _, how = word.partition(" ")
        inputs = {"MatMul": ["w"], "Add": [how or "b"], "Gemm": ["w", *({"": [], "transA": [], "alpha": []}.get(how, ["b"]))],
                  "Clip": ["low"]}.get(kind, [])
        if how in ("row", "scalar") and kind == "Gemm":
            inputs[1] = how
        attributes = {"transB": {"transB": 1}, "transA": {"transA": 1}, "alpha": {"alpha": 0.5}, "beta": {"beta": 0.5}}.get(how, {})
        made = "y" if i == len(words) else f"t{i}"
        nodes.append(helper.make_node(kind, [last, *inputs], [made], name=f"n{i}", **attributes))
        last = made
    read = {name for node in nodes for name in node.input}
    shape = [SIZE, SIZE] if rank == 2 else [2, 3, SIZE]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, shape)],
                              [helper.make_tensor_value_info("y", F, shape)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items() if name in read])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "float.onnx")
    np.savez(folder / "data.npz", x=rng.standard_normal((4, *shape)).astype(np.float32))


def quantized(folder, *words, target="onnxruntime"):
    run(PROGRAM, "quantize", folder / "float.onnx", *words, "--target", target, "--data", folder / "data.npz", "-o", folder / "low.onnx")
    return folder / "low.onnx"


def kinds(graph):
    return [node.op_type for node in graph.node]


@pytest.mark.sampled
@pytest.mark.parametrize("low", [["--int4"], ["--low", "uint4", "--block-size", "32"]], ids=["int4", "uint4"])
@pytest.mark.parametrize("name", FORMS)
def test_products_run_on_the_stored_weight(name, low, tmp_path):
    words, rank, form = FORMS[name]
    write(tmp_path, words, rank)
    path = quantized(tmp_path, *low)
    products = sum(word.startswith(("MatMul", "Gemm")) for word in words)
    assert kinds(onnx.load(path).graph).count("MatMulNBits") == (products if form == "packed" else 0)
    made, graph = optimized_session(path, tmp_path)
    assert kinds(graph).count("MatMulNBits") == (0 if form == "expanded" else products), kinds(graph)
    assert ("DequantizeLinear" in kinds(graph)) == (form == "expanded"), kinds(graph)

    # What the file promises is what it computes: simulated, and as a user runs it.
    report = vernier("verify", tmp_path / "float.onnx", path, "--data", tmp_path / "data.npz", "--target", "onnxruntime")
    assert "defects" not in report
    real = session(tmp_path / "float.onnx")
    samples = np.load(tmp_path / "data.npz")["x"]
    for running in (made, session(path)):
        measured = sqnr_db([(real.run(None, {"x": x})[0], running.run(None, {"x": x})[0]) for x in samples])
        assert figures(report["figures"])["y"] == pytest.approx(measured, abs=0.3)


@pytest.mark.sampled
@pytest.mark.parametrize("name", FORMS)
def test_the_rule_names_what_is_not_fused(name, tmp_path):
    words, rank, _ = FORMS[name]
    write(tmp_path, words, rank)
    path = quantized(tmp_path, "--int4", target="tensorrt")  # all in Q/DQ
    assert "MatMulNBits" not in kinds(onnx.load(path).graph)
    _, graph = optimized_session(path, tmp_path)
    is_left = "DequantizeLinear" in kinds(graph)
    report = json.loads(run(PROGRAM, "check", "placement", path, "--target", "onnxruntime", "--json", code=int(is_left)))
    found = [finding["node"] for finding in report["findings"] if finding["rule"] == "weight-expanded"]
    assert bool(found) == is_left, (found, kinds(graph))
    assert set(found) <= {f"n{i}" for i, word in enumerate(words) if word.startswith(("MatMul", "Gemm"))}


@pytest.mark.sampled
@pytest.mark.parametrize("low", [["--int4"], ["--low", "uint4"], ["--int16", "--weight-bits", "4"]], ids=["int4", "uint4", "int16"])
@pytest.mark.parametrize("name", ["matmul", "transposed", "relu", "bias of a row"])
def test_a_file_gives_its_scales_to_a_repair(name, low, tmp_path):
    words, rank, _ = FORMS[name]
    write(tmp_path, words, rank)
    path = quantized(tmp_path, *low)
    report = vernier("fix", tmp_path / "float.onnx", "--from", path, *low, "--target", "onnxruntime", "--data", tmp_path / "data.npz",
                     "--min-sqnr", "5", "--no-latency", "--no-cache", "-o", tmp_path / "out")
    assert any(note.startswith("all ") and note.endswith("start with the scales of the file") for note in report["notes"]), report["notes"]
    assert kinds(onnx.load(tmp_path / "out/model.onnx").graph) == kinds(onnx.load(path).graph)


def test_data_of_16_bits_and_half_precision_run_on_the_stored_weight(tmp_path):
    write(tmp_path, ["Gemm transB", "Relu", "Gemm transB"], 2)
    for words in (["--int16", "--weight-bits", "4"], ["--int4", "-p", "fp16"]):
        _, graph = optimized_session(quantized(tmp_path, *words), tmp_path)
        weights = {tensor.name for tensor in graph.initializer}
        expanded = [node.name for node in graph.node if node.op_type == "DequantizeLinear" and node.input[0] in weights]
        assert kinds(graph).count("MatMulNBits") == 2 and not expanded, kinds(graph)


def test_a_shared_weight_is_stored_once_and_damage_is_found(tmp_path):
    write(tmp_path, *FORMS["shared"][:2])
    path = quantized(tmp_path, "--int4")
    model = onnx.load(path)
    packed = [tensor for tensor in model.graph.initializer if tensor.name == "w_quantized"]
    assert len(packed) == 1 and len(packed[0].raw_data) == SIZE * SIZE // 2
    codes = bytearray(packed[0].raw_data)
    for i in (3, 700, 5000):
        codes[i] ^= 8
    packed[0].raw_data = bytes(codes)
    onnx.save(model, tmp_path / "damaged.onnx")
    defects = vernier("verify", tmp_path / "float.onnx", tmp_path / "damaged.onnx", "--data", tmp_path / "data.npz")["defects"]
    assert [defect["kind"] for defect in defects] == ["wrong-codes"] and "3 of 16384" in defects[0]["text"]
