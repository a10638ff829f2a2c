"""What is said of ONNX Runtime on a CPU without VNNI, against ONNX Runtime: which layers its optimizer gives to a kernel that saturates, over
the forms in which it does so or not, and on such a CPU the figure. Int8 data becomes uint8 where a pair has one reader.
"""
import pathlib
import platform

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from typed_files import optimized_session, session, sqnr_db, vernier

F = onnx.TensorProto.FLOAT
VNNI = any(flag in pathlib.Path("/proc/cpuinfo").read_text() for flag in ("avx512_vnni", "avx_vnni", "amx_int8"))
SATURATES = platform.machine() == "x86_64" and not VNNI
# kernel: which inputs the weight and the zero point of the data are
KERNELS = {"QLinearConv": (3, 2), "QLinearMatMul": (3, 2), "QGemm": (3, 2), "MatMulIntegerToFloat": (1, 4)}
rng = np.random.default_rng(23)


def weight(*shape, scale=1.0):
    """Of one sign, so that neighbouring products add up."""
    return (np.abs(rng.normal(0.5, 0.1, shape)) * scale).astype(np.float32)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], name=output, **attributes)


def model_of(nodes, constants, shape, outputs):
    used = {name for each in nodes for name in each.input}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, shape)], [helper.make_tensor_value_info(y, F, None) for y in outputs],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items() if name in used])
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def grid(values, data):
    """Scale and zero point that hold all values."""
    low, high = min(0, values.min()), max(0, values.max())
    if data == "int8":
        return np.float32(max(-low, high) / 127), np.int8(0)
    scale = np.float32((high - low) / 255)
    zero = round(-low / scale)
    return scale, np.uint8(zero) if data == "uint8" else np.int8(zero - 128)


def quantized(nodes, constants, grids, bias="float", per_channel=True, apart=None):
    """The nodes with a pair at each tensor of `grids`, and int8 weights. A second reader of a tensor has its own DequantizeLinear with `apart`
    "dequantizer", its own pair with "pair".
    """
    made, held, read, readers = [], dict(constants), {}, {}

    def pair(tensor, name, stored=None):
        held[tensor + "_s"], held[tensor + "_z"] = grids[tensor]
        codes = stored or name + "_q"
        if not stored:
            made.append(node("QuantizeLinear", [tensor, tensor + "_s", tensor + "_z"], codes))
        made.append(node("DequantizeLinear", [codes, tensor + "_s", tensor + "_z"], name))
        read[tensor] = name

    if "x" in grids:
        pair("x", "x_d")
    for each in nodes:
        inputs = list(each.input)
        if each.op_type in ("Conv", "Gemm", "MatMul") and inputs[1] in constants:
            name, values = inputs[1], constants[inputs[1]]
            by_rows = each.op_type == "Conv" or any(a.name == "transB" and a.i for a in each.attribute)
            axis = 0 if by_rows else values.ndim - 1
            most = values.max(tuple(i for i in range(values.ndim) if i != axis)) if per_channel else values.max()
            steps = np.asarray(most / 127, np.float32)
            spread = steps.reshape([-1 if i == axis else 1 for i in range(values.ndim)]) if per_channel else steps
            held |= {name + "_c": np.rint(values / spread).astype(np.int8), name + "_s": steps, name + "_z": np.zeros(steps.shape, np.int8)}
            if name + "_d" not in {output for other in made for output in other.output}:
                made.append(node("DequantizeLinear", [name + "_c", name + "_s", name + "_z"], name + "_d", **({"axis": axis} if per_channel else {})))
            inputs[1] = name + "_d"
            if bias == "int32" and len(inputs) > 2:
                alpha = next((a.f for a in each.attribute if a.name == "alpha"), 1)
                scale = np.asarray(grids[each.input[0]][0] * steps * alpha, np.float32)
                held |= {"b_c": np.rint(constants[inputs[2]] / scale).astype(np.int32), "b_s": scale}
                made.append(node("DequantizeLinear", ["b_c", "b_s"], "b_d", **({"axis": 0} if per_channel else {})))
                inputs[2] = "b_d"
        for k, name in enumerate(inputs):
            readers[name] = readers.get(name, 0) + 1
            if apart and name in grids and readers[name] > 1:
                pair(name, f"{name}_again", stored=f"{name}_d_q" if apart == "dequantizer" else None)
            inputs[k] = read.get(name, name)
        made.append(helper.make_node(each.op_type, inputs, each.output, name=each.name))
        made[-1].attribute.extend(each.attribute)
        if each.output[0] in grids:
            pair(each.output[0], each.output[0] + "_d")
    return made, held, read


