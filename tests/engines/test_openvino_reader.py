"""What OpenVINO's reader takes for something else than ONNX says: files for it are written so that it does not, others are named.
Each network runs on OpenVINO itself. Needs `scripts/bootstrap --with tensorrt-rtx,openvino`; in CI it must be there."""
import json
import os
import subprocess

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import ENGINES

PROGRAM = os.environ["VERNIER_PROGRAM"]
FLOAT = TensorProto.FLOAT
RANDOM = numpy.random.default_rng(71)
CONV = numpy_helper.from_array(RANDOM.normal(0, 0.4, (4, 3, 3, 3)).astype(numpy.float32), "w")
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
MORE = {"scales": numpy.array([1, 1, 0.6, 0.6], numpy.float32), "sizes": numpy.array([5, 7]), "pads": numpy.array([0, 0, 1, 2, 0, 0, 2, 1]),
        "P": RANDOM.normal(0, 2, (1, 12)).astype(numpy.float32),
        **{op + "W": RANDOM.normal(0, 0.5, (1, 4 * gates, 8)).astype(numpy.float32) for op, gates in GATES.items()},
        **{op + "R": RANDOM.normal(0, 0.5, (1, 4 * gates, 4)).astype(numpy.float32) for op, gates in GATES.items()}}
ROIS = [numpy_helper.from_array(numpy.array([[0, 0, 5, 5], [1, 1, 7, 6]], numpy.float32), "rois"),
        numpy_helper.from_array(numpy.array([0, 0]), "image_of")]


@pytest.fixture(autouse=True)
def same_data():
    """The same data, whichever tests ran before: a change runs a sample of them."""
    RANDOM.bit_generator.state = numpy.random.default_rng(72).bit_generator.state


