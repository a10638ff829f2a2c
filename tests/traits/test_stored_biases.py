"""INT32 biases that differ from the float model's by less than a quarter of their energy: bias correction does so by little."""
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import quantized_files as files
from networks import FLOAT
from test_traits import vernier

BIASES = {"clipped": lambda v: np.clip(v, -np.sort(np.abs(v))[3], np.sort(np.abs(v))[3]),
          "halved": lambda v: v * np.where(np.arange(len(v)) < 5, 0.5, 1), "all halved": lambda v: v / 2,
          "shifted": lambda v: v + np.where(np.arange(len(v)) < 6, 0.4, 0).astype(np.float32)}
HARMLESS = {"right": lambda v: v, "corrected": lambda v: v + np.float32(0.004) * (1 + np.arange(len(v)) % 3)}


def in_operators(model):
    """The second convolution and its pairs as QLinearConv."""
    made = {name: node for node in model.graph.node for name in node.output}
    conv = made["second"]
    data, weight, bias = (made[name] for name in conv.input)
    scale, zero = next(n for n in model.graph.node if n.input[0] == "last").input[1:]
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(files.CHANNELS, np.int8), "weight.zero"))
    conv.CopyFrom(helper.make_node("QLinearConv", [data.input[0], *data.input[1:], weight.input[0], weight.input[1], "weight.zero",
                                                   scale, zero, bias.input[0]], ["last.codes"], name="second", pads=[1] * 4))
    gone = {"last", "last.codes", data.output[0], weight.output[0], bias.output[0]}
    kept = [n for n in model.graph.node if n.op_type == "QLinearConv" or not gone & {*n.output}]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def report_of(folder, *command, codes):
    return json.loads(vernier(*command, "--data", "x.npz", "--json", folder=folder, codes=codes).stdout)


@pytest.mark.sampled
@pytest.mark.parametrize("operators", [False, True], ids=["pairs", "operators"])
@pytest.mark.parametrize("bias", [*BIASES, *HARMLESS])
def test_biases_that_are_wrong_beyond_bias_correction_are_named(bias, operators, tmp_path):
    model, samples = files.float_network()
    onnx.save(model, tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", **samples)
    quantized = files.quantized(bias=(BIASES | HARMLESS)[bias])
    files.write(tmp_path, in_operators(quantized) if operators else quantized)
    wrong = bias in BIASES
    found = report_of(tmp_path, "verify", "float.onnx", "quantized.onnx", "--min-sqnr", 20, codes=(int(wrong),))
    lost = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(int(wrong),))
    for report in (found, lost):
        assert [defect["kind"] for defect in report.get("defects", [])] == (["other-values"] if wrong else []), report.get("defects")
        assert not wrong or "second.bias" in report["defects"][0]["text"]


def changed(model, name, change):
    for kept in model.graph.initializer:
        if kept.name == name:
            values = numpy_helper.to_array(kept)
            kept.CopyFrom(numpy_helper.from_array(np.asarray(change(values.copy())).astype(values.dtype), name))
    return model


def of_one_channel(factor):
    return lambda steps: steps * np.where(np.arange(len(steps)) == 5, factor, 1)


SCALES = {"all": lambda steps: steps * 4, "a quarter": lambda steps: steps / 4, "one": of_one_channel(8), "dead": of_one_channel(1e-6),
          "another weight's": lambda steps: steps * np.geomspace(0.4, 3, len(steps))}


@pytest.mark.parametrize("scales", SCALES)
def test_a_wrong_scale_of_a_weight_is_no_fault_of_the_bias_that_has_it_too(scales, tmp_path):
    """An operator on codes adds its bias at input scale times weight scale."""
    model, samples = files.float_network()
    files.write(tmp_path, model, samples, "float.onnx")
    files.write(tmp_path, changed(in_operators(files.quantized()), "second.weight.step", SCALES[scales]))
    report = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(1,))
    assert [defect["kind"] for defect in report["defects"]] == ["weight-scale"], report["defects"]
    assert "second.weight" in report["defects"][0]["text"]


