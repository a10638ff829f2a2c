"""Full-integer files: what they read or return are quantized values. Their figures are those that ONNX Runtime gives once
the samples are quantized, and the outputs dequantized, with the scales of the file."""
import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from test_traits import sqnr, vernier

SAMPLES, ROWS, COLUMNS = 6, 8, 5
TYPES = {
    "int8": (TensorProto.INT8, 127, 0),
    "uint8": (TensorProto.UINT8, 127, 128),
    "int16": (TensorProto.INT16, 32767, 0),
    "float8": (TensorProto.FLOAT8E4M3FN, 448, 0),
}


def node(op_type, inputs, output, **attributes):
    return helper.make_node(op_type, inputs.split(), output.split(), name=f"{output.split()[0]}_node", **attributes)


def save(nodes, inputs, outputs, constants, path, opset):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs],
                              [value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)
                               for name, value in constants.items()])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10 if opset > 17 else 8), path)


def network(folder, opset, second=False):
    """y = x W, and the ranges of both. `second`: another output, which stays float."""
    random = np.random.default_rng(7)
    weight = random.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    samples = random.standard_normal((SAMPLES, 1, ROWS)).astype(np.float32)
    nodes = [node("MatMul", "x W", "y")] + ([node("Sigmoid", "x", "s")] if second else [])
    save(nodes, [("x", TensorProto.FLOAT, ["n", ROWS])],
         [("y", TensorProto.FLOAT, ["n", COLUMNS])] + ([("s", TensorProto.FLOAT, ["n", ROWS])] if second else []),
         {"W": weight}, folder / "float.onnx", opset)
    np.savez(folder / "x.npz", x=samples)
    return weight, samples


def constants(weight, samples, kind="int8"):
    type_, most, zero = TYPES[kind]
    scale = (np.abs(weight).max(0) / 127).astype(np.float32)
    return {
        "Wq": np.rint(weight / scale).astype(np.int8),
        "Ws": scale,
        "xs": np.float32(np.abs(samples).max() / 127).reshape(()),
        "xz": np.int8(0).reshape(()),
        "ys": np.float32(np.abs(samples @ weight).max() / most).reshape(()),
        "yz": helper.make_tensor("yz", type_, [], [zero]),
    }


def quantized(folder, weight, samples, opset, kind="int8", integer_input=True, integer_output=True, second=False):
    made = constants(weight, samples, kind)
    nodes = [] if integer_input else [node("QuantizeLinear", "x xs xz", "xq")]
    nodes += [node("DequantizeLinear", ("x" if integer_input else "xq") + " xs xz", "xd"),
              node("DequantizeLinear", "Wq Ws", "Wd", axis=1)]
    nodes += [node("MatMul", "xd Wd", "yf"), node("QuantizeLinear", "yf ys yz", "y")] if integer_output else [
        node("MatMul", "xd Wd", "y")]
    nodes += [node("Sigmoid", "xd", "s")] if second else []
    save(nodes, [("x", TensorProto.INT8 if integer_input else TensorProto.FLOAT, ["n", ROWS])],
         [("y", TYPES[kind][0] if integer_output else TensorProto.FLOAT, ["n", COLUMNS])] +
         ([("s", TensorProto.FLOAT, ["n", ROWS])] if second else []), made, folder / "q.onnx", opset)
    return made


def expected(weight, samples, made, kind="int8", integer_output=True):
    """What the file says, in NumPy."""
    codes = np.clip(np.rint(samples / made["xs"]), -128, 127)
    values = (codes * made["xs"]) @ (made["Wq"] * made["Ws"])
    if integer_output and kind != "float8":
        zero = TYPES[kind][2]
        low, high = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}[kind]
        values = (np.clip(np.rint(values / made["ys"]) + zero, low, high) - zero) * made["ys"]
    return sqnr(samples @ weight, values)


def measured(folder, *arguments, codes=(0,), job=("verify",)):
    done = vernier(*job, "float.onnx", "q.onnx", "--data", "x.npz", "--json", *arguments, folder=folder, codes=codes)
    return json.loads(done.stdout)


def figure(report, output="y"):
    rows = report["figures"]["outputs"] if "figures" in report else report["outputs"]
    return next(row["sqnr_db"] for row in rows if row["name"] == output)


