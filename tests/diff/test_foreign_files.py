"""`vernier verify` on files that others made: ONNX Runtime's quantizer, a converter to float16, hand-made casts. Q/DQ files
must get the figure that ONNX Runtime itself gives with optimizations off; float16 files that of a NumPy emulation.
"""
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from typed_files import PROGRAM, evaluate, figures, run, same_figures, session, sqnr_db, vernier

F, F16 = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16
rng = np.random.default_rng(11)


def array(*shape):
    return rng.standard_normal(shape).astype(np.float32)


X = array(5, 1, 3, 12, 12)
CONSTANTS = {"w1": array(8, 3, 3, 3), "b1": array(8), "w2": array(8, 8, 1, 1), "w3": array(8, 10), "b3": array(10)}


def network(opset=17):
    """Conv, Relu, Conv, residual Add, pool, Gemm, Softmax."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], name="relu1"),
        helper.make_node("Conv", ["b", "w2"], ["c"], name="conv2"),
        helper.make_node("Add", ["b", "c"], ["d"], name="add"),
        helper.make_node("GlobalAveragePool", ["d"], ["e"], name="pool"),
        helper.make_node("Flatten", ["e"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["g"], name="fc"),
        helper.make_node("Softmax", ["g"], ["y"], name="softmax", axis=-1),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [1, 3, 12, 12])],
                              [helper.make_tensor_value_info("y", F, [1, 10])],
                              [numpy_helper.from_array(v, k) for k, v in CONSTANTS.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.fixture
def files(tmp_path):
    onnx.save(network(), tmp_path / "float.onnx")
    np.save(tmp_path / "x.npy", X)
    return tmp_path


def verified(files, typed):
    return vernier("verify", files / "float.onnx", files / typed, "--data", files / "x.npy")


def measured(files, typed):
    """What ONNX Runtime makes of the file, against the float model."""
    ref, low = session(files / "float.onnx"), session(files / typed)
    return {"y": sqnr_db([(ref.run(["y"], {"x": x})[0], low.run(["y"], {"x": x})[0]) for x in X])}


@pytest.mark.parametrize("activations", ["QUInt8", "QInt8"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_files_of_onnxruntimes_quantizer(activations, per_channel, files):
    try:
        from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    except ImportError as missing:
        pytest.skip(f"onnxruntime.quantization cannot be imported: {missing}")

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.left = list(X)

        def get_next(self):
            return {"x": self.left.pop()} if self.left else None

    quantize_static(files / "float.onnx", files / "qdq.onnx", Reader(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=QuantType[activations], weight_type=QuantType.QInt8)
    report = verified(files, "qdq.onnx")
    want = measured(files, "qdq.onnx")
    assert want["y"] < 60, "the file hardly differs: nothing is tested"
    same_figures(figures(report["figures"]), want)
    assert {row["format"] for row in report["layers"] if row["op_type"] == "Conv"} & {"uint8", "int8"}


def test_quantizers_that_write_constants_as_nodes_and_float_weights_behind_pairs(files):
    """As PyTorch exporters do: scales in Constant nodes, axis counted from the end, weights quantized in the graph."""
    model = network()
    nodes = []

    def constant(value, name):
        nodes.append(helper.make_node("Constant", [], [name], name=name + "_node", value=numpy_helper.from_array(value, name)))
        return name

    def pair(tensor, scale, **axis):
        zero = np.zeros(scale.shape, np.int8)
        s, z = constant(scale, tensor + "_s"), constant(zero, tensor + "_z")
        nodes.append(helper.make_node("QuantizeLinear", [tensor, s, z], [tensor + "_q"], name=tensor + "_quant", **axis))
        nodes.append(helper.make_node("DequantizeLinear", [tensor + "_q", s, z], [tensor + "_d"], name=tensor + "_dequant", **axis))
        return tensor + "_d"

    for node in model.graph.node:
        if node.op_type == "Conv":
            weight = CONSTANTS[node.input[1]]
            scale = (np.abs(weight).max(axis=(1, 2, 3)) / 127).astype(np.float32)
            node.input[0] = pair(node.input[0], np.array(0.05, np.float32))
            node.input[1] = pair(node.input[1], scale, axis=-4)
        nodes.append(node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, files / "torch.onnx")
    report = verified(files, "torch.onnx")
    same_figures(figures(report["figures"]), measured(files, "torch.onnx"))
    assert {row["name"]: row["format"] for row in report["layers"]}["conv1"] == "int8"


def test_a_file_below_the_float_models_opset(files):
    onnx.save(network(13), files / "old.onnx")
    assert figures(verified(files, "old.onnx")["figures"])["y"] == np.inf


def half(value):
    return value.astype(np.float16).astype(np.float32)


def emulated(x, low_nodes, low_io):
    """The network node by node: float32 kernels, outputs of the nodes in `low_nodes` and their inputs rounded."""
    values = {"x": half(x) if low_io else x, **CONSTANTS}
    for node in network().graph.node:
        low = node.name in low_nodes
        feed = {name: half(values[name]) if low else values[name] for name in node.input}
        single = helper.make_model(
            helper.make_graph([node], "g", [helper.make_tensor_value_info(n, F, None) for n in feed],
                              [helper.make_tensor_value_info(node.output[0], F, None)]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        out = evaluate(single, feed)[node.output[0]]
        values[node.output[0]] = half(out) if low else out
    return values["y"]


def emulated_figure(files, low_nodes, low_io):
    ref = session(files / "float.onnx")
    return {"y": sqnr_db([(ref.run(["y"], {"x": x})[0], emulated(x, low_nodes, low_io)) for x in X])}


ALL = {node.name for node in network().graph.node}


def whole_float16(model):
    """Weights, inputs and outputs in float16, as converters write it."""
    for i, tensor in enumerate(model.graph.initializer):
        model.graph.initializer[i].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = F16
    return model


def test_a_file_that_is_float16_from_input_to_output(files):
    onnx.save(whole_float16(network()), files / "half.onnx")
    same_figures(figures(verified(files, "half.onnx")["figures"]), emulated_figure(files, ALL, low_io=True))


def test_files_of_onnxconverter_common(files):
    float16 = pytest.importorskip("onnxconverter_common.float16", reason="onnxconverter-common is not installed")
    onnx.save(float16.convert_float_to_float16(network(), keep_io_types=True), files / "converted.onnx")
    same_figures(figures(verified(files, "converted.onnx")["figures"]), emulated_figure(files, ALL, low_io=False))


def test_casts_made_by_hand_around_two_nodes(files):
    model = network()
    nodes = []
    for node in model.graph.node:
        if node.name == "conv1":
            for name in list(node.input):
                nodes.append(helper.make_node("Cast", [name], [name + "_h"], name=name + "_down", to=F16))
            node.input[:] = [name + "_h" for name in node.input]
            node.output[0] = "a_h"
        if node.name == "relu1":
            node.input[0], node.output[0] = "a_h", "b_h"
        nodes.append(node)
        if node.name == "relu1":
            nodes.append(helper.make_node("Cast", ["b_h"], ["b"], name="up", to=F))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, files / "cast.onnx")
    report = verified(files, "cast.onnx")
    same_figures(figures(report["figures"]), emulated_figure(files, {"conv1", "relu1"}, low_io=False))
    formats = {row["name"]: row["format"] for row in report["layers"]}
    assert (formats["conv1"], formats["relu1"], formats["conv2"]) == ("float16", "float16", "float32")


def trained(path, gemm_bias_as_codes):
    """The network as a quantization-aware trainer exports it: scales in Constant nodes, float weights behind pairs along their
    output channels, activations behind pairs with trained scales, names of its own.
    """
    nodes, weights = [], []

    def pair(tensor, scale, zero_point, **axis):
        for part, value in (("scale", np.asarray(scale, np.float32)), ("zero_point", zero_point)):
            nodes.append(helper.make_node("Constant", [], [f"{tensor}/{part}"], value=numpy_helper.from_array(value)))
        grid = [f"{tensor}/scale", f"{tensor}/zero_point"]
        nodes.append(helper.make_node("QuantizeLinear", [tensor, *grid], [f"{tensor}/q"], name=f"{tensor}/QuantizeLinear", **axis))
        nodes.append(helper.make_node("DequantizeLinear", [f"{tensor}/q", *grid], [f"{tensor}/dq"],
                                      name=f"{tensor}/DequantizeLinear", **axis))
        return f"{tensor}/dq"

    def weight(name, axis):
        value = CONSTANTS[name]
        largest = np.abs(value).max(axis=tuple(i for i in range(value.ndim) if i != axis))
        weights.append(numpy_helper.from_array(value, name))
        return pair(name, largest / 127, np.zeros(largest.shape, np.int8), axis=axis)

    def layer(op_type, inputs, output, **attributes):
        nodes.append(helper.make_node(op_type, inputs, [output], name=f"/features/{output}/{op_type}", **attributes))

    code = np.uint8
    weights += [numpy_helper.from_array(CONSTANTS[name], name) for name in ("b1", "b3")]
    layer("Conv", [pair("x", 0.03, code(128)), weight("w1", 0), "b1"], "a", pads=[1, 1, 1, 1])
    layer("Relu", ["a"], "b")
    shared = pair("b", 0.09, code(0))
    layer("Conv", [shared, weight("w2", 0)], "c")
    layer("Add", [shared, pair("c", 0.5, code(120))], "d")
    layer("GlobalAveragePool", [pair("d", 0.5, code(110))], "e")
    layer("Flatten", ["e"], "f")
    bias, data, matrix = "b3", pair("f", 0.1, code(100)), weight("w3", 1)
    if gemm_bias_as_codes:
        scale = (0.1 * np.abs(CONSTANTS["w3"]).max(0) / 127).astype(np.float32)
        weights += [numpy_helper.from_array(np.round(CONSTANTS["b3"] / scale).astype(np.int32), "b3/codes"),
                    numpy_helper.from_array(scale, "b3/scale")]
        nodes.append(helper.make_node("DequantizeLinear", ["b3/codes", "b3/scale"], ["b3/dq"], axis=0))
        bias = "b3/dq"
    layer("Gemm", [data, matrix, bias], "g")
    layer("Softmax", ["g"], "y", axis=-1)
    graph = helper.make_graph(nodes, "main_graph", [helper.make_tensor_value_info("x", F, [1, 3, 12, 12])],
                              [helper.make_tensor_value_info("y", F, [1, 10])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="pytorch"), path)


def answered(*words, code=0):
    return json.loads(run(PROGRAM, *words, "--json", code=code))


def test_a_quantization_aware_trained_file(files):
    trained(files / "qat.onnx", gemm_bias_as_codes=False)
    same_figures(figures(verified(files, "qat.onnx")["figures"]), measured(files, "qat.onnx"))
    loss = answered("debug", "loss", files / "float.onnx", files / "qat.onnx", "--data", files / "x.npy")
    assert loss["defects"] == []
    found = answered("check", "placement", files / "qat.onnx", "--target", "onnxruntime", code=1)["findings"]
    assert [(finding["rule"], finding["node"]) for finding in found] == [("float-bias", "/features/g/Gemm")]
    trained(files / "coded.onnx", gemm_bias_as_codes=True)
    assert answered("check", "placement", files / "coded.onnx", "--target", "onnxruntime")["findings"] == []


def test_files_of_onnxruntimes_dynamic_quantizer(files):
    quantization = pytest.importorskip("onnxruntime.quantization")
    quantization.quantize_dynamic(files / "float.onnx", files / "dynamic.onnx")
    run(PROGRAM, "debug", "loss", files / "float.onnx", files / "dynamic.onnx", "--data", files / "x.npy")
    assert answered("check", "placement", files / "dynamic.onnx", "--target", "onnxruntime")["findings"] == []
    answered("inspect", "model", files / "dynamic.onnx", "--show", "formats")
