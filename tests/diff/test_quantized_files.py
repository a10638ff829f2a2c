"""`vernier quantize`, `debug loss` and `check placement` on files that ONNX Runtime's quantizer wrote, against NumPy and against
what ONNX Runtime's optimizer makes of them."""
import json
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime import quantization

from typed_files import ENVIRONMENT, PROGRAM, all_kernels, evaluate, optimized_session, run

F = onnx.TensorProto.FLOAT
rng = np.random.default_rng(5)


def array(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def float_model():
    """Conv, Relu, Conv, Add of both, MatMul: names that renaming can take away."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], name="first", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], name="second", kernel_shape=[1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["a"], name="residual"),
        helper.make_node("Flatten", ["a"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "w3"], ["y"], name="head"),
    ]
    constants = {"w1": array(4, 3, 3, 3), "b1": array(4), "w2": array(4, 4, 1, 1), "b2": array(4), "w3": array(4 * 64, 5)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", F, [1, 5])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Reader(quantization.CalibrationDataReader):
    def __init__(self, samples):
        self.left = iter(samples)

    def get_next(self):
        sample = next(self.left, None)
        return None if sample is None else {"x": sample}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    onnx.save(float_model(), folder / "float.onnx")
    samples = [array(1, 3, 8, 8) for _ in range(6)]
    np.savez(folder / "data.npz", x=np.concatenate(samples)[:, None])
    quantization.quantize_static(folder / "float.onnx", folder / "qdq.onnx", Reader(samples), per_channel=True,
                                 activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)
    quantization.quantize_static(folder / "float.onnx", folder / "operators.onnx", Reader(samples),
                                 quant_format=quantization.QuantFormat.QOperator)
    return folder


def answer(*words, code):
    done = subprocess.run([PROGRAM, *map(str, words), "--json"], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def loss(files, name, code=0):
    return answer("debug", "loss", files / "float.onnx", files / name, "--data", files / "data.npz", code=code)


def samples_of(files):
    return list(np.load(files / "data.npz")["x"])


def sqnr_db(signal, noise):
    return 10 * np.log10(signal / noise)


def test_loss_of_each_tensor_is_what_numpy_sums(files):
    report = loss(files, "qdq.onnx")
    assert report["defects"] == []
    rows = {row["tensor"]: row for row in report["tensors"]}
    assert rows.keys() == {"r1", "c2", "a", "y", "c1"} - ({"c1"} if "c1" not in rows else set())
    float_file, quantized = onnx.load(files / "float.onnx"), onnx.load(files / "qdq.onnx")
    for tensor in ["c2", "a", "y"]:
        signal = noise = 0.0
        for sample in samples_of(files):
            ref = evaluate(float_file, {"x": sample}, [tensor] if tensor != "y" else [])[tensor].astype(np.float64)
            got = evaluate(quantized, {"x": sample}, [tensor] if tensor != "y" else [])[tensor]
            signal, noise = signal + np.sum(ref**2), noise + np.sum((ref - got)**2)
        assert rows[tensor]["sqnr_db"] == pytest.approx(sqnr_db(signal, noise), abs=0.05), tensor


def test_own_error_is_that_of_the_layer_on_exact_inputs(files):
    """The second convolution alone: its input and weight quantized as the file says, by NumPy."""
    report = loss(files, "qdq.onnx")
    own = {row["tensor"]: row["own_sqnr_db"] for row in report["tensors"]}["c2"]
    pairs = {row["tensor"]: row for row in report["quantizers"]}
    data, weight = pairs["r1"], pairs["w2"]
    float_file = onnx.load(files / "float.onnx")
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in float_file.graph.initializer}
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(files / "qdq.onnx").graph.initializer}
    scales = stored["w2_scale"].reshape(-1, 1)
    low_weight = np.clip(np.round(constants["w2"].reshape(4, 4) / scales), -127, 127) * scales
    assert weight["sqnr_db"] == pytest.approx(
        sqnr_db(np.sum(constants["w2"]**2.0), np.sum((constants["w2"].reshape(4, 4) - low_weight)**2.0)), abs=0.01)
    signal = noise = 0.0
    for sample in samples_of(files):
        values = evaluate(float_file, {"x": sample}, ["r1", "c2"])
        codes = np.clip(np.round(values["r1"] / data["smallest_scale"]) + data["zero_point"], 0, 255)
        x = (codes - data["zero_point"]) * data["smallest_scale"]
        got = np.einsum("oc,bchw->bohw", low_weight, x) + constants["b2"].reshape(1, -1, 1, 1)
        signal, noise = signal + np.sum(values["c2"]**2.0), noise + np.sum((values["c2"] - got)**2.0)
    assert own == pytest.approx(sqnr_db(signal, noise), abs=0.1)


def renamed(model):
    """All names but those of inputs and outputs replaced."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    fixed = {value.name for value in [*copy.graph.input, *copy.graph.output]}
    names = {}

    def new(name):
        return name if not name or name in fixed else names.setdefault(name, f"t{len(names)}")

    for i, node in enumerate(copy.graph.node):
        node.name = f"n{i}"
        node.input[:] = [new(name) for name in node.input]
        node.output[:] = [new(name) for name in node.output]
    for tensor in copy.graph.initializer:
        tensor.name = new(tensor.name)
    del copy.graph.value_info[:]
    return copy


def test_tensors_are_matched_by_structure_where_names_differ(files):
    onnx.save(renamed(onnx.load(files / "qdq.onnx")), files / "renamed.onnx")
    named, other = loss(files, "qdq.onnx"), loss(files, "renamed.onnx")
    figures = {row["tensor"]: row["sqnr_db"] for row in named["tensors"]}
    found = {row["tensor"]: row["sqnr_db"] for row in other["tensors"]}
    assert other["matched_by_structure"] >= 3
    for tensor in ["c2", "a", "y"]:
        assert found[tensor] == pytest.approx(figures[tensor], abs=0.01), tensor


def test_clip_and_round_shares_follow_the_scale(files):
    model = onnx.load(files / "qdq.onnx")
    for tensor in model.graph.initializer:
        if tensor.name == "r1_scale":
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) / np.float32(4), tensor.name))
    onnx.save(model, files / "narrow.onnx")
    # The int32 bias of the layer behind no longer fits its input's scale; its values are right, and the pair is what is wrong.
    report = loss(files, "narrow.onnx", code=1)
    assert [defect["kind"] for defect in report["defects"]] == ["lost-pair"]
    row = {row["tensor"]: row for row in report["quantizers"]}["r1"]
    assert row["clip_share"] > 0.9 and row["coverage"] < 0.5 and row["used_codes"] == pytest.approx(1, abs=0.02)


