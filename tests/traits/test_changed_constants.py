"""Files made of a network in which one constant, or one number of an attribute, is another one: `verify` names the node that has it,
and nothing else. Nodes that move values, and layers whose own error stays small."""
import json

import numpy as np
import onnx
import pytest

from networks import FLOAT, Builder
from test_traits import vernier

ROWS, WIDTH = 4, 16
FORMATS = {"int8": ["quantize", "--int8"], "fp16": ["convert", "--fp16"], "bf16": ["convert", "--bf16"]}


def narrow(b):
    ends = [b.constant(name, np.int64([value])) for name, value in (("start", 0), ("end", WIDTH // 2), ("axis", 1))]
    return b.add("Slice", ["x", *ends], "narrow")


def concat(b, wrong):
    other = b.constant("other", b.normal(ROWS, WIDTH // 2) * np.float32(-3 if wrong else 1))
    return b.add("Concat", [narrow(b), other], "node", axis=1)


def pad(b, wrong):
    return b.add("Pad", [narrow(b), b.constant("pads", np.int64([0, 4, 0, 4])), b.constant("fill", np.float32(-2 if wrong else 0.5))], "node")


def table(b, wrong):
    rows = b.constant("table", b.normal(20, WIDTH) * np.float32(-2 if wrong else 1))
    picked = b.add("Gather", [rows, b.add("ArgMax", ["x"], "place", axis=1, keepdims=0)], "node")
    return b.add("Add", [picked, "x"], "sum")


def one_row(b, wrong):
    values = b.normal(200, WIDTH)
    for row in range(0, WIDTH if wrong else 0, 4):
        values[row] = values[row] * -3 + 5
    picked = b.add("Gather", [b.constant("table", values), b.add("ArgMax", ["x"], "place", axis=1, keepdims=0)], "node")
    return b.add("Add", [picked, "x"], "sum")


def where(b, wrong):
    other = b.constant("other", b.normal(ROWS, WIDTH) * np.float32(-4 if wrong else 1))
    return b.add("Where", [b.add("Greater", ["x", b.constant("zero", np.float32(0))], "positive"), "x", other], "node")


def scatter(b, wrong):
    updates = b.constant("updates", b.normal(2, WIDTH) * np.float32(-5 if wrong else 1))
    return b.add("ScatterND", ["x", b.constant("rows", np.int64([[0], [2]])), updates], "node")


def clip(b, wrong):
    return b.add("Clip", ["x", b.constant("least", np.float32(-0.2 if wrong else -1)), b.constant("most", np.float32(1))], "node")


def onehot(b, wrong):
    place = b.add("ArgMax", ["x"], "place", axis=1, keepdims=0)
    b.add("OneHot", [place, b.constant("depth", np.int64(WIDTH)), b.constant("two", np.float32([0.5, 2] if wrong else [0, 1]))], "node")
    return b.add("Mul", ["node", "x"], "picked")


def logarithm(b, wrong):
    """Of values from 1e-4 to 3e4: the sum itself is nearly the same."""
    b.add("Exp", [b.add("Mul", ["x", b.constant("spread", np.float32(4))], "wide")], "large")
    return b.add("Log", [b.add("Add", ["large", b.constant("least", np.float32(10 if wrong else 1))], "node")], "log")


def epsilon(b, wrong):
    """Rows of size 1, 10, 0.01 and 100: the small one alone shows it."""
    sizes = b.constant("sizes", np.float32([1, 10, 0.01, 100]).reshape(ROWS, 1))
    b.add("Mul", ["x", sizes], "rows")
    squares = b.add("ReduceMean", [b.add("Mul", ["rows", "rows"], "squares"), b.constant("axes", np.int64([1]))], "mean")
    b.add("Add", [squares, b.constant("least", np.float32(0.1 if wrong else 1e-5))], "node")
    return b.add("Div", ["rows", b.add("Sqrt", ["node"], "root")], "even")


def attribute(b, wrong):
    """A slope that matters to small values alone, which a normalization makes large."""
    sizes = b.constant("sizes", np.float32([100, 1, 0.01, 10]).reshape(ROWS, 1))
    b.add("Mul", ["x", sizes], "rows")
    kept = b.constant("kept", np.float32([1e4, 1, -1, 1]).reshape(ROWS, 1))
    b.add("LeakyRelu", [b.add("Add", ["rows", kept], "shifted")], "node", alpha=0.9 if wrong else 0.1)
    return b.add("LayerNormalization", ["node", b.constant("size", np.ones(WIDTH, np.float32))], "even", epsilon=1e-9)


TRAITS = [concat, pad, table, one_row, where, scatter, clip, onehot, logarithm, epsilon, attribute]


def network(trait, wrong):
    b = Builder(421, 18)
    last = trait(b, wrong)
    weights = Builder(422)
    b.add("MatMul", [last, b.constant("w1", weights.normal(WIDTH, WIDTH) * np.float32(0.25))], "product")
    b.add("MatMul", [b.add("Relu", ["product"], "hidden"), b.constant("w2", weights.normal(WIDTH, 6) * np.float32(0.25))], "y")
    return b.model([("x", FLOAT, [ROWS, WIDTH])], [("y", FLOAT, [ROWS, 6])])


@pytest.mark.sampled
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("trait", TRAITS)
def test_the_node_with_the_other_number_is_named_alone(trait, kind, tmp_path):
    if kind == "fp16" and trait is logarithm:
        pytest.skip("values beyond FP16")
    onnx.save(network(trait, False), tmp_path / "float.onnx")
    onnx.save(network(trait, True), tmp_path / "other.onnx")
    np.savez(tmp_path / "x.npz", x=Builder(423).normal(12, ROWS, WIDTH))
    vernier(*FORMATS[kind], "other.onnx", "--data", "x.npz", "-o", "typed.onnx", folder=tmp_path)
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "x.npz", "--min-sqnr", "25", "--json", folder=tmp_path, codes=(1,))
    defects = json.loads(done.stdout).get("defects", [])
    assert [(defect["kind"], defect["node"]) for defect in defects] == [("other-operator", "node")], defects
    assert "-inf dB" not in defects[0]["text"], defects


@pytest.mark.sampled
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("trait", TRAITS)
def test_the_right_file_has_no_defect(trait, kind, tmp_path):
    onnx.save(network(trait, False), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=Builder(423).normal(12, ROWS, WIDTH))
    vernier(*FORMATS[kind], "float.onnx", "--data", "x.npz", "-o", "typed.onnx", folder=tmp_path)
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "x.npz", "--min-sqnr", "90", "--json", folder=tmp_path, codes=(0, 1))
    kinds = {defect["kind"] for defect in json.loads(done.stdout).get("defects", [])}
    assert not kinds & {"other-operator", "weight-scale", "other-values", "lost-layer"}, done.stdout


@pytest.mark.parametrize("kind", FORMATS)
def test_a_mask_with_another_limit_is_not_named_beside_a_wrong_constant(kind, tmp_path):
    """Converters write -1e4 for -1e9: both leave no probability."""
    def attention(limit, times):
        b = Builder(431, 18)
        b.add("MatMul", ["x", b.constant("keys", b.normal(WIDTH, 8) * np.float32(0.3))], "scores")
        mask = np.triu(np.full((ROWS, 8), limit, np.float32), 3)
        b.add("Softmax", [b.add("Add", ["scores", b.constant("mask", mask)], "masked")], "p", axis=-1)
        b.add("MatMul", ["p", b.constant("values", b.normal(8, WIDTH))], "mixed")
        scale = np.float32([times if i == 3 else 1 for i in range(WIDTH)])
        b.add("Mul", ["mixed", b.constant("scale", scale * b.normal(WIDTH))], "scaled")
        b.add("MatMul", ["scaled", b.constant("last", b.normal(WIDTH, 6) * np.float32(0.25))], "y")
        return b.model([("x", FLOAT, [ROWS, WIDTH])], [("y", FLOAT, [ROWS, 6])])

    onnx.save(attention(-1e9, 1), tmp_path / "float.onnx")
    onnx.save(attention(-1e4, 8), tmp_path / "other.onnx")
    np.savez(tmp_path / "x.npz", x=Builder(423).normal(12, ROWS, WIDTH))
    vernier(*FORMATS[kind], "other.onnx", "--data", "x.npz", "-o", "typed.onnx", folder=tmp_path)
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "x.npz", "--min-sqnr", "25", "--json", folder=tmp_path, codes=(1,))
    defects = json.loads(done.stdout).get("defects", [])
    assert [(defect["kind"], defect["node"]) for defect in defects] == [("other-operator", "scaled")], defects


def test_a_wrong_constant_of_two_layers_is_named(tmp_path):
    def shared(wrong):
        b = Builder(441, 18)
        scale = b.constant("scale", b.normal(WIDTH) * np.float32([8 if wrong and i == 3 else 1 for i in range(WIDTH)]))
        b.add("Mul", ["x", scale], "first")
        b.add("MatMul", [b.add("Relu", ["first"], "hidden"), b.constant("w", b.normal(WIDTH, WIDTH) * np.float32(0.25))], "mixed")
        b.add("Mul", ["mixed", scale], "y")
        return b.model([("x", FLOAT, [ROWS, WIDTH])], [("y", FLOAT, [ROWS, WIDTH])])

    onnx.save(shared(False), tmp_path / "float.onnx")
    onnx.save(shared(True), tmp_path / "other.onnx")
    np.savez(tmp_path / "x.npz", x=Builder(423).normal(12, ROWS, WIDTH))
    vernier("convert", "--fp16", "other.onnx", "-o", "typed.onnx", folder=tmp_path)
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "x.npz", "--min-sqnr", "25", "--json", folder=tmp_path, codes=(1,))
    assert {defect["node"] for defect in json.loads(done.stdout)["defects"]} == {"first", "y"}


def test_no_figure_without_rounding_is_that_of_an_overflow(tmp_path):
    """Squares of the largest row overflow in FP16."""
    def squares(wrong):
        b = Builder(424, 18)
        b.add("Mul", ["x", b.constant("sizes", np.float32([1, 10, 0.01, 300]).reshape(ROWS, 1))], "rows")
        b.add("ReduceMean", [b.add("Mul", ["rows", "rows"], "squares"), b.constant("axes", np.int64([1]))], "mean")
        b.add("Add", ["mean", b.constant("least", np.float32(0.1 if wrong else 1e-5))], "node")
        b.add("Div", ["rows", b.add("Sqrt", ["node"], "root")], "even")
        b.add("MatMul", ["even", b.constant("w", b.normal(WIDTH, 6))], "y")
        return b.model([("x", FLOAT, [ROWS, WIDTH])], [("y", FLOAT, [ROWS, 6])])
    onnx.save(squares(False), tmp_path / "float.onnx")
    onnx.save(squares(True), tmp_path / "other.onnx")
    np.savez(tmp_path / "x.npz", x=Builder(423).normal(12, ROWS, WIDTH))
    vernier("convert", "other.onnx", "--fp16", "--data", "x.npz", "-o", "typed.onnx", folder=tmp_path)
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "x.npz", "--min-sqnr", "25", "--json", folder=tmp_path, codes=(1,))
    defects = json.loads(done.stdout).get("defects", [])
    assert all(defect["node"] == "node" and "-inf dB" not in defect["text"] for defect in defects), defects