@pytest.mark.parametrize("opset, kind", [(13, "int8"), (13, "uint8"), (21, "int8"), (21, "int16"), (21, "float8")])
def test_an_output_of_a_quantizer_is_measured_by_its_values(tmp_path, opset, kind):
    weight, samples = network(tmp_path, opset)
    made = quantized(tmp_path, weight, samples, opset, kind, integer_input=False)
    report = measured(tmp_path, "--min-sqnr", "20")
    assert "output 'y' is measured by its dequantized values" in report["notes"]
    lost = measured(tmp_path, job=("debug", "loss"))
    if kind != "float8":
        assert figure(report) == pytest.approx(expected(weight, samples, made, kind), abs=0.1)
    assert figure(lost) == pytest.approx(figure(report), abs=0.01)
    assert not lost["defects"] and any(pair["tensor"] == "yf" for pair in lost["quantizers"])
    vernier("fix", "float.onnx", "--from", "q.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20", "--no-latency",
            folder=tmp_path)


@pytest.mark.parametrize("integer_output", [False, True])
@pytest.mark.parametrize("opset", [13, 21])
def test_samples_for_an_integer_input_are_quantized_with_the_scale_of_the_file(tmp_path, opset, integer_output):
    weight, samples = network(tmp_path, opset)
    made = quantized(tmp_path, weight, samples, opset, integer_output=integer_output)
    right = expected(weight, samples, made, integer_output=integer_output)
    report = measured(tmp_path, "--min-sqnr", "20", "--on", "onnxruntime")
    assert any(text.startswith("input 'x' of the file is int8: samples are quantized") for text in report["notes"])
    assert figure(report) == pytest.approx(right, abs=0.1)
    assert figure(report["engine"]) == pytest.approx(right, abs=0.1)
    by_default = measured(tmp_path, "--min-sqnr", "20", "--target", "onnxruntime")
    assert "by_default" not in by_default and not any("refuses" in text for text in by_default["warnings"])
    lost = measured(tmp_path, job=("debug", "loss"))
    assert figure(lost) == pytest.approx(right, abs=0.1) and not lost["defects"]
    vernier("fix", "float.onnx", "--from", "q.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20", "--no-latency",
            folder=tmp_path)


def test_one_of_two_outputs_may_be_integer(tmp_path):
    weight, samples = network(tmp_path, 21, second=True)
    made = quantized(tmp_path, weight, samples, 21, second=True)
    report = measured(tmp_path)
    assert figure(report) == pytest.approx(expected(weight, samples, made), abs=0.1)
    assert figure(report, "s") > 30


def test_operators_on_quantized_values_may_be_first_and_last(tmp_path):
    """A uint8 file in operator form, whose result is moved before it is returned."""
    weight, samples = network(tmp_path, 13)
    made = constants(weight, samples)
    made["Ws1"] = np.float32(np.abs(weight).max() / 127).reshape(())
    made["Wq"] = np.rint(weight / made["Ws1"]).astype(np.int8)
    made["shape"] = np.array([-1, COLUMNS])
    save([node("QLinearMatMul", "x xs xz Wq Ws1 xz ys yz", "moved"), node("Reshape", "moved shape", "y")],
         [("x", TensorProto.INT8, ["n", ROWS])], [("y", TensorProto.INT8, ["n", COLUMNS])], made, tmp_path / "q.onnx", 13)
    session = onnxruntime.InferenceSession(tmp_path / "q.onnx", providers=["CPUExecutionProvider"])
    codes = np.clip(np.rint(samples / made["xs"]), -128, 127).astype(np.int8)
    right = sqnr(samples @ weight, np.stack([session.run(None, {"x": each})[0] for each in codes]) * made["ys"])
    report = measured(tmp_path, "--on", "onnxruntime")
    assert figure(report) == pytest.approx(right, abs=0.3)
    assert figure(report["engine"]) == pytest.approx(right, abs=0.01)

    # By the lists that engines publish: no pair stands there that a rule would look at.
    done = vernier("check", "placement", "q.onnx", "--target", "tensorrt", folder=tmp_path, codes=(1,))
    assert done.stdout.startswith("tensorrt does not list 1 operator on quantized values that the file has.")
    assert "operator-not-listed: moved_node: QLinearMatMul is not in TensorRT 10.15's list" in done.stdout
    vernier("check", "placement", "q.onnx", "--target", "openvino", folder=tmp_path)
    placements = {row["target"]: row["not_fused"] for row in report["placements"]}
    assert placements["tensorrt"] == 1 and placements["openvino"] == 0


