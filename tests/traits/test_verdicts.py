"""`vernier verify FLOAT QUANTIZED` on files with one thing wrong, and on their clean twins; `fix FLOAT --from QUANTIZED`."""
import json
import pathlib
import re
import shlex

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import quantized_files as files
from test_traits import vernier


@pytest.fixture
def folder(tmp_path):
    model, samples = files.float_network()
    files.write(tmp_path, model, samples, "float.onnx")
    return tmp_path


def verdict_of(folder, reference, quantized, data, *limit, code=0):
    done = vernier("verify", reference, quantized, "--data", data, *limit, "--json", folder=folder, codes=(code,))
    return json.loads(done.stdout)


def verdict(folder, *limit, code=0, reference="float.onnx"):
    return verdict_of(folder, reference, "quantized.onnx", "x.npz", *limit, code=code)


def kinds(report):
    return [defect["kind"] for defect in report.get("defects", [])]


def swap_four(codes):
    """Far from what rounding gives, in four channels."""
    flat = codes.reshape(-1)
    for place in (5, 130, 277, 501):
        flat[place] = -flat.max() if flat[place] >= 0 else flat.max()


def shuffle(codes):
    codes[:] = codes[::-1].copy()


@pytest.mark.parametrize("kind, weight_kind", [(np.uint8, np.int8), (np.int8, np.int8), (np.uint16, np.int8), (np.int16, np.int8),
                                               (np.int16, np.int16)])
def test_wrong_codes_are_named_whatever_the_activations_are(folder, kind, weight_kind):
    """In 16 bits as well, whose pairs the simulation leaves to ONNX Runtime."""
    for wrong, said in ((lambda codes: None, []), (swap_four, ["wrong-codes"]), (shuffle, ["other-values"])):
        files.write(folder, files.quantized(kind, wrong, weight_kind=weight_kind))
        found = verdict(folder)
        assert kinds(found) == said
    files.write(folder, files.quantized(kind, swap_four, weight_kind=weight_kind))
    text = verdict(folder)["defects"][0]["text"]
    assert text.startswith("4 of 576 quantized values of 'second.weight' of second are wrong"), text


@pytest.mark.parametrize("target", ["tensorrt", "onnxruntime"])
@pytest.mark.parametrize("undone", [True, False])
def test_weights_that_were_equalized_are_no_other_values(undone, target, folder):
    """Factors of the first layer's channels that the second one undoes; where nothing undoes them, they are wrong scales."""
    model = onnx.load(folder / "float.onnx")
    factors = np.geomspace(0.2, 5, files.CHANNELS).astype(np.float32)
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        by = {"first.weight": factors[:, None, None, None], "first.bias": factors, "second.weight": 1 / factors[:, None, None] if undone else 1}
        tensor.CopyFrom(numpy_helper.from_array(values * np.float32(by.get(tensor.name, 1)), tensor.name))
    files.write(folder, model, None, "equalized.onnx")
    vernier("quantize", "equalized.onnx", "--int8", "--target", target, "--data", "x.npz", "-o", "quantized.onnx",
            *(["--even-if-slower"] if target == "onnxruntime" else []), folder=folder)
    found = verdict(folder)
    assert ("weight-scale" in kinds(found)) == (not undone)
    assert any("times a factor for each channel" in note for note in found["notes"]) == undone


def test_one_channel_of_another_scale_is_no_equalization(folder):
    """Nothing undoes its factor. In one channel of many the outputs agree all the same."""
    agreeing = 0
    for channel in range(files.CHANNELS):
        model = files.quantized(np.uint8)
        for tensor in model.graph.initializer:
            if tensor.name == "second.weight.step":
                steps = numpy_helper.to_array(tensor).copy()
                steps[channel] *= 0.4
                tensor.CopyFrom(numpy_helper.from_array(steps, tensor.name))
        files.write(folder, model)
        found = verdict(folder)
        agreeing += found["figures"]["outputs"][0]["sqnr_db"] >= 15
        assert kinds(found) == ["weight-scale"], (channel, kinds(found))
        assert not any("times a factor for each channel" in note for note in found["notes"]), channel
    assert agreeing > 0