def vernier(*arguments, folder, codes=(0,)):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--python", ENGINES], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode in codes, f"{arguments}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def behind_a_convolution(node, opset, folder, sizes=(8, 8)):
    """Abs keeps the logarithms real."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["sum"], pads=[1] * 4, name="conv"), helper.make_node("Abs", ["sum"], ["h"]), node]
    constants = [numpy_helper.from_array(value, name) for name, value in MORE.items() if name in node.input]
    if "rows" in node.input:
        nodes.insert(2, helper.make_node("Reshape", ["h", "shape"], ["rows"]))
        constants.append(numpy_helper.from_array(numpy.array([8, 4, 8]), "shape"))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [1, 3, *sizes])], [helper.make_tensor_value_info("y", FLOAT, None)],
                              [CONV, *constants, *(ROIS if node.op_type == "RoiAlign" else [])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), folder / "net.onnx")
    numpy.save(folder / "x.npy", RANDOM.normal(size=(4, 1, 3, 8, 8)).astype(numpy.float32))


READ_OTHERWISE = {
    **{f"{op}-{opset}": (helper.make_node(op, ["h"], ["y"], axes=[3], name="r"), opset)
       for op in ("ReduceL1", "ReduceLogSum", "ReduceLogSumExp") for opset in (13, 17)},
    "Softmax-11": (helper.make_node("Softmax", ["h"], ["y"], axis=1, name="r"), 11),
    "RoiAlign-17": (helper.make_node("RoiAlign", ["h", "rois", "image_of"], ["y"], output_height=2, output_width=2, name="r"), 17),
    **{f"AveragePool-{opset}": (helper.make_node("AveragePool", ["h"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, ceil_mode=1,
                                                 count_include_pad=1, name="r"), opset) for opset in (10, 11, 19)},
    "MaxPool-17": (helper.make_node("MaxPool", ["h"], ["y"], kernel_shape=[2, 2], strides=[3, 4], pads=[0, 0, 1, 1], ceil_mode=1, name="r"), 17),
}


def resized(**attributes):
    return helper.make_node("Resize", ["h", "", "scales"], ["y"], name="r", **attributes), 19


def recurrent(operator, *inputs, **attributes):
    return helper.make_node(operator, ["rows", operator + "W", operator + "R", "", *inputs], ["y"], hidden_size=4, name="r", **attributes), 17


KEPT_OTHERWISE = {
    "antialias": resized(mode="linear", antialias=1), "exclude_outside": resized(mode="cubic", exclude_outside=1),
    "keep_aspect_ratio_policy": (helper.make_node("Resize", ["h", "", "", "sizes"], ["y"], mode="linear", axes=[2, 3],
                                                  keep_aspect_ratio_policy="not_larger", name="r"), 19),
    "peepholes": recurrent("LSTM", "", "", "", "P"), "input_forget": recurrent("LSTM", input_forget=1),
    "RoiAlign max": (helper.make_node("RoiAlign", ["h", "rois", "image_of"], ["y"], output_height=2, output_width=2, sampling_ratio=2, mode="max", name="r"), 17),
}
REFUSED = {
    "HardSigmoid LSTM": recurrent("LSTM", activations=["HardSigmoid", "Tanh", "Tanh"]), "HardSigmoid GRU": recurrent("GRU", activations=["HardSigmoid", "Tanh"]),
    "Softsign RNN": recurrent("RNN", activations=["Softsign"]), "wrap": (helper.make_node("Pad", ["h", "pads"], ["y"], mode="wrap", name="r"), 19),
    "half_pixel_symmetric": resized(mode="linear", coordinate_transformation_mode="half_pixel_symmetric"),
}
READ = {
    "ReduceL1-11": (helper.make_node("ReduceL1", ["h"], ["y"], axes=[3], name="r"), 11),
    "ReduceL1-17-all": (helper.make_node("ReduceL1", ["h"], ["y"], name="r"), 17),
    "ReduceL2-17": (helper.make_node("ReduceL2", ["h"], ["y"], axes=[3], name="r"), 17),
    "Softmax-11-last": (helper.make_node("Softmax", ["h"], ["y"], axis=3, name="r"), 11),
    "RoiAlign-17-whole": (helper.make_node("RoiAlign", ["h", "rois", "image_of"], ["y"], output_height=2, output_width=2, sampling_ratio=0, name="r"), 17),
}


def on_openvino(file, folder):
    done = vernier("verify", "net.onnx", file, "--data", "x.npy", "--target", "openvino", "--on", "openvino", "--inference-precision", "f32", "--json",
                   folder=folder, codes=(0, 4))
    report = json.loads(done.stdout) if done.returncode == 0 else None  # another shape is an error
    return report, float(report["engine"]["figures"]["outputs"][0]["sqnr_db"]) if report else -numpy.inf


def rules(file, folder):
    return [row["rule"] for row in json.loads(vernier("check", "placement", file, "--target", "openvino", "--json", folder=folder, codes=(0, 1)).stdout)["findings"]]


@pytest.mark.sampled
@pytest.mark.parametrize("name", READ_OTHERWISE)
def test_files_for_openvino_are_read_as_they_are_meant(name, tmp_path):
    node, opset = READ_OTHERWISE[name]
    behind_a_convolution(node, opset, tmp_path)
    assert on_openvino("net.onnx", tmp_path)[1] < 30, "OpenVINO reads it now: the rule can go"
    assert "read-otherwise" in rules("net.onnx", tmp_path)
    for form in ("--int8", "--fp16"):
        vernier("convert", "net.onnx", form, "--target", "openvino", "--data", "x.npy", "-o", "typed.onnx", folder=tmp_path)
        report, figure = on_openvino("typed.onnx", tmp_path)
        simulated = float(report["figures"]["outputs"][0]["sqnr_db"])
        assert figure > min(simulated - 1, 60) and "read-otherwise" not in rules("typed.onnx", tmp_path)
        assert not any(note["code"] == "engine-computes-otherwise" for note in report.get("warning_codes", []))


def pools(count):
    """Averages over windows of all kinds, each an output."""
    random = numpy.random.default_rng(5)
    for at in range(count):
        kernel, strides = random.integers(1, 5, 2), random.integers(1, 5, 2)
        pads = [int(random.integers(0, size)) for size in (*kernel, *kernel)]
        yield helper.make_node("AveragePool", ["h"], [f"y{at}"], kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=1, count_include_pad=int(at % 4 > 0),
                               name=f"pool{at}")


IN_OPENVINO = """
import numpy, openvino
core = openvino.Core()
network = core.compile_model(core.read_model("typed.onnx"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
results = network(numpy.load("x.npy")[0])
numpy.savez("engine.npz", *(results[output] for output in network.outputs))
"""


@pytest.mark.parametrize("opset", [10, 17])
def test_averages_are_those_of_onnxruntime(opset, tmp_path):
    """Last windows reach beyond the padding, or are dropped: as many results as ONNX Runtime has, each of as many elements."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["h"], pads=[1] * 4, name="conv"), *pools(80)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [1, 3, 7, 8])],
                              [helper.make_tensor_value_info(f"y{at}", FLOAT, None) for at in range(80)], [CONV])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), tmp_path / "net.onnx")
    samples = RANDOM.normal(3, 1, size=(2, 1, 3, 7, 8)).astype(numpy.float32)
    numpy.save(tmp_path / "x.npy", samples)
    named = rules("net.onnx", tmp_path).count("read-otherwise")
    vernier("convert", "net.onnx", "--fp16", "--target", "openvino", "--data", "x.npy", "-o", "typed.onnx", folder=tmp_path)
    padded = sum(node.op_type == "Pad" for node in onnx.load(tmp_path / "typed.onnx").graph.node)
    assert 10 < named == padded < 70 and "read-otherwise" not in rules("typed.onnx", tmp_path)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    meant, written = (onnxruntime.InferenceSession(tmp_path / file, settings, providers=["CPUExecutionProvider"]).run(None, {"x": samples[0]})
                      for file in ("net.onnx", "typed.onnx"))
    subprocess.run([ENGINES, "-c", IN_OPENVINO], cwd=tmp_path, check=True, timeout=300)
    engine = numpy.load(tmp_path / "engine.npz").values()
    for node, one, *others in zip(nodes[1:], meant, written, engine, strict=True):
        for other in others:
            assert one.shape == other.shape and numpy.allclose(one, other, atol=0.02), node


