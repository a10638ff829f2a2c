"""Files whose graph is not the float model's: layers that are missing, repeated or in another order, a residual branch left out,
and a norm that is one operator in one file and many in the other, with a wrong constant."""
import json

import numpy as np
import onnx
import pytest

from networks import FLOAT
from quantized_files import Quantizer
from test_traits import vernier

WIDTH, SAMPLES, BLOCKS = 16, 16, ["a", "b", "c"]


def constants():
    random = np.random.default_rng(931)
    values = {}
    for block in BLOCKS:
        for name, shape in (("up", (WIDTH, 32)), ("down", (32, WIDTH))):
            values[f"{block}.{name}"] = (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        values[f"{block}.gamma"] = random.uniform(0.5, 1.5, WIDTH).astype(np.float32)
        values[f"{block}.beta"] = random.normal(0, 0.3, WIDTH).astype(np.float32)
    return values


def norm(b, source, block, values, fused):
    gamma, beta = (b.constant(f"{block}.{name}", values[f"{block}.{name}"]) for name in ("gamma", "beta"))
    name = f"{block}.norm"
    if fused:
        return b.add("LayerNormalization", [source, gamma, beta], name, axis=-1)
    b.add("ReduceMean", [source], f"{name}.mean", axes=[-1])
    b.add("Sub", [source, f"{name}.mean"], f"{name}.centred")
    b.add("Pow", [f"{name}.centred", b.constant(f"{name}.two", np.float32(2))], f"{name}.squares")
    b.add("ReduceMean", [f"{name}.squares"], f"{name}.variance", axes=[-1])
    b.add("Add", [f"{name}.variance", b.constant(f"{name}.epsilon", np.float32(1e-5))], f"{name}.kept")
    b.add("Div", [f"{name}.centred", b.add("Sqrt", [f"{name}.kept"], f"{name}.deviation")], f"{name}.unit")
    b.add("Mul", [f"{name}.unit", gamma], f"{name}.scaled")
    return b.add("Add", [f"{name}.scaled", beta], name)


def network(order=("a", "b", "c"), fused=False, quantized=False, residual=("a", "b", "c"), change=lambda values: None, renamed=False):
    b = Quantizer(932)
    values = constants()
    change(values)

    def product(source, block, name):
        weight = values[f"{block}.{name}"]
        if quantized:
            source = b.pair(source, -6.0, 6.0, np.int8, name=f"{place}.{name}.input")
            step = np.abs(weight).max() / 127
            weight = b.stored(f"{place}.{name}.weight", np.round(weight / step).astype(np.int8), step)
        else:
            weight = b.constant(f"{place}.{name}.weight", weight)
        return b.add("MatMul", [source, weight], f"{place}.{name}")

    source = "x"
    for i, block in enumerate(order):
        place = f"n{i}" if renamed else BLOCKS[i]  # nodes are named by their place
        held = {f"{place}.{name}": values[f"{block}.{name}"] for name in ("gamma", "beta")}
        product(norm(b, source, place, held, fused), block, "up")
        b.add("Relu", [f"{place}.up"], f"{place}.relu")
        product(f"{place}.relu", block, "down")
        source = b.add("Add", [f"{place}.down", source], f"{place}.sum") if block in residual else f"{place}.down"
    b.add("Identity", [source], "y")
    return b.model([("x", FLOAT, [1, 8, WIDTH])], [("y", FLOAT, [1, 8, WIDTH])])


def found(folder, **wrong):
    fused = wrong.pop("float_fused", False)
    onnx.save(network(fused=fused), folder / "float.onnx")
    onnx.save(network(quantized=True, **wrong), folder / "quantized.onnx")
    np.savez(folder / "net.npz", x=Quantizer(933).normal(SAMPLES, 1, 8, WIDTH))
    report = json.loads(vernier("verify", "float.onnx", "quantized.onnx", "--data", "net.npz", "--json", folder=folder).stdout)
    return report["figures"]["outputs"][0]["sqnr_db"], [(d["kind"], d["node"], d["text"]) for d in report.get("defects", [])]


def scaled_gamma(values):
    values["b.gamma"] = values["b.gamma"] * np.float32(1.6)


def one_gamma(values):
    values["b.gamma"][3] *= -4


def moved_beta(values):
    values["b.beta"] = values["b.beta"] + np.float32(0.7)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("float_fused", [False, True])
def test_a_norm_in_another_form_is_no_defect(float_fused, fused, tmp_path):
    db, defects = found(tmp_path, float_fused=float_fused, fused=fused)
    assert db > 30 and defects == []


@pytest.mark.sampled
@pytest.mark.parametrize("change,constant", [(scaled_gamma, "b.gamma"), (one_gamma, "b.gamma"), (moved_beta, "b.beta")])
@pytest.mark.parametrize("float_fused,fused", [(False, True), (True, False), (True, True), (False, False)])
def test_a_wrong_constant_of_a_norm_is_named_in_any_form(float_fused, fused, change, constant, tmp_path):
    _, defects = found(tmp_path, float_fused=float_fused, fused=fused, change=change)
    assert len(defects) == 1 and f"the constant '{constant}'" in defects[0][2], defects


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("order,whose", [(("b", "a", "c"), ["a.up", "b.up", "b.down"]), (("a", "a", "c"), ["a.up", "a.down"])])
def test_layers_in_another_order_name_the_layers_whose_weights_they_have(order, whose, renamed, tmp_path):
    _, defects = found(tmp_path, order=order, renamed=renamed)
    texts = [text for kind, _, text in defects if kind == "other-values"]
    for layer in whose:
        assert any(f"All are those of '{layer}.weight'" in text for text in texts), defects


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("order,layer", [(("a", "c"), "b.up"), (("a", "b"), "c.up")])
def test_layers_that_the_file_lacks_are_named(order, layer, renamed, tmp_path):
    _, defects = found(tmp_path, order=order, renamed=renamed)
    assert any("the file lacks 2 layers" in text and layer in text for _, _, text in defects), defects


@pytest.mark.parametrize("renamed", [False, True])
def test_a_residual_branch_that_is_left_out_is_named(renamed, tmp_path):
    _, defects = found(tmp_path, residual=("a", "c"), renamed=renamed)
    assert defects and all("Add 'b.sum' of the float model reads 'a.sum'" in text for _, _, text in defects), defects
