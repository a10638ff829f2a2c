"""Samples on engines: `--trt`, `verify --on`, `eval --on`, `debug accuracy --trt`. The engine is stand_in/tensorrt on a
stand-in of NVIDIA's driver, compiled here; it computes with ONNX Runtime, so that what comes back can be held against it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from processes import left_behind

PROGRAM = os.environ["VERNIER_PROGRAM"]
STAND_IN = pathlib.Path(__file__).parent / "stand_in"


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    """A folder with libcuda.so.1."""
    folder = tmp_path_factory.mktemp("driver")
    compiler = shutil.which("cc") or shutil.which("gcc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", STAND_IN / "cuda_driver.c"], check=True)
    return folder


@pytest.fixture
def vernier(driver, tmp_path):
    def call(*arguments, mode="", gpu=True, timeout=60):
        environment = {**os.environ, "PYTHONPATH": str(STAND_IN), "STAND_IN": mode, "MARK": str(tmp_path),
                       "RECORD": str(tmp_path / "told.json")}
        if gpu:
            environment["LD_LIBRARY_PATH"] = f"{driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        return subprocess.run([PROGRAM, *map(str, arguments), "--python", sys.executable], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=timeout)
    call.told = lambda: json.loads((tmp_path / "told.json").read_text())
    call.left = lambda: left_behind(tmp_path)
    return call


def save(path, nodes, inputs, outputs, weights=()):
    ports = lambda made: [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in made]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def model(tmp_path):
    """Two layers, and a batch that is open."""
    random = np.random.default_rng(1)
    weights = [numpy_helper.from_array(random.standard_normal((4, 4)).astype(np.float32), name) for name in ("w", "v")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="first"), helper.make_node("Relu", ["h"], ["r"], name="relu"),
             helper.make_node("MatMul", ["r", "v"], ["y"], name="second")]
    np.savez(tmp_path / "x.npz", **{f"sample_{i}/x": random.standard_normal((i + 1, 4)).astype(np.float32) for i in range(3)})
    return save(tmp_path / "m.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 4])], [("y", TensorProto.FLOAT, ["n", 4])], weights)


def run(vernier, model, *options, **how):
    return vernier("run", model, *options, "--onnxrt", "--data", "x.npz", "--compare", "sqnr", "-q", **how)


def test_what_the_engine_gives_is_compared(vernier, model):
    done = run(vernier, model, "--trt=native")
    assert done.returncode == 0, done.stderr
    assert "trt-runner-N0" in done.stdout and "Passed: 3/3" in done.stdout and "sim" not in done.stdout
    assert not vernier.left()


def test_plain_trt_is_the_engine_where_there_is_one_and_says_so_where_there_is_none(vernier, model):
    assert "trt-runner-N0" in run(vernier, model, "--trt").stdout
    done = run(vernier, model, "--trt", gpu=False)
    assert done.returncode == 0 and "trt-sim-runner-N0" in done.stdout
    assert "TensorRT does not run on this machine (there is no NVIDIA driver). Its documented rules are simulated" in done.stderr
    done = run(vernier, model, "--trt=sim")
    assert "trt-sim-runner-N0" in done.stdout and "no TensorRT" not in done.stderr


def test_native_without_a_gpu_is_an_error_that_says_what_is_missing(vernier, model):
    done = run(vernier, model, "--trt=native", gpu=False)
    assert done.returncode == 4 and "TensorRT 11.0.0 cannot run on this machine: there is no NVIDIA driver" in done.stderr
    assert "pip install" not in done.stderr, "it is installed"


def test_the_engine_gets_the_file_that_convert_would_write(vernier, model):
    assert run(vernier, model, "--trt=native", "--int8").returncode == 0
    assert {"QuantizeLinear", "DequantizeLinear"} <= set(vernier.told()["operators"])
    assert run(vernier, model, "--trt=native", "--fp16").returncode == 0
    assert "Cast" in vernier.told()["operators"] and "QuantizeLinear" not in vernier.told()["operators"]
    run(vernier, model, "--trt=native")
    assert vernier.told()["operators"] == ["MatMul", "Relu", "MatMul"]


def test_open_dimensions_are_built_for_the_samples_or_for_what_is_said(vernier, model):
    run(vernier, model, "--trt=native")
    assert vernier.told()["profile"] == {"x": [[1, 4], [1, 4], [3, 4]]}
    run(vernier, model, "--trt=native", "--trt-min-shapes", "x:[1,4]", "--trt-opt-shapes", "x:[8,4]", "--trt-max-shapes", "x:[16,4]")
    assert vernier.told()["profile"] == {"x": [[1, 4], [8, 4], [16, 4]]}
    done = run(vernier, model, "--trt=native", "--trt-opt-shapes", "z:[8,4]")
    assert done.returncode == 2 and "no input is called 'z'" in done.stderr


def test_settings_reach_the_builder(vernier, model, tmp_path):
    (tmp_path / "old").write_bytes(b"older times")
    done = run(vernier, model, "--trt=native", "--builder-optimization-level", "5", "--pool-limit", "workspace:1.5G", "--tactic-sources",
               "cublas", "cudnn", "--version-compatible", "--noTF32", "--load-timing-cache", "old", "--save-timing-cache", "new",
               "--save-engine", "m.engine")
    assert done.returncode == 0, done.stderr
    told = vernier.told()
    assert (told["level"], told["pools"], told["tactics"]) == (5, {"WORKSPACE": 3 << 29}, 5)
    assert (told["flags"], told["cleared"], told["cache"]) == (["VERSION_COMPATIBLE"], ["TF32"], "older times")
    assert (tmp_path / "new").read_bytes() == b"times of kernels"
    assert (tmp_path / "m.engine").read_bytes().startswith(b"ftrt")


@pytest.mark.parametrize("options, says", [
    (["--max-aux-streams", "2"], "--max-aux-streams: tensorrt has no max_aux_streams"),
    (["--weight-streaming"], "BuilderFlag has no 'WEIGHT_STREAMING'"),
    (["--pool-limit", "moon:1G"], "MemoryPoolType has no 'moon'"),
    (["--pool-limit", "workspace:lots"], "'lots' is no size"),
    (["--hardware-compatibility-level", "ampere_plus"], "has no HardwareCompatibilityLevel"),
    (["--builder-optimization-level", "high"], "'high' is not a whole number"),
])
def test_what_an_engine_does_not_have_is_refused_by_the_name_of_the_option(vernier, model, tmp_path, options, says):
    done = run(vernier, model, "--trt=native", *options, "--save-engine", "m.engine")
    assert done.returncode == 4 and says in done.stderr
    assert not (tmp_path / "m.engine").exists()


def test_settings_without_an_engine_have_no_effect_and_that_is_said(vernier, model):
    done = run(vernier, model, "--trt", "--builder-optimization-level", "5", gpu=False)
    assert done.returncode == 0 and "--builder-optimization-level has no effect" in done.stderr


def test_no_input_is_overwritten(vernier, model):
    before = model.read_bytes()
    for option in ("--save-engine", "--save-timing-cache"):
        done = run(vernier, model, "--trt=native", option, model)
        assert done.returncode == 2 and model.read_bytes() == before, option


@pytest.mark.parametrize("mode, says", [
    ("crash@run", "was killed by signal 11"),
    ("exit@run", "ended with exit code 5"),
    ("raise@run", "raised RuntimeError: cuda says 719"),
    ("refuse@run", "the engine did not run"),
    ("rubbish@run", "something else wrote where answers are announced"),
    ('lie@run{"bytes": 16}', "gave an answer of another form"),
    ('lie@run{"bytes": 15}', "gave an answer of another form"),
    ('lie@run{"shape": [-1, 4]}', "gave an answer of another form"),
    ('lie@run{"shape": [4611686018427387904, 4]}', "gave an answer of another form"),
    ('lie@run{"offset": -1}', "gave an answer of another form"),
    ('lie@run{"type": "float31"}', "gave an answer of another form"),
    ('lie@run{"name": "z", "shape": [0, 4], "bytes": 0}', "has no output 'y'"),
    ("nomemory@run", "the NVIDIA driver says to cuMemAlloc_v2: out of memory"),
    ("refuse@build", "its builder refuses the file: Error Code 10: no kernel for mm)"),
    ("refuse@parse", "its parser refuses the file at node 'first' (MatMul): no importer for it"),
])
def test_what_goes_wrong_is_one_error(vernier, model, mode, says):
    done = run(vernier, model, "--trt=native", mode=mode)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 4 and len(errors) == 1 and says in errors[0], done.stderr
    assert "Traceback" not in done.stderr and not vernier.left()


def test_an_engine_that_hangs_is_ended(vernier, model):
    done = run(vernier, model, "--trt=native", "--timeout", "3", mode="hang@run")
    assert done.returncode == 4 and "was still running after 3 s" in done.stderr and not vernier.left()


def test_outputs_whose_size_is_known_when_they_were_computed(vernier, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0, 1, 0, 2, 3]], np.float32))
    found = save(tmp_path / "n.onnx", [helper.make_node("NonZero", ["x"], ["at"])], [("x", TensorProto.FLOAT, [1, 5])],
                 [("at", TensorProto.INT64, [2, "n"])])
    done = vernier("run", found, "--trt=native", "--data", "x.npy", "--save-outputs", "out.npz", "-q")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as out:
        assert out["at"].tolist() == [[0, 0, 0], [1, 3, 4]]


def test_state_is_carried(vernier, tmp_path):
    nodes = [helper.make_node("Add", ["x", "state"], ["next"]), helper.make_node("Identity", ["next"], ["y"])]
    ports = [(name, TensorProto.FLOAT, [1]) for name in ("x", "state", "next", "y")]
    sums = save(tmp_path / "s.onnx", nodes, ports[:2], ports[2:])
    np.savez(tmp_path / "x.npz", **{f"sample_{i}/x": np.float32([i + 1]) for i in range(4)})
    done = vernier("run", sums, "--trt=native", "--data", "x.npz", "--carry", "next:state", "--save-outputs", "out.npz", "-q")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as out:
        assert [float(out[f"iteration_{i}/y"][0]) for i in range(4)] == [1, 3, 6, 10]


def test_verify_puts_the_engine_beside_the_simulation(vernier, model, tmp_path):
    assert vernier("convert", model, "--int8", "--data", "x.npz", "-o", "typed.onnx").returncode == 0
    done = vernier("verify", model, "typed.onnx", "--data", "x.npz", "--on", "tensorrt", "--json")
    report = json.loads(done.stdout)
    engine = report["engine"]
    assert done.returncode == 0 and engine["engine"] == "TensorRT 11.0.0 on Stand-in GPU"
    assert abs(engine["figures"]["outputs"][0]["sqnr_db"] - report["figures"]["outputs"][0]["sqnr_db"]) < 0.5
    simulated = {layer["name"]: layer["sqnr_db"] for layer in report["layers"]}
    for layer in engine["layers"]:
        assert abs(layer["sqnr_db"] - simulated[layer["name"]]) < 0.5, layer
    assert {layer["name"] for layer in engine["layers"]} == {"first", "relu", "second"}
    limit = str(engine["figures"]["outputs"][0]["sqnr_db"] + 20)
    done = vernier("verify", model, "typed.onnx", "--data", "x.npz", "--on", "tensorrt", "--min-sqnr", limit)
    assert done.returncode == 1 and "on TensorRT 11.0.0 on Stand-in GPU" in " ".join(done.stdout.split())


@pytest.mark.parametrize("command", [["run", "--trt", "--engine", "openvino"], ["verify", "m.onnx", "--on", "tensorrt", "--engine", "openvino"],
                                     ["verify", "m.onnx", "--on", "openvino", "--engine", "tensorrt"]])
def test_two_engines_at_once_are_refused(vernier, model, command):
    done = vernier(command[0], model, *command[1:], "--data", "x.npz")
    assert done.returncode == 2 and "was asked for" in done.stderr


def test_verify_ends_without_an_engine(vernier, model):
    done = vernier("verify", model, model, "--data", "x.npz", "--on", "tensorrt", gpu=False)
    assert done.returncode == 4 and "there is no NVIDIA driver" in done.stderr and not done.stdout
    done = vernier("verify", model, model, "--data", "x.npz", "--engine-device", "GPU")
    assert done.returncode == 2 and "belong to --on" in done.stderr


def diagnose(vernier, model, limit, mode, *options):
    done = vernier("diagnose", model, "--int8", "--data", "x.npz", "--min-sqnr", limit, "--confirm-on", "tensorrt", "-o", "out", *options, mode=mode)
    return done, json.loads((model.parent / "out/report.json").read_text())


def test_a_diagnosis_ends_when_the_engine_agrees(vernier, model):
    done, report = diagnose(vernier, model, 25, "")
    assert done.returncode == 0 and report["engine"]["engine"] == "TensorRT 11.0.0 on Stand-in GPU"
    assert abs(report["engine"]["figures"]["outputs"][0]["sqnr_db"] - report["final_figures"]["outputs"][0]["sqnr_db"]) < 0.5
    assert "On TensorRT 11.0.0 on Stand-in GPU the output model measures" in " ".join(done.stdout.split())
    assert "on TensorRT 11.0.0 on Stand-in GPU" in (model.parent / "out/report.html").read_text() or report["engine"]


def test_times_are_those_of_the_engine_that_confirms(vernier, model):
    low, = json.loads(precision(vernier, model, 1, "--on", "tensorrt").stdout)["all_low"]["outputs"]
    done, report = diagnose(vernier, model, low["sqnr_db"] + 1, "", "--options", "2")
    latency = report["latency"]
    assert latency["engine"] == "TensorRT 11.0.0 on Stand-in GPU" and min(latency[key] for key in ("float_ms", "low_ms")) > 0, done.stderr
    assert "Latency of one sample on TensorRT 11.0.0 on Stand-in GPU, median" in " ".join(done.stdout.split())
    assert report["kept"]["layers"] and all(row["ms"] > 0 for row in report["alternatives"] if row["end"] == "met"), report["alternatives"]


def test_a_diagnosis_goes_on_where_the_engine_does_not_agree(vernier, model):
    """The engine's results are 2 % too large, which is noise of 34 dB beside that of the format."""
    _, plain = diagnose(vernier, model, 1, "noisy@run")
    there = plain["engine"]["figures"]["outputs"][0]["sqnr_db"]
    alone = -20 * np.log10(0.02)  # all that is left when no layer is low
    assert there < alone < plain["all_low"]["outputs"][0]["sqnr_db"]
    limit = (there + alone) / 2
    done, noisy = diagnose(vernier, model, limit, "noisy@run")
    assert done.returncode == 0 and noisy["engine"]["figures"]["passed"]
    assert plain["kept"]["layers"] == [] and noisy["kept"]["layers"] != []
    assert any("A second search checked" in text for text in noisy["kept"]["notes"])
    done, missed = diagnose(vernier, model, alone + 10, "noisy@run")
    # The engine misses it with no layer low, too.
    assert done.returncode == 1 and missed["outcome"] == "file-misses"
    assert "so does the output model with every layer kept" in " ".join(missed["kept"]["notes"])
    assert missed["typed"]["quantize_pairs"] > 0 and "is missed on TensorRT 11.0.0" in " ".join(done.stdout.split())


