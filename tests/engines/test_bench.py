"""`vernier bench` on TensorRT and on trtexec: stand-ins that compute with ONNX Runtime, on a stand-in of NVIDIA's driver whose clock
says 2 ms for every run, and 1 ms for every graph."""
import json

import numpy as np
import pytest

from test_runs import driver, model, save, vernier  # noqa: F401: fixtures
from test_trtexec import vernier as trtexec  # noqa: F401

SHORT = ("--duration", "0", "--warm-up", "0", "--iterations", "4")


def bench(program, *options, code=0, **how):
    done = program("bench", *options, *SHORT, "--json", **how)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_a_row_of_the_engine_beside_one_of_onnxruntime(vernier, model):  # noqa: F811
    report = bench(vernier, model, "--onnxrt", "--trt", "--batch", "2", "3")
    assert [(row["runner"], row["batch"]) for row in report["rows"]] == [("onnxrt", 2), ("trt", 2), ("onnxrt", 3), ("trt", 3)]
    row = report["rows"][1]
    assert row["engine"] == "TensorRT 11.0.0 on Stand-in GPU" and row["kernels"] == 3 and row["clock"] == "device"
    assert row["latency"]["median_ms"] == 2 and row["latency"]["p90_ms"] == 2 and row["samples_per_second"] == 1000
    assert row["with_copies_median_ms"] > 0 and row["iterations"] == 4 and row["rounds"] == 4 and "of_first" in row
    assert "with_copies_median_ms" not in report["rows"][0]
    assert vernier.told()["profile"] == {"x": [[3, 4]] * 3}, "built for this batch alone"
    assert not vernier.left()


def test_what_is_read_by_people_says_which_clock(vernier, model):  # noqa: F811
    done = vernier("bench", model, "--onnxrt", "--trt", *SHORT)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "TensorRT's latency is the GPU's own time of an inference" in text and "of the others it is the wall time of a call" in text
    assert "Row 2 TensorRT 11.0.0 on Stand-in GPU, 3 kernels, built in" in text and "with copies" in text
    done = vernier("bench", model, "--trt", "--no-data-transfers", *SHORT)
    assert "with copies samples/s" not in " ".join(done.stdout.split())


def test_low_precision_is_the_file_that_convert_would_write(vernier, model):  # noqa: F811
    report = bench(vernier, model, "--trt", "--int8", "--trt", "--fp16", "--data", "x.npz")
    assert [row["formats"] for row in report["rows"]] == ["int8", "float16"]
    assert "Cast" in vernier.told()["operators"]
    assert bench(vernier, f"--onnx={model}", "--best")["rows"][0]["formats"] == "int8, float16"
    assert {"QuantizeLinear", "DequantizeLinear"} <= set(vernier.told()["operators"])


def test_layers_have_the_names_of_the_model(vernier, model, tmp_path):  # noqa: F811
    row, = bench(vernier, model, "--trt", "--layers", "--exportProfile=p.json", "--exportLayerInfo=l.json")["rows"]
    assert [(layer["layers"], layer["median_ms"]) for layer in row["layers"]] == [(["second"], 3), (["relu"], 2), (["first"], 1)]
    profile = json.loads((tmp_path / "p.json").read_text())
    assert profile[0] == {"count": 30} and profile[1] == {"name": "second", "medianMs": 3, "percentage": 50}
    report = json.loads(vernier("inspect", "engine", "l.json", "--model", model, "--json").stdout)
    assert [layer["name"] for layer in report["layers"]] == ["first", "relu", "second"]
    fused, = bench(vernier, model, "--trt", "--layers", mode="fuses")["rows"]
    assert [layer["layers"] for layer in fused["layers"]] == [["first", "relu", "second"]]


def test_a_cuda_graph(vernier, model):  # noqa: F811
    row, = bench(vernier, model, "--trt", "--use-cuda-graph")["rows"]
    assert row["cuda_graph"] and row["latency"]["median_ms"] == 1
    done = vernier("bench", model, "--trt", "--useCudaGraph", *SHORT, mode="refuse@graph")
    assert done.returncode == 4 and "no CUDA graph can be made of this engine" in done.stderr and "leave out --use-cuda-graph" in done.stderr
    assert "(vernier help E404)" in done.stderr