def test_averages_of_open_sizes_are_told(tmp_path):
    node, opset = READ_OTHERWISE["AveragePool-19"]
    behind_a_convolution(node, opset, tmp_path, ["height", "width"])
    done = vernier("convert", "net.onnx", "--int8", "--target", "openvino", "--data", "x.npy", "-o", "typed.onnx", folder=tmp_path)
    assert "OpenVINO computes 1 node differently, first 'r'" in " ".join(done.stderr.split())
    assert not any(node.op_type == "Pad" for node in onnx.load(tmp_path / "typed.onnx").graph.node)


@pytest.mark.parametrize("name", KEPT_OTHERWISE)
def test_what_cannot_be_written_for_openvino_is_told(name, tmp_path):
    behind_a_convolution(*KEPT_OTHERWISE[name], tmp_path)
    assert on_openvino("net.onnx", tmp_path)[1] < 45, "OpenVINO reads it now: the rule can go"
    assert "read-otherwise" in rules("net.onnx", tmp_path)
    done = vernier("convert", "net.onnx", "--int8", "--target", "openvino", "--data", "x.npy", "-o", "typed.onnx", folder=tmp_path)
    assert "OpenVINO computes 1 node differently, first 'r'" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", REFUSED)
def test_what_openvino_refuses_is_told_beforehand(name, tmp_path):
    behind_a_convolution(*REFUSED[name], tmp_path)
    assert on_openvino("net.onnx", tmp_path)[0] is None, "OpenVINO reads it now: the rule can go"
    assert "refused-by-reader" in rules("net.onnx", tmp_path)
    done = vernier("diagnose", "net.onnx", "--int8", "--target", "openvino", "--data", "x.npy", "--min-sqnr", "5", "--no-latency", "-o", "out", folder=tmp_path)
    assert "OpenVINO rejects the file because of 1 node, first 'r'" in " ".join(done.stderr.split())
    assert "only in simulation: OpenVINO rejects 1 node" in " ".join(done.stdout.split())


@pytest.mark.parametrize("name", READ)
def test_what_openvino_reads_is_left_alone(name, tmp_path):
    node, opset = READ[name]
    behind_a_convolution(node, opset, tmp_path)
    assert on_openvino("net.onnx", tmp_path)[1] > 80
    assert "read-otherwise" not in rules("net.onnx", tmp_path)