def without_quantizer(model, tensor):
    """Readers of the dequantized `tensor` read it as it is."""
    for node in model.graph.node:
        node.input[:] = [tensor if name == f"{tensor}_DequantizeLinear_Output" else name for name in node.input]
    keep = [node for node in model.graph.node if not node.name.startswith(f"{tensor}_")]
    del model.graph.node[:]
    model.graph.node.extend(keep)


def spoil_missing(model):
    without_quantizer(model, "r1")


def spoil_scale(model):
    model.graph.initializer.append(numpy_helper.from_array(np.float32(0.5), "other"))
    next(n for n in model.graph.node if n.name == "r1_DequantizeLinear").input[1] = "other"


def spoil_axis(model):
    node = next(n for n in model.graph.node if n.name == "w2_DequantizeLinear")
    next(a for a in node.attribute if a.name == "axis").i = 1


def spoil_zero_point(model):
    """ONNX Runtime refuses the file: the mistake is named all the same."""
    model.graph.initializer.append(numpy_helper.from_array(np.int8(0), "signed"))
    next(n for n in model.graph.node if n.name == "r1_DequantizeLinear").input[2] = "signed"


def spoil_length(model):
    """Scales along a dimension of another length: ONNX Runtime refuses to run it."""
    node = next(n for n in model.graph.node if n.name == "w1_DequantizeLinear")
    next(a for a in node.attribute if a.name == "axis").i = 1