def test_an_input_whose_scale_is_not_known_is_refused(tmp_path):
    weight, samples = network(tmp_path, 21)
    made = constants(weight, samples)
    made["other"] = made["xs"] * 2

    def refused(*nodes):
        nodes += (node("DequantizeLinear", "Wq Ws", "Wd", axis=1), node("MatMul", "xd Wd", "y"))
        save(nodes, [("x", TensorProto.INT8, ["n", ROWS])], [("y", TensorProto.FLOAT, ["n", COLUMNS])], made,
             tmp_path / "q.onnx", 21)
        return vernier("verify", "float.onnx", "q.onnx", "--data", "x.npz", folder=tmp_path, codes=(3,)).stderr

    text = refused(node("DequantizeLinear", "x xs xz", "xa"), node("DequantizeLinear", "x other xz", "xb"),
                   node("Add", "xa xb", "xd"))
    assert "input 'x' is int8, and float samples cannot be quantized for it: several scales dequantize it" in text
    text = refused(node("Cast", "x", "xd", to=TensorProto.FLOAT))
    assert "input 'x' is int8, and sample 0 holds 0.1105" in text and "no DequantizeLinear reads that input" in text
    np.savez(tmp_path / "x.npz", x=np.rint(samples * 20))
    measured(tmp_path)


def test_an_output_of_other_integers_is_refused_with_its_operator(tmp_path):
    weight, samples = network(tmp_path, 21, second=True)
    save([node("MatMul", "x W", "f"), node("ArgMax", "f", "y"), node("Sigmoid", "x", "s")],
         [("x", TensorProto.FLOAT, ["n", ROWS])], [("y", TensorProto.INT64, None), ("s", TensorProto.FLOAT, ["n", ROWS])],
         {"W": weight}, tmp_path / "q.onnx", 21)
    done = vernier("verify", "float.onnx", "q.onnx", "--data", "x.npz", folder=tmp_path, codes=(3,))
    assert "q.onnx: output 'y' is int64 of ArgMax, where the float model has float32" in done.stderr
    assert figure(measured(tmp_path, "--outputs", "s"), "s") == "inf"


class Images(CalibrationDataReader):
    def __init__(self, images):
        self.left = iter(images)

    def get_next(self):
        image = next(self.left, None)
        return None if image is None else {"x": image}


ON_CODES = {
    "nearest": [node("Resize", "c none scales", "m", mode="nearest")],
    "linear": [node("Resize", "c none scales", "m", mode="linear")],
    "pad": [node("Pad", "c pads", "m")],
    "split": [node("Split", "c", "m rest", axis=1)],
    "max_pool": [node("MaxPool", "c", "m", kernel_shape=[2, 2])],
    "clip": [node("Clip", "c low high", "m")],
    "slice": [node("Slice", "c begin end axis", "m")],
    "concat": [node("Concat", "c c", "m", axis=1)],
}


def convolutions(folder, nodes, channels):
    random = np.random.default_rng(3)
    made = {"W": random.standard_normal((4, 3, 3, 3)) * 0.4, "V": random.standard_normal((4, channels, 3, 3)) * 0.2,
            "scales": [1, 1, 2, 2], "low": -1, "high": 1}
    made = {name: np.asarray(value, np.float32) for name, value in made.items()}
    made |= {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "begin": np.array([1]), "end": np.array([7]), "axis": np.array([2])}
    nodes = [node("Conv", "x W", "c", pads=[1] * 4), *nodes, node("Conv", "m V", "y")]
    for each in nodes:
        each.input[:] = ["" if name == "none" else name for name in each.input]
    read = {name for each in nodes for name in each.input}
    save(nodes, [("x", TensorProto.FLOAT, [1, 3, 8, 8])], [("y", TensorProto.FLOAT, None)],
         {name: value for name, value in made.items() if name in read}, folder / "float.onnx", 13)
    images = random.standard_normal((SAMPLES, 1, 3, 8, 8)).astype(np.float32)
    np.savez(folder / "x.npz", x=images)
    return images


def run(path, images):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return np.stack([session.run(None, {"x": image})[0] for image in images])


