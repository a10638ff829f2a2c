"""Scales that no quantizer means, wherever a file has them: every job that reads the file says so, and `fix --from` calibrates
them again."""
import json

import numpy as np
import onnx
import pytest
from onnx import helper

from networks import FLOAT, Builder
from test_traits import vernier

INPUTS, OUTPUTS = 16, 8
MICROSOFT = "com.microsoft"


def parts(b, bad):
    """The weight, its quantized values and its scales, one of them `bad`."""
    weight = b.normal(INPUTS, OUTPUTS) / np.float32(4)
    steps = (np.abs(weight).max(0) / 127).astype(np.float32)
    codes = np.round(weight / steps).astype(np.int8)
    if bad is not None:
        steps[1] = bad
    return weight, codes, steps


def grid(b, name, step):
    return [b.constant(f"{name}.step", np.float32(step)), b.constant(f"{name}.zero", np.int8(0))]


def codes_of_input(b):
    return b.add("QuantizeLinear", ["x", *grid(b, "x", 0.03)], "x.codes")


def weight_of(b, codes, steps):
    return [b.constant("w.codes", codes), b.constant("w.step", steps), b.constant("w.zero", np.zeros(len(steps), np.int8))]


def qlinear_matmul(b, codes, steps):
    inputs = [codes_of_input(b), "x.step", "x.zero", *weight_of(b, codes, steps), *grid(b, "y", 0.04)]
    b.add("DequantizeLinear", [b.add("QLinearMatMul", inputs, "layer"), "y.step", "y.zero"], "y")


def qgemm(b, codes, steps):
    inputs = [codes_of_input(b), "x.step", "x.zero", *weight_of(b, codes, steps), "", *grid(b, "y", 0.04)]
    b.add("QGemm", inputs, "layer", domain=MICROSOFT, alpha=1.0, transA=0, transB=0)
    b.add("DequantizeLinear", ["layer", "y.step", "y.zero"], "y")


def dynamic_product(b, codes, steps):
    b.add("DynamicQuantizeMatMul", ["x", *weight_of(b, codes, steps)], "y", domain=MICROSOFT)


def integer_product(b, codes, steps):
    b.add("DynamicQuantizeLinear", ["x"], ["x.codes", "x.step", "x.zero"])
    b.add("MatMulInteger", ["x.codes", b.constant("w.codes", codes), "x.zero"], "sum")
    b.add("Mul", ["x.step", b.constant("w.step", steps)], "steps")
    b.add("Mul", [b.add("Cast", ["sum"], "sum.values", to=FLOAT), "steps"], "y")


def packed(b, codes, steps):
    four = (np.clip(np.round(codes / 16), -8, 7) + 8).astype(np.uint8).T
    bytes_ = (four[:, ::2] | four[:, 1::2] << 4).reshape(OUTPUTS, 1, INPUTS // 2)
    inputs = ["x", b.constant("w.codes", bytes_), b.constant("w.step", steps * 16)]
    b.add("MatMulNBits", inputs, "y", domain=MICROSOFT, K=INPUTS, N=OUTPUTS, bits=4, block_size=INPUTS)


def pair(b, codes, steps, scale="w.step"):
    b.add("DequantizeLinear", [codes_of_input(b), "x.step", "x.zero"], "x.values")
    inputs = weight_of(b, codes, steps)
    b.add("MatMul", ["x.values", b.add("DequantizeLinear", [inputs[0], scale], "w.values", axis=1)], "y")


def divided(b, codes, steps):
    """The scale is a quotient of constants."""
    b.add("Div", [b.constant("w.most", steps * 127), b.constant("w.ends", np.float32(127))], "w.quotient")
    pair(b, codes, steps, "w.quotient")


FORMS = {form.__name__: form for form in (qlinear_matmul, qgemm, dynamic_product, integer_product, packed, pair, divided)}


def write(folder, form, bad, opset=21):
    for name in ("float", "quantized"):
        b = Builder(77, 21)
        weight, codes, steps = parts(b, bad)
        if name == "float":
            b.add("MatMul", ["x", b.constant("w", weight)], "y")
        else:
            FORMS[form](b, codes, steps)
        # Constants of a form that it does not read are left out.
        read = {input for node in b.nodes for input in node.input}
        b.initializers = [kept for kept in b.initializers if kept.name in read]
        graph = helper.make_graph(b.nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [1, INPUTS])],
                                  [helper.make_tensor_value_info("y", FLOAT, [1, OUTPUTS])], b.initializers)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset > 20 else 7), folder / f"{name}.onnx")
    np.savez(folder / "x.npz", x=np.random.default_rng(3).standard_normal((8, 1, INPUTS)).astype(np.float32))