DEFECTS = {"other-scale": spoil_scale, "wrong-axis": spoil_axis, "zero-point-type": spoil_zero_point}


@pytest.mark.parametrize("kind", DEFECTS)
def test_defects_are_named(files, kind, tmp_path):
    model = onnx.load(files / "qdq.onnx")
    DEFECTS[kind](model)
    onnx.save(model, files / f"{kind}.onnx")
    assert kind in {defect["kind"] for defect in loss(files, f"{kind}.onnx", code=1)["defects"]}


def test_a_layer_left_in_float_is_no_loss(files):
    """`debug loss` and `verify` agree; `check lint` names it."""
    model = onnx.load(files / "qdq.onnx")
    weight = next(kept for kept in onnx.load(files / "float.onnx").graph.initializer if kept.name == "w2")
    weight.name = "w2_float"
    model.graph.initializer.append(weight)
    next(n for n in model.graph.node if n.name == "second").input[1] = weight.name
    onnx.save(model, files / "partly.onnx")
    assert loss(files, "partly.onnx", code=0)["defects"] == []
    report = answer("verify", files / "float.onnx", files / "partly.onnx", "--data", files / "data.npz", "--min-sqnr", "15", code=0)
    assert report["outcome"] == "met" and "defects" not in report
    linted = answer("check", "lint", files / "partly.onnx", code=0)
    assert any("is not quantized" in entry["message"] for entry in linted["lint_entries"])


@pytest.mark.parametrize("spoil", [spoil_zero_point, spoil_length])
def test_a_file_that_cannot_run_for_its_defect_says_both(spoil, files):
    model = onnx.load(files / "qdq.onnx")
    spoil(model)
    onnx.save(model, files / "refused.onnx")
    report = loss(files, "refused.onnx", code=1)
    assert report["defects"] and report["tensors"] == []
    assert any(note.startswith("not measured, because the file does not run: ") for note in report["notes"])


# What other quantizers and trainers do.

def grid(name, scale, zero_point):
    return [numpy_helper.from_array(np.asarray(scale, np.float32), f"{name}_scale"),
            numpy_helper.from_array(np.asarray(zero_point), f"{name}_zero")]


def pair(tensor, name, **axis):
    """A Q/DQ pair of `tensor`, unnamed nodes; its result is NAME_dq."""
    return [helper.make_node("QuantizeLinear", [tensor, f"{name}_scale", f"{name}_zero"], [f"{name}_q"], **axis),
            helper.make_node("DequantizeLinear", [f"{name}_q", f"{name}_scale", f"{name}_zero"], [f"{name}_dq"], **axis)]