@pytest.mark.parametrize("kind", ON_CODES)
def test_operators_that_run_on_quantized_values_are_compared_whichever_they_are(tmp_path, kind):
    images = convolutions(tmp_path, ON_CODES[kind], {"split": 2, "concat": 8}.get(kind, 4))
    quantize_static(tmp_path / "float.onnx", tmp_path / "q.onnx", Images(images), quant_format=QuantFormat.QOperator,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)
    right = sqnr(run(tmp_path / "float.onnx", images), run(tmp_path / "q.onnx", images))
    report = measured(tmp_path, "--min-sqnr", "20")
    assert figure(report) == pytest.approx(right, abs=0.3)
    lost = measured(tmp_path, job=("debug", "loss"))
    assert figure(lost) == pytest.approx(right, abs=0.3)
    if kind in ("nearest", "linear"):
        assert {row["layer"] for row in lost["tensors"]} == {"c_node", "m_node", "y_node"}
    vernier("fix", "float.onnx", "--from", "q.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20", "--no-latency",
            folder=tmp_path)


@pytest.mark.parametrize("nodes", [
    [node("Resize", "cq none scales", "mq", mode="linear"), node("DequantizeLinear", "mq cs cz", "m")],
    [node("MaxPool", "cq", "mq", kernel_shape=[2, 2]), node("DequantizeLinear", "mq cs cz", "m")],
], ids=["resize", "max_pool"])
def test_files_with_pairs_may_compute_on_quantized_values(tmp_path, nodes):
    operator = node(nodes[0].op_type, " ".join(["c", *nodes[0].input[1:]]), "m")
    operator.attribute.extend(nodes[0].attribute)
    images = convolutions(tmp_path, [operator], 4)
    model = onnx.load(tmp_path / "float.onnx")
    added = [node("QuantizeLinear", "c cs cz", "cq"), *nodes]
    for each in added:
        each.input[:] = ["" if name == "none" else name for name in each.input]
    kept = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([kept[0], *added, kept[-1]])
    model.graph.initializer.extend([numpy_helper.from_array(np.float32(0.05), "cs"),
                                    numpy_helper.from_array(np.uint8(128), "cz")])
    onnx.save(model, tmp_path / "q.onnx")
    right = sqnr(run(tmp_path / "float.onnx", images), run(tmp_path / "q.onnx", images))
    assert figure(measured(tmp_path)) == pytest.approx(right, abs=0.3)
    lost = measured(tmp_path, job=("debug", "loss"))
    assert lost["defects"] == []  # the second weight is left in float, which loses nothing
    assert figure(lost) == pytest.approx(right, abs=0.3)


@pytest.mark.parametrize("columns", [COLUMNS, ROWS], ids=["wide", "square"])
def test_codes_that_are_transposed_keep_their_scale_for_each_channel(columns, tmp_path):
    random = np.random.default_rng(9)
    weight = (random.standard_normal((columns, ROWS)) * np.geomspace(0.1, 10, columns)[:, None]).astype(np.float32)
    samples = random.standard_normal((SAMPLES, 1, ROWS)).astype(np.float32)
    scale = (np.abs(weight).max(1) / 127).astype(np.float32)
    ports = [("x", TensorProto.FLOAT, [1, ROWS])], [("y", TensorProto.FLOAT, [1, columns])]
    save([node("Transpose", "W", "Wt", perm=[1, 0]), node("MatMul", "x Wt", "y")], *ports, {"W": weight}, tmp_path / "float.onnx", 17)
    values = {"W": weight, "s": scale, "z": np.zeros(columns, np.int8), "xs": np.float32(np.abs(samples).max() / 127), "xz": np.int8(0)}
    nodes = [node("QuantizeLinear", "x xs xz", "xq"), node("DequantizeLinear", "xq xs xz", "xd"), node("QuantizeLinear", "W s z", "Wq", axis=0),
             node("Transpose", "Wq", "Wqt", perm=[1, 0]), node("DequantizeLinear", "Wqt s z", "Wd", axis=1), node("MatMul", "xd Wd", "y")]
    save(nodes, *ports, values, tmp_path / "q.onnx", 17)
    np.savez(tmp_path / "x.npz", x=samples)
    session = onnxruntime.InferenceSession(str(tmp_path / "q.onnx"), providers=["CPUExecutionProvider"])
    given = np.stack([session.run(None, {"x": sample})[0] for sample in samples])
    done = vernier("verify", "float.onnx", "q.onnx", "--data", "x.npz", "--min-sqnr", "30", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    assert report["outcome"] == "met" and not report.get("defects")
    assert float(report["figures"]["outputs"][0]["sqnr_db"]) == pytest.approx(sqnr(samples @ weight.T, given), abs=0.1)
