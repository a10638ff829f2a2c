"""Engine hosts that behave, crash, hang, lie or talk: each ends as one clear error with exit code 4 and the engine's own
words, or right, and leaves no process behind. The engine is stand_in/tensorrt, which STAND_IN makes misbehave."""
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from processes import left_behind, marked

PROGRAM = os.environ["VERNIER_PROGRAM"]
STAND_IN = pathlib.Path(__file__).parent / "stand_in"


@pytest.fixture
def model(tmp_path):
    weight = numpy_helper.from_array(np.ones((2, 2), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="first"), helper.make_node("Relu", ["h"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def inspect(model, mode, *options, timeout=60):
    environment = {**os.environ, "PYTHONPATH": str(STAND_IN), "STAND_IN": mode, "MARK": str(model)}
    return subprocess.run([PROGRAM, "inspect", "engine", model, "--python", sys.executable, *options], capture_output=True,
                          text=True, env=environment, timeout=timeout)


def test_an_engine_that_behaves(model):
    report = json.loads(inspect(model, "", "--json").stdout)
    assert report["engine"]["name"] == "TensorRT" and report["engine"]["version"] == "11.0.0"
    assert report["compiled_for"] == "compute capability 8.9" and report["evidence"] == "compiled, not run"
    assert [kernel["nodes"] for kernel in report["kernels"]] == [["first"], ["Relu_1"]], "the unnamed node got its name"
    assert [layer["kernel"] for layer in report["layers"]] == [0, 1]
    assert report["words"] == ["weights are small"]


def test_a_library_that_talks_harms_nobody(model):
    done = inspect(model, "chat@build", "--json")
    assert done.returncode == 0 and len(json.loads(done.stdout)["kernels"]) == 2
    assert not [line for line in done.stderr.splitlines() if not line.startswith("progress: ")]  # slow machines show it


@pytest.mark.parametrize("mode, says", [
    ("crash@build", "TensorRT: was killed by signal 11"),
    ("crash@start", "TensorRT: was killed by signal 11"),
    ("exit@build", "TensorRT: ended with exit code 5"),
    ("raise@build", "raised RuntimeError: cuda says 719"),
    ("raise@parse", "raised RuntimeError: cuda says 719"),
    ("refuse@build", "TensorRT 11.0.0: its builder refuses the file: Error Code 10: no kernel for mm)"),
    ("refuse@parse", "TensorRT 11.0.0: its parser refuses the file at node 'first' (MatMul): no importer for it"),
    ("misread@parse", "TensorRT 11.0.0: it deviates from the ONNX specification: output 'y' has the shape 2x717 on the engine, and 2x2"),
    ("lie@build", "gave an answer of another form"),
    ("rubbish@build", "TensorRT: something else wrote where answers are announced"),
])
def test_what_an_engine_does_wrong_is_one_error(model, mode, says):
    done = inspect(model, mode)
    assert done.returncode == 4 and not done.stdout
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and says in errors[0], done.stderr
    assert "Traceback" not in done.stderr and "/src/" not in done.stderr
    assert not left_behind(model)


def test_its_last_words_are_told(model):
    assert "its last words: terminate called: out of GPU memory" in inspect(model, "crash@build").stderr


def test_an_engine_that_hangs_is_ended(model):
    begin = time.monotonic()
    done = inspect(model, "hang@build", "--timeout", "2")
    assert done.returncode == 4 and "TensorRT: was still running after 2 s" in done.stderr
    assert time.monotonic() - begin < 60
    assert not left_behind(model)


def test_ctrl_c_ends_it(model):
    environment = {**os.environ, "PYTHONPATH": str(STAND_IN), "STAND_IN": "hang@build", "MARK": str(model)}
    job = subprocess.Popen([PROGRAM, "inspect", "engine", model, "--python", sys.executable], env=environment,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while len(marked(model)) < 2:  # ours and the engine's
        assert job.poll() is None
        time.sleep(0.05)
    job.terminate()
    assert job.wait(timeout=30) in (130, 143)
    assert not left_behind(model)


def test_without_a_package_all_that_was_tried_is_told(model):
    done = subprocess.run([PROGRAM, "inspect", "engine", model, "--python", sys.executable], capture_output=True, text=True)
    assert done.returncode == 4
    assert "TensorRT: no package of it in" in done.stderr and "TensorRT-RTX: no package of it in" in done.stderr
    assert "pip install" in done.stderr


@pytest.mark.parametrize("options, code, says", [
    (["--compute-capability", "3.5"], 4, "TensorRT 11.0.0 cannot compile for compute capability 3.5: it knows 8.9, 12.0"),
    (["--engine", "triton"], 2, "triton"),
    (["--shapes", "z:[1]"], 2, "--shapes: no input is called 'z'"),
    (["--timeout", "0"], 2, "--timeout"),
    (["--model", "other.onnx"], 2, "--model"),
])
def test_options_that_cannot_be_met(model, options, code, says):
    done = inspect(model, "", *options)
    assert done.returncode == code and says in done.stderr


def test_layer_information_of_other_tools(model, tmp_path):
    information = tmp_path / "layers.json"
    information.write_text(json.dumps({"Layers": [
        {"Name": "first + Relu_1", "LayerType": "CaskGemm", "Metadata": "[ONNX Layer: first]\x1e[ONNX Layer: Relu_1]",
         "Inputs": [{"Name": "x", "Format/Datatype": "Row major linear FP16 format"}],
         "Outputs": [{"Name": "y", "Format/Datatype": "Row major linear FP32"}]}]}))
    report = json.loads(inspect(information, "", "--model", model, "--json").stdout)
    assert report["evidence"] == "layer information"
    assert [(layer["name"], layer["reads"], layer["differs"]) for layer in report["layers"]] == [
        ("first", ["float16"], True), ("Relu_1", ["float16"], False)]
    assert inspect(information, "").returncode == 0
    information.write_text("[]")
    assert inspect(information, "").returncode == 3


def command(model, mode, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(STAND_IN), "STAND_IN": mode}
    return subprocess.run([PROGRAM, *map(str, arguments), "--python", sys.executable], cwd=model.parent, capture_output=True, text=True,
                          env=environment)


@pytest.mark.parametrize("job", ["convert", "quantize"])
def test_what_is_written_is_compiled_where_that_is_asked(model, job):
    form = ["--fp16"] if job == "convert" else ["--samples", "2"]
    done = command(model, "", job, model, *form, "-o", "typed.onnx", "--compile", "--json", "-qq")
    compiled = json.loads(done.stdout)["compiled"]
    assert done.returncode == 0 and compiled["file"] == "typed.onnx" and compiled["kernels"]
    assert any(layer["differs"] for layer in compiled["layers"]), "the stand-in computes in float32 whatever it is given"


def test_a_written_file_that_the_engine_refuses_is_there_and_the_exit_code_says_so(model):
    done = command(model, "refuse@build", "convert", model, "--fp16", "-o", "typed.onnx", "--compile")
    assert done.returncode == 4 and "its builder refuses the file: Error Code 10: no kernel for mm)" in " ".join(done.stdout.split())
    assert (model.parent / "typed.onnx").exists()


@pytest.mark.parametrize("job", ["convert", "diagnose"])
def test_an_engine_compiles_what_is_made_for_it_alone(model, job):
    for target, options in (("onnxruntime", []), ("openvino", ["--engine", "tensorrt"]), ("tensorrt", ["--engine", "openvino"])):
        done = command(model, "", job, model, "--int8", "--target", target, "--samples", "2", "-o", "out", "--compile", *options)
        assert done.returncode == 2 and f"made for --target {target}" in done.stderr and not (model.parent / "out").exists()


def test_without_an_engine_nothing_is_measured_first(model):
    done = subprocess.run([PROGRAM, "diagnose", model, "--fp16", "--compile", "--python", sys.executable], capture_output=True, text=True)
    assert done.returncode == 4 and "no package of it" in done.stderr and not done.stdout


@pytest.mark.parametrize("job", ["diagnose", "fix"])
def test_a_diagnosis_tells_what_the_engine_makes_of_its_file(model, job):
    done = command(model, "", job, model, "--fp16", "--samples", "2", "--compile", "-o", "out", "-qq")
    assert done.returncode == 0 and "Layers that run in another format than the file asks for" in done.stdout
    report = json.loads((model.parent / "out/report.json").read_text())
    assert report["compiled"]["file"] == "out/model.onnx" and report["compiled"]["engine"]["name"] == "TensorRT"


@pytest.mark.parametrize("mode, says", [("crash@build", "was killed by signal 11"), ("refuse@build", "no kernel for mm")])
def test_an_engine_that_fails_costs_no_diagnosis(model, mode, says):
    done = command(model, mode, "diagnose", model, "--fp16", "--samples", "2", "--compile", "-o", "out")
    assert done.returncode == 4 and says in done.stderr
    report = json.loads((model.parent / "out/report.json").read_text())
    assert says in report["compiled"]["refused"] and report["layers"] and (model.parent / "out/model.onnx").exists()


def capability(model, mode):
    environment = {**os.environ, "PYTHONPATH": str(STAND_IN), "STAND_IN": mode}
    return subprocess.run([PROGRAM, "inspect", "capability", model, "--python", sys.executable, "--json"], capture_output=True,
                          text=True, env=environment)


def test_capability_asks_the_parser(model):
    report = json.loads(capability(model, "").stdout)
    assert report["engine"] == "TensorRT 11.0.0" and report["taken"] == 2
    assert report["evidence"] == "its own parser accepts the whole model; nothing was compiled"
    assert report["differences"] == []


def test_capability_says_where_the_parser_and_the_published_list_disagree(model):
    report = json.loads(capability(model, "refuse@parse").stdout)
    assert [(group["nodes"], group["why"]) for group in report["not_taken"]] == [(["first"], "no importer for it")]
    assert [(part["taken"], part["nodes"]) for part in report["parts"]] == [(False, ["first"]), (True, ["Relu_1"])]
    assert len(report["differences"]) == 1 and "takes 1 MatMul (first)" in report["differences"][0]


def test_capability_of_a_parser_that_crashes_is_an_error(model):
    done = capability(model, "crash@start")
    assert done.returncode == 4 and "TensorRT: was killed by signal 11" in done.stderr


def test_doctor_names_engines(model):
    environment = {**os.environ, "PYTHONPATH": str(STAND_IN), "STAND_IN": ""}
    said = subprocess.run([PROGRAM, "doctor", "--python", sys.executable], capture_output=True, text=True, env=environment).stdout
    assert "TensorRT 11.0.0 (package tensorrt in" in said
    assert "compiles for compute capability 8.9, 12.0" in said
    assert "TensorRT-RTX: not found" in said


@pytest.fixture
def quantized(model):
    """Beside m.onnx: the same with pairs."""
    done = subprocess.run([PROGRAM, "convert", "m.onnx", "--int8", "-o", "int8.onnx", "-q"], cwd=model.parent)
    assert done.returncode == 0
    return model.parent


def verdict(folder, mode, *options):
    environment = {**os.environ, "PYTHONPATH": str(STAND_IN), "STAND_IN": mode, "MARK": str(folder)}
    return subprocess.run([PROGRAM, "verify", "m.onnx", "int8.onnx", "--val-range", "x:[-1,1]", "--python", sys.executable,
                           *options], cwd=folder, capture_output=True, text=True, env=environment, timeout=120)


def test_the_verdict_on_a_file_has_what_the_compiler_made_of_it(quantized):
    done = verdict(quantized, "", "--compile", "--json", "-o", "out")
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["compiled"]["engine"]["name"] == "TensorRT" and report["compiled"]["kernels"]
    assert "refused" not in report["compiled"] and report["placements"]
    assert '"compiled"' in (quantized / "out/report.html").read_text()
    again = subprocess.run([PROGRAM, "report", "out/report.json"], cwd=quantized, capture_output=True, text=True).stdout
    assert "TensorRT 11.0.0, compiled for compute capability 8.9, not run" in " ".join(again.split())


def test_a_file_that_the_compiler_refuses_is_no_good_whatever_was_measured(quantized):
    done = verdict(quantized, "refuse@build", "--compile", "--min-sqnr", "5")
    text = " ".join(done.stdout.split())
    assert done.returncode == 1 and "no, TensorRT refuses this file: its message is below" in text
    assert "its builder refuses the file: Error Code 10: no kernel for mm" in text


def test_a_compiler_that_nobody_asked_is_not_run_and_not_claimed(quantized):
    done = verdict(quantized, "crash@start")
    text = " ".join(done.stdout.split())
    assert done.returncode == 0 and "Pass --compile to ask the engine." in text
    assert verdict(quantized, "", "--shapes", "x:[2,2]").returncode == 2
    assert verdict(quantized, "", "--compile", "--target", "onnxruntime").returncode == 2