def normed(path, quantized):
    """Convolutions with BatchNormalization and Relu, nodes without names. The quantized file has pairs before and behind
    each BatchNormalization, whose activation is dropped: it writes the Relu's tensor."""
    nodes, constants = [], []
    last = "x"
    for i in range(3):
        weight = (0.3 * np.random.default_rng(i).standard_normal((3, 3, 3, 3))).astype(np.float32)
        constants += [numpy_helper.from_array(weight, f"w{i}")]
        constants += [numpy_helper.from_array(np.array(values, np.float32), f"{part}{i}") for part, values in
                      (("scale", [1, 1.2, 1.4]), ("shift", [1, -1, 2]), ("mean", [0.5, 0, -0.5]), ("variance", [2, 3, 4]))]
        source, kernel = last, f"w{i}"
        if quantized:
            constants += grid(f"in{i}", 0.125, np.uint8(0 if i else 128)) + grid(f"c{i}_", 0.125, np.uint8(128))
            constants += grid(f"w{i}", np.abs(weight).max((1, 2, 3)) / 127, np.zeros(3, np.int8))
            nodes += pair(last, f"in{i}") + pair(f"w{i}", f"w{i}", axis=0)
            source, kernel = f"in{i}_dq", f"w{i}_dq"
        nodes.append(helper.make_node("Conv", [source, kernel], [f"c{i}"], pads=[1, 1, 1, 1]))
        parameters = [f"scale{i}", f"shift{i}", f"mean{i}", f"variance{i}"]
        if quantized:
            nodes += pair(f"c{i}", f"c{i}_")
            nodes.append(helper.make_node("BatchNormalization", [f"c{i}__dq", *parameters], [f"r{i}"]))
        else:
            nodes.append(helper.make_node("BatchNormalization", [f"c{i}", *parameters], [f"n{i}"]))
            nodes.append(helper.make_node("Relu", [f"n{i}"], [f"r{i}"]))
        last = f"r{i}"
    if quantized:
        constants += grid("out", 0.125, np.uint8(0))
        nodes += pair(last, "out")
        last = "out_dq"
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["y"]))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", F, [1, 3, 1, 1])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def test_unnamed_nodes_are_not_matched_by_the_names_that_places_give(files, tmp_path):
    """Conv_0 of one file is not Conv_0 of the other, and what is merged is said to be."""
    normed(tmp_path / "float.onnx", quantized=False)
    normed(tmp_path / "quantized.onnx", quantized=True)
    report = answer("debug", "loss", tmp_path / "float.onnx", tmp_path / "quantized.onnx", "--data", files / "data.npz", code=0)
    assert report["defects"] == []
    assert {row["tensor"]: row["quantized_tensor"] for row in report["tensors"]} == {
        "c0": "c0", "c1": "c1", "c2": "c2", "r0": "in1_dq", "r1": "in2_dq", "r2": "out_dq", "y": "y"}
    assert all("merged into the next layer" in line for line in report["not_compared"])
    assert all(row["own_sqnr_db"] > 15 for row in report["tensors"] if row["own_sqnr_db"] is not None)
    weights = {row["tensor"]: row["sqnr_db"] for row in report["quantizers"] if row["weight"]}
    assert weights.keys() == {"w0", "w1", "w2"} and all(db > 40 for db in weights.values())


def test_a_batch_normalization_that_only_the_quantized_file_has_belongs_to_its_layer(files, tmp_path):
    """Trainers keep it behind the quantized weight; the exporter of the float file folded it into the convolution."""
    factor, shift = np.array([2, 3, 4, 5], np.float32), array(4)
    fixed = [numpy_helper.from_array(value, name) for name, value in
             (("factor", factor), ("shift", shift), ("mean", np.zeros(4, np.float32)), ("variance", np.ones(4, np.float32)))]
    def save(path, nodes, constants):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [1, 3, 8, 8])],
                                  [helper.make_tensor_value_info("y", F, None)], constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    folded = KERNEL * (factor / np.sqrt(np.float32(1 + 1e-5))).reshape(4, 1, 1, 1)
    save(tmp_path / "float.onnx", [helper.make_node("Conv", ["x", "w", "shift"], ["c"], name="conv"),
                                   helper.make_node("Relu", ["c"], ["y"], name="relu")],
         [numpy_helper.from_array(folded, "w"), fixed[1]])
    save(tmp_path / "quantized.onnx",
         [*pair("x", "x"), *pair("w", "w", axis=0), helper.make_node("Conv", ["x_dq", "w_dq"], ["c"], name="conv"),
          helper.make_node("BatchNormalization", ["c", "factor", "shift", "mean", "variance"], ["n"], name="norm"),
          helper.make_node("Relu", ["n"], ["y"], name="relu")],
         [*fixed, numpy_helper.from_array(KERNEL, "w"), *grid("x", 0.03, np.int8(0)), *grid("w", np.full(4, 0.03), np.zeros(4, np.int8))])
    report = one_layer_loss(files, tmp_path)
    weight = next(row for row in report["quantizers"] if row["weight"])
    assert weight["tensor"] == "w" and weight["sqnr_db"] > 25
    rows = {row["tensor"]: row for row in report["tensors"]}
    assert rows["c"]["quantized_tensor"] == "n" and rows["c"]["sqnr_db"] > 25 and rows["c"]["own_sqnr_db"] > 25
    assert rows["y"]["own_sqnr_db"] == "inf"


