"""Files whose weights hold constant factors that the float model multiplies with: `alpha` of a Gemm, Mul and Div behind a product.
That is no defect, and what is wrong elsewhere is named alone."""
import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from networks import FLOAT, Builder
from test_traits import vernier

ROWS, IN, HIDDEN, OUT = 4, 12, 16, 8
FORMS = ["alpha", "alpha, beta", "mul", "div", "bias, mul", "bias, div", "mul, bias", "mul of channels", "gemm, mul", "alpha, mul", "mul, relu"]


def network(form):
    b = Builder(411)
    def values(*shape):
        return (b.random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
    b.add("Gemm", ["x", b.constant("w1", values(IN, HIDDEN)), b.constant("b1", values(HIDDEN))], "first")
    b.add("Relu", ["first"], "hidden")
    weight, bias = b.constant("w2", values(HIDDEN, OUT)), b.constant("b2", values(OUT))
    many = np.linspace(0.5, 30, OUT) if form.endswith("channels") else 100
    factor = b.constant("factor", np.float32(many))
    if form.startswith(("alpha", "gemm")):
        how = {"alpha": 2.0} if form.startswith("alpha") else {}
        last = b.add("Gemm", ["hidden", weight, bias], "product", **how, **({"beta": 0.5} if "beta" in form else {}))
    else:
        last = b.add("MatMul", ["hidden", weight], "product")
    for step in form.split(", "):
        if step == "bias":
            last = b.add("Add", [last, bias], "sum")
        elif step.startswith("mul"):
            last = b.add("Mul", [last, factor], "scaled")
        elif step in ("div", "relu"):
            last = b.add("Div", [last, factor], "scaled") if step == "div" else b.add("Relu", [last], "relu")
    b.nodes[-1].output[0] = "y"
    return b.model([("x", FLOAT, [ROWS, IN])], [("y", FLOAT, [ROWS, OUT])])


def changed(model, tensor, change):
    for held in model.graph.initializer:
        if held.name == tensor:
            held.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(held)), tensor))
    return model


def stored(model, weight):
    """The quantized values of a weight of the float model."""
    return next(tensor.name for tensor in model.graph.initializer if tensor.name.startswith(weight)
                and tensor.data_type == onnx.TensorProto.INT8 and len(tensor.dims) == 2)


def half_lost(codes):
    codes = codes.copy()
    codes[:, ::2] = 0
    return codes


WRONG = {
    "nothing": (lambda model: model, None),
    "range": (lambda model: changed(model, next(node.input[1] for node in model.graph.node if node.op_type == "QuantizeLinear"
                                                and node.input[0] == "x"), lambda scale: (scale / 5).astype(np.float32)), "x"),
    "first weight": (lambda model: changed(model, stored(model, "w1"), half_lost), "w1"),
    "second weight": (lambda model: changed(model, stored(model, "w2"), half_lost), "w2"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("form", FORMS)
def test_a_factor_that_vernier_folds_is_no_defect(form, wrong, tmp_path):
    onnx.save(network(form), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=Builder(412).normal(12, ROWS, IN))
    vernier("quantize", "float.onnx", "--int8", "--target", "openvino", "--data", "x.npz", "-o", "right.onnx", folder=tmp_path)
    change, named = WRONG[wrong]
    onnx.save(change(onnx.load(tmp_path / "right.onnx")), tmp_path / "quantized.onnx")
    done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "x.npz", "--min-sqnr", "20", "--target", "openvino", "--json",
                   folder=tmp_path, codes=(int(named is not None),))
    defects = json.loads(done.stdout).get("defects", [])
    assert all(defect["node"].startswith(str(named)) for defect in defects), defects
    assert bool(defects) == (named is not None), defects


@pytest.mark.parametrize("form", ["alpha", "alpha, beta", "mul", "bias, div", "gemm, mul"])
def test_a_factor_that_is_lost_is_named(form, tmp_path):
    """The file has neither the factor nor a weight that holds it."""
    lost = network(form)
    for node in lost.graph.node:
        for attribute in node.attribute:
            if attribute.name == "alpha":
                attribute.f = 1.0
    changed(lost, "factor", lambda factor: np.ones_like(factor))
    onnx.save(lost, tmp_path / "lost.onnx")
    onnx.save(network(form), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=Builder(412).normal(12, ROWS, IN))
    vernier("quantize", "lost.onnx", "--int8", "--target", "openvino", "--data", "x.npz", "-o", "quantized.onnx", folder=tmp_path)
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "x.npz", "--json", folder=tmp_path, codes=(1,))
    defects = json.loads(done.stdout)["defects"]
    assert {defect["kind"] for defect in defects} <= {"other-operator", "weight-scale", "other-values", "bias-scale"} and defects, defects
    assert not any(defect["node"].startswith(("x", "first", "hidden", "w1", "b1")) for defect in defects), defects