def kernels_that_saturate(path, folder):
    """Names of the layers, as ONNX Runtime's optimizer has them on x86."""
    graph = optimized_session(path, folder, [("session.qdqisint8allowed", "0")])[1]
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    found = [(each.name, *(types.get(each.input[place]) for place in KERNELS[each.op_type])) for each in graph.node if each.op_type in KERNELS]
    return {name.removesuffix("/MatMulAddFusion") for name, of_weight, of_data in found
            if of_weight == onnx.TensorProto.INT8 and of_data == onnx.TensorProto.UINT8}


def default_session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def figure(section):
    return float(section["figures"]["outputs"][0]["sqnr_db"])


def check(nodes, constants, shape, pairs, folder, data="int8", outputs=("y",), all_saturate=True, **form):
    """Verifies a file, and gives what the report says of saturation."""
    samples = rng.uniform(0.3, 3, (6, *shape)).astype(np.float32)
    made_inside = dict.fromkeys(name for each in nodes for name in each.output)
    whole = session(model_of(nodes, constants, shape, made_inside))
    values = dict(zip(made_inside, zip(*(whole.run(None, {"x": x}) for x in samples))))
    values["x"] = samples
    grids = {name: grid(np.stack(values[name]), data) for name in pairs}
    made, held, read = quantized(nodes, constants, grids, **form)
    ends = [node("Identity", [read.get(y, y)], y + "_out") for y in outputs]
    names = [y + "_out" for y in outputs]
    onnx.save(model_of([*nodes, *(node("Identity", [y], y + "_out") for y in outputs)], constants, shape, names), folder / "float.onnx")
    onnx.save(model_of([*made, *ends], held, shape, names), folder / "quantized.onnx")
    np.savez(folder / "data.npz", x=samples)
    report = vernier("verify", folder / "float.onnx", folder / "quantized.onnx", "--data", folder / "data.npz", "--target", "onnxruntime")
    said = report.get("saturated_pairs")
    named = {layer["name"] for layer in said["layers"]} if said else set()
    kernels = kernels_that_saturate(folder / "quantized.onnx", folder)
    assert named == kernels if all_saturate else named <= kernels
    claimed = figure(said if said and SATURATES else report)
    running = default_session(folder / "quantized.onnx")
    measured = sqnr_db([(reference, running.run(None, {"x": x})[0]) for reference, x in zip(values[outputs[0]], samples)])
    assert measured == pytest.approx(claimed, abs=0.5)
    assert bool(said) == any("VNNI" in text and "--reduce-range" in text for text in report["warnings"])
    return said


LAYERS = {
    "Conv": ([1, 8, 5, 5], {"w": weight(8, 8, 3, 3, scale=0.1), "b": rng.normal(0, 1, 8).astype(np.float32)}, {"pads": [1] * 4}),
    "Gemm": ([4, 32], {"w": weight(16, 32), "b": rng.normal(0, 1, 16).astype(np.float32)}, {"transB": 1}),
    "MatMul": ([4, 32], {"w": weight(32, 16)}, {}),
}
BEHIND = {
    "nothing": [], "Relu": ["Relu"], "Clip": ["Clip"], "Add": ["Add"], "Relu and Neg": ["Relu", "Neg"],
}


@pytest.mark.parametrize("data", ["int8", "int8 asymmetric", "uint8"])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("operator", LAYERS)
def test_a_layer_and_what_stands_behind_it(operator, behind, data, tmp_path):
    shape, constants, attributes = LAYERS[operator]
    constants = constants | {"low": np.float32(0), "high": np.float32(6), "shift": rng.normal(0, 1, (8, 1, 1) if operator == "Conv" else 16).astype(np.float32)}
    more = {"Clip": ["low", "high"], "Add": ["shift"]}
    for bias in ("none", "float", "int32") if "b" in constants else ("none",):
        nodes = [node(operator, ["x", "w", *(["b"] if bias != "none" else [])], "layer", **attributes)]
        for step in BEHIND[behind]:
            nodes.append(node(step, [nodes[-1].output[0], *more.get(step, [])], f"{step}_behind"))
        last = nodes[-1].output[0]
        for pairs in (["x"], ["x", last]):
            check(nodes, constants, shape, pairs, tmp_path, data, [last], bias=bias)


@pytest.mark.parametrize("data", ["int8", "uint8"])
@pytest.mark.parametrize("operator", LAYERS)
def test_one_scale_for_a_weight(operator, data, tmp_path):
    shape, constants, attributes = LAYERS[operator]
    nodes = [node(operator, ["x", "w"], "layer", **attributes)]
    assert check(nodes, constants, shape, ["x", "layer"], tmp_path, data, ["layer"], per_channel=False)


