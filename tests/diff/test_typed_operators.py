"""FP16 of single operators: `vernier convert` writes the typed file, its simulation must equal what NumPy says: inputs and
weights rounded to float16, the operator in float32, its output rounded to float16. Bit for bit: both sides run the same
float32 kernel, and rounding is exact.
"""
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from typed_files import PROGRAM, evaluate, run, simulate

F = onnx.TensorProto.FLOAT
rng = np.random.default_rng(7)


def array(*shape, scale=1.0, low=None):
    values = rng.standard_normal(shape).astype(np.float32) * np.float32(scale)
    return np.abs(values) + np.float32(low) if low is not None else values


X = [1, 4, 6, 6]
M = [2, 5, 8]

# name: (operator, shape of x, constants behind x, attributes); integer constants are shapes, axes and indices
CASES = {
    "conv": ("Conv", X, [array(3, 4, 3, 3), array(3)], {"pads": [1, 1, 1, 1]}),
    "depthwise_conv": ("Conv", X, [array(4, 1, 3, 3), array(4)], {"group": 4}),
    "conv_transpose": ("ConvTranspose", X, [array(4, 3, 2, 2)], {}),
    "gemm": ("Gemm", [3, 8], [array(5, 8), array(5)], {"transB": 1, "alpha": 0.3}),
    "matmul": ("MatMul", M, [array(8, 7)], {}),
    "add": ("Add", M, [array(8)], {}),
    "sub": ("Sub", M, [array(8)], {}),
    "mul": ("Mul", M, [array(1)], {}),
    "div": ("Div", M, [array(8, low=0.1)], {}),
    "pow": ("Pow", M, [np.array(3, np.float32)], {}),
    "pow_integer": ("Pow", M, [np.array(2, np.int64)], {}),
    "sqrt": ("Sqrt", M, [], {}),
    "exp": ("Exp", M, [], {}),
    "exp_overflows": ("Exp", [64], [], {}),
    "sigmoid": ("Sigmoid", M, [], {}),
    "tanh": ("Tanh", M, [], {}),
    "erf": ("Erf", M, [], {}),
    "relu": ("Relu", M, [], {}),
    "prelu": ("PRelu", M, [array(8)], {}),
    "leaky_relu": ("LeakyRelu", M, [], {"alpha": 0.1}),
    "hard_sigmoid": ("HardSigmoid", M, [], {}),
    "softmax": ("Softmax", M, [], {"axis": -1}),
    "layer_normalization": ("LayerNormalization", M, [array(8), array(8)], {"axis": -1}),
    "batch_normalization": ("BatchNormalization", X, [array(4), array(4), array(4), array(4, low=0.1)], {}),
    "instance_normalization": ("InstanceNormalization", X, [array(4), array(4)], {}),
    "reduce_mean": ("ReduceMean", M, [], {"axes": [1]}),
    "clip": ("Clip", M, [np.array(-0.3, np.float32), np.array(0.7, np.float32)], {}),
    "max": ("Max", M, [np.array(0.1, np.float32)], {}),
    "average_pool": ("AveragePool", X, [], {"kernel_shape": [3, 3]}),
    "global_average_pool": ("GlobalAveragePool", X, [], {}),
    "resize": ("Resize", X, [None, np.array([1, 1, 1.7, 2.3], np.float32)], {"mode": "linear"}),
    "lstm": ("LSTM", [3, 1, 4], [array(1, 20, 4), array(1, 20, 5), array(1, 40)], {"hidden_size": 5}),
    "gru": ("GRU", [3, 1, 4], [array(1, 15, 4), array(1, 15, 5), array(1, 30)], {"hidden_size": 5}),
}
# Behind these another layer must stand: alone they would follow nothing low.
FOLLOWERS = {
    "concat_with_a_constant": ("Concat", M, [array(2, 5, 3)], {"axis": -1}),
    "gather": ("Gather", M, [np.array([1, 0], np.int64)], {"axis": 1}),
    "max_pool": ("MaxPool", X, [], {"kernel_shape": [2, 2]}),
    "pad_with_a_value": ("Pad", [2, 3], [np.array([0, 1, 0, 1], np.int64), np.array(0.1, np.float32)], {}),
    "transpose": ("Transpose", M, [], {"perm": [2, 0, 1]}),
}