def test_labels_decide_on_the_engine(vernier, model):
    """The engine's results are 2 % too large, which moves no class: with the float model's own classes all are right."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    samples = np.load(model.parent / "x.npz")
    classes = [int(session.run(None, {"x": samples[f"sample_{i}/x"]})[0].argmax()) for i in range(3)]
    (model.parent / "labels.txt").write_text("".join(f"{label}\n" for label in classes))
    labels = ["--labels", "labels.txt", "--min-top1", "1", "--data", "x.npz"]
    done = vernier("diagnose", model, "--int8", *labels, "--confirm-on", "tensorrt", "-o", "out", mode="noisy@run")
    kept = json.loads((model.parent / "out/report.json").read_text())["kept"]
    assert done.returncode == 0 and kept["engine_test"]["metric"] == kept["engine_test"]["reference_metric"] == 1, done.stderr
    assert "is met on TensorRT 11.0.0 on Stand-in GPU: 100.0 % right, the float model 100.0 %" in " ".join(done.stdout.split())
    done = vernier("debug", "precision", model, "--int8", *labels, "--on", "tensorrt", "--journal", "none", "--json", mode="noisy@run")
    assert done.returncode == 0 and json.loads(done.stdout)["kept"]["objective"].endswith(" on tensorrt"), done.stderr


def test_a_metric_of_the_users_own_decides_on_the_engine(vernier, model):
    (model.parent / "worst.py").write_text(
        "import numpy as np\n"
        "def metric(outputs, references):\n"
        "    return max(float(np.abs(a['y'] - b['y']).max() / np.abs(b['y']).max()) for a, b in zip(outputs, references))\n")
    script = ["--metric-script", "worst.py", "--max", "0.015", "--data", "x.npz"]
    done = vernier("diagnose", model, "--int8", *script, "--confirm-on", "tensorrt", "-o", "out", mode="noisy@run")
    kept = json.loads((model.parent / "out/report.json").read_text())["kept"]
    assert done.returncode == 1 and kept["file_test"]["verdict"] == "good" and kept["engine_test"]["verdict"] == "bad", done.stderr
    assert kept["engine_test"]["metric"] > 0.015 > kept["file_test"]["metric"]
    done = vernier("verify", model, "out/model.onnx", *script, "--on", "tensorrt", mode="noisy@run")
    assert done.returncode == 1 and "is missed on TensorRT 11.0.0" in " ".join(done.stdout.split())
    assert "The engine's figure counts" in " ".join(done.stderr.split())


@pytest.mark.parametrize("options, code, says", [
    (["--confirm-on", "triton"], 2, "triton"),
    (["--engine-device", "GPU"], 2, "belong to --confirm-on"),
    (["--confirm-on", "tensorrt", "--labels", "labels.npy", "--min-top1", "0.5", "--min-sqnr", "9"], 2, "only one can decide"),
])
def test_what_cannot_be_confirmed_is_refused(vernier, model, options, code, says):
    np.save(model.parent / "labels.npy", np.arange(3) % 4)
    done = vernier("diagnose", model, "--int8", "--data", "x.npz", *options)
    assert done.returncode == code and says in done.stderr


def test_nothing_is_measured_before_the_engine_is_there(vernier, model):
    done = vernier("diagnose", model, "--int8", "--data", "x.npz", "--min-sqnr", "25", "--confirm-on", "tensorrt", "-o", "out", gpu=False)
    assert done.returncode == 4 and "there is no NVIDIA driver" in done.stderr and not (model.parent / "out").exists()


def test_what_marked_tensors_change_in_the_engine_is_told(vernier, model):
    done = run(vernier, model, "--trt=native", "--trt-outputs", "mark", "all", mode="fuses")
    said = " ".join(done.stderr.split())
    assert "changes it: 3 kernels instead of 1; nodes no longer fused: first, relu, second; output 'y' differs by up to" in said, said
    assert "(34.2 dB) on the first sample" in said  # 2 %, of the larger
    assert vernier.told()["operators"] == ["MatMul", "Relu", "MatMul"]
    done = vernier("run", model, "--trt=native", "--trt-outputs", "mark", "all", "--data", "x.npz", "-v")
    assert "changes neither its kernels nor its outputs" in done.stdout + done.stderr and "warning: TensorRT" not in done.stderr
    assert "marking tensors" not in vernier("run", model, "--trt=native", "--data", "x.npz", "-v").stdout


def precision(vernier, model, limit, *options, mode="noisy@run"):
    return vernier("debug", "precision", model, "--int8", "--data", "x.npz", "--min-sqnr", limit, "--journal", "none", "--json", *options, mode=mode)


@pytest.mark.parametrize("mode", ["minimal", "bisect"])
def test_trials_of_a_search_run_on_the_engine(vernier, model, mode):
    """The engine's results are 2 % too large: what passes in simulation with nothing kept fails there."""
    alone = -20 * np.log10(0.02)  # all that is left when no layer is low
    low = json.loads(precision(vernier, model, 1, "--on", "tensorrt").stdout)
    limit = (low["engine"]["figures"]["outputs"][0]["sqnr_db"] + alone) / 2
    here = json.loads(precision(vernier, model, limit).stdout)
    assert low["kept"]["layers"] == here["kept"]["layers"] == [] and "engine" not in here
    done = precision(vernier, model, limit, "--on", "tensorrt", "--mode", mode)
    there = json.loads(done.stdout)
    nothing_left = len(there["kept"]["layers"]) == 2  # a list that is walked may keep both
    assert done.returncode == (5 if nothing_left else 0) and there["kept"]["layers"] != [] and there["engine"]["figures"]["passed"], done.stderr
    assert there["kept"]["objective"].endswith(" on tensorrt")
    assert "the set passes on all 3 samples, on TensorRT 11.0.0 on Stand-in GPU" in there["kept"]["proven"]
    high, none = (next(test for test in there["kept"]["tests"] if len(test["layers"]) == count) for count in (2, 0))
    assert abs(high["metric"] - alone) < 0.1 and none["metric"] < limit
    done = precision(vernier, model, alone + 0.5, "--on", "tensorrt", "--mode", mode)
    assert done.returncode == 1 and json.loads(done.stdout)["kept"]["end"] == "impossible"