@pytest.mark.parametrize("data", ["int8", "uint8"])
@pytest.mark.parametrize("apart", [None, "dequantizer", "pair"])
@pytest.mark.parametrize("operator", LAYERS)
def test_data_that_two_layers_read(operator, apart, data, tmp_path):
    shape, constants, attributes = LAYERS[operator]
    nodes = [node(operator, ["x", "w"], "layer", **attributes), node("Neg", ["x"], "other")]
    said = check(nodes, constants, shape, ["x", "layer"], tmp_path, data, ["layer", "other"], apart=apart)
    assert bool(said) == (data == "uint8"), "int8 data of two readers stays int8, and products of int8 do not saturate"


@pytest.mark.parametrize("data", ["int8", "uint8"])
def test_a_weight_that_layers_share(data, tmp_path):
    constants = {"w": weight(32, 32), "b": rng.normal(0, 1, 32).astype(np.float32)}
    nodes = [node("Gemm", ["x", "w"], "first"), node("MatMul", ["first", "w"], "second"), node("Relu", ["second"], "third"),
             node("Gemm", ["third", "w", "b"], "fourth", transB=1)]
    assert check(nodes, constants, [4, 32], ["x", "first", "third"], tmp_path, data, ["fourth"], all_saturate=False)


@pytest.mark.parametrize("data", ["int8", "uint8"])
def test_data_that_are_moved_behind_their_pair(data, tmp_path):
    nodes = [node("Transpose", ["x"], "turned", perm=[1, 0]), node("Reshape", ["turned", "to"], "shaped"), node("MatMul", ["shaped", "w"], "layer")]
    assert check(nodes, {"w": weight(16, 8), "to": np.array([8, 16])}, [4, 32], ["x"], tmp_path, data, ["layer"])


@pytest.mark.parametrize("data", ["int8", "uint8"])
@pytest.mark.parametrize("shape, of_weight", [([5, 2, 3, 16], [2, 16, 8]), ([3, 16], [2, 16, 8]), ([2, 3, 16], [5, 1, 16, 8]), ([2, 3, 16], [16]),
                                              ([16], [16, 8])])
def test_products_of_other_ranks(shape, of_weight, data, tmp_path):
    check([node("MatMul", ["x", "w"], "layer")], {"w": weight(*of_weight)}, shape, ["x"], tmp_path, data, ["layer"], per_channel=False)


def test_operators_that_read_codes_are_named(tmp_path):
    """ONNX Runtime itself runs them, as this machine's kernels do."""
    model = model_of([node("MatMul", ["x", "w"], "layer")], {"w": weight(32, 16)}, [4, 32], ["layer"])
    onnx.save(model, tmp_path / "float.onnx")
    quantize_dynamic(tmp_path / "float.onnx", tmp_path / "quantized.onnx", weight_type=QuantType.QInt8)
    np.savez(tmp_path / "data.npz", x=rng.uniform(0.3, 3, (6, 4, 32)).astype(np.float32))
    report = vernier("verify", tmp_path / "float.onnx", tmp_path / "quantized.onnx", "--data", tmp_path / "data.npz")
    assert any("VNNI" in text and "'layer_quant'" in text for text in report["notes"]), report["notes"]


@pytest.mark.parametrize("attributes", [{"alpha": 0.5}, {"beta": 2.0}, {"transA": 1}, {"alpha": 2.0, "transB": 1}])
@pytest.mark.parametrize("data", ["int8", "uint8"])
def test_a_gemm_with_attributes(data, attributes, tmp_path):
    shape = [32, 4] if attributes.get("transA") else [4, 32]
    for bias in ("none", "float", "int32"):
        nodes = [node("Gemm", ["x", "w", *(["b"] if bias != "none" else [])], "layer", **attributes)]
        constants = {"w": weight(32, 32), "b": rng.normal(0, 1, 32).astype(np.float32)}
        check(nodes, constants, shape, ["x", "layer"], tmp_path, data, ["layer"], bias=bias)


@pytest.mark.parametrize("data", ["int8", "uint8"])
@pytest.mark.parametrize("shape, of_weight, attributes", [
    ([1, 16, 6, 6], [16, 16, 3, 3], {}), ([1, 8, 6, 6], [16, 2, 3, 3], {"group": 4}), ([1, 8, 6, 6], [8, 1, 3, 3], {"group": 8}),
    ([2, 5, 7], [6, 5, 3], {"strides": [2], "pads": [1, 1]}), ([1, 3, 4, 4, 4], [5, 3, 2, 2, 2], {"auto_pad": "SAME_UPPER"}),
    ([1, 4, 9, 9], [4, 4, 3, 3], {"dilations": [2, 2]})])
def test_convolutions(shape, of_weight, attributes, data, tmp_path):
    depthwise = of_weight[1] == 1  # summed in 32 bits
    said = check([node("Conv", ["x", "w"], "layer", **attributes)], {"w": weight(*of_weight, scale=0.1)}, shape, ["x", "layer"], tmp_path, data, ["layer"],
                 all_saturate=not depthwise)
    assert bool(said) != depthwise