def test_engine_files_run_on_tensorrt_without_being_told(vernier, model):  # noqa: F811
    row, = bench(vernier, model, "--trt", "--saveEngine=m.engine")["rows"]
    built, = bench(vernier, "m.engine", "--batch", "5")["rows"]
    assert (built["runner"], built["batch"], built["sha256"]) == ("trt", 5, "") and built["kernels"] == row["kernels"]
    loaded, = bench(vernier, "--loadEngine=m.engine", "--shapes=x:7x4")["rows"]
    assert loaded["batch"] == 7
    done = vernier("bench", model, model, "--trt", "--save-engine", "m.engine", *SHORT)
    assert done.returncode == 2 and "several engines" in done.stderr


def test_shapes_of_trtexec_are_built_and_run(vernier, model):  # noqa: F811
    row, = bench(vernier, f"--onnx={model}", "--minShapes=x:1x4", "--optShapes=x:6x4", "--maxShapes=x:9x4", "--memPoolSize=workspace:2",
                 "--timingCacheFile=cache")["rows"]
    assert vernier.told()["profile"] == {"x": [[1, 4], [6, 4], [9, 4]]} and row["batch"] == 6
    assert vernier.told()["pools"] == {"WORKSPACE": 2 << 20} and "cache" not in vernier.told()
    bench(vernier, f"--onnx={model}", "--timingCacheFile=cache")
    assert vernier.told()["cache"] == "times of kernels"


@pytest.mark.parametrize("mode, says", [
    ("negative@time", "gave an answer of another form: a time of -0.002 s"),
    ("nan@time", "gives nan as the seconds of a run"),
    ("few@time", "gave an answer of another form: 1 time of 2 runs"),
    ("words@time", "gave an answer of another form"),
    ("crash@run", "was killed by signal 11"),
    ("exit@run", "ended with exit code 5"),
    ("raise@run", "raised RuntimeError: cuda says 719"),
    ("refuse@run", "the engine did not run"),
    ("refuse@build", "its builder refuses the file"),
    ("nomemory@run", "out of memory"),
])
def test_what_goes_wrong_is_one_error(vernier, model, mode, says):  # noqa: F811
    done = vernier("bench", model, "--trt", "--duration", "0", "--warm-up", "0", "--iterations", "10", mode=mode)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 4 and len(errors) == 1 and says in errors[0], done.stderr
    assert not done.stdout and not vernier.left()


@pytest.mark.parametrize("mode, says", [
    ("crash@profile", "was killed by signal 11"),
    ("negative@profile", "a time of -0.001 s"),
    ("silent@profile", "its profiler says nothing"),
])
def test_a_profiler_that_fails_is_one_error(vernier, model, mode, says):  # noqa: F811
    done = vernier("bench", model, "--trt", "--layers", *SHORT, mode=mode)
    assert done.returncode == 4 and says in done.stderr and not vernier.left()


def test_an_engine_that_hangs_is_ended(vernier, model):  # noqa: F811
    done = vernier("bench", model, "--trt", "--timeout", "3", *SHORT, mode="hang@run")
    assert done.returncode == 4 and "was still running after 3 s" in done.stderr and not vernier.left()


def test_without_a_gpu_nothing_is_simulated(vernier, model):  # noqa: F811
    done = vernier("bench", model, "--trt", *SHORT, gpu=False)
    assert done.returncode == 4 and "TensorRT 11.0.0 cannot run on this machine: there is no NVIDIA driver" in done.stderr and not done.stdout


def test_no_input_is_overwritten(vernier, model):  # noqa: F811
    before = model.read_bytes()
    for option in ("--save-engine", "--saveEngine", "--exportTimes", "--timingCacheFile"):
        done = vernier("bench", model, "--trt", option, model, *SHORT)
        assert done.returncode == 2 and model.read_bytes() == before, option


def test_trtexec_is_timed_by_itself(trtexec, model):  # noqa: F811
    report = bench(trtexec, model, "--onnxrt", "--trt", "--layers")
    row = report["rows"][1]
    assert row["engine"] == "TensorRT 10.3.0 on Stand-in GPU" and row["latency"]["median_ms"] == 2.5 and row["with_copies_median_ms"] == 3
    assert (row["iterations"], row["rounds"]) == (4, 1) and row["of_first"]["low"] == row["of_first"]["high"]
    assert [(layer["layers"], layer["median_ms"]) for layer in row["layers"]] == [(["first", "relu", "second"], 2.5)]
    assert any(note["code"] == "timed-by-itself" for note in report["note_codes"])
    assert all("noDataTransfers" in one or "exportProfile" in one or one["iterations"] == "10" for one in trtexec.told() if "loadEngine" in one)
    bench(trtexec, model, "--trt", "--use-cuda-graph")
    assert "useCudaGraph" in trtexec.told()[-1]
    assert not trtexec.left() and not trtexec.files()