@pytest.mark.parametrize("damaged", [False, True])
def test_a_weight_that_is_stored_transposed_is_compared(damaged, tmp_path):
    b = files.Builder(91)
    weight = b.normal(24, 16) / 4
    scale = (np.abs(weight).max(0) / 127).astype(np.float32)
    codes = np.round(weight / scale).astype(np.int8)
    if damaged:
        codes[5] = -codes[5]
    b.add("MatMul", ["x", b.constant("weight", weight)], "y")
    shapes = [("x", files.FLOAT, [4, 24])], [("y", files.FLOAT, [4, 16])]
    files.write(tmp_path, b.model(*shapes), {"x": b.normal(8, 4, 24)}, "float.onnx")
    c = files.Quantizer(91)
    c.add("Transpose", [c.stored("weight", codes.T, scale, axis=0)], "turned", perm=[1, 0])
    c.add("MatMul", [c.pair("x", -4.0, 4.0, np.int8), "turned"], "y")
    files.write(tmp_path, c.model(*shapes))
    assert kinds(verdict(tmp_path)) == (["wrong-codes"] if damaged else [])


def test_a_bias_with_a_zero_point_is_refused_and_measured_as_it_runs(folder):
    """ONNX allows none for int32, and ONNX Runtime subtracts it all the same."""
    model = files.quantized(np.uint8)
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] == "second.bias.codes":
            node.input.append("second.bias.zero")
    model.graph.initializer.append(numpy_helper.from_array(np.full(files.CHANNELS, 3000, np.int32), "second.bias.zero"))
    files.write(folder, model)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    reference, got = [np.stack([onnxruntime.InferenceSession(folder / name, options).run(None, {"x": x})[0] for x in
                                np.load(folder / "x.npz")["x"]]).astype(np.float64) for name in ("float.onnx", "quantized.onnx")]
    found = verdict(folder, "--min-sqnr", "1", code=1)
    assert "zero-point-type" in kinds(found)
    real = 10 * np.log10((reference ** 2).sum() / ((got - reference) ** 2).sum())
    assert found["figures"]["outputs"][0]["sqnr_db"] == pytest.approx(real, abs=0.05)


def test_rounding_that_a_quantizer_learned_is_no_wrong_code(folder):
    """AdaRound takes the next step, GPTQ sometimes the one behind it, and percentiles clip."""
    def learned(codes):
        steps = np.random.default_rng(1).choice([-2, -1, 0, 0, 0, 1, 2], codes.shape)
        codes[:] = np.clip(codes + steps, -127, 127)
    files.write(folder, files.quantized(np.uint8, learned))
    assert "wrong-codes" not in kinds(verdict(folder))


@pytest.mark.parametrize("float_in_add, file_in_add, first",
                         [(False, True, False), (False, True, True), (True, True, False), (True, True, True), (True, False, False),
                          (False, False, False)])
def test_a_wrong_bias_is_named_wherever_it_is_added(tmp_path, float_in_add, file_in_add, first):
    model, samples = files.float_network(float_in_add)
    files.write(tmp_path, model, samples, "float.onnx")
    for bias, said in ((lambda values: values, []), (lambda values: 3 * values[::-1], ["other-values"])):
        files.write(tmp_path, files.quantized(np.uint8, bias_in_add=file_in_add, bias_first=first, bias=bias))
        found = verdict(tmp_path)
        assert kinds(found) == said
    assert "bias 'second.bias'" in found["defects"][0]["text"]


@pytest.mark.parametrize("target", ["tensorrt", "onnxruntime", "openvino"])
def test_a_file_of_our_own_stores_what_the_float_model_has(target, tmp_path):
    """Its Convs have absorbed BatchNormalizations, with a Relu behind, an Add or nothing."""
    digits = pathlib.Path(__file__).parents[2] / "examples/digits"
    vernier("quantize", digits / "digits.onnx", "--int8", "--target", target, "--data", digits / "calib.npz",
            "-o", "quantized.onnx", folder=tmp_path)
    found = verdict_of(tmp_path, digits / "digits.onnx", "quantized.onnx", digits / "test.npz")
    assert not {"other-values", "wrong-codes", "shifted-codes"} & set(kinds(found))
    figures = {layer["name"]: layer["sqnr_db"] for layer in found["layers"]}
    assert figures["block1_project_bn"] > 20, "the Conv that absorbed it is its twin"
    assert "block1_project_conv" not in figures


