"""Weights that a file stores in other forms than a DequantizeLinear in front of the layer: moved on
their way. Wrong ones are named."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from networks import FLOAT, Builder
from test_traits import vernier

INPUTS, WIDTH, OUTPUTS = 32, 12, 6
GROUP = 16
WRONG = {"right": lambda codes: codes, "rolled": lambda codes: np.roll(codes, 1, axis=1),
         "zeroed": lambda codes: codes * (np.arange(codes.shape[1]) != 2), "turned": lambda codes: codes * np.where(np.arange(codes.shape[1]) < 3, -1, 1)}


def constant_of(b, name, values, kind):
    """Also of types that NumPy lacks."""
    values = np.asarray(values)
    b.initializers.append(helper.make_tensor(name, kind, values.shape, values.flatten().tolist()))
    return name


def reshaped(b, codes, steps):
    """Stored by output channels, in one row each, as exporters of packed weights do."""
    values = b.add("DequantizeLinear", [b.constant("w.codes", codes.T.astype(np.int8)), b.constant("w.step", steps)], "w.rows", axis=0)
    values = b.add("Reshape", [values, b.constant("w.shape", np.array([WIDTH, 1, -1]))], "w.reshaped")
    values = b.add("Squeeze", [values, b.constant("w.axes", np.array([1]))], "w.squeezed")
    return b.add("Transpose", [values], "w.values", perm=[1, 0])


def half(b, codes, steps):
    parts = [b.constant("w.codes", codes.astype(np.int8)), b.constant("w.step", steps.astype(np.float16))]
    return b.add("Cast", [b.add("DequantizeLinear", parts, "w.half", axis=1)], "w.values", to=FLOAT)


def grouped(b, codes, steps):
    """Four bits with a scale for each group of inputs: [outputs * groups, group]."""
    rows = codes.T.reshape(-1, GROUP)
    parts = [constant_of(b, "w.codes", rows, TensorProto.INT4), b.constant("w.step", np.repeat(steps, INPUTS // GROUP))]
    values = b.add("DequantizeLinear", parts, "w.groups", axis=0)
    values = b.add("Reshape", [values, b.constant("w.shape", np.array([WIDTH, INPUTS]))], "w.rows")
    return b.add("Transpose", [values], "w.values")


FORMS = {form.__name__: form for form in (reshaped, half, grouped)}


def network(form=None, wrong="right", scale=lambda steps: steps):
    b = Builder(411, 21)
    weight, bias, last = b.normal(INPUTS, WIDTH) / np.float32(5), b.normal(WIDTH), b.normal(WIDTH, OUTPUTS)
    if form is None:
        b.add("MatMul", ["x", b.constant("w", weight)], "product")
    else:
        ends = 7 if form.startswith("grouped") else 127
        steps = (np.abs(weight).max(0) / ends).astype(np.float32)
        codes = WRONG[wrong](np.clip(np.round(weight / steps), -ends, ends)).astype(int)
        values = FORMS[form](b, codes, scale(steps))
        if values != "product":
            b.add("MatMul", ["x", values], "product")
    b.add("Add", ["product", b.constant("bias", bias)], "sum")
    b.add("Relu", ["sum"], "relu")
    b.add("MatMul", ["relu", b.constant("last", last)], "y")
    model = b.model([("x", FLOAT, [4, INPUTS])], [("y", FLOAT, [4, OUTPUTS])])
    model.ir_version = 10
    return model


def write(folder, form, **how):
    onnx.save(network(), folder / "float.onnx")
    onnx.save(network(form, **how), folder / "quantized.onnx")
    np.savez(folder / "x.npz", x=np.random.default_rng(3).standard_normal((8, 4, INPUTS)).astype(np.float32))


def report_of(folder, *command, codes):
    done = vernier(*command, "--data", "x.npz", "--json", folder=folder, codes=codes)
    return json.loads(done.stdout), done


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("form", FORMS)
def test_wrong_weights_are_named_in_any_form(form, wrong, tmp_path):
    write(tmp_path, form, wrong=wrong)
    right = wrong == "right"
    least = 15 if form.startswith("grouped") else 25
    found, done = report_of(tmp_path, "verify", "float.onnx", "quantized.onnx", "--min-sqnr", least, codes=(0,) if right else (0, 1))
    assert "no layer in low precision" not in done.stderr
    lost, _ = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(0 if right else 1,))
    for report in (found, lost):
        assert [defect["kind"] for defect in report.get("defects", [])] == ([] if right else ["other-values"]), report.get("defects")
        assert right or "'w'" in report["defects"][0]["text"]
