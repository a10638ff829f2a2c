"""`--target onnxruntime` against ONNX Runtime with all its optimizations: each operator of the target's table (src/plan/target.cpp)
becomes an integer kernel, layers that are kept stay in float, and real networks give the figure that was promised.
"""
import collections
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from typed_files import PROGRAM, ROOT, SHARED, evaluate, figures, optimized_session, run, session, sqnr_db, vernier

sys.path.insert(0, str(ROOT / "bench"))
import networks  # noqa: E402

F = onnx.TensorProto.FLOAT
rng = np.random.default_rng(12)
X = [1, 4, 6, 6]
M = [2, 5, 8]
QUANTIZERS = {"QuantizeLinear", "DequantizeLinear"}


def array(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def float_model(nodes, shape, constants):
    """`nodes` from x to y."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, shape)], [helper.make_tensor_value_info("y", F, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    dims = evaluate(model, {"x": np.zeros(shape, np.float32)})["y"].shape  # the checker wants the shape of an output
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F, dims))
    return model


def converted(model, shape, folder, *options):
    onnx.save(model, folder / "float.onnx")
    np.savez(folder / "data.npz", x=array(16, *shape))
    run(PROGRAM, "convert", folder / "float.onnx", "--int8", "--target", "onnxruntime", "--even-if-slower", "--data", folder / "data.npz", *options, "-o",
        folder / "typed.onnx")
    return folder / "typed.onnx"


def integer_session(path, folder):
    """CPUs without VNNI add pairs of products in 16 bits, which saturate: this asks for sums that do not."""
    made, graph = optimized_session(path, folder, [("session.x64quantprecision", "1")])
    return made, graph.node


def operators(path, folder):
    return collections.Counter(node.op_type for node in integer_session(path, folder)[1])


# operator: shape of x, constants behind x, attributes, and the kernel that it must become
TABLE = {
    "Conv": (X, [array(3, 4, 3, 3), array(3)], {}, "QLinearConv"),
    "Gemm": ([5, 8], [array(6, 8), array(6)], {"transB": 1}, "QGemm"),
    "MatMul": (M, [array(8, 7)], {}, "MatMulIntegerToFloat"),
    "Add": (M, [array(8)], {}, "QLinearAdd"),
    "Mul": (M, [array(8)], {}, "QLinearMul"),
    "AveragePool": (X, [], {"kernel_shape": [2, 2]}, "QLinearAveragePool"),
    "GlobalAveragePool": (X, [], {}, "QLinearGlobalAveragePool"),
    "LeakyRelu": (X, [], {"alpha": 0.1}, "QLinearLeakyRelu"),
    "Sigmoid": (M, [], {}, "QLinearSigmoid"),
    "Softmax": (M, [], {"axis": -1}, "QLinearSoftmax"),
}


@pytest.mark.parametrize("name", TABLE)
def test_an_operator_of_the_table_becomes_an_integer_kernel(name, tmp_path):
    shape, constants, attributes, kernel = TABLE[name]
    given = {f"c{i}": value for i, value in enumerate(constants)}
    node = helper.make_node(name, ["x", *given], ["y"], name="layer", **attributes)
    found = operators(converted(float_model([node], shape, given), shape, tmp_path), tmp_path)
    assert found[kernel] == 1, found
    assert set(found) <= {kernel} | QUANTIZERS, found


def test_where_becomes_an_integer_kernel(tmp_path):
    given = {"mask": rng.integers(0, 2, M).astype(bool), "other": array(8)}
    node = helper.make_node("Where", ["mask", "x", "other"], ["y"], name="layer")
    found = operators(converted(float_model([node], M, given), M, tmp_path), tmp_path)
    assert set(found) == {"QLinearWhere"} | QUANTIZERS, found


@pytest.mark.parametrize("activation", ["Relu", "Clip"])
@pytest.mark.parametrize("name", ["Conv", "Add"])
def test_an_activation_is_part_of_the_kernel_before_it(name, activation, tmp_path):
    given = {"c": array(4, 4, 1, 1) if name == "Conv" else array(4, 1, 1), "low": np.float32(0), "high": np.float32(1)}
    bounds = ["low", "high"] if activation == "Clip" else []
    nodes = [helper.make_node(name, ["x", "c"], ["h"], name="layer"), helper.make_node(activation, ["h", *bounds], ["y"], name="act")]
    found = operators(converted(float_model(nodes, X, given), X, tmp_path), tmp_path)
    assert set(found) == {"QLinear" + name} | QUANTIZERS, found


CARRIERS = {
    "Reshape": ([np.array([1, -1], np.int64)], {}),
    "Transpose": ([], {"perm": [0, 2, 3, 1]}),
    "Flatten": ([], {}),
    "Slice": ([np.array([0], np.int64), np.array([2], np.int64)], {}),
    "Gather": ([np.array([1, 0], np.int64)], {"axis": 1}),
    "MaxPool": ([], {"kernel_shape": [2, 2]}),
    "DepthToSpace": ([], {"blocksize": 2}),
    "Resize": ([np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)], {"mode": "nearest"}),
}


@pytest.mark.parametrize("name", CARRIERS)
def test_a_carrier_between_low_layers_moves_codes(name, tmp_path):
    constants, attributes = CARRIERS[name]
    given = {f"c{i}": value for i, value in enumerate(constants)}
    nodes = [helper.make_node("Sigmoid", ["x"], ["a"], name="before"), helper.make_node(name, ["a", *given], ["b"], name="carrier", **attributes),
             helper.make_node("LeakyRelu", ["b"], ["y"], name="after", alpha=0.5)]
    found = operators(converted(float_model(nodes, X, given), X, tmp_path), tmp_path)
    assert found["DequantizeLinear"] == found["QuantizeLinear"] == 1, found
    assert found["QLinearSigmoid"] == found["QLinearLeakyRelu"] == 1, found


def test_concat_joins_codes_of_one_grid(tmp_path):
    nodes = [helper.make_node("Sigmoid", ["x"], ["a"], name="one"), helper.make_node("LeakyRelu", ["x"], ["b"], name="two", alpha=0.1),
             helper.make_node("Concat", ["a", "b"], ["c"], name="join", axis=1), helper.make_node("LeakyRelu", ["c"], ["y"], name="after", alpha=0.5)]
    path = converted(float_model(nodes, X, {}), X, tmp_path)
    assert operators(path, tmp_path)["QLinearConcat"] == 1
    scales = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer if t.name.endswith("_scale")}
    assert scales["a_scale"] == scales["b_scale"] == scales["c_scale"] != scales["y_scale"]


@pytest.mark.parametrize("name, weight, kept", [("Conv", array(4, 4, 3, 3), True), ("ConvTranspose", array(4, 4, 3, 3), False)])
def test_a_float_layer_between_quantized_tensors_keeps_its_weights(name, weight, kept, tmp_path):
    """ONNX Runtime would quantize them per tensor by itself."""
    nodes = [helper.make_node("LeakyRelu", ["x"], ["a"], name="before", alpha=0.1),
             helper.make_node(name, ["a", "w"], ["b"], name="layer", pads=[1, 1, 1, 1]),
             helper.make_node("LeakyRelu", ["b"], ["y"], name="after", alpha=0.1)]
    model = float_model(nodes, X, {"w": weight})
    path = converted(model, X, tmp_path, *(["--layer-precisions", "layer:float32"] if kept else []))
    low, optimized = integer_session(path, tmp_path)
    assert name in {node.op_type for node in optimized}
    assert "QLinearConv" not in {node.op_type for node in optimized}
    x = array(*X)
    plain = session(path).run(None, {"x": x})[0]
    step = max(float(numpy_helper.to_array(t)) for t in onnx.load(path).graph.initializer if t.name == "y_scale")
    off = np.abs(low.run(None, {"x": x})[0] - plain) / step
    assert off.max() < 1.01 and (off > 0.5).mean() < 0.02, "more than a step that flipped"


def test_what_a_mask_adds_leaves_the_sum_its_digits(tmp_path):
    """ONNX Runtime sums scale * zero point of both addends in float32: with a grid down to -1e9 little is left of the other."""
    given = {"mask": np.triu(np.full((5, 5), -1e9, np.float32), 1), "w": array(8, 5)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"], name="logits"), helper.make_node("Add", ["s", "mask"], ["m"], name="masked"),
             helper.make_node("Softmax", ["m"], ["y"], name="softmax", axis=-1)]
    path = converted(float_model(nodes, M, given), M, tmp_path)
    low, optimized = integer_session(path, tmp_path)
    assert {"QLinearAdd", "QLinearSoftmax"} <= {node.op_type for node in optimized}
    x = array(*M)
    assert sqnr_db([(session(path).run(None, {"x": x})[0], low.run(None, {"x": x})[0])]) > 35


@pytest.mark.parametrize("closed", [-np.inf, np.finfo(np.float32).min, -1e9])
def test_a_mask_that_the_network_makes_hides_small_scores(closed, tmp_path):
    """On a grid of the scores alone, which span a fifth here, a masked score would be a score like others."""
    given = {"later": np.triu(np.ones((5, 5), bool), 1), "closed": np.float32(closed), "open": np.float32(0), "w": array(8, 5) / 40}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"], name="logits"),
             helper.make_node("Less", ["zero", "s"], ["any"], name="any"), helper.make_node("Or", ["any", "later"], ["all"], name="all"),
             helper.make_node("And", ["all", "later"], ["hidden"], name="hidden"),
             helper.make_node("Where", ["hidden", "closed", "open"], ["mask"], name="mask"),
             helper.make_node("Add", ["s", "mask"], ["m"], name="masked"), helper.make_node("Softmax", ["m"], ["y"], name="softmax", axis=-1)]
    path = converted(float_model(nodes, M, given | {"zero": np.float32(0)}), M, tmp_path)
    low, optimized = integer_session(path, tmp_path)
    assert {"QLinearAdd", "QLinearSoftmax"} <= {node.op_type for node in optimized}
    x = array(*M)
    reference = session(tmp_path / "float.onnx").run(None, {"x": x})[0]
    assert (reference[..., 0, 1:] == 0).all()
    assert sqnr_db([(reference, low.run(None, {"x": x})[0])]) > 30


@pytest.mark.parametrize("name", ["Conv", "Gemm", "MatMul"])
def test_a_weight_with_a_zero_point_has_an_integer_kernel_too(name, tmp_path):
    shape, constants, attributes, kernel = TABLE[name]
    given = {f"c{i}": value for i, value in enumerate(constants)}
    weight = rng.integers(-12, 12, given["c0"].shape)  # on a grid that symmetric codes cannot hold, for one weight's sake
    weight.flat[0] = 243
    given["c0"] = (0.01 * weight).astype(np.float32)
    model = float_model([helper.make_node(name, ["x", *given], ["y"], name="layer", **attributes)], shape, given)
    onnx.save(model, tmp_path / "float.onnx")
    # Samples of one range: half of the others would clip more of them than all that weights are rounded by.
    np.savez(tmp_path / "data.npz", x=array(*shape) * (1 - 0.01 * rng.random((16, *[1] * len(shape)), np.float32)))
    report = vernier("fix", tmp_path / "float.onnx", "--int8", "--per-tensor", "--target", "onnxruntime", "--even-if-slower", "--data", tmp_path / "data.npz",
                     "--allow", "weight-zero-point", "-o", tmp_path / "out")
    assert [tried["accepted"] for tried in report["explanation"]["repairs"]] == [True], report["explanation"]["repairs"]
    path = tmp_path / "out/model.onnx"
    zero = next(numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer if t.name == "c0_zero_point")
    assert zero.dtype == np.int8 and zero < 0
    low, optimized = integer_session(path, tmp_path)
    found = collections.Counter(node.op_type for node in optimized)
    assert found[kernel] == 1 and set(found) <= {kernel} | QUANTIZERS, found
    x = array(*shape)
    assert sqnr_db([(session(path).run(None, {"x": x})[0], low.run(None, {"x": x})[0])]) > 40


@pytest.mark.sampled
@pytest.mark.skipif(not SHARED.joinpath("models").is_dir(), reason=f"no models under {SHARED}: set VERNIER_SHARED")
@pytest.mark.parametrize("network, left", [("mobilenetv2-imagenet", set()), ("resnet8-cifar", set()), ("squeezenet-imagenet", set()),
                                           ("rfb320-face", {"Exp", "Sub", "Div", "Slice", "Concat"})])
def test_networks_run_on_integer_kernels_and_give_the_figure_that_was_promised(network, left, tmp_path):
    """`left`: what has no integer kernel, and the end of a network that moves dequantized values."""
    count = 16
    data = networks.make(tmp_path, network, count)
    run(PROGRAM, "convert", networks.model_file(network), "--int8", "--target", "onnxruntime", "--even-if-slower", "--data", data, "-o", tmp_path / "typed.onnx")
    low, optimized = integer_session(tmp_path / "typed.onnx", tmp_path)
    moves = {"Reshape", "Transpose", "Flatten", "MaxPool", "Split"}
    found = {node.op_type for node in optimized}
    assert {op for op in found if not op.startswith("QLinear")} <= moves | QUANTIZERS | {"QGemm"} | left, found
    promised = figures(vernier("verify", networks.model_file(network), tmp_path / "typed.onnx", "--data", data)["figures"])
    ref = session(networks.model_file(network))
    name = ref.get_inputs()[0].name
    pairs = {output: [] for output in promised}
    for sample in networks.samples_of(network, count):
        for output, a, b in zip(pairs, ref.run(list(pairs), {name: sample}), low.run(list(pairs), {name: sample})):
            pairs[output].append((a, b))
    for output, both in pairs.items():
        # Integer sums round once where float ones round often: steps flip, more where a network is sensitive.
        # squeezenet's, behind its Softmax, is known no better than to 5 dB (docs/limits.md).
        assert abs(sqnr_db(both) - promised[output]) < (2 if network == "squeezenet-imagenet" else 0.3), output