@pytest.mark.parametrize("mode", ["crash@run", "refuse@parse"])
def test_a_search_on_an_engine_that_takes_nothing_is_an_error(vernier, model, mode):
    done = precision(vernier, model, 20, "--on", "tensorrt", mode=mode)
    assert done.returncode == 4 and "TensorRT 11.0.0" in done.stderr and not vernier.left()
    done = vernier("debug", "precision", model, "--int8", "--data", "x.npz", "--on", "tensorrt")
    assert done.returncode == 2 and "--on measures a requirement" in done.stderr


def test_a_part_that_goes_wrong_on_the_engine_alone(vernier, model, tmp_path):
    reduce = lambda *options, **how: vernier("debug", "reduce", model, "-o", "part.onnx", "--data", "x.npz", "--min-sqnr", "60", *options, **how)
    done = reduce("--check-sim", "float32", "--on", "tensorrt", mode="noisy@run")
    assert done.returncode == 0 and "float32 on tensorrt against float32, at least 60 dB" in done.stdout, done.stderr
    assert len(onnx.load(tmp_path / "part.onnx").graph.node) == 1 and not vernier.left()
    done = reduce("--check-sim", "float32", "--on", "tensorrt")
    assert done.returncode == 0 and "Nothing to reduce" in done.stdout
    done = reduce("--check-sim", "float32")
    assert done.returncode == 2 and "--on ENGINE" in done.stderr
    done = reduce("--on", "tensorrt", "--check", "true")
    assert done.returncode == 2 and "--on belongs to --check-sim" in done.stderr
    done = reduce("--check-sim", "int8", "--on", "tensorrt", mode="crash@run")
    assert done.returncode == 4 and "TensorRT 11.0.0" in done.stderr