def half(value):
    """Rounded to float16, as float32; integers as they are."""
    if value.dtype != np.float32:
        return value
    with np.errstate(over="ignore"):
        return value.astype(np.float16).astype(np.float32)


def model_of(op_type, shape, constants, attributes, first="x"):
    """The operator alone, or behind an Exp that makes `first`."""
    names = [first] + ["" if value is None else f"c{i}" for i, value in enumerate(constants)]
    nodes = [helper.make_node(op_type, names, ["y"], name="layer", **attributes)]
    if first != "x":
        nodes.insert(0, helper.make_node("Exp", ["x"], [first], name="before"))
    initializers = [numpy_helper.from_array(v, f"c{i}") for i, v in enumerate(constants) if v is not None]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, shape)],
                              [helper.make_tensor_value_info("y", F, None)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    dims = evaluate(model, {"x": np.zeros(shape, np.float32)})["y"].shape  # the checker wants the shape of an output
    graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F, dims))
    model.graph.CopyFrom(graph)
    return model


def input_of(name, shape):
    if name == "exp_overflows":
        return np.linspace(-20, 12, shape[0], dtype=np.float32)  # from below the subnormals to infinity
    return np.abs(array(*shape)) if name in ("sqrt", "pow") else array(*shape)


def typed_file(model, folder):
    onnx.save(model, folder / "float.onnx")
    run(PROGRAM, "convert", folder / "float.onnx", "--fp16", "-o", folder / "typed.onnx")
    onnx.checker.check_model(str(folder / "typed.onnx"), full_check=True)
    return folder / "typed.onnx"


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_a_float16_layer_is_a_float32_kernel_between_roundings(name, tmp_path):
    op_type, shape, constants, attributes = CASES[name]
    model = model_of(op_type, shape, constants, attributes)
    typed = typed_file(model, tmp_path)
    assert any(t.elem_type == onnx.TensorProto.FLOAT16 for t in low_types(typed)), "nothing runs in float16"
    x = input_of(name, shape)
    scales_stay = op_type == "Resize"  # ONNX fixes them to float32
    rounded = [v if v is None or (scales_stay and v.ndim == 1) else half(v) for v in constants]
    want = half(evaluate(model_of(op_type, shape, rounded, attributes), {"x": half(x)})["y"])
    np.testing.assert_array_equal(simulate(typed, {"x": x}, tmp_path)["y"], want)


@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_follower_moves_float16_values_and_its_constants_are_rounded(name, tmp_path):
    op_type, shape, constants, attributes = FOLLOWERS[name]
    typed = typed_file(model_of(op_type, shape, constants, attributes, first="h"), tmp_path)
    x = array(*shape)
    h = half(evaluate(model_of("Exp", shape, [], {}), {"x": half(x)})["y"])
    want = evaluate(model_of(op_type, shape, [half(v) for v in constants], attributes), {"x": h})["y"]
    np.testing.assert_array_equal(simulate(typed, {"x": x}, tmp_path)["y"], want)


def test_where_rounds_its_mask_value_to_minus_infinity(tmp_path):
    nodes = [helper.make_node("Where", ["c", "x", "v"], ["y"], name="layer")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [2]),
                                           helper.make_tensor_value_info("x", F, [2])],
                              [helper.make_tensor_value_info("y", F, [2])],
                              [numpy_helper.from_array(np.array(-1e9, np.float32), "v")])
    typed = typed_file(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path)
    feed = {"c": np.array([True, False]), "x": np.array([0.1, 0.1], np.float32)}
    np.testing.assert_array_equal(simulate(typed, feed, tmp_path)["y"], half(np.array([0.1, -1e9], np.float32)))


def low_types(path):
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    return [info.type.tensor_type for info in model.graph.value_info]
