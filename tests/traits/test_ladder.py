"""A network in which INT16 is enough for a layer that INT8 breaks: one activation has a channel that is far larger than the others.
The search on a ladder of three formats gives it INT16, and ONNX Runtime confirms the written file.
"""
import json
import pathlib
import sys

import numpy as np
import onnx
import pytest

from networks import FLOAT, Builder
from test_traits import vernier

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from held_out import judged, outputs_of  # noqa: E402

WIDTH, NEEDED_DB = 32, 30


def outlier_network():
    b = Builder(7)
    b.linear("x", "first", WIDTH, WIDTH)
    b.add("Relu", ["first"], "relu")
    scales = np.ones(WIDTH, np.float32)
    scales[3] = 300
    b.add("Mul", ["relu", b.constant("scales", scales)], "scaled")
    weight = b.random.normal(0, 1 / np.sqrt(WIDTH), (WIDTH, WIDTH)).astype(np.float32)
    weight[3] = 0  # only the range of the activation suffers
    b.add("MatMul", ["scaled", b.constant("broken.weight", weight)], "broken")
    b.add("Tanh", ["broken"], "tanh")
    b.linear("tanh", "y", WIDTH, WIDTH)
    return b.model([("x", FLOAT, [1, WIDTH])], [("y", FLOAT, [1, WIDTH])]), b.normal(40, 1, WIDTH)


@pytest.mark.parametrize("target", ["openvino", "onnxruntime"])
def test_int16_is_enough_for_a_layer_that_int8_breaks(tmp_path, target):
    model, samples = outlier_network()
    onnx.save(model, tmp_path / "net.onnx")
    np.savez(tmp_path / "data.npz", x=samples)

    def report_of(*formats, codes=(0,)):
        done = vernier("diagnose", "net.onnx", *formats, "--target", target, "--even-if-slower" if target == "onnxruntime" else "-q", "--cost",
                       "macs", "--data", "data.npz", "--min-sqnr", NEEDED_DB, "--no-latency", "--no-options", "-o", "out", "--json",
                       folder=tmp_path, codes=codes)
        return json.loads(done.stdout)

    report = report_of("--ladder", "int8,int16,float16")
    kept = report["kept"]
    assert kept["certified"] and report["final_figures"]["passed"]
    assert not report["all_low"]["passed"]
    formats = {row["layer"]: row["format"] for row in kept["ladder"]["raised"]}
    assert formats["broken"] == "uint16"
    plan = json.loads((tmp_path / "out/plan.json").read_text())
    assert {row["name"]: row["format"] for row in plan["layers"]}["broken"] == "uint16"

    written = onnx.load(tmp_path / "out/model.onnx")
    types = {tensor.data_type for tensor in written.graph.initializer}
    assert onnx.TensorProto.UINT16 in types and onnx.TensorProto.UINT8 in types
    onnx.checker.check_model(written, full_check=True)
    one_by_one = list(samples)
    reference, got = outputs_of(tmp_path / "net.onnx", one_by_one), outputs_of(tmp_path / "out/model.onnx", one_by_one)
    assert judged(reference, got)["db"] >= NEEDED_DB

    # With two formats the layer takes FP16, which reads more.
    two = report_of("--int8", "--precision", "float16")["kept"]
    assert "broken" in two["layers"]


def test_a_rung_that_saves_no_time_names_the_option(tmp_path):
    model, samples = outlier_network()
    onnx.save(model, tmp_path / "net.onnx")
    np.savez(tmp_path / "data.npz", x=samples)
    done = vernier("diagnose", "net.onnx", "--ladder", "int8,int16,float32", "--target", "onnxruntime", "--data", "data.npz", "--min-sqnr",
                   NEEDED_DB, folder=tmp_path, codes=(2,))
    assert "faster" in done.stderr and "--even-if-slower" in done.stderr, done.stderr