def test_eval_on_the_engine(vernier, model, tmp_path):
    random = np.random.default_rng(2)
    np.savez(tmp_path / "one.npz", **{f"sample_{i}/x": random.standard_normal((1, 4)).astype(np.float32) for i in range(6)})
    np.save(tmp_path / "labels.npy", np.arange(6) % 4)
    done = vernier("eval", model, "--task", "classification", "--labels", "labels.npy", "--data", "one.npz", "--on", "tensorrt", "--json")
    there = json.loads(done.stdout)["models"][0]
    assert there["runner"] == "TensorRT 11.0.0 on Stand-in GPU"
    here = json.loads(vernier("eval", model, "--task", "classification", "--labels", "labels.npy", "--data", "one.npz", "--json").stdout)
    assert there["figures"] == here["models"][0]["figures"]


def test_debug_accuracy_on_the_engine(vernier, model):
    done = vernier("debug", "accuracy", model, "--trt=native", "--fp16", "--data", "x.npz", "--json")
    report = json.loads(done.stdout)
    assert report["tested_run"].startswith("trt-runner-N0") and report["layers"], done.stderr


def test_an_engine_file_runs_in_the_place_of_a_model(vernier, model):
    assert run(vernier, model, "--trt=native", "--save-engine", "m.engine").returncode == 0
    assert vernier("run", model, "--onnxrt", "--data", "x.npz", "--save-outputs", "float.json", "-q").returncode == 0
    done = vernier("run", "m.engine", "--trt", "--data", "x.npz", "--load-outputs", "float.json", "--compare", "sqnr", "-q")
    assert done.returncode == 0 and "trt-runner-N0" in done.stdout and "Passed: 3/3" in done.stdout, done.stderr
    done = vernier("run", "m.engine", "--trt", "--input-shapes", "x:[2,4]", "--save-outputs", "random.json", "-q")
    assert done.returncode == 0 and "random numbers" in done.stderr
    done = vernier("run", "m.engine", "--trt", "--fp16", "--data", "x.npz", "-q")
    assert done.returncode == 0 and "precision options have no effect on a built engine" in done.stderr
    for options, code, says in ((["--trt", "--trt-outputs", "mark", "all"], 2, "the outputs that it was built with"),
                                (["--onnxrt"], 3, "an engine of TensorRT, not an ONNX model"), (["--trt=sim"], 3, "an engine of TensorRT")):
        done = vernier("run", "m.engine", *options, "--data", "x.npz", "-q")
        assert done.returncode == code and says in done.stderr, options
    done = vernier("run", "m.engine", "--trt", "--data", "x.npz", gpu=False)
    assert done.returncode == 4 and "cannot run on this machine" in done.stderr


