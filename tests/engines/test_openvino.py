"""OpenVINO itself, on the CPU: what `verify --on`, `run --openvino`, `inspect engine` and `--compile` say of it. Needs
`scripts/bootstrap --with tensorrt-rtx,openvino`; in CI it must be there."""
import json
import os
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from compiler import ENGINES

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "bench"), str(TESTS / "diff")]
import networks  # noqa: E402
from paired_layers import SATURATES, grid, model_of, node, quantized, rng, weight  # noqa: E402

PROGRAM = os.environ["VERNIER_PROGRAM"]
if not networks.SHARED.exists():
    if os.environ.get("CI"):
        raise RuntimeError("no shared networks")
    pytest.skip("no shared networks: nothing to run on OpenVINO", allow_module_level=True)
NETWORKS = ["dtln-part2", "espcn-superres", "resnet8-cifar", "stories260k", "vit-cifar"]


def vernier(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--python", ENGINES], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("inputs")


def worst(figures):
    return min(float(output["sqnr_db"]) for output in figures["outputs"])


@pytest.mark.sampled
@pytest.mark.parametrize("network", NETWORKS)
def test_the_engine_gives_what_is_simulated(network, data, tmp_path):
    model, samples = networks.model_file(network), networks.make(data, network, 4)
    carries = [word for carry in networks.CARRIES.get(network, []) for word in ("--carry", carry)]
    vernier("convert", model, "--int8", "--target", "openvino", "--data", samples, "-o", tmp_path / "int8.onnx", "-qq")
    on = ["--data", samples, *carries, "--on", "openvino", "--inference-precision", "f32", "--json"]
    plain = json.loads(vernier("verify", model, model, *on).stdout)["engine"]
    assert plain["engine"].startswith("OpenVINO ") and worst(plain["figures"]) > 80
    report = json.loads(vernier("verify", model, tmp_path / "int8.onnx", "--target", "openvino", *on).stdout)
    saturated = report.get("saturated_pairs") if SATURATES else None
    assert abs(worst(report["engine"]["figures"]) - worst((saturated or report)["figures"])) < 1.5
    if saturated:
        return  # the figures of layers are without
    layers = {layer["name"]: layer["sqnr_db"] for layer in report["layers"]}
    assert len(report["engine"]["layers"]) > 0.8 * len(layers)
    distances = sorted(abs(float(layer["sqnr_db"]) - float(layers[layer["name"]])) for layer in report["engine"]["layers"])
    assert distances[len(distances) // 2] < 0.5, "half of the layers are as simulated"


FORMS = {
    "Conv": ([1, 16, 6, 6], [16, 16, 3, 3], {}), "Conv 1x1": ([1, 32, 6, 6], [16, 32, 1, 1], {}),
    "Conv in groups": ([1, 32, 6, 6], [32, 8, 3, 3], {"group": 4}), "depthwise": ([1, 16, 6, 6], [16, 1, 3, 3], {"group": 16}),
    "Conv, strides and pads": ([1, 16, 9, 9], [16, 16, 3, 3], {"strides": [2, 2], "pads": [1] * 4}),
    "Conv, dilated": ([1, 16, 9, 9], [8, 16, 3, 3], {"dilations": [2, 2]}), "Conv, one dimension": ([1, 16, 12], [8, 16, 3], {}),
    "Conv, 3 channels": ([1, 3, 12, 12], [16, 3, 5, 5], {}), "Conv, 21 channels": ([1, 42, 7, 7], [8, 21, 3, 3], {"group": 2}),
    "Gemm": ([4, 32], [16, 32], {"transB": 1}), "MatMul": ([4, 32], [32, 16], {}), "MatMul of 3 dimensions": ([2, 4, 32], [32, 16], {}),
}


@pytest.mark.sampled
@pytest.mark.parametrize("data", ["int8", "uint8", "uint8 of both signs"])
@pytest.mark.parametrize("form", FORMS)
def test_pairs_that_saturate_on_cpus_without_vnni(form, data, tmp_path):
    """Elsewhere the engine gives what the file says."""
    shape, of_weight, attributes = FORMS[form]
    operator = form.partition(" ")[0].removesuffix(",").replace("depthwise", "Conv")
    constants = {"w": weight(*of_weight, scale=0.1)}
    signs = data.endswith("signs")
    samples = rng.uniform(-1 if signs else 0.3, 3, (4, *shape)).astype("float32")
    data = data.partition(" ")[0]
    for last in ("layer", "cut"):
        nodes = [node(operator, ["x", "w"], "layer", **attributes), node("Relu", ["layer"], "cut")][:1 if last == "layer" else 2]
        onnx.save(model_of([*nodes, node("Identity", [last], "y")], constants, shape, ["y"]), tmp_path / "float.onnx")
        running = onnxruntime.InferenceSession(tmp_path / "float.onnx")
        values = numpy.stack([running.run(None, {"x": x})[0] for x in samples])
        for behind in (False, True):
            grids = {"x": grid(samples, data)} | ({last: grid(values, data)} if behind else {})
            made, held, read = quantized(nodes, constants, grids)
            onnx.save(model_of([*made, node("Identity", [read.get(last, last)], "y")], held, shape, ["y"]), tmp_path / "int8.onnx")
            numpy.savez(tmp_path / "data.npz", x=samples)
            report = json.loads(vernier("verify", tmp_path / "float.onnx", tmp_path / "int8.onnx", "--target", "openvino", "--data", tmp_path / "data.npz",
                                        "--on", "openvino", "--inference-precision", "f32", "--json").stdout)
            said = report.get("saturated_pairs")
            told = [text for text in report["warnings"] if "OpenVINO" in text and "VNNI" in text]
            assert bool(said) == bool(told) and (not said or said["runtime"] == "openvino")
            figures = said["figures"] if said and SATURATES else report["figures"]
            assert worst(report["engine"]["figures"]) == pytest.approx(worst(figures), abs=1), (last, behind)


def test_pixels_behind_a_transpose_stay_in_float(tmp_path):
    """A step of 1 without a zero point, as images of 0 to 255 have: OpenVINO drops the pair, and its float sums do not saturate."""
    nodes = [node("Transpose", ["x"], "turned", perm=[0, 3, 1, 2]), node("Conv", ["turned", "w"], "layer")]
    constants, shape = {"w": weight(16, 3, 3, 3, scale=0.1)}, [1, 8, 8, 3]
    onnx.save(model_of([*nodes, node("Identity", ["layer"], "y")], constants, shape, ["y"]), tmp_path / "float.onnx")
    numpy.savez(tmp_path / "data.npz", x=rng.integers(200, 256, (4, *shape)).astype("float32"))
    for zero, saturates in ((0, False), (1, True)):
        made, held, _ = quantized(nodes, constants, {"turned": (numpy.float32(1), numpy.uint8(zero))})
        onnx.save(model_of([*made, node("Identity", ["layer"], "y")], held, shape, ["y"]), tmp_path / "int8.onnx")
        report = json.loads(vernier("verify", tmp_path / "float.onnx", tmp_path / "int8.onnx", "--target", "openvino", "--data", tmp_path / "data.npz",
                                    "--on", "openvino", "--inference-precision", "f32", "--json").stdout)
        said = report.get("saturated_pairs")
        assert bool(said) == saturates
        figures = said["figures"] if said and SATURATES else report["figures"]
        assert worst(report["engine"]["figures"]) == pytest.approx(worst(figures), abs=0.5)


IN_ONE_THREAD = """
import sys, numpy, openvino
core = openvino.Core()
model = core.compile_model(core.read_model(sys.argv[1]), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})
numpy.save(sys.argv[3], model(numpy.load(sys.argv[2])["x"][0])[0])
"""


def in_one_thread(file, folder):
    """The error of OpenVINO's result for the first sample against ONNX Runtime's of the float file, in dB."""
    subprocess.run([ENGINES, "-c", IN_ONE_THREAD, file, folder / "data.npz", folder / "y.npy"], check=True)
    wanted = onnxruntime.InferenceSession(folder / "float.onnx").run(None, {"x": numpy.load(folder / "data.npz")["x"][0]})[0]
    return 10 * numpy.log10((wanted ** 2).sum() / ((numpy.load(folder / "y.npy") - wanted) ** 2).sum())


def otherwise(file, rule):
    found = json.loads(subprocess.run([PROGRAM, "check", "placement", str(file), "--target", "openvino", "--json"], capture_output=True).stdout)["findings"]
    return [finding["node"] for finding in found if finding["rule"] == rule]


FOLDED = "1 constant factor after a product"
PARTED = "1 product of small matrices reads a Transpose"
BETWEEN = {  # what makes h of x, and what the file says
    "alpha": ([node("Gemm", ["x", "w", "b"], "h", alpha=0.3)], FOLDED),
    "Mul": ([node("MatMul", ["x", "w"], "p"), node("Mul", ["p", "s"], "q"), node("Add", ["q", "b"], "h")], FOLDED),
    "Div of a bias": ([node("MatMul", ["x", "w"], "p"), node("Add", ["p", "b"], "q"), node("Div", ["q", "s"], "h")], FOLDED),
    "no bias": ([node("MatMul", ["x", "w"], "h")], PARTED), "zeros": ([node("Gemm", ["x", "w", "zeros"], "h")], PARTED),
    "one value": ([node("MatMul", ["x", "w"], "p"), node("Add", ["p", "s"], "h")], PARTED),
    "Sub, no bias": ([node("MatMul", ["x", "w"], "p"), node("Sub", ["p", "s"], "h")], PARTED),
    "Neg": ([node("Gemm", ["x", "-w", "b"], "p"), node("Neg", ["p"], "h")], PARTED),
    "Add behind a Relu": ([node("Gemm", ["x", "w", "b"], "p"), node("Relu", ["p"], "q"), node("Add", ["q", "b"], "h")], PARTED),
    "Sub behind a Relu": ([node("Gemm", ["x", "w", "b"], "p"), node("Relu", ["p"], "q"), node("Sub", ["q", "b"], "h")], PARTED),
    "Add behind a Max": ([node("Gemm", ["x", "w", "b"], "p"), node("Max", ["p", "s"], "q"), node("Add", ["q", "b"], "h")], PARTED),
}


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("form", BETWEEN)
def test_two_products_in_one_kernel(form, rows, tmp_path):
    """OpenVINO 2026.4 computes both in one kernel, and the result is garbage unless one bias for each channel and one operator lie between."""
    constants = {"w": weight(16, 32), "b": rng.normal(size=32).astype("float32"), "v": weight(32, 8),
                 "s": numpy.float32(0.3), "zeros": numpy.zeros(32, numpy.float32)}
    constants["-w"] = -constants["w"]
    first, mended = BETWEEN[form]
    onnx.save(model_of([*first, node("Relu", ["h"], "r"), node("MatMul", ["r", "v"], "y")], constants, [rows, 16], ["y"]),
              tmp_path / "float.onnx")
    numpy.savez(tmp_path / "data.npz", x=rng.normal(2, 1, (6, rows, 16)).astype("float32"))
    done = vernier("quantize", tmp_path / "float.onnx", "--target", "openvino", "--reduce-range",
                   "--data", tmp_path / "data.npz", "-o", tmp_path / "int8.onnx")
    assert mended in " ".join(done.stdout.split())
    assert in_one_thread(tmp_path / "int8.onnx", tmp_path) > 25
    assert not otherwise(tmp_path / "int8.onnx", "scale-behind-product")
    if mended is PARTED:  # as another tool would write it
        onnx.save(without_transposes(onnx.load(tmp_path / "int8.onnx")), tmp_path / "other.onnx")
        assert in_one_thread(tmp_path / "other.onnx", tmp_path) < 15, "OpenVINO is right now: the pass and the rule can go"
        assert len(otherwise(tmp_path / "other.onnx", "scale-behind-product")) == 1


def without_transposes(model):
    graph = model.graph
    for turned in [made for made in graph.node if made.op_type == "Transpose"]:
        for reader in graph.node:
            reader.input[:] = [turned.input[0] if name == turned.output[0] else name for name in reader.input]
        graph.node.remove(turned)
    for made in graph.node:
        for attribute in [attribute for attribute in made.attribute if attribute.name == "transA"]:
            made.attribute.remove(attribute)
    return model


def attention(heads, rows, folder):
    """Two heads or more of 8 columns, transposed in front and behind."""
    columns = heads * 8
    constants = {"heads": numpy.array([0, 0, heads, 8]), "joined": numpy.array([0, 0, columns]), "s": numpy.float32(0.35)}
    nodes = []
    for which in "qkv":
        constants["w" + which] = weight(columns, columns, scale=columns ** -0.5)
        perm = [0, 2, 3, 1] if which == "k" else [0, 2, 1, 3]
        nodes += [node("MatMul", ["x", "w" + which], "m" + which), node("Reshape", ["m" + which, "heads"], "r" + which),
                  node("Transpose", ["r" + which], which, perm=perm)]
    nodes += [node("MatMul", ["q", "k"], "scores"), node("Mul", ["scores", "s"], "scaled"), node("Softmax", ["scaled"], "p", axis=-1),
              node("MatMul", ["p", "v"], "a"), node("Transpose", ["a"], "back", perm=[0, 2, 1, 3]), node("Reshape", ["back", "joined"], "y")]
    onnx.save(model_of(nodes, constants, [1, rows, columns], ["y"]), folder / "float.onnx")
    numpy.savez(folder / "data.npz", x=rng.normal(size=(6, 1, rows, columns)).astype("float32"))


@pytest.mark.parametrize("form", ["--int8", "--bf16"])
def test_as_many_heads_as_rows(form, tmp_path):
    """OpenVINO 2026.4 computes attention in one kernel, which takes one for the other."""
    if form == "--bf16" and "avx512_bf16" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has no BF16")
    attention(4, 4, tmp_path)
    done = vernier("convert", tmp_path / "float.onnx", form, "--target", "openvino", "--data", tmp_path / "data.npz", "-o", tmp_path / "low.onnx")
    assert "as many heads as rows" in " ".join(done.stdout.split())
    assert in_one_thread(tmp_path / "low.onnx", tmp_path) > 20
    assert not otherwise(tmp_path / "low.onnx", "heads-taken-for-rows")
    other = onnx.load(tmp_path / "low.onnx")
    for name in ("Unsqueeze", "Squeeze"):
        turned, = [made for made in other.graph.node if made.op_type == name]
        for reader in other.graph.node:
            reader.input[:] = [turned.input[0] if read == turned.output[0] else read for read in reader.input]
        other.graph.node.remove(turned)
    onnx.save(other, tmp_path / "other.onnx")
    assert in_one_thread(tmp_path / "other.onnx", tmp_path) < in_one_thread(tmp_path / "low.onnx", tmp_path) - 3, "OpenVINO is right now"
    assert len(otherwise(tmp_path / "other.onnx", "heads-taken-for-rows")) == 1
    attention(4, 6, tmp_path)
    done = vernier("convert", tmp_path / "float.onnx", form, "--target", "openvino", "--data", tmp_path / "data.npz", "-o", tmp_path / "low.onnx")
    assert "as many heads" not in done.stdout and in_one_thread(tmp_path / "low.onnx", tmp_path) > 20


def test_every_marked_tensor_comes_back_by_its_name(tmp_path):
    """Its reader drops nodes that change nothing: two outputs of the file are then one tensor with one name."""
    nodes = [helper.make_node("Exp", ["x"], ["e"], name="exp"), helper.make_node("Dropout", ["e"], ["d"], name="drop"),
             helper.make_node("Identity", ["d"], ["i"], name="same"), helper.make_node("Neg", ["i"], ["y"], name="neg")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports[:1], ports[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              tmp_path / "m.onnx")
    vernier("run", tmp_path / "m.onnx", "--openvino", "--onnxrt", "--onnx-outputs", "mark", "all", "--save-outputs", tmp_path / "out.json")
    runs = json.loads((tmp_path / "out.json").read_text())["lst"]
    assert [set(run[1][0]["outputs"]) for run in runs] == [{"e", "d", "i", "y"}] * 2


def test_inspect_engine_lists_its_kernels(data, tmp_path):
    samples, typed = networks.make(data, "resnet8-cifar", 4), tmp_path / "int8.onnx"
    said = json.loads(vernier("convert", networks.model_file("resnet8-cifar"), "--int8", "--target", "openvino", "--data", samples, "-o", typed,
                              "--compile", "--json", "-qq").stdout)
    assert said["compiled"]["engine"]["name"] == "OpenVINO"
    report = json.loads(vernier("inspect", "engine", typed, "--engine", "openvino", "--json").stdout)
    kernels = {kernel["name"]: kernel for kernel in report["kernels"]}
    convolutions = [layer for layer in report["layers"] if layer["operator"] == "Conv"]
    on_codes = [layer for layer in convolutions if "uint8" in layer["reads"]]
    assert len(on_codes) >= len(convolutions) - 2, "its convolutions run on codes, but the first may not"
    assert any(kernel["kind"] == "Convolution" for kernel in kernels.values())
    assert kernels == {kernel["name"]: kernel for kernel in said["compiled"]["kernels"]}


def test_what_it_refuses_is_told_in_its_words(data):
    samples = networks.make(data, "silero-vad-16k", 1)
    done = vernier("run", networks.model_file("silero-vad-16k"), "--openvino", "--data", samples, code=4)
    assert ("its reader refuses the file at node '/model/decoder/decoder/2/Conv' (Conv): The input data tensor's rank has to be known (static)"
            " (and 1 more)") in done.stderr
    done = vernier("run", networks.model_file("resnet8-cifar"), "--openvino", "NPU", "--samples", "1", code=4)
    assert "it has no device 'NPU'" in done.stderr
    done = vernier("run", networks.model_file("resnet8-cifar"), "--openvino", "--pool-limit", "workspace:1G", "--samples", "1", code=4)
    assert "--pool-limit: it is not told that" in done.stderr


def test_it_is_timed_beside_onnxruntime(data):
    model = networks.model_file("resnet8-cifar")
    done = vernier("bench", model, "--onnxrt", "--openvino", "--int8", "--threads", "1", "--layers", "--duration", "0", "--warm-up", "0", "--json")
    onnxrt, openvino = json.loads(done.stdout)["rows"]
    assert openvino["formats"] == "int8" and openvino["clock"] == "wall" and openvino["iterations"] == onnxrt["iterations"] == 10
    assert openvino["of_first"]["ratio"] > 0 and "with_copies_median_ms" not in openvino
    convolutions = [layer for layer in openvino["layers"] if layer["kind"] == "Convolution"]
    assert convolutions and all(layer["layers"] for layer in convolutions)
    assert sum(layer["median_ms"] for layer in openvino["layers"]) < 10 * openvino["latency"]["median_ms"]
    assert "has no CUDA graphs" not in done.stderr
    done = vernier("bench", model, "--openvino", "--use-cuda-graph", code=2)
    assert "only TensorRT's engines" in done.stderr


def capability(model):
    return json.loads(vernier("inspect", "capability", model, "--target", "openvino", "--json").stdout)


def test_capability_asks_its_reader_and_plugin():
    report = capability(networks.model_file("resnet8-cifar"))
    assert report["engine"].startswith("OpenVINO 20") and report["taken"] == report["nodes"] and not report["differences"]
    assert "its own reader and CPU plugin take the model" in report["evidence"]


def test_capability_names_what_it_refuses_and_where_the_list_disagrees(tmp_path):
    report = capability(networks.model_file("silero-vad-16k"))
    assert [(group["operator"], group["nodes"]) for group in report["not_taken"]] == [
        ("Conv", ["/model/decoder/decoder/2/Conv"]), ("ReduceMean", ["/model/ReduceMean"])]
    assert report["not_taken"][0]["why"] == "The input data tensor's rank has to be known (static)"
    assert len(report["differences"]) == 2 and "takes 1 Conv" in report["differences"][0]
    nodes = [helper.make_node("Foo", ["x"], ["h"], name="foo", domain="my"), helper.make_node("Foo", ["h"], ["y"], name="again", domain="my")]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy"]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", ports[:1], ports[1:]), opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    group, = capability(tmp_path / "m.onnx")["not_taken"]
    assert group["nodes"] == ["foo", "again"] and group["why"] == "it has no conversion rule for the operator my.Foo"


def test_low_layers_are_placed_for_the_only_runner_that_has_some(data):
    samples, model = networks.make(data, "resnet8-cifar", 2), networks.model_file("resnet8-cifar")
    for options, codes in (([], False), (["--onnxrt"], False), (["--target", "tensorrt"], True), (["--sim"], True)):
        two = options in (["--onnxrt"], ["--sim"])  # they are compared, and differ by more than rounding
        done = vernier("run", model, "--openvino", "--int8", *options, "--data", samples, "-q", code=int(two))
        # Which kernels take a symmetric file's codes depends on the CPU, of those with VNNI too: they may run it as asked.
        assert codes or ", not in INT8" not in done.stderr, (options, done.stderr)
