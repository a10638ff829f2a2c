"""Operators that TensorRT spells out in half precision: what the engine returned (a record), and what we write and say. Evidence: run."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/hardware"))
import extreme_values

PROGRAM = os.environ["VERNIER_PROGRAM"]
RECORD = np.load(ROOT / "bench/results/engines/extremes.npz")
IN_STEPS = {"LogSoftmax", "ReduceLogSumExp", "LpNormalization", "LpPool", "GlobalLpPool"}
# Lost as well, and not kept: near 0 alone, or by a constant of the file that float16 cannot hold.
ACCEPTED = {"Elu", "Selu", "ReduceSumSquare", "BatchNormalization"}


def lost(case, form):
    """Infinities, or less than 20 dB where one rounding leaves 40."""
    for scale in extreme_values.SCALES:
        name = f"{case} {scale} {form}"
        if name not in RECORD:
            continue
        found = extreme_values.judged(extreme_values.expected(case, scale, form), RECORD[name])
        once = extreme_values.rounding_db(case, scale, form)
        if found["not finite"] or (None not in (found["db"], once) and once > 40 and found["db"] < 20):
            return True
    return False


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_the_engine_lost_is_what_we_keep():
    found = {extreme_values.cases()[case][0] for case in extreme_values.cases() if lost(case, "fp16")}
    assert found == IN_STEPS | {"Elu", "Selu", "BatchNormalization"}
    assert {extreme_values.cases()[case][0] for case in extreme_values.cases() if lost(case, "bf16")} <= IN_STEPS | ACCEPTED


def vernier(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.parametrize("form, option", [("fp16", "--fp16"), ("bf16", "--bf16")])
@pytest.mark.parametrize("case", ["LogSoftmax", "ReduceLogSumExp", "LpNormalization 2", "LpPool 2", "GlobalLpPool 1", "Softmax"])
def test_a_written_file_keeps_them_in_float32(case, form, option, tmp_path):
    model = extreme_values.network(case, None)
    onnx.save(model, tmp_path / "float.onnx")
    vernier("convert", tmp_path / "float.onnx", option, "--target", "tensorrt", "-o", tmp_path / "typed.onnx")
    typed = onnx.shape_inference.infer_shapes(onnx.load(tmp_path / "typed.onnx"))
    types = {value.name: value.type.tensor_type.elem_type for value in [*typed.graph.value_info, *typed.graph.output]}
    node = next(node for node in typed.graph.node if node.op_type == extreme_values.cases()[case][0])
    assert (types[node.output[0]] == onnx.TensorProto.FLOAT) == (case != "Softmax")
    vernier("check", "placement", tmp_path / "typed.onnx", "--target", "tensorrt")


@pytest.mark.parametrize("case", ["LogSoftmax", "LpPool 2", "Softmax"])
def test_a_given_file_is_warned_of(case, tmp_path):
    onnx.save(extreme_values.network(case, None), tmp_path / "float.onnx")
    onnx.save(extreme_values.network(case, "fp16"), tmp_path / "typed.onnx")
    np.savez(tmp_path / "data.npz", x=extreme_values.inputs_of(case, "exponents"))
    warned = case != "Softmax"
    report = json.loads(vernier("check", "placement", tmp_path / "typed.onnx", "--target", "tensorrt", "--json", code=1 if warned else 0))
    assert [finding["rule"] for finding in report["findings"]] == (["half-steps"] if warned else [])
    report = json.loads(vernier("verify", tmp_path / "float.onnx", tmp_path / "typed.onnx", "--data", tmp_path / "data.npz", "--target", "tensorrt",
                                "--json"))
    assert any(note["code"] == "half-steps" for note in report.get("warning_codes", [])) == warned
    # As the engine: infinities in place of 73 dB.
    assert (report["other_sums"]["figures"]["outputs"][0]["nonfinite"] > 0) == (case == "LogSoftmax")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case, scale", [("LogSoftmax", "exponents"), ("LogSoftmax", "large"), ("ReduceLogSumExp", "exponents"),
                                         ("LpNormalization 2", "large"), ("LpNormalization 2", "tiny"), ("LpNormalization 2", "usual")])
def test_steps_are_simulated_as_the_engine_takes_them(case, scale, tmp_path):
    onnx.save(extreme_values.network(case, None), tmp_path / "float.onnx")
    onnx.save(extreme_values.network(case, "fp16"), tmp_path / "typed.onnx")
    given = extreme_values.inputs_of(case, scale).astype(np.float16).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=given)
    report = json.loads(vernier("verify", tmp_path / "float.onnx", tmp_path / "typed.onnx", "--data", tmp_path / "data.npz", "--target", "tensorrt",
                                "--json"))
    simulated = report["other_sums"]["figures"]["outputs"][0]
    engine = extreme_values.judged(extreme_values.expected(case, scale, "fp16"), RECORD[f"{case} {scale} fp16"])
    assert simulated["nonfinite"] == engine["not finite"]
    if not engine["not finite"]:
        assert float(simulated["sqnr_db"]) == pytest.approx(engine["db"], abs=2.5)