def one_layer(path, nodes, constants, data, kernel):
    graph = helper.make_graph([*nodes, helper.make_node("Conv", [data, kernel], ["y"], name="conv")], "g",
                              [helper.make_tensor_value_info("x", F, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", F, None)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


KERNEL = array(4, 3, 1, 1)


@pytest.fixture
def one_layer_float(tmp_path):
    one_layer(tmp_path / "float.onnx", [], [numpy_helper.from_array(KERNEL, "w")], "x", "w")
    return tmp_path


def one_layer_loss(files, folder, code=0):
    return answer("debug", "loss", folder / "float.onnx", folder / "quantized.onnx", "--data", files / "data.npz", code=code)


def test_activations_with_a_scale_for_each_channel_have_their_clip_and_round_parts(files, one_layer_float):
    """As NNCF quantizes the inputs of depthwise convolutions."""
    scales = np.array([0.02, 0.005, 0.04], np.float32)
    one_layer(one_layer_float / "quantized.onnx", [*pair("x", "x", axis=1), *pair("w", "w", axis=0)],
              [*grid("x", scales, np.array([0, 3, -5], np.int8)), numpy_helper.from_array(KERNEL, "w"),
               *grid("w", np.full(4, 0.03), np.zeros(4, np.int8))], "x_dq", "w_dq")
    report = one_layer_loss(files, one_layer_float, code=1)
    assert [defect["kind"] for defect in report["defects"]] == ["lost-pair"]  # a channel of unit variance clipped at 0.6
    row = {row["tensor"]: row for row in report["quantizers"]}["x"]
    x = np.concatenate(samples_of(files)).astype(np.float64)
    along, zero = scales.astype(np.float64).reshape(1, 3, 1, 1), np.array([0, 3, -5.0]).reshape(1, 3, 1, 1)
    clipped = np.clip(x, (-128 - zero) * along, (127 - zero) * along)
    got = (np.clip(np.round(x / along) + zero, -128, 127) - zero) * along
    clip, rounding = np.sum((x - got)**2) - np.sum((clipped - got)**2), np.sum((clipped - got)**2)
    assert row["scales"] == 3 and row["sqnr_db"] == pytest.approx(sqnr_db(np.sum(x**2), clip + rounding), abs=0.01)
    assert row["clip_share"] == pytest.approx(clip / (clip + rounding), abs=0.01) and 0.1 < row["clip_share"]


def test_learned_scales_that_the_file_computes_are_known(files, one_layer_float):
    """As PyTorch exports a scale whose logarithm was trained."""
    logarithms = np.log(np.abs(KERNEL).max((1, 2, 3)) / 127).astype(np.float32)
    one_layer(one_layer_float / "quantized.onnx",
              [helper.make_node("Exp", ["logarithms"], ["w_scale"]), *pair("x", "x"), *pair("w", "w", axis=0)],
              [numpy_helper.from_array(logarithms, "logarithms"), numpy_helper.from_array(KERNEL, "w"), *grid("x", 0.03, np.int8(0)),
               numpy_helper.from_array(np.zeros(4, np.int8), "w_zero")], "x_dq", "w_dq")
    report = one_layer_loss(files, one_layer_float)
    rows = {row["tensor"]: row for row in report["quantizers"]}
    assert rows.keys() == {"x", "w"} and rows["w"]["weight"] and rows["w"]["sqnr_db"] > 40
    formats = answer("inspect", "model", one_layer_float / "quantized.onnx", "--show", "formats", code=0)
    assert "int8" in json.dumps(formats)


def test_a_quantizer_in_front_of_nodes_that_move_values_is_not_missing(files, one_layer_float):
    nodes = [*pair("x", "x"), helper.make_node("Transpose", ["x_dq"], ["t"], perm=[0, 1, 3, 2]),
             helper.make_node("Transpose", ["t"], ["back"], perm=[0, 1, 3, 2]), *pair("w", "w")]
    one_layer(one_layer_float / "quantized.onnx", nodes, [*grid("x", 0.03, np.int8(0)), numpy_helper.from_array(KERNEL, "w"),
                                                          *grid("w", 0.03, np.int8(0))], "back", "w_dq")
    assert one_layer_loss(files, one_layer_float)["defects"] == []


def test_files_of_quantized_operators_are_read_as_pairs(files):
    report = answer("debug", "loss", files / "float.onnx", files / "operators.onnx", "--data", files / "data.npz", code=0)
    assert {row["tensor"] for row in report["quantizers"] if row["weight"]} and all("sqnr_db" in row for row in report["quantizers"])
    assert all(float(row["sqnr_db"]) > 30 for row in report["quantizers"] if row.get("clip_share", 0) < 0.99), "but for grids that are the Relu"
    assert all(float(row["sqnr_db"]) > 30 for row in report["tensors"])


# Placement: the same mistakes as an engine sees them. `kernels` is what ONNX Runtime makes of the file.

def placement(path, target, code):
    return answer("check", "placement", path, "--target", target, code=code)


def kernels(path, folder):
    return [node.op_type for node in optimized_session(path, folder)[1].node]


def test_what_onnx_runtime_fuses_is_not_found(files, tmp_path):
    report = placement(files / "qdq.onnx", "onnxruntime", 0)
    assert report["findings"] == [] and report["evidence"] == "optimized graph"
    assert kernels(files / "qdq.onnx", tmp_path).count("QLinearConv") == 2


def without_pair_behind(model):
    without_quantizer(model, "c2")


PLACES = {"one-input-in-float": (spoil_missing, "residual"),
          "no-quantizer-behind": (without_pair_behind, "second")}


@pytest.mark.parametrize("rule", PLACES)
def test_rules_of_onnx_runtime_hold_in_its_optimized_graph(files, rule, tmp_path):
    spoil, node = PLACES[rule]
    model = onnx.load(files / "qdq.onnx")
    spoil(model)
    onnx.save(model, tmp_path / "spoiled.onnx")
    report = placement(tmp_path / "spoiled.onnx", "onnxruntime", 1)
    assert (rule, node) in {(finding["rule"], finding["node"]) for finding in report["findings"]}
    assert {"Conv", "Add"} & set(kernels(tmp_path / "spoiled.onnx", tmp_path)), "nothing is left in float"


# Operators that move or pick values: attributes, and what they read besides data [1, 4, 4, 4].
MOVERS = {
    "Compress": ({"axis": 1}, [np.array([True, False, True, True])]),
    "DepthToSpace": ({"blocksize": 2}, []),
    "Flatten": ({}, []),
    "Gather": ({"axis": 1}, [np.array([0, 2])]),
    "GatherElements": ({"axis": 1}, [np.zeros((1, 2, 4, 4), np.int64)]),
    "GatherND": ({}, [np.array([[0, 1]])]),
    "GlobalMaxPool": ({}, []),
    "MaxPool": ({"kernel_shape": [2, 2]}, []),
    "ReduceMax": ({}, [np.array([1])]),
    "ReduceMin": ({}, [np.array([1])]),
    "Reshape": ({}, [np.array([1, -1])]),
    "ReverseSequence": ({"batch_axis": 0, "time_axis": 1}, [np.array([3])]),
    "Slice": ({}, [np.array([0]), np.array([2]), np.array([1])]),
    "SpaceToDepth": ({"blocksize": 2}, []),
    "Split": ({"axis": 1, "num_outputs": 1}, []),
    "Squeeze": ({}, [np.array([0])]),
    "Tile": ({}, [np.array([1, 2, 1, 1])]),
    "TopK": ({"axis": 1}, [np.array([2])]),
    "Transpose": ({"perm": [0, 2, 3, 1]}, []),
    "Trilu": ({}, []),
    "Unsqueeze": ({}, [np.array([0])]),
}


@pytest.mark.parametrize("op", MOVERS)
def test_what_moves_codes_is_what_onnx_runtime_moves_them_through(op, tmp_path):
    attributes, values = MOVERS[op]
    constants = [numpy_helper.from_array(value, f"k{i}") for i, value in enumerate(values)]
    moved = helper.make_node(op, ["x_dq", *(constant.name for constant in constants)], ["m", "places"] if op == "TopK" else ["m"],
                             name="mover", **attributes)
    nodes = [helper.make_node("Neg", ["i"], ["x"]), *pair("x", "x"), moved, *pair("m", "m"), helper.make_node("Neg", ["m_dq"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("i", F, [1, 4, 4, 4])],
                              [helper.make_tensor_value_info("y", F, None)], [*constants, *grid("x", 0.1, np.uint8(128)), *grid("m", 0.1, np.uint8(128))])
    path = tmp_path / "mover.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    kernels(path, tmp_path)
    optimized = onnx.load(tmp_path / "optimized.onnx").graph.node
    in_float = any(node.op_type == "DequantizeLinear" and node.output[0] in other.input
                   for node in optimized for other in optimized if other.op_type == op)
    findings = placement(path, "onnxruntime", 1 if in_float else 0)["findings"]
    assert [finding["rule"] for finding in findings] == (["no-kernel-on-codes"] if in_float else [])


def test_sixteen_bits_are_left_in_float(files, tmp_path):
    quantization.quantize_static(files / "float.onnx", tmp_path / "wide.onnx", Reader(samples_of(files)), per_channel=True,
                                 activation_type=quantization.QuantType.QUInt16, weight_type=quantization.QuantType.QInt8)
    report = placement(tmp_path / "wide.onnx", "onnxruntime", 1)
    assert "sixteen-bits" in {finding["rule"] for finding in report["findings"]}
    assert "QLinearConv" not in kernels(tmp_path / "wide.onnx", tmp_path)


def test_tensorrt_refuses_asymmetric_codes_and_integer_biases(files):
    report = placement(files / "qdq.onnx", "tensorrt", 1)
    assert report["evidence"] == "documented, not run"
    assert {"zero-point", "code-type"} <= {finding["rule"] for finding in report["findings"]}


@pytest.mark.parametrize("target", ["tensorrt", "onnxruntime"])
def test_our_own_files_have_nothing_to_find(files, target, tmp_path):
    run(PROGRAM, "quantize", files / "float.onnx", "--data", files / "data.npz", *all_kernels(target), "-o", tmp_path / "q.onnx")
    assert placement(tmp_path / "q.onnx", target, 0)["findings"] == []
    assert loss_of(files, tmp_path / "q.onnx")["defects"] == []


def loss_of(files, path):
    return answer("debug", "loss", files / "float.onnx", path, "--data", files / "data.npz", code=0)


def test_an_overridden_tensor_has_the_scale_given(files, tmp_path):
    (tmp_path / "overrides.json").write_text(json.dumps({"r1": {"rmin": -6.35, "rmax": 6.35}, "w1": [{"scale": 0.5}] * 4}))
    run(PROGRAM, "quantize", files / "float.onnx", "--data", files / "data.npz", "--tensor-overrides", tmp_path / "overrides.json",
        "-o", tmp_path / "q.onnx")
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(tmp_path / "q.onnx").graph.initializer}
    assert stored["r1_scale"] == pytest.approx(0.05) and np.all(stored["w1_scale"] == 0.5)