def with_an_outlier(folder):
    """One input a hundred times as large as the others of its group."""
    weight = numpy_helper.from_array(RANDOM.normal(0, 0.1, (64, 32)).astype(numpy.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "g",
                              [helper.make_tensor_value_info("x", FLOAT, [4, 64])], [helper.make_tensor_value_info("y", FLOAT, [4, 32])], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "net.onnx")
    samples = RANDOM.normal(size=(4, 4, 64)).astype(numpy.float32)
    samples[..., 5] = 0
    samples[..., 5::32] *= 100
    numpy.save(folder / "x.npy", samples)


TOLD = "DYNAMIC_QUANTIZATION_GROUP_SIZE"


@pytest.mark.parametrize("form", [["--low", "uint4"], ["--int16"]], ids=str)
def test_data_that_is_rounded_at_run_time_is_told(form, tmp_path):
    with_an_outlier(tmp_path)
    done = vernier("diagnose", "net.onnx", *form, "--target", "openvino", "--data", "x.npy", "--min-sqnr", "5", "--no-latency", "-o", "out", folder=tmp_path)
    assert "only in simulation: OpenVINO computes 1 node differently" in " ".join(done.stdout.split())
    assert json.loads((tmp_path / "out/report.json").read_text())["not_simulated"]["first"] == "product"
    assert TOLD in done.stderr and TOLD in (tmp_path / "out/deploy.md").read_text().replace("\\", "")
    assert "rounded-at-run-time" in rules("out/model.onnx", tmp_path)
    assert TOLD in vernier("convert", "net.onnx", *form, "--target", "openvino", "--data", "x.npy", "-o", "typed.onnx", folder=tmp_path).stderr


def test_weights_alone_are_told(tmp_path):
    with_an_outlier(tmp_path)
    vernier("quantize", "net.onnx", "--quantize-mode", "int8-weight-only", "--data", "x.npy", "-o", "typed.onnx", folder=tmp_path)
    check = ["verify", "net.onnx", "typed.onnx", "--target", "openvino", "--data", "x.npy", "--min-sqnr", "30"]
    said = vernier(*check, folder=tmp_path)
    assert TOLD in said.stderr and "only in simulation" in said.stdout
    # The engine's own figure decides, and leaves nothing open.
    assert "only in simulation" not in vernier(*check, "--on", "openvino", "--inference-precision", "f32", folder=tmp_path, codes=(0, 1)).stdout


def test_data_that_the_file_rounds_is_not_told(tmp_path):
    with_an_outlier(tmp_path)
    done = vernier("convert", "net.onnx", "--int8", "--target", "openvino", "--data", "x.npy", "-o", "typed.onnx", folder=tmp_path)
    assert TOLD not in done.stderr


def test_a_layer_that_only_the_engine_gets_wrong_is_kept_alone(tmp_path):
    """The simulation does not know which layer it is: the engine then judges each set that passes there."""
    weights = [numpy_helper.from_array(RANDOM.normal(0, 0.1, (64, 64)).astype(numpy.float32), f"w{i}") for i in range(3)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["a"], name="first"), helper.make_node("Tanh", ["a"], ["b"]),
             helper.make_node("MatMul", ["b", "w1"], ["c"], name="second"), helper.make_node("MatMul", ["c", "w2"], ["y"], name="third")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", FLOAT, [4, 64])], [helper.make_tensor_value_info("y", FLOAT, [4, 64])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "net.onnx")
    samples = RANDOM.normal(size=(6, 4, 64)).astype(numpy.float32)
    samples[..., 5::32] *= 0
    samples[..., 5] = 300
    weights[0].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights[0]) * (numpy.arange(64) != 5)[:, None], "w0"))
    graph = helper.make_graph(nodes, "g", list(graph.input), list(graph.output), weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "net.onnx")
    numpy.save(tmp_path / "x.npy", samples)
    done = vernier("diagnose", "net.onnx", "--int16", "--target", "openvino", "--data", "x.npy", "--min-sqnr", "20", "--confirm-on", "openvino",
                   "--inference-precision", "f32", "--no-latency", "--no-options", "-o", "out", folder=tmp_path)
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert [layer["name"] for layer in report["layers"] if layer.get("kept")] == ["first"]
    assert "A second search checked" in " ".join(report["kept"]["notes"])
    assert report["kept"]["certified"]