@pytest.mark.sampled
@pytest.mark.parametrize("bad", [None, 0.0, np.nan], ids=["good", "zero", "nan"])
@pytest.mark.parametrize("form", FORMS)
def test_every_job_refuses_a_scale_that_is_none(form, bad, tmp_path):
    write(tmp_path, form, bad)
    codes = (0,) if bad is None else (1,)
    linted = json.loads(vernier("check", "lint", "quantized.onnx", "--json", folder=tmp_path, codes=codes).stdout)
    assert any("holds" in entry["message"] for entry in linted["lint_entries"]) == (bad is not None)
    placed = json.loads(vernier("check", "placement", "quantized.onnx", "--json", folder=tmp_path, codes=(0, 1)).stdout)
    assert ("bad-scale" in {finding["rule"] for finding in placed["findings"]}) == (bad is not None)
    both = ["float.onnx", "quantized.onnx", "--data", "x.npz", "--json"]
    for job in (["verify", *both, "--min-sqnr", "10"], ["debug", "loss", *both]):
        found = json.loads(vernier(*job, folder=tmp_path, codes=codes).stdout)
        assert ("bad-scale" in {defect["kind"] for defect in found.get("defects", [])}) == (bad is not None)


@pytest.mark.parametrize("bad", [1e-42, -0.002], ids=["subnormal", "negative"])
def test_a_mul_takes_any_factor_for_all_jobs(bad, tmp_path):
    """The pair that stands for a MatMulInteger has the factor as its scale: no job refuses it, and `verify` measures what it does."""
    write(tmp_path, "integer_product", bad)
    assert not json.loads(vernier("check", "lint", "quantized.onnx", "--json", folder=tmp_path).stdout)["lint_entries"]
    both = ["float.onnx", "quantized.onnx", "--data", "x.npz", "--json"]
    report = json.loads(vernier("verify", *both, "--min-sqnr", "25", folder=tmp_path, codes=(1,)).stdout)
    assert report["outcome"] == "missed" and not {"bad-scale", "negative-scale"} & {defect["kind"] for defect in report["defects"]}


@pytest.mark.sampled
@pytest.mark.parametrize("bad", [0.0, np.nan], ids=["zero", "nan"])
@pytest.mark.parametrize("form", ["qlinear_matmul", "pair", "divided"])
@pytest.mark.parametrize("job", [["fix", "float.onnx", "--from", "quantized.onnx"], ["diagnose", "quantized.onnx", "--float", "float.onnx"]],
                         ids=["fix", "diagnose"])
def test_scales_that_engines_refuse_are_calibrated_again(job, form, bad, tmp_path):
    write(tmp_path, form, bad)
    done = vernier(*job, "--int8", "--data", "x.npz", "--min-sqnr", "20", "-o", "out", "--no-latency", "--no-cache",
                   "--claim-confidence", "0.5", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    assert report["outcome"] == "nothing-needed" and report["all_low"]["outputs"][0]["sqnr_db"] > 25
    assert any("This run calibrates them again" in note for note in report["notes"])
    assert vernier("verify", "float.onnx", "out/model.onnx", "--data", "x.npz", "--min-sqnr", "20", folder=tmp_path)


def test_operators_have_scales_for_each_column_before_dequantize_linear_has(tmp_path):
    """The pairs that stand for a QLinearMatMul are not in the file: their opset is nobody's fault."""
    write(tmp_path, "qlinear_matmul", None, opset=11)
    both = ["float.onnx", "quantized.onnx", "--data", "x.npz", "--json"]
    for job in (["verify", *both, "--min-sqnr", "20"], ["debug", "loss", *both]):
        report = json.loads(vernier(*job, folder=tmp_path).stdout)
        assert report.get("defects", []) == []
