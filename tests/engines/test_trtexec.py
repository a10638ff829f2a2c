"""TensorRT by its program trtexec alone. The program is stand_in/trtexec, on a stand-in of NVIDIA's driver; it computes with ONNX
Runtime. trtexec itself has never run here."""
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from processes import left_behind
from test_runs import STAND_IN, driver, model, save  # noqa: F401: fixtures

PROGRAM = os.environ["VERNIER_PROGRAM"]


@pytest.fixture
def vernier(driver, tmp_path):  # noqa: F811
    def call(*arguments, mode="", gpu=True, timeout=60, version="100300", path=None, start=False):
        (tmp_path / "temporary").mkdir(exist_ok=True)
        environment = {**os.environ, "STAND_IN": mode, "STAND_IN_VERSION": version, "MARK": str(tmp_path), "RECORD": str(tmp_path / "told"),
                       "TMPDIR": str(tmp_path / "temporary"),
                       "PATH": f"{path or STAND_IN / 'trtexec'}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
        if gpu:
            environment["LD_LIBRARY_PATH"] = f"{driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        command = [PROGRAM, *map(str, arguments), "--python", sys.executable]
        if start:
            return subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=timeout)
    call.record = tmp_path / "told"
    call.told = lambda: [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    call.left = lambda: left_behind(tmp_path)
    call.files = lambda: [place for place in (tmp_path / "temporary").iterdir() if not place.name.startswith(".")]
    return call


def run(vernier, model, *options, **how):  # noqa: F811
    return vernier("run", model, "--trt=native", *options, "--onnxrt", "--data", "x.npz", "--compare", "sqnr", "-q", **how)


def test_what_it_gives_is_compared(vernier, model):  # noqa: F811
    done = run(vernier, model)
    assert done.returncode == 0 and "Passed: 3/3" in done.stdout and "trt-runner-N0" in done.stdout, done.stderr
    build, *runs = vernier.told()
    assert (build["minShapes"], build["optShapes"], build["maxShapes"]) == ("x:1x4", "x:1x4", "x:3x4")
    assert "stronglyTyped" in build and "skipInference" in build and build["profilingVerbosity"] == "detailed"
    assert [one["shapes"] for one in runs] == ["x:1x4", "x:2x4", "x:3x4"] and all(one["iterations"] == "1" for one in runs)
    assert not vernier.left() and not vernier.files()


def test_a_weakly_typed_engine_is_told_by_flags(vernier, model, tmp_path):  # noqa: F811
    (tmp_path / "c").write_text("TRT-100300-EntropyCalibration2\nx: 3ca3d70a\n")
    weak = ["--weakly-typed", "--int8", "--fp16", "--calibration-cache", "c"]
    done = run(vernier, model, *weak, "--layer-precisions", "second:float16", "--precision-constraints", "prefer")
    build = vernier.told()[0]
    assert "trt-weak-runner-N0" in done.stdout and "stronglyTyped" not in build and {"int8", "fp16"} <= set(build), done.stderr
    assert (build["precisionConstraints"], build["layerPrecisions"], build["calib"]) == ("prefer", "second:fp16", str(tmp_path / "c"))
    for options, says in ((["--layer-precisions", "sec*:float16"], "trtexec takes whole names of layers"),
                          (["--bf16"], "has no --bf16")):
        done = run(vernier, model, *weak, *options)
        assert done.returncode == 4 and says in done.stderr, done.stderr


def test_an_engine_that_has_no_other_networks_is_not_told_to_type_strongly(vernier, model, tmp_path):  # noqa: F811
    script = (STAND_IN / "trtexec/trtexec").read_text().replace("shapes stronglyTyped", "shapes").replace("\nfp16 help", "\nhelp")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/trtexec").write_text(script)
    (tmp_path / "bin/trtexec").chmod(0o755)
    done = run(vernier, model, path=tmp_path / "bin", version="110000")
    assert done.returncode == 0 and "stronglyTyped" not in vernier.told()[0], done.stderr


def test_releases_without_strong_types_are_refused(vernier, model):  # noqa: F811
    done = run(vernier, model, version="8502")
    assert done.returncode == 4 and "TensorRT 8.5.2 builds no strongly typed networks" in done.stderr


def test_doctor_names_it(vernier, tmp_path):
    said = vernier("doctor").stdout
    assert f"TensorRT 10.3.0 (package {STAND_IN / 'trtexec/trtexec'} in" in said and "--trt runs on the engine" in said
    (tmp_path / "none").mkdir()
    said = vernier("doctor", path=tmp_path / "none").stdout
    assert "trtexec: not found\n  tried trtexec: no such program (tried trtexec on the PATH, /usr/src/tensorrt/bin/trtexec)" in said


def test_without_a_gpu_it_is_not_taken(vernier, model):  # noqa: F811
    done = run(vernier, model, gpu=False)
    assert done.returncode == 4 and "TensorRT 10.3.0 cannot run on this machine: there is no NVIDIA driver" in done.stderr


def test_settings_reach_it(vernier, model, tmp_path):  # noqa: F811
    (tmp_path / "old").write_text("older times, ")
    done = run(vernier, model, "--builder-optimization-level", "5", "--pool-limit", "workspace:1.5G", "--version-compatible", "--noTF32",
               "--load-timing-cache", "old", "--save-timing-cache", "new", "--save-engine", "m.engine")
    assert done.returncode == 0, done.stderr
    build = vernier.told()[0]
    assert (build["builderOptimizationLevel"], build["memPoolSize"]) == ("5", "workspace:1.5G")
    assert {"versionCompatible", "noTF32"} <= set(build)
    assert (tmp_path / "new").read_text() == "older times, times of kernels" and (tmp_path / "old").read_text() == "older times, "
    assert (tmp_path / "m.engine").read_bytes().startswith(b"ftrt")


@pytest.mark.parametrize("options, says", [
    (["--weight-streaming"], "of TensorRT 10.3.0 has no --allowWeightStreaming"),
    (["--tactic-sources", "cublas"], "--tactic-sources: trtexec is not told that"),
])
def test_what_it_does_not_have_is_refused_by_the_name_of_the_option(vernier, model, options, says):  # noqa: F811
    done = run(vernier, model, *options)
    assert done.returncode == 4 and says in done.stderr


@pytest.mark.parametrize("mode, says", [
    ("crash@start", "trtexec was killed by signal 11: an illegal memory access"),
    ("crash@build", "trtexec was killed by signal 11: an illegal memory access"),
    ("crash@run", "trtexec was killed by signal 11: an illegal memory access"),
    ("silent@build", "trtexec ended without an engine and without an error"),
    ("silent@run", "the engine did not run"),
    ("silent@start", "does not answer --help as trtexec does"),
    ("rubbish", "trtexec wrote no layer information that can be read"),
    ("lie", "gives 4 values of 'y', of the shape [7, 7]"),
    ("nomemory@build", "its builder refuses the file: Error[2]: "),
    ("nomemory@run", "the engine did not run: Error[2]: "),
    ("refuse@build", "its builder refuses the file: Error Code 10: Internal Error (Could not find any implementation for node first.)"),
    ("refuse@parse", "its parser refuses the file at node 'first' (MatMul): no importer for it"),
])
def test_what_goes_wrong_is_one_error(vernier, model, mode, says):  # noqa: F811
    done = run(vernier, model, mode=mode)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 4 and len(errors) == 1 and says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not vernier.left() and not vernier.files()


@pytest.mark.parametrize("place", ["build", "run"])
def test_when_it_hangs_it_is_ended_too(vernier, model, place):  # noqa: F811
    done = run(vernier, model, "--timeout", "5", mode=f"hang@{place}")
    assert done.returncode == 4 and "was still running after 5 s" in done.stderr and not vernier.left()


def test_ctrl_c_ends_it_too(vernier, model):  # noqa: F811
    job = vernier("inspect", "engine", model, mode="hang@build", start=True)
    while not vernier.record.exists():
        assert job.poll() is None
        time.sleep(0.05)
    job.terminate()
    assert job.wait(timeout=30) in (130, 143) and not vernier.left()


def test_convert_writes_its_engine(vernier, model, tmp_path):  # noqa: F811
    done = vernier("convert", model, "--fp16", "-o", "m.engine")
    assert done.returncode == 0 and (tmp_path / "m.engine").read_bytes().startswith(b"ftrt"), done.stderr


def test_values_of_all_types_come_back(vernier, tmp_path):
    """Six digits of floats, which trtexec prints; numbers that are not finite; types that are no floats; a fixed shape."""
    x = np.array([[1.2345678, -2, 0, 3e-5]], np.float32)
    np.save(tmp_path / "x.npy", x)
    nodes = [helper.make_node("Log", ["x"], ["log:0"]), helper.make_node("ArgMax", ["x"], ["at"], axis=1),
             helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16), helper.make_node("Cast", ["x"], ["truth"], to=TensorProto.BOOL)]
    outputs = [("log:0", TensorProto.FLOAT, [1, 4]), ("at", TensorProto.INT64, [1, 1]), ("half", TensorProto.FLOAT16, [1, 4]),
               ("truth", TensorProto.BOOL, [1, 4])]
    done = vernier("run", save(tmp_path / "t.onnx", nodes, [("x", TensorProto.FLOAT, [1, 4])], outputs), "--trt=native", "--data", "x.npy",
                   "--save-outputs", "out.npz", "-q")
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as out:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(out["log:0"], np.log(x), rtol=1e-5)
        assert out["at"].tolist() == [[0]] and out["truth"].tolist() == [[True, True, False, True]]
        assert np.array_equal(out["half"], x.astype(np.float16)) and out["half"].dtype == np.float16


