"""Weights that a file stores in other forms than a DequantizeLinear in front of the layer: decoded by Cast and Mul, or moved on
their way. They are quantized values for every job, and wrong ones are named."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

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


def cast_of(b, name, codes, kind=TensorProto.INT8, to=FLOAT):
    return b.add("Cast", [constant_of(b, f"{name}.codes", codes, kind)], f"{name}.cast", to=to)


def castmul(b, codes, steps):
    return b.add("Mul", [cast_of(b, "w", codes), b.constant("w.step", steps)], "w.values")


def castdiv(b, codes, steps):
    return b.add("Div", [cast_of(b, "w", codes), b.constant("w.step", 1 / steps)], "w.values")


def castsubmul(b, codes, steps):
    shifted = b.add("Sub", [cast_of(b, "w", codes + 128, TensorProto.UINT8), b.constant("w.zero", np.float32(128))], "w.shifted")
    return b.add("Mul", [b.constant("w.step", steps), shifted], "w.values")


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


def grouped_cast(b, codes, steps):
    rows = codes.T.reshape(WIDTH, -1, GROUP)
    scale = b.constant("w.step", np.repeat(steps, INPUTS // GROUP).reshape(WIDTH, -1, 1))
    values = b.add("Mul", [cast_of(b, "w", rows, TensorProto.INT4), scale], "w.groups")
    values = b.add("Reshape", [values, b.constant("w.shape", np.array([WIDTH, INPUTS]))], "w.rows")
    return b.add("Transpose", [values], "w.values")


def behind(b, codes, steps):
    """The scale follows the product."""
    b.add("MatMul", ["x", cast_of(b, "w", codes)], "product.unscaled")
    return b.add("Mul", ["product.unscaled", b.constant("w.step", steps)], "product")


FORMS = {form.__name__: form for form in (castmul, castdiv, castsubmul, reshaped, half, grouped, grouped_cast, behind)}
CASTS = ["castmul", "castdiv", "castsubmul", "grouped_cast", "behind"]


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


@pytest.mark.sampled
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


@pytest.mark.parametrize("form", [*CASTS, "reshaped", "half", "grouped"])
def test_a_file_with_decoded_weights_is_no_float_model(form, tmp_path):
    write(tmp_path, form)
    report, _ = report_of(tmp_path, "diagnose", "quantized.onnx", "--int8", "--min-sqnr", "10", "--no-latency", "--no-cache", codes=(1,))
    assert report["outcome"] == "no-float-model"


def small(folder, build):
    b = Builder(5, 21)
    build(b)
    model = b.model([("x", FLOAT, [4, INPUTS])], [("y", FLOAT, [4, 8])])
    model.ir_version = 10
    onnx.save(model, folder / "quantized.onnx")
    np.savez(folder / "x.npz", x=np.random.default_rng(3).standard_normal((8, 4, INPUTS)).astype(np.float32))


def eight_bit_float_weight(b):
    values = b.add("Cast", [constant_of(b, "w", b.normal(INPUTS, 8), TensorProto.FLOAT8E4M3FN)], "w.values", to=FLOAT)
    b.add("MatMul", ["x", values], "y")


def eight_bit_float_input(b):
    b.add("Cast", [b.add("Cast", ["x"], "x.codes", to=TensorProto.FLOAT8E4M3FN)], "x.values", to=FLOAT)
    b.add("MatMul", ["x.values", b.constant("w", b.normal(INPUTS, 8))], "y")


def mask(b):
    kept = b.constant("mask", (np.arange(INPUTS) % 3 > 0).astype(np.uint8).reshape(1, -1))
    b.add("Mul", ["x", b.add("Cast", [kept], "mask.values", to=FLOAT)], "kept")
    b.add("MatMul", ["kept", b.constant("w", b.normal(INPUTS, 8))], "y")


def half_weight(b):
    values = b.add("Cast", [b.constant("w", b.normal(INPUTS, 8).astype(np.float16))], "w.values", to=FLOAT)
    b.add("MatMul", ["x", values], "y")


def scaled_mask(b):
    """As attention has it: 0 or -1e4, and a table of factors with a zero among them."""
    hidden = b.constant("hidden", (np.arange(8) % 3 == 0).astype(np.uint8).reshape(1, -1))
    b.add("MatMul", ["x", b.constant("w", b.normal(INPUTS, 8))], "scores")
    b.add("Mul", [b.add("Cast", [hidden], "hidden.values", to=FLOAT), b.constant("lowest", np.float32(-1e4))], "added")
    factors = b.constant("factors", np.array([-3, -3, 0, -3, -3, -3, 0, -3], np.float32))
    b.add("Mul", [b.add("Cast", [hidden], "again", to=FLOAT), factors], "table")
    b.add("Softmax", [b.add("Add", [b.add("Add", ["scores", "added"], "masked"), "table"], "both")], "y", axis=-1)


def test_masks_in_eight_bits_are_no_weights(tmp_path):
    small(tmp_path, scaled_mask)
    for target in ("tensorrt", "onnxruntime", "openvino"):
        report, _ = report_of(tmp_path, "verify", "quantized.onnx", "quantized.onnx", "--min-sqnr", "20", "--target", target, codes=(5,))
        assert report["outcome"] == "nothing-left" and report.get("defects", []) == []
    assert vernier("check", "lint", "quantized.onnx", folder=tmp_path)


def test_casts_to_float16_are_no_other_network(tmp_path):
    """Squares that overflow lose a layer; no pair and no constant is to blame, and there is none."""
    b = Builder(6)
    b.add("Mul", ["x", b.constant("large", np.float32(300))], "stream")
    b.add("Pow", ["stream", b.constant("two", np.float32(2))], "squares")
    b.add("Sqrt", [b.add("ReduceMean", ["squares"], "mean", axes=[-1], keepdims=1)], "size")
    b.add("MatMul", [b.add("Div", ["stream", "size"], "normed"), b.constant("w", b.normal(INPUTS, 8))], "y")
    onnx.save(b.model([("x", FLOAT, [4, INPUTS])], [("y", FLOAT, [4, 8])]), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(3).standard_normal((8, 4, INPUTS)).astype(np.float32))
    vernier("convert", "float.onnx", "--fp16", "-o", "half.onnx", folder=tmp_path)
    report, _ = report_of(tmp_path, "debug", "loss", "float.onnx", "half.onnx", codes=(0,))
    assert report["defects"] == []


@pytest.mark.parametrize(("build", "quantized"), [(eight_bit_float_weight, True), (eight_bit_float_input, True), (mask, False),
                                                  (half_weight, False)])
def test_casts_hold_quantized_values_or_do_not(build, quantized, tmp_path):
    small(tmp_path, build)
    report, _ = report_of(tmp_path, "diagnose", "quantized.onnx", "--int8", "--min-sqnr", "10", "--no-latency", "--no-cache", codes=(0, 1))
    assert (report["outcome"] == "no-float-model") == quantized


@pytest.mark.parametrize("value", [0.0, np.nan], ids=["zero", "nan"])
@pytest.mark.parametrize("form", ["castmul", "castsubmul", "reshaped"])
def test_scales_of_decoded_weights_that_no_quantizer_means_are_refused(form, value, tmp_path):
    write(tmp_path, form, scale=lambda steps: np.where(np.arange(len(steps)) == 2, np.float32(value), steps))
    linted = json.loads(vernier("check", "lint", "quantized.onnx", "--json", folder=tmp_path, codes=(1,)).stdout)
    assert any("its scale 'w.step' holds" in entry["message"] for entry in linted["lint_entries"])
    placed = json.loads(vernier("check", "placement", "quantized.onnx", "--json", folder=tmp_path, codes=(1,)).stdout)
    assert "bad-scale" in {finding["rule"] for finding in placed["findings"]}


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("wrong", ["right", "rolled", "turned"])
def test_a_layer_in_another_form_is_named_by_its_weight_or_itself(wrong, alpha, tmp_path):
    """The file has a QGemm where the float model has MatMul and Add. One that scales its product has no weight to compare."""
    write(tmp_path, "castmul")
    values = {kept.name: numpy_helper.to_array(kept) for kept in network().graph.initializer}
    steps = (np.abs(values["w"]).max(0) / 127).astype(np.float32)
    codes = WRONG[wrong](np.round(values["w"] / steps)).astype(np.int8)
    data, result = np.float32(4 / 127), np.float32(12 / 127)
    b = Builder(412, 21)
    b.constant("zero", np.int8(0))
    b.add("QuantizeLinear", ["x", b.constant("x.step", data), "zero"], "x.codes")
    b.add("QGemm", ["x.codes", "x.step", "zero", b.constant("w.codes", codes), b.constant("w.step", steps / np.float32(alpha)),
                    b.constant("w.zero", np.zeros(WIDTH, np.int8)),
                    b.constant("bias.codes", np.round(values["bias"] / (data * steps)).astype(np.int32)),
                    b.constant("sum.step", result), "zero"], "sum.codes", domain="com.microsoft", transB=0, alpha=alpha)
    b.add("DequantizeLinear", ["sum.codes", "sum.step", "zero"], "sum")
    b.add("Relu", ["sum"], "relu")
    b.add("MatMul", ["relu", b.constant("last", values["last"])], "y")
    model = b.model([("x", FLOAT, [4, INPUTS])], [("y", FLOAT, [4, OUTPUTS])], ["com.microsoft"])
    model.ir_version = 10
    onnx.save(model, tmp_path / "quantized.onnx")
    lost, _ = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(int(wrong != "right"),))
    kind = "other-values" if alpha == 1 else "lost-layer"
    assert [defect["kind"] for defect in lost["defects"]] == ([] if wrong == "right" else [kind])