@pytest.mark.parametrize("mode, says", [("nan@run", "no times that can be read"), ("negative@run", "a time of -0.001 s"),
                                        ("few@run", "1 time of 4 runs"), ("rubbish@run", "that can be read"),
                                        ("crash@run", "trtexec was killed by signal 11"), ("silent@run", "the engine did not run")])
def test_trtexec_that_lies_is_one_error(trtexec, model, mode, says):  # noqa: F811
    done = trtexec("bench", model, "--trt", *SHORT, mode=mode)
    assert done.returncode == 4 and says in done.stderr, done.stderr
    assert not done.stdout and not trtexec.left() and not trtexec.files()


def test_a_fixed_batch_is_refused(vernier, tmp_path):  # noqa: F811
    from onnx import TensorProto, helper
    ports = [("x", TensorProto.FLOAT, [1, 4]), ("y", TensorProto.FLOAT, [1, 4])]
    fixed = save(tmp_path / "f.onnx", [helper.make_node("Relu", ["x"], ["y"], name="relu")], ports[:1], ports[1:])
    done = vernier("bench", fixed, "--trt", "--batch", "2", *SHORT)
    assert done.returncode == 2 and "the first dimension of input 'x' is fixed at 1" in done.stderr


def test_rows_of_several_samples_make_a_batch(vernier, tmp_path, model):  # noqa: F811
    row, = bench(vernier, model, "--trt", "--data", "x.npz", "--batch", "6")["rows"]
    assert row["batch"] == 6
    np.savez(tmp_path / "ragged.npz", **{"sample_0/x": np.zeros((1, 4), np.float32), "sample_1/x": np.zeros((1, 4), np.float32)})
    assert bench(vernier, model, "--data", "ragged.npz", "--batch", "3")["rows"][0]["batch"] == 3


@pytest.mark.parametrize("command, on", [("diagnose", "--confirm-on"), (["debug", "precision"], "--on")])
def test_the_cost_of_a_layer_is_its_time_on_the_engine(vernier, model, command, on):  # noqa: F811
    """On the stand-in the second layer takes 3 ms and the first one 1 ms, whatever their types: in fp16 Casts come before them."""
    words = [command] if isinstance(command, str) else command
    done = vernier(*words, model, "--fp16", "--data", "x.npz", "--min-sqnr", 50, "--cost", "time", on, "tensorrt", "-o", "out")
    report = json.loads((model.parent / "out/report.json").read_text())
    assert done.returncode == 0, done.stderr
    assert report["kept"]["cost_unit"] == "time" and "times of layers are those of TensorRT 11.0.0 on Stand-in GPU" in report["notes"]
    assert not vernier.left()


def test_each_rung_of_a_ladder_costs_its_own_time(vernier, model):  # noqa: F811
    """The stand-in's products take 1 ms in INT8, 2 in FP16 and 4 in FP32."""
    done = vernier("diagnose", model, "--ladder", "int8,float16,float32", "--data", "x.npz", "--min-sqnr", 60, "--cost", "time", "--confirm-on", "tensorrt",
                   "-o", "out", mode="types@profile")
    assert done.returncode in (0, 1), done.stderr
    kept = json.loads((model.parent / "out/report.json").read_text())["kept"]
    raised = {layer["layer"]: layer["format"] for layer in kept["ladder"]["raised"]}
    assert kept["ladder"]["cost_of_lowest"] == pytest.approx(1000 + 1000 + 500)
    assert kept["cost_of_all"] == pytest.approx(2 * 3000, abs=1)
    milliseconds = {"float16": 1, "float32": 3}
    assert kept["cost"] == pytest.approx(1000 * sum(milliseconds[raised[name]] for name in ("first", "second") if name in raised), abs=1)


def test_an_engine_without_times_of_layers_ends_the_search(vernier, model):  # noqa: F811
    done = vernier("diagnose", model, "--fp16", "--data", "x.npz", "--min-sqnr", 50, "--cost", "time", "--confirm-on", "tensorrt", "-o", "out",
                   mode="silent@profile")
    assert done.returncode == 4 and "its profiler says nothing" in done.stderr
    done = vernier("diagnose", model, "--fp16", "--data", "x.npz", "--min-sqnr", 50, "--cost", "time", "-o", "out")
    assert done.returncode == 2 and "or on an engine: vernier diagnose --confirm-on" in done.stderr
