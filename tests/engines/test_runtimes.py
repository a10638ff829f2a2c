"""The oldest and the newest ONNX Runtime that is supported give the answers of the one that everything else is tested with. Needs
`scripts/bootstrap --with runtimes`; in CI they must be there."""
import json
import os
import pathlib
import platform
import re
import subprocess

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

PROGRAM = os.environ["VERNIER_PROGRAM"]
RUNTIMES = pathlib.Path(os.environ["VERNIER_RUNTIMES"])
VERSIONS = ("oldest", "newest")


def library(version):
    found = sorted((RUNTIMES / version / "onnxruntime/capi").glob("libonnxruntime.so.*"))
    if not found and platform.machine() != "x86_64":
        pytest.skip("scripts/bootstrap --with runtimes pins packages for x86_64 alone")
    if not found and not os.environ.get("CI"):
        pytest.skip("no other ONNX Runtime: scripts/bootstrap --with runtimes makes .deps/runtimes")
    assert found, f"scripts/bootstrap --with runtimes made no {version} ONNX Runtime in {RUNTIMES}"
    return found[0]


def run(folder, version, *arguments, codes=(0, 1)):
    settings = {**os.environ, "VERNIER_ORT_LIBRARY": str(library(version))} if version else dict(os.environ)
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, env=settings, capture_output=True, text=True, timeout=300)
    assert done.returncode in codes, f"{version}: {arguments}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Convolutions, a residual sum, a normalization in pieces and a product: what the optimizer lays out, fuses and packs."""
    where = tmp_path_factory.mktemp("runtimes")
    random = numpy.random.default_rng(5)
    sizes = {"w1": (16, 3, 3, 3), "b1": (16,), "w2": (16, 16, 3, 3), "b2": (16,), "w3": (16, 1, 3, 3), "b3": (16,), "w4": (16, 10), "b4": (10,)}
    constants = [numpy_helper.from_array(random.normal(0, 0.3, shape).astype(numpy.float32), name) for name, shape in sizes.items()]
    constants += [numpy_helper.from_array(numpy.float32(1e-5), "eps"), numpy_helper.from_array(numpy.float32(0.7), "scale")]
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4), helper.make_node("Relu", ["c1"], ["r1"]),
             helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1] * 4), helper.make_node("Relu", ["c2"], ["r2"]),
             helper.make_node("Conv", ["r2", "w3", "b3"], ["c3"], pads=[1] * 4, group=16), helper.make_node("Add", ["c3", "r1"], ["sum"]),
             helper.make_node("GlobalAveragePool", ["sum"], ["pool"]), helper.make_node("Flatten", ["pool"], ["flat"]),
             helper.make_node("ReduceMean", ["flat"], ["mean"], axes=[1]), helper.make_node("Sub", ["flat", "mean"], ["centred"]),
             helper.make_node("Mul", ["centred", "centred"], ["square"]), helper.make_node("ReduceMean", ["square"], ["variance"], axes=[1]),
             helper.make_node("Add", ["variance", "eps"], ["safe"]), helper.make_node("Sqrt", ["safe"], ["spread"]),
             helper.make_node("Div", ["centred", "spread"], ["normal"]), helper.make_node("Mul", ["normal", "scale"], ["scaled"]),
             helper.make_node("MatMul", ["scaled", "w4"], ["product"]), helper.make_node("Add", ["product", "b4"], ["y"])]
    for node in nodes:
        node.name = "node_" + node.output[0]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 12, 12])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), where / "net.onnx")
    numpy.save(where / "x.npy", random.normal(size=(12, 1, 3, 12, 12)).astype(numpy.float32))
    return where


JOBS = {"int8": ("diagnose", "--int8"), "int8-kept": ("diagnose", "--int8", "--min-sqnr", 44, "--no-options"),
        "int8-onnxruntime": ("diagnose", "--int8", "--target", "onnxruntime", "--even-if-slower", "--no-latency"),
        "fp16": ("diagnose", "--fp16"), "fix": ("fix", "--int8", "--min-sqnr", 46), "bf16": ("diagnose", "--bf16", "--min-sqnr", 50, "--no-options")}


def answer(folder, version, job):
    command, *options = JOBS[job]
    return json.loads(run(folder, version, command, "net.onnx", "--data", "x.npy", *options, "--json").stdout)


def sqnr(report, figures):
    return [output["sqnr_db"] for output in (report.get(figures) or {"outputs": []})["outputs"]]


def kept(report):
    return report.get("kept") and report["kept"]["layers"]


@pytest.fixture(scope="module")
def expected(folder):
    answers = {job: answer(folder, "", job) for job in JOBS}
    assert all(kept(answers[job]) for job in ("int8-kept", "bf16", "fix")), "limits that keep layers compare searches"
    return answers


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_is_that_of_the_tested_version(folder, expected, version, job):
    mine, theirs = answer(folder, version, job), expected[job]
    assert mine["onnxruntime_version"] != theirs["onnxruntime_version"]
    assert mine["outcome"] == theirs["outcome"]
    for figures in ("all_low", "repaired", "final_figures"):
        one, other = sqnr(mine, figures), sqnr(theirs, figures)
        assert one == pytest.approx(other, abs=0.3), figures
    assert kept(mine) == kept(theirs)


@pytest.mark.parametrize("version", VERSIONS)
def test_other_jobs_run(folder, version):
    run(folder, version, "quantize", "net.onnx", "--int8", "--data", "x.npy", "-o", f"{version}.onnx", codes=(0,))
    run(folder, version, "verify", "net.onnx", f"{version}.onnx", "--data", "x.npy", codes=(0,))
    run(folder, version, "debug", "loss", "net.onnx", f"{version}.onnx", "--data", "x.npy", codes=(0,))
    run(folder, version, "debug", "accuracy", "net.onnx", "--sim", "--int8", "--data", "x.npy", codes=(0,))
    run(folder, version, "calibrate", "net.onnx", "--data", "x.npy", codes=(0,))
    run(folder, version, "run", "net.onnx", "--onnxrt", "--samples", 2, codes=(0,))


def test_the_program_knows_the_tested_versions():
    """On another version it checks its own short cuts first."""
    root = pathlib.Path(__file__).resolve().parents[2]
    pinned = [re.search(r"^onnxruntime==(\S+)$", (root / "scripts" / name).read_text(), re.M)[1]
              for name in ("requirements-runtime-oldest.in", "requirements.in", "requirements-runtime-newest.in")]
    known = re.search(r"kTested\{(.*?)\}", (root / "src/engines/onnxruntime/runtime.cpp").read_text())[1]
    assert re.findall(r'"(.*?)"', known) == pinned