def test_a_channel_that_a_scale_makes_zero_is_named_though_the_output_agrees(tmp_path):
    """No layer behind it can undo that: it is no equalization."""
    def small(model):
        for name in ("second.weight", "second.bias"):
            changed(model, name, lambda values: values * np.where(np.arange(len(values)) == 5, 0.05, 1).reshape(-1, *[1] * (values.ndim - 1)))
        return model
    model, samples = files.float_network()
    files.write(tmp_path, small(model), samples, "float.onnx")
    for factor, named in ((1, []), (1e-6, ["weight-scale"])):
        files.write(tmp_path, changed(in_operators(files.quantized()), "second.weight.step", of_one_channel(0.05 * factor)))
        report = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(int(bool(named)),))
        assert report["outputs"][0]["sqnr_db"] > 20 and [defect["kind"] for defect in report["defects"]] == named, report["defects"]


@pytest.mark.parametrize("scale", [1, 2, 1 / 8])
def test_a_wrong_scale_of_the_input_is_no_fault_of_the_bias_that_has_it_too(scale, tmp_path):
    model, samples = files.float_network()
    files.write(tmp_path, model, samples, "float.onnx")
    operators = in_operators(files.quantized())
    layer = next(node for node in operators.graph.node if node.op_type == "QLinearConv")
    step = next(kept for kept in operators.graph.initializer if kept.name == layer.input[1])
    operators.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(step) * np.float32(scale), "other"))
    layer.input[1] = "other"
    files.write(tmp_path, operators)
    report = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(int(scale != 1),))
    assert [defect["kind"] for defect in report["defects"]] == ([] if scale == 1 else ["other-scale"]), report["defects"]


def gemm(scale=1, bias=1):
    """A QGemm, of which `scale` and `bias` change one channel's weight scale and the quantized values of all biases."""
    b = files.Quantizer(74)
    random = np.random.default_rng(75)
    weight, values = (random.standard_normal(shape).astype(np.float32) for shape in ((16, 8), (8,)))
    def product(quantized):
        if not quantized:
            b.add("Gemm", ["x", b.constant("weight", weight), b.constant("bias", values)], "y")
            return b.model([("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 8])])
        step = np.abs(weight).max(0) / np.float32(127)
        codes = np.round(weight / step).astype(np.int8)
        added = np.round(bias * values / (step * np.float32(8 / 255))).astype(np.int32)
        step[2] *= scale
        of = [("x.step", np.float32(8 / 255)), ("x.zero", np.uint8(128)), ("y.step", np.float32(30 / 255)), ("y.zero", np.uint8(128)),
              ("weight.codes", codes), ("weight.step", step), ("weight.zero", np.zeros(8, np.int8)), ("bias.codes", added)]
        q = files.Quantizer(74)
        for name, value in of:
            q.constant(name, value)
        q.add("QuantizeLinear", ["x", "x.step", "x.zero"], "x.codes")
        q.add("QGemm", ["x.codes", "x.step", "x.zero", "weight.codes", "weight.step", "weight.zero", "bias.codes", "y.step", "y.zero"],
              "y.codes", domain="com.microsoft")
        q.add("DequantizeLinear", ["y.codes", "y.step", "y.zero"], "y")
        return q.model([("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 8])], domains=["com.microsoft"])
    return product(False), product(True), {"x": np.clip(b.normal(8, 4, 16), -4, 3.9)}


@pytest.mark.parametrize("scale, bias, named", [(1, 1, []), (4, 1, ["weight-scale"]), (1, 4, ["other-values"])])
def test_of_a_product_with_an_added_bias_the_wrong_one_is_named(scale, bias, named, tmp_path):
    model, quantized, samples = gemm(scale, bias)
    files.write(tmp_path, model, samples, "float.onnx")
    files.write(tmp_path, quantized)
    report = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(int(bool(named)),))
    assert [defect["kind"] for defect in report["defects"]] == named, report["defects"]
