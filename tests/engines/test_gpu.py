"""--device cuda where something of it is missing: one clear error with exit code 4, and nothing runs on the CPU instead.
The driver is stand_in/idle_cuda_driver.c, found before any real one."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAM = os.environ["VERNIER_PROGRAM"]
DRIVER = pathlib.Path(__file__).parent / "stand_in/idle_cuda_driver.c"
INSTALL = 'pip install "onnxruntime-gpu[cuda,cudnn]"'


@pytest.fixture
def folder(tmp_path):
    weight = numpy_helper.from_array(np.ones((2, 2), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="first")], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=np.ones((2, 2), np.float32))
    return tmp_path


def build(folder, *definitions):
    where = folder / "driver"
    where.mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", *definitions, DRIVER, "-o", where / "libcuda.so.1"], check=True)
    return where


def cuda_build(folder):
    """A CUDA build of ONNX Runtime as it looks from outside."""
    where = folder / "ort"
    where.mkdir()
    place = re.search(r"tried (/\S+): loaded", subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True).stdout)
    shutil.copy(place[1], where / "libonnxruntime.so.1")
    (where / "libonnxruntime_providers_cuda.so").touch()
    return where


def run(folder, *arguments, driver=None, ails="", **environment):
    surroundings = {**os.environ, "STAND_IN_CUDA": ails, "VIRTUAL_ENV": "/nonexistent", **environment}
    if driver is not None:
        surroundings["LD_LIBRARY_PATH"] = f"{driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, env=surroundings, timeout=120)


def refused(folder, *words, **how):
    """Each job says why, and none goes on."""
    for job in (["verify", "m.onnx", "m.onnx"], ["diagnose", "m.onnx", "--int8"], ["calibrate", "m.onnx", "-o", "r.json"]):
        done = run(folder, *job, "--data", "x.npz", "--device", "cuda", **how)
        assert done.returncode == 4, (job, done.stderr)
        assert done.stdout == "" and done.stderr.count("error:") == 1
        for word in words:
            assert word in done.stderr
    assert not (folder / "r.json").exists()


@pytest.mark.parametrize("ails, says", [
    ("init", "the NVIDIA driver does not start: unknown error"),
    ("none", "the NVIDIA driver finds no GPU"),
    ("old", "the NVIDIA driver is too old: it runs CUDA 11.4, and 12.0 is the least"),
    ("aged", "Stand-in has compute capability 7.0, and 7.5 is the least"),
    ("", "no CUDA build of ONNX Runtime was found"),
])
def test_a_driver_that_helps_nobody(folder, ails, says):
    refused(folder, says, driver=build(folder), ails=ails, VERNIER_ONNXRUNTIME_GPU="/nonexistent")


def test_a_driver_without_what_is_called(folder):
    refused(folder, "the NVIDIA driver is too old: it has no cuMemAlloc_v2", driver=build(folder, "-DWITHOUT_MEMORY"))


def test_a_gpu_that_is_not_there(folder):
    done = run(folder, "verify", "m.onnx", "m.onnx", "--data", "x.npz", "--device", "cuda:3", driver=build(folder))
    assert done.returncode == 4 and "there is no GPU cuda:3: the NVIDIA driver finds 1" in done.stderr


@pytest.mark.skipif(not os.environ.get("CI") and shutil.which("mpirun.mpich") is None, reason="mpirun.mpich is not here")
@pytest.mark.parametrize("device, says", [
    ("cuda", "no CUDA build of ONNX Runtime was found"),  # both ranks take the one GPU
    ("cuda:1", "there is no GPU cuda:1"),
    ("auto", None),
])
def test_ranks_share_what_there_is(folder, device, says):
    environment = {**os.environ, "VIRTUAL_ENV": "/nonexistent", "VERNIER_ONNXRUNTIME_GPU": "/nonexistent",
                   "LD_LIBRARY_PATH": f"{build(folder)}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    job = ["mpirun.mpich", "-n", "2", PROGRAM, "verify", "m.onnx", "m.onnx", "--data", "x.npz", "--device", device]
    done = subprocess.run(job, cwd=folder, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == (0 if says is None else 4), done.stderr
    if says is not None:
        assert done.stderr.count("error:") == 1 and says in done.stderr


@pytest.mark.skipif(not os.environ.get("CI") and shutil.which("mpirun.mpich") is None, reason="mpirun.mpich is not here")
def test_ranks_that_see_one_gpu_each_take_it(folder):
    environment = {**os.environ, "VIRTUAL_ENV": "/nonexistent", "VERNIER_ONNXRUNTIME_GPU": "/nonexistent",
                   "LD_LIBRARY_PATH": f"{build(folder)}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    one = [PROGRAM, "verify", "m.onnx", "m.onnx", "--data", "x.npz", "--device", "cuda"]
    job = ["mpirun.mpich", "-n", "1", "-env", "CUDA_VISIBLE_DEVICES", "4", *one, ":", "-n", "1", "-env", "CUDA_VISIBLE_DEVICES", "5", *one]
    done = subprocess.run(job, cwd=folder, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 4, done.stderr
    assert done.stderr.count("error:") == 1 and "no CUDA build of ONNX Runtime was found" in done.stderr


def test_a_library_that_is_missing(folder):
    if "libcudart.so" in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("the loader finds NVIDIA's libraries")
    refused(folder, "which the CUDA build of ONNX Runtime needs", INSTALL, driver=build(folder),
            VERNIER_ONNXRUNTIME_GPU=str(cuda_build(folder)))


def test_no_driver(folder):
    (folder / "driver").mkdir()
    (folder / "driver/libcuda.so.1").touch()  # not even a library
    refused(folder, "there is no NVIDIA driver (libcuda.so.1)", driver=folder / "driver")


def test_the_doctor_lists_what_is_missing(folder):
    done = run(folder, "doctor", "--json", driver=build(folder), VERNIER_ONNXRUNTIME_GPU="/nonexistent")
    cuda = json.loads(done.stdout)["cuda"]
    parts = dict((entry["part"], entry["finding"]) for entry in cuda["parts"])
    assert parts["NVIDIA driver"] == "runs CUDA 13.0"
    assert parts["GPU"] == "cuda:0 Stand-in, compute capability 9.0, 8 GiB"
    assert "not found" in parts["ONNX Runtime for CUDA"]
    assert not cuda["complete"] and cuda["hint"] == INSTALL


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_other_devices_ask_for_nothing(folder, device):
    done = run(folder, "verify", "m.onnx", "m.onnx", "--data", "x.npz", "--device", device, driver=build(folder), ails="init")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:-1", "cuda:x", "cuda1"])
def test_what_is_no_device(folder, device):
    done = run(folder, "verify", "m.onnx", "m.onnx", "--data", "x.npz", "--device", device)
    assert done.returncode == 2 and "--device" in done.stderr and "auto, cpu, cuda or cuda:N" in done.stderr


@pytest.mark.parametrize("size", ["8X", "0", "G", "-1", "1e3"])
def test_what_is_no_size(folder, size):
    done = run(folder, "verify", "m.onnx", "m.onnx", "--data", "x.npz", "--gpu-memory", size)
    assert done.returncode == 2 and "--gpu-memory" in done.stderr and "8G, 512M, or bytes" in done.stderr


def test_a_limit_changes_nothing_on_the_cpu(folder):
    done = run(folder, "verify", "m.onnx", "m.onnx", "--data", "x.npz", "--gpu-memory", "512M", "--device", "cpu")
    assert done.returncode == 0, done.stderr


def test_the_doctor_knows_gpus_apart(folder):
    done = run(folder, "doctor", "--json", driver=build(folder), CUDA_VISIBLE_DEVICES="4,5")
    assert [entry["finding"][:6] for entry in json.loads(done.stdout)["cuda"]["parts"] if entry["part"] == "GPU"] == ["cuda:0", "cuda:1"]


def job_on_auto(folder, *options, driver, **environment):
    return run(folder, "diagnose", "m.onnx", *options, "--data", "x.npz", "-v", "--no-cache", driver=driver, ails="init",
               VERNIER_ONNXRUNTIME_GPU=str(cuda_build(folder)), **environment)


def test_auto_asks_for_a_gpu_that_pays(folder):
    """What is missing is told, and the CPU does the work."""
    done = job_on_auto(folder, "--int8", driver=build(folder), VERNIER_GPU_FROM="8")
    assert done.returncode == 0, done.stderr
    assert "info: networks run on the CPU: the NVIDIA driver does not start" in done.stderr


@pytest.mark.parametrize("options, least", [
    (["--int8"], "9"),  # one sample of [2, 2] times [2, 2] has 8 multiply-accumulates
    (["--int8"], None),
    (["--int8", "--device", "cpu"], "1"),
])
def test_auto_leaves_other_jobs_to_the_cpu(folder, options, least):
    done = job_on_auto(folder, *options, driver=build(folder), **({} if least is None else {"VERNIER_GPU_FROM": least}))
    assert "networks run on" not in done.stderr and "driver" not in done.stderr, done.stderr
