"""What is said of ONNX Runtime on a CPU without VNNI, against ONNX Runtime: which layers its optimizer gives to a kernel that saturates, over
the forms in which it does so or not, and on such a CPU the figure. Int8 data becomes uint8 where a pair has one reader.
"""
import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

from paired_layers import SATURATES, grid, model_of, node, quantized, rng, weight
from typed_files import optimized_session, session, sqnr_db, vernier

# kernel: which inputs the weight and the zero point of the data are
KERNELS = {"QLinearConv": (3, 2), "QLinearMatMul": (3, 2), "QGemm": (3, 2), "MatMulIntegerToFloat": (1, 4)}
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


@pytest.mark.sampled
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


def two_layers(folder, alpha):
    """A file of float layers, samples, and what they give."""
    constants = {"w": weight(32, 32), "b": rng.normal(-8, 1, 32).astype(np.float32), "v": rng.normal(0, 0.3, (32, 8)).astype(np.float32)}
    nodes = [node("Gemm", ["x", "w", "b"], "first", alpha=alpha), node("Relu", ["first"], "between"), node("MatMul", ["between", "v"], "second")]
    samples = rng.uniform(0.3, 3, (6, 4, 32)).astype(np.float32)
    onnx.save(model_of(nodes, constants, [4, 32], ["second"]), folder / "float.onnx")
    np.savez(folder / "data.npz", x=samples)
    running = session(folder / "float.onnx")
    return samples, [running.run(None, {"x": x})[0] for x in samples]


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self.left = iter(samples)

    def get_next(self):
        x = next(self.left, None)
        return None if x is None else {"x": x}


@pytest.mark.parametrize("data", [QuantType.QUInt8, QuantType.QInt8])
@pytest.mark.parametrize("form, alpha", [("pairs", 1), ("operators", 1), ("operators", 0.5), ("dynamic", 1)])
def test_operators_on_codes_are_simulated_as_their_pairs_are(form, alpha, data, tmp_path):
    """The figures are the same on every CPU, and what one without VNNI makes of them stands beside. ONNX Runtime's quantizer scales a bias
    without alpha, and its QGemm with it: such a file is as bad as it is told."""
    samples, references = two_layers(tmp_path, float(alpha))
    given, made = tmp_path / "float.onnx", tmp_path / "quantized.onnx"
    if form == "dynamic":
        quantize_dynamic(given, made, weight_type=QuantType.QInt8)
    else:
        quantize_static(given, made, Reader(samples), quant_format=QuantFormat.QDQ if form == "pairs" else QuantFormat.QOperator,
                        activation_type=data, weight_type=QuantType.QInt8)
    report = vernier("verify", given, made, "--data", tmp_path / "data.npz", "--target", "onnxruntime")
    said = report.get("saturated_pairs")
    assert bool(said) == ((form, data) != ("operators", QuantType.QInt8))
    assert alpha != 1 or not said or any(layer["name"].startswith("first") for layer in said["layers"])
    on_codes = {row["format"] for row in report["layers"] if row["op_type"] == "MatMul"}  # a dynamic Gemm is two nodes
    assert on_codes == {"uint8" if form == "dynamic" or data == QuantType.QUInt8 else "int8"}
    assert (figure(report) > 30) == (alpha == 1)
    running = default_session(made)
    measured = sqnr_db([(reference, running.run(None, {"x": x})[0]) for reference, x in zip(references, samples)])
    assert measured == pytest.approx(figure(said if said and SATURATES else report), abs=0.5)
    assert not any("not simulated" in text for text in report["notes"]), report["notes"]


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