@pytest.mark.parametrize("tensor, node", [("first.relu.step", "first.relu.codes"), ("second.weight.step", "second")])
def test_a_scale_of_another_type_is_found_before_anything_is_measured(folder, tensor, node):
    files.write(folder, files.with_half_scale(files.quantized(), tensor))
    found = verdict(folder, "--min-sqnr", "10", code=1)
    assert found["outcome"] == "refused"
    assert [(defect["kind"], defect["node"]) for defect in found["defects"] if defect["refused"]] == [("scale-type", node)]
    lint = vernier("check", "lint", "quantized.onnx", folder=folder, codes=(1,))
    assert "float16" in lint.stdout
    done = vernier("check", "placement", "quantized.onnx", "--target", "tensorrt", "--json", folder=folder, codes=(1,))
    assert json.loads(done.stdout)["findings"][0]["rule"] == "scale-type"


def test_what_lint_finds_is_no_verdict_of_met(folder):
    """A float16 tensor and a float32 one in one Add: the simulation computes both in float32, no engine loads it."""
    model = files.quantized()
    last = next(node for node in model.graph.node if node.output[0] == "second.relu")
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0), "nothing"))
    model.graph.node.insert(len(model.graph.node) - 1, helper.make_node("Cast", [last.input[0]], ["half"], name="half", to=onnx.TensorProto.FLOAT16))
    last.op_type = "Add"
    last.input[:] = ["half", "nothing"]
    onnx.save(model, folder / "quantized.onnx")
    found = verdict(folder, "--min-sqnr", "10", code=1)
    assert found["outcome"] == "refused" and kinds(found) == ["invalid-node"]
    assert found["defects"][0]["node"] == "second.relu"


def test_a_quantized_reference_is_no_float_model(folder):
    files.write(folder, files.quantized())
    found = verdict(folder, "--min-sqnr", "10", code=1, reference="quantized.onnx")
    assert found["outcome"] == "no-float-model" and found["reference_quantized"] and "passed" not in found["figures"]
    assert verdict(folder, reference="quantized.onnx")["outcome"] == "no-requirement"
    text = vernier("verify", "quantized.onnx", "quantized.onnx", "--data", "x.npz", "--min-sqnr", "10", "--junit", "gate.xml",
                   folder=folder, codes=(1,)).stdout
    assert "which holds quantized values itself, so no float model was compared, and this is not a verdict" in " ".join(text.split())
    assert "$ vernier verify FLOAT quantized.onnx" in text and "is met" not in text
    assert 'failures="1"' in (folder / "gate.xml").read_text()
    # Labels judge the file by itself.
    (folder / "labels.txt").write_text("\n".join(["0"] * 8))
    done = vernier("verify", "quantized.onnx", "quantized.onnx", "--data", "x.npz", "--labels", "labels.txt", "--min-top1", "0",
                   "--json", folder=folder)
    assert json.loads(done.stdout)["outcome"] == "met"