def test_convert_writes_an_engine_where_one_runs(vernier, model, tmp_path):
    done = vernier("convert", model, "--fp16", "-o", "m.engine")
    assert done.returncode == 0 and "an engine of TensorRT 11.0.0 for stand-in" in done.stdout.lower().replace("tensorrt", "TensorRT"), done.stdout
    assert (tmp_path / "m.engine").read_bytes().startswith(b"ftrt") and "Cast" in vernier.told()["operators"]
    done = vernier("convert", model, "--fp16", "-o", "n.engine", gpu=False)
    assert done.returncode == 0 and "is a typed ONNX model" in done.stderr
    onnx.load(tmp_path / "n.engine")


def test_a_stage_of_a_pipeline_runs_on_the_engine(vernier, model, tmp_path):
    assert vernier("convert", model, "--int8", "--data", "x.npz", "-o", "int8.onnx").returncode == 0
    assert run(vernier, model, "--trt=native", "--save-engine", "m.engine").returncode == 0
    stages = ["--stage", "float:m.onnx", "--stage", "built:m.engine@tensorrt", "--stage", "engine:int8.onnx@tensorrt", "--stage",
              "ort:int8.onnx@onnxruntime"]
    done = vernier("pipeline", *stages, "--data", "x.npz", "--min-sqnr", "5", "--json")
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)["stages"]
    assert [(stage["is"], stage.get("on")) for stage in read] == [("FP32", None), ("engine", "tensorrt"), ("INT8", "tensorrt"), ("INT8", "onnxruntime")]
    assert read[1]["engine"].startswith("TensorRT 11.0.0 on ") and read[3]["engine"].startswith("ONNX Runtime 1.")
    assert float(read[1]["total_db"]) > 100 > read[2]["total_db"]
    (tmp_path / "stages.yaml").write_text("stages:\n- {name: float, file: m.onnx}\n- {name: engine, file: int8.onnx, on: tensorrt}\n")
    assert vernier("pipeline", "stages.yaml", "--data", "x.npz", "--min-sqnr", "5").returncode == 0
    done = vernier("pipeline", *stages, "--data", "x.npz", gpu=False)
    assert done.returncode == 4 and "cannot run on this machine" in done.stderr
    done = vernier("pipeline", *stages, "--data", "x.npz", "--min-sqnr", "60")
    assert done.returncode == 1 and "vernier verify m.onnx int8.onnx --data x.npz --python" in done.stdout and "--on tensorrt" in done.stdout
    done = vernier("pipeline", "--stage", "float:m.onnx", "--stage", "built:m.engine", "--data", "x.npz")
    assert done.returncode == 3 and "built:m.engine@tensorrt" in done.stderr


def test_fewer_bits_are_held_against_float16_in_kernels(vernier, model):
    """The stand-in has one kernel a node, Q/DQ and Casts among them."""
    done = vernier("convert", model, "--int8", "--data", "x.npz", "-o", "typed.onnx", "--compile", gpu=False)
    said = " ".join(done.stdout.split())
    nodes = len(onnx.load(model.parent / "typed.onnx").graph.node)
    assert done.returncode == 0 and f"{nodes} kernels" in said, done.stderr
    assert vernier("convert", model, "--fp16", "-o", "half.onnx").returncode == 0
    half = len(onnx.load(model.parent / "half.onnx").graph.node)
    assert half < nodes and f"With every layer in FP16 it has {half}," in said
    done = vernier("diagnose", model, "--int8", "--data", "x.npz", "--compile", "-o", "out", gpu=False)
    assert json.loads((model.parent / "out/report.json").read_text())["compiled"]["float16_kernels"] == half, done.stderr
    done = vernier("convert", model, "--fp16", "-o", "half.onnx", "--compile", gpu=False)
    assert done.returncode == 0 and "With every layer" not in done.stdout