def test_an_engine_file_runs(vernier, model):  # noqa: F811
    assert run(vernier, model, "--save-engine", "m.engine").returncode == 0
    done = vernier("run", "m.engine", "--trt", "--data", "x.npz", "--save-outputs", "out.json", "-q")
    assert done.returncode == 0, done.stderr
    (model.parent / "bad.engine").write_bytes(b"ftrt" + bytes(20))
    done = vernier("run", "bad.engine", "--trt", "--data", "x.npz", "-q")
    assert done.returncode == 4 and "the engine cannot be loaded: IRuntime::deserializeCudaEngine: Error Code 1" in done.stderr
    done = vernier("inspect", "engine", "m.engine", "--json")
    assert done.returncode == 0 and [kernel["name"] for kernel in json.loads(done.stdout)["kernels"]] == ["all"], done.stderr


def test_its_layers_are_told(vernier, model):  # noqa: F811
    report = json.loads(vernier("inspect", "engine", model, "--json").stdout)
    assert report["engine"]["version"] == "10.3.0" and report["compiled_for"] == "Stand-in GPU"
    assert [layer["name"] for layer in report["layers"]] == ["first", "relu", "second"] and report["words"] == ["weights are small"]


def test_nodes_are_judged_by_the_list_where_it_is_the_only_engine(vernier, model):  # noqa: F811
    report = json.loads(vernier("inspect", "capability", model, "--json").stdout)
    assert report["evidence"] == "documented, not run"