def test_a_bias_of_another_scale_is_why_a_layer_stays_in_float(folder):
    files.write(folder, files.quantized(bias_step=4.0))
    done = vernier("check", "placement", "quantized.onnx", "--target", "onnxruntime", "--json", folder=folder, codes=(1,))
    found = {finding["node"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert found["second"]["rule"] == "bias-scale" and "input scale times weight scale" in found["second"]["why"]
    files.write(folder, files.quantized())
    done = vernier("check", "placement", "quantized.onnx", "--target", "onnxruntime", "--json", folder=folder, codes=(0, 1))
    assert "second" not in {finding["node"] for finding in json.loads(done.stdout)["findings"]}


def test_an_error_names_the_file_that_does_not_run(folder):
    """Both run as one graph, which has the float model's name."""
    model = files.quantized()
    node = next(node for node in model.graph.node if node.name == "last")
    node.op_type, node.domain = "Unheard", "acme"
    model.opset_import.append(helper.make_opsetid("acme", 1))
    onnx.save(model, folder / "quantized.onnx")
    for job in (["verify"], ["debug", "loss"]):
        done = vernier(*job, "float.onnx", "quantized.onnx", "--data", "x.npz", folder=folder, codes=(4,))
        assert done.stderr.startswith("error: quantized.onnx: node 'last'"), done.stderr
    onnx.save(model, folder / "broken.onnx")
    files.write(folder, files.quantized())
    done = vernier("verify", "broken.onnx", "quantized.onnx", "--data", "x.npz", folder=folder, codes=(3, 4))
    assert "quantized.onnx" not in done.stderr.splitlines()[0]


def test_the_verdict_is_written_as_a_page_and_as_json(folder):
    files.write(folder, files.quantized(wrong=shuffle))
    done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "x.npz", "--min-sqnr", "30", "-o", "out", folder=folder, codes=(1,))
    report = json.loads((folder / "out/report.json").read_text())
    assert report["outcome"] == "missed" and report["files"] == {"page": "out/report.html", "report": "out/report.json"}
    page = (folder / "out/report.html").read_text()
    assert "Requirement missed" in page and "vernier fix float.onnx --from quantized.onnx" in page
    again = vernier("report", "out/report.json", "-o", "again.html", folder=folder, codes=(1,))
    assert "open it" in again.stdout and (folder / "again.html").read_text() == page
    assert vernier("report", "out/report.json", folder=folder, codes=(1,)).stdout == done.stdout
    done = vernier("verify", "float.onnx", "out/report.json", "-o", "out", folder=folder, codes=(2, 3))
    assert json.loads((folder / "out/report.json").read_text()) == report


# `fix --from`: what the file has stays as it is.

def fixed(folder, *options, given="quantized.onnx"):
    done = vernier("fix", "float.onnx", "--from", given, "--int8", "--data", "x.npz", "--no-latency", "--no-cache", *options,
                   "-o", "out", "--json", folder=folder, codes=(0, 1))
    report = json.loads(done.stdout)
    return report, {row["name"]: row["format"] for row in report["layers"]}, onnx.load(folder / "out/model.onnx")


def quantized_tensors(model):
    return {node.input[0].removesuffix("_unquantized") for node in model.graph.node if node.op_type == "QuantizeLinear"}


@pytest.mark.parametrize("target", ["tensorrt", "onnxruntime"])
def test_a_layer_that_the_file_leaves_in_float_stays_there(folder, target):
    """Its input has a pair, for the sake of the layer in front: its weight is float all the same."""
    files.write(folder, files.quantized(left_in_float=["second"]))
    report, layers, model = fixed(folder, "--target", target)
    assert "second" not in layers and "first" in layers
    assert any(tensor.name == "second.weight" for tensor in model.graph.initializer)
    # Unless told otherwise.
    _, layers, _ = fixed(folder, "--target", target, "--layer-precisions", "second:int8")
    assert layers["second"] != "float32"


@pytest.mark.parametrize("kind", [np.uint16, np.int16])
def test_ranges_in_16_bits_are_taken_over(folder, kind):
    files.write(folder, files.quantized(kind))
    for job in ("diagnose", "fix"):
        done = vernier(job, "float.onnx", "--from", "quantized.onnx", "--int8", "--data", "x.npz", "--no-latency", "--no-cache",
                       "--target", "onnxruntime", "-o", "out", "--json", folder=folder)
        assert {row["name"] for row in json.loads(done.stdout)["layers"]} == {"first", "second"}
    steps = [float(numpy_helper.to_array(kept)) for kept in onnx.load(folder / "out/model.onnx").graph.initializer
             if kept.dims == [] and kept.data_type == onnx.TensorProto.FLOAT]
    assert any(step == pytest.approx(8 / 255, rel=1e-3) for step in steps), steps


@pytest.mark.parametrize("target, skip", [("tensorrt", True), ("onnxruntime", True)])
def test_pairs_stand_where_the_file_has_them(tmp_path, target, skip):
    """A residual Add runs on codes in the file; TensorRT takes the skip branch alone, and the other pair is told."""
    model, samples = files.residual()
    files.write(tmp_path, model, samples, "float.onnx")
    files.write(tmp_path, files.residual(np.int8 if target == "tensorrt" else np.uint8)[0])
    report, layers, written = fixed(tmp_path, "--target", target)
    assert layers["sum"] != "float32"
    assert {"x", "stem.relu", "sum.relu"} <= quantized_tensors(written)
    notes = " ".join(report["notes"])
    if target == "tensorrt":
        assert "target tensorrt does not use 1 Q/DQ pair of the file: inner" in notes
    else:
        assert "inner" in quantized_tensors(written) and "start with the scales of the file" in notes and "no place" not in notes
    plain = vernier("fix", "float.onnx", "--int8", "--data", "x.npz", "--no-latency", "--no-cache", "--target", "tensorrt", "--json",
                    folder=tmp_path, codes=(0, 1))
    assert "sum" not in {row["name"] for row in json.loads(plain.stdout)["layers"]}


def test_nodes_without_names_are_found_by_what_they_make(folder):
    """A name that reading makes of a place is another node's in the other file."""
    model = files.quantized(left_in_float=["second"])
    for node in model.graph.node:
        node.name = ""
    onnx.save(model, folder / "quantized.onnx")
    float_model = onnx.load(folder / "float.onnx")
    for node in float_model.graph.node:
        node.name = ""
    onnx.save(float_model, folder / "float.onnx")
    report, layers, model = fixed(folder, "--target", "onnxruntime")
    assert any(tensor.name == "second.weight" for tensor in model.graph.initializer)
    assert any(tensor.name.startswith("first.weight") and tensor.data_type == onnx.TensorProto.INT8 for tensor in model.graph.initializer)


@pytest.mark.parametrize("tensor", ["x", "first.relu"])
def test_a_range_of_the_file_that_clips_is_widened(folder, tensor):
    model = files.quantized(np.int8)
    given = {}
    for kept in model.graph.initializer:
        if kept.name == f"{tensor}.step":
            given[tensor] = numpy_helper.to_array(kept) / 4
            kept.CopyFrom(numpy_helper.from_array(given[tensor].astype(np.float32), kept.name))
    files.write(folder, model)
    report, _, written = fixed(folder, "--min-sqnr", "30", "--target", "onnxruntime", "--even-if-slower")
    assert report["kept"]["layers"] == []
    constants = {kept.name: kept for kept in written.graph.initializer}
    steps = [numpy_helper.to_array(constants[node.input[1]]) for node in written.graph.node
             if node.op_type == "QuantizeLinear" and node.input[0].removesuffix("_unquantized") == tensor]
    assert steps and all(step > 1.5 * given[tensor] for step in steps), (steps, given)


@pytest.mark.parametrize("samples", [8, 12])
def test_a_file_is_judged_by_fix_as_by_verify(folder, samples):
    """`fix` is sure of its own result on new samples; the file that it was given is what `verify` says it is."""
    with np.load(folder / "x.npz") as saved:
        rest = {name: np.concatenate([value, 0.9 * value])[:samples] for name, value in saved.items()}
    np.savez(folder / "x.npz", **rest)
    files.write(folder, files.quantized(bias_step=1.2))
    figure = min(row["sqnr_db"] for row in verdict(folder)["figures"]["outputs"])
    for slack, passed in ((0.05, True), (-0.05, False)):
        limit = f"{figure - slack:.4f}"
        assert (verdict(folder, "--min-sqnr", limit, code=0 if passed else 1)["outcome"] == "met") == passed
        done = vernier("fix", "float.onnx", "--from", "quantized.onnx", "--int8", "--data", "x.npz", "--no-latency",
                       "--no-cache", "--min-sqnr", limit, folder=folder, codes=(0, 1, 5))
        assert ("and misses it" in " ".join(done.stdout.split())) is not passed


def test_a_refused_range_names_the_share_that_the_relu_of_the_network_leaves(tmp_path):
    """The pair does the work of a Relu, and its range is a little too narrow: half of the values are cut off at zero by right."""
    model, samples = files.float_network()
    quantized = files.quantized(kind=np.uint16)
    relu = next(node for node in quantized.graph.node if node.output[0] == "first.relu")
    next(node for node in quantized.graph.node if node.input[0] == "first.relu").input[0] = relu.input[0]
    quantized.graph.node.remove(relu)
    model.graph.output.append(helper.make_empty_tensor_value_info("first.relu"))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    values = np.concatenate([session.run(["first.relu"], {"x": x})[0].ravel() for x in samples["x"]])
    end = np.quantile(values, 0.997)
    step = next(constant for constant in quantized.graph.initializer if constant.name == "first.relu.step")
    step.CopyFrom(numpy_helper.from_array(np.float32(end / 65535), step.name))
    files.write(tmp_path, quantized, samples)
    done = vernier("diagnose", "quantized.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20", folder=tmp_path, codes=(3,))
    share = float(re.search(r"clips (\S+) % of its values", done.stderr)[1])
    assert share == pytest.approx(100 * np.mean(values > end), rel=0.2) and share < 1


def next_command(folder, *arguments):
    """The `vernier fix` that verify prints, as words."""
    text = vernier("verify", "float.onnx", "quantized.onnx", "--data", "x.npz", *arguments, folder=folder, codes=(1,)).stdout
    lines = text[text.index("$ vernier fix"):].split("\n\n")[0].splitlines()
    return shlex.split(" ".join([lines[0], *(line for line in lines[1:] if line.startswith("    "))]))[2:]


@pytest.mark.parametrize("options", [
    ["--target", "openvino"], ["--target", "onnxruntime", "--outputs", "second.*"], ["--no-output-parts", "--top1-axis", "1"],
    ["--margin", "1", "--samples", "6"],
])
def test_the_command_that_repairs_a_file_asks_for_the_same(options, folder):
    files.write(folder, files.quantized(np.uint8, swap_four))
    command = next_command(folder, "--min-sqnr", "20", *options)
    assert command[:3] == ["fix", "float.onnx", "--from"]
    assert set(options) <= set(command), command
    vernier(*command, "--no-latency", folder=folder, codes=(0, 5))


def test_a_file_whose_weights_are_float_is_quantized_again(folder):
    c = files.Quantizer(72)
    values = files.weights()
    for name, source in (("first", "x"), ("second", "first.relu")):
        constants = [c.constant(f"{name}.weight", values[f"{name}.weight"]), c.constant(f"{name}.bias", values[f"{name}.bias"])]
        c.add("Conv", [c.pair(source, -40.0, 40.0, np.int8), *constants], name, pads=[1] * 4)
        c.add("Relu", [name], f"{name}.relu")
    files.write(folder, c.model([("x", files.FLOAT, [1, 3, 12, 12])], [("second.relu", files.FLOAT, [1, files.CHANNELS, 12, 12])]))
    done = vernier(*next_command(folder, "--min-sqnr", "30"), "--no-latency", folder=folder, codes=(0,))
    assert "2 layers of quantized.onnx have quantized inputs but FP32 weights" in " ".join(done.stdout.split())
    assert verdict_of(folder, "float.onnx", "fixed/model.onnx", "x.npz", "--min-sqnr", "30")["outcome"] == "met"


def outliers_behind_a_norm(quantized, gain):
    """A norm that makes two channels large, of which its reader takes little; `quantized`: pairs in front of both products."""
    b = files.Quantizer(72)
    weights = b.normal(48, 48) / np.float32(np.sqrt(48))
    weights[[4, 30]] /= gain
    gains = np.ones(48, np.float32)
    gains[[4, 30]] = gain
    normed = b.add("LayerNormalization", ["x", b.constant("gains", gains)], "normed", axis=-1)
    b.add("MatMul", [b.pair(normed, -3.5 * gain, 3.5 * gain, np.int8) if quantized else normed, b.constant("w1", weights)], "first")
    b.add("Tanh", ["first"], "act")
    b.add("MatMul", [b.pair("act", -1, 1, np.int8) if quantized else "act", b.constant("w2", b.normal(48, 16))], "y")
    return b.model([("x", files.FLOAT, [8, 48])], [("y", files.FLOAT, [8, 16])]), {"x": b.normal(12, 8, 48)}


@pytest.mark.parametrize("gain", [8, 1])
def test_the_pair_that_costs_most_is_named(gain, tmp_path):
    """Its large channels hold the energy, so its own SQNR is good, and it is no defect."""
    model, samples = outliers_behind_a_norm(False, gain)
    files.write(tmp_path, model, samples, "float.onnx")
    files.write(tmp_path, outliers_behind_a_norm(True, gain)[0])
    report = verdict(tmp_path, "--min-sqnr", "60", code=1)
    costs = [note for note in report["notes"] if "costs" in note]
    assert len(costs) == (gain > 1) and not kinds(report), report
    assert not costs or ("'normed'" in costs[0] and "output 'y' gains" in costs[0]), costs
