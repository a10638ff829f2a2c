"""Files that somebody gave: quantized in other forms than Q/DQ pairs, with codes of four bits that were damaged, with
inputs of any size, with loops. What is said of them is right."""
import json
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

import networks
import quantized_files as files
from test_traits import vernier


class Images(CalibrationDataReader):
    def __init__(self, images):
        self.left = iter(images)

    def get_next(self):
        image = next(self.left, None)
        return None if image is None else {"x": image[None]}


def small_network(folder):
    b = networks.Builder(51)
    b.conv("x", "first", 3, 8)
    b.add("Relu", ["first"], "one")
    b.conv("one", "second", 8, 8)
    b.add("Add", ["second", "one"], "sum")
    b.add("Sigmoid", ["sum"], "gate")
    b.add("GlobalAveragePool", ["gate"], "pooled")
    b.add("Flatten", ["pooled"], "flat")
    b.linear("flat", "y", 8, 5)
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, 16, 16])], [("y", networks.FLOAT, [1, 5])]), folder / "float.onnx")
    images = b.normal(8, 3, 16, 16)
    np.savez(folder / "x.npz", x=images)
    return images


def taken_over(quantized, folder):
    """What `fix --from` says that it took, and the layers that it quantizes."""
    done = vernier("fix", "float.onnx", "--from", quantized, "--int8", "--target", "onnxruntime", "--even-if-slower",
                   "--data", "x.npz", "--min-sqnr", "5", "--no-latency", "--json", folder=folder, codes=(0, 1))
    report = json.loads(done.stdout)
    note = next(text for text in report["notes"] if text.startswith(f"from {quantized}"))
    return note, {row["name"]: row["format"] for row in report["layers"]}, report["notes"]


def test_ranges_and_exclusions_of_a_file_in_operator_form_are_those_of_its_twin_in_pairs(tmp_path):
    images = small_network(tmp_path)
    for name, form in {"operators.onnx": QuantFormat.QOperator, "pairs.onnx": QuantFormat.QDQ}.items():
        quantize_static(tmp_path / "float.onnx", tmp_path / name, Images(images), quant_format=form, per_channel=True,
                        nodes_to_exclude=["second"], weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8)
    operators, layers, notes = taken_over("operators.onnx", tmp_path)
    _, expected, _ = taken_over("pairs.onnx", tmp_path)
    assert "first" in layers and "second" not in layers and layers == expected
    assert not any("quantized operators" in text for text in notes), notes
    assert "the ranges of 0 tensors" not in operators
    scales = {}
    for name in ("operators", "pairs"):
        vernier("fix", "float.onnx", "--from", f"{name}.onnx", "--int8", "--target", "onnxruntime", "--even-if-slower",
                "--data", "x.npz", "--min-sqnr", "5", "--no-latency", "-o", name + "-fixed", folder=tmp_path, codes=(0, 1))
        plan = json.loads((tmp_path / f"{name}-fixed" / "plan.json").read_text())
        scales[name] = {tensor: plan["tensors"][tensor]["scale"] for tensor in ("x", "gate", "sum") if tensor in plan["tensors"]}
    assert len(scales["pairs"]) == 3 and scales["operators"] == scales["pairs"]


def test_layers_of_a_dynamically_quantized_file_are_found(tmp_path):
    small_network(tmp_path)
    quantize_dynamic(tmp_path / "float.onnx", tmp_path / "dynamic.onnx", weight_type=QuantType.QInt8,
                     nodes_to_exclude=["second"])
    _, layers, notes = taken_over("dynamic.onnx", tmp_path)
    assert set(layers) == {"first", "y.product"}
    assert not any("quantized operators" in text for text in notes), notes


def four_bits(folder, kind, block, damaged):
    """A MatMul whose weight is stored in 4 bits, with two codes changed perhaps."""
    b = networks.Builder(52, opset=21)
    weight = b.normal(64, 32) / 8
    onnx.save(model_of_product(weight), folder / "float.onnx")
    blocks = weight.reshape(64 // block, block, 32) if block else weight[None]
    if kind == TensorProto.INT4:
        scale, zero = np.abs(blocks).max(1) / 7, None
        codes = np.clip(np.round(blocks / scale[:, None]), -8, 7)
    else:
        low, high = blocks.min(1), blocks.max(1)
        scale = (high - low) / 15
        zero = np.round(-low / scale)
        codes = np.clip(np.round(blocks / scale[:, None]) + zero[:, None], 0, 15)
    codes = codes.reshape(64, 32)
    if damaged:
        for place in ((3, 5), (40, 9)):
            codes[place] = (codes[place] + 8) % 16 if kind == TensorProto.UINT4 else (codes[place] + 16) % 16 - 8
    if not block:
        scale, zero = scale[0], None if zero is None else zero[0]
    inputs = ["codes", "scale"] + (["zero"] if zero is not None else [])
    nodes = [helper.make_node("DequantizeLinear", inputs, ["w"], "dequantize", axis=0 if block else 1,
                              **({"block_size": block} if block else {})),
             helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
    stored = [helper.make_tensor("codes", kind, codes.shape, codes.astype(int).flatten().tolist()),
              numpy_helper.from_array(scale.astype(np.float32), "scale")]
    if zero is not None:
        stored.append(helper.make_tensor("zero", kind, zero.shape, zero.astype(int).flatten().tolist()))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 64])],
                              [helper.make_tensor_value_info("y", 1, [4, 32])], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "four.onnx")
    np.savez(folder / "x.npz", x=b.normal(6, 4, 64))


def model_of_product(weight):
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "g",
                              [helper.make_tensor_value_info("x", 1, [4, 64])],
                              [helper.make_tensor_value_info("y", 1, [4, 32])], [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("block", [0, 16])
@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4])
def test_weights_in_four_bits_are_compared_with_the_float_model(kind, block, damaged, tmp_path):
    four_bits(tmp_path, kind, block, damaged)
    verdict = json.loads(vernier("verify", "float.onnx", "four.onnx", "--data", "x.npz", "--json", folder=tmp_path).stdout)
    found = [(defect["kind"], defect["node"]) for defect in verdict.get("defects", [])]
    assert found == ([("wrong-codes", "dequantize")] if damaged else [])
    assert verdict["layers"][0]["format"] == ("int4" if kind == TensorProto.INT4 else "uint4")


def n_bits(folder, bits, damaged, zero_points, transposed):
    """A file with MatMulNBits, in blocks of 16, and its float model, a MatMul or a Gemm."""
    b = networks.Builder(54)
    weight = b.normal(40, 24)  # the last block is half full
    blocks, block = 3, 16
    padded = np.pad(weight, ((0, blocks * block - 40), (0, 0))).T.reshape(24, blocks, block)
    most = 2 ** bits - 1
    low, high = np.minimum(padded.min(-1), 0), np.maximum(padded.max(-1), 0)
    scale = ((high - low) / most if zero_points else np.abs(padded).max(-1) * 2 / most).astype(np.float32)
    zero = np.rint(-low / scale).astype(np.uint8) if zero_points else np.full(scale.shape, 2 ** (bits - 1), np.uint8)
    codes = np.clip(np.rint(padded / scale[..., None]) + zero[..., None], 0, most).astype(np.uint8)
    if damaged:
        for n, k in ((0, 3), (5, 20), (11, 31), (23, 0)):
            codes[n, k // block, k % block] ^= 1 << (bits - 1)
    stored, zeros = codes, zero
    if bits == 4:
        stored = codes[..., 0::2] | codes[..., 1::2] << 4
        pairs = np.pad(zero, ((0, 0), (0, 1)))
        zeros = pairs[:, 0::2] | pairs[:, 1::2] << 4
    x, y = helper.make_tensor_value_info("x", 1, [4, 40]), helper.make_tensor_value_info("y", 1, [4, 24])
    layer = helper.make_node("MatMulNBits", ["x", "codes", "scale", *(["zero"] if zero_points else [])], ["y"], "product", domain="com.microsoft",
                             K=40, N=24, bits=bits, block_size=block)
    constants = [numpy_helper.from_array(np.ascontiguousarray(values), name) for name, values in (("codes", stored), ("scale", scale), ("zero", zeros))]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([layer], "g", [x], [y], constants[:3 if zero_points else 2])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "packed.onnx")
    product = helper.make_node("Gemm" if transposed else "MatMul", ["x", "w"], ["y"], "product", **({"transB": 1} if transposed else {}))
    graph = helper.make_graph([product], "g", [x], [y], [numpy_helper.from_array(np.ascontiguousarray(weight.T if transposed else weight), "w")])
    onnx.save(helper.make_model(graph, opset_imports=opsets[:1], ir_version=8), folder / "float.onnx")
    np.savez(folder / "x.npz", x=b.normal(6, 4, 40))


@pytest.mark.sampled
@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("zero_points, transposed", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("bits", [4, 8])
def test_weights_that_a_layer_packs_are_compared_with_the_float_model(bits, zero_points, transposed, damaged, tmp_path):
    n_bits(tmp_path, bits, damaged, zero_points, transposed)
    for command in (["verify"], ["debug", "loss"]):
        done = vernier(*command, "float.onnx", "packed.onnx", "--data", "x.npz", "--json", folder=tmp_path, codes=(0, 1))
        report = json.loads(done.stdout)
        found = [(defect["kind"], defect["node"]) for defect in report.get("defects", [])]
        assert found == ([("wrong-codes", "product")] if damaged else [])
        if damaged:
            assert report["defects"][0]["text"].startswith("4 of 960 quantized values of 'w' of product are wrong")


def of_any_size(folder, tail, records=(), metadata=()):
    b = networks.Builder(53)
    b.conv("x", "first", 3, 8, strides=[2, 2])
    b.add("Relu", ["first"], "one")
    rows = "N"
    if tail == "rows":
        b.add("Reshape", ["one", b.constant("rows", np.array([-1, 8 * 8 * 8], np.int64))], "flat")
        b.linear("flat", "y", 8 * 8 * 8, 4)
        rows = "R"
    elif tail == "boxes":  # four numbers a place, of any number of places
        b.conv("one", "boxes", 8, 4, size=1)
        b.add("Transpose", ["boxes"], "last", perm=[0, 2, 3, 1])
        b.add("Reshape", ["last", b.constant("four", np.array([-1, 4], np.int64))], "flat")
        b.linear("flat", "y", 4, 4)
        rows = "R"
    else:
        b.add("GlobalAveragePool", ["one"], "pooled")
        b.add("Flatten", ["pooled"], "flat")
        b.linear("flat", "y", 8, 4)
    model = b.model([("x", networks.FLOAT, ["N", 3, "H", "W"])], [("y", networks.FLOAT, [rows, 4])])
    for name, shape in records:
        model.graph.value_info.append(helper.make_tensor_value_info(name, networks.FLOAT, shape))
    for key, value in metadata:
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, folder / "net.onnx")


@pytest.mark.sampled
@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("how, warns, says", [
    ({"tail": "pooled"}, False, ""),
    ({"tail": "boxes"}, False, ""),
    ({"tail": "rows"}, True, "makes rows of 512 values, and a map of 1x8x16x16 of these images has 2048"),
    ({"tail": "pooled", "records": [("one", ["N", 8, 8, 8])]}, True,
     "the file records 'one' as ?x8x8x8, and these images make it 1x8x16x16"),
    ({"tail": "pooled", "metadata": [("imgsz", "[16, 16]")]}, True, "its metadata (imgsz) say 16x16"),
    ({"tail": "pooled", "metadata": [("imgsz", "any")]}, False, ""),
])
def test_images_of_another_size_get_one_warning_where_it_can_be_known(how, warns, says, size, tmp_path):
    of_any_size(tmp_path, **how)
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(1).normal(0, 1, (4, 1, 3, size, size)).astype(np.float32))
    done = vernier("diagnose", "net.onnx", "--int8", "--data", "x.npz", "--no-latency", "--json", folder=tmp_path)
    told = [text for text in json.loads(done.stdout)["warnings"] if text.startswith("images of")]
    assert len(told) == (1 if warns and size == 32 else 0)
    assert all(says in text and text.startswith("images of 32x32 at 'x'") for text in told), told


@pytest.mark.parametrize("width", [16, 24])
def test_one_name_for_two_sizes_is_told_before_tensorrt_refuses_it(width, tmp_path):
    b = networks.Builder(54)
    b.conv("x", "first", 3, 4)
    b.add("GlobalAveragePool", ["first"], "y")
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, "D", "D"])], [("y", networks.FLOAT, [1, 4, 1, 1])]), tmp_path / "net.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(4, 1, 3, 16, width))
    cure, told = "vernier surgeon sanitize --override-input-shapes", "allows one size per name"

    def warnings(*command, target="tensorrt"):
        done = vernier(*command, "--target", target, "--json", folder=tmp_path)
        return [text for text in json.loads(done.stdout)["warnings"] if told in text]
    diagnosed = warnings("diagnose", "net.onnx", "--int8", "--data", "x.npz", "--no-latency")
    converted = vernier("convert", "net.onnx", "--int8", "--data", "x.npz", "-o", "int8.onnx", folder=tmp_path).stderr
    assert len(diagnosed) == (width != 16) and (told in converted) == (width != 16)
    assert all(cure in text and "24 at axis 3 of input 'x'" in text for text in diagnosed)
    assert not warnings("diagnose", "net.onnx", "--int8", "--data", "x.npz", "--no-latency", target="openvino")
    placed = json.loads(vernier("check", "placement", "int8.onnx", "--json", folder=tmp_path, codes=(0, 1)).stdout)
    assert ["axes 2 and 3 of input 'x'" in text and cure in text for text in placed["notes"]] == [True]


@pytest.mark.parametrize("steps, ends, once", [(5, False, False), (None, False, True), (5, True, True)])
def test_products_in_loops_count_by_the_steps(steps, ends, once, tmp_path):
    """`ends`: the condition may stop it."""
    b = networks.Builder(55)
    body = [helper.make_node("MatMul", ["state", "w"], ["product"], "product"),
            helper.make_node("Tanh", ["product"], ["next"], "next")]
    if ends:
        body += [helper.make_node("ReduceMax", ["next"], ["most"], "most", keepdims=0),
                 helper.make_node("Less", ["most", "limit"], ["again"], "again")]
    else:
        body += [helper.make_node("Identity", ["go"], ["again"], "again")]
    inner = helper.make_graph(body, "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                                             helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                                             helper.make_tensor_value_info("state", 1, [4, 32])],
                              [helper.make_tensor_value_info("again", TensorProto.BOOL, []),
                               helper.make_tensor_value_info("next", 1, [4, 32])])
    stored = [numpy_helper.from_array(b.normal(32, 32) / 6, "w"), numpy_helper.from_array(np.array(True), "go_on"),
              numpy_helper.from_array(np.float32(9), "limit")]
    inputs = [helper.make_tensor_value_info("x", 1, [4, 32])]
    if steps is None:
        inputs.append(helper.make_tensor_value_info("steps", TensorProto.INT64, []))
    else:
        stored.append(numpy_helper.from_array(np.int64(steps), "steps"))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["first"], "first"),
             helper.make_node("Loop", ["steps", "go_on", "first"], ["y"], "loop", body=inner)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, [4, 32])], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    seen = json.loads(vernier("inspect", "model", "net.onnx", "--json", folder=tmp_path).stdout)
    one = 4 * 32 * 32
    assert seen["multiply_accumulates"] == one + one * (1 if once else steps)
    assert seen["layers_counted_once"] == (1 if once else 0)
    arrays = {"x": b.normal(3, 4, 32)}
    if steps is None:
        arrays["steps"] = np.array([2, 2, 2])
    np.savez(tmp_path / "x.npz", **arrays)
    report = json.loads(vernier("diagnose", "net.onnx", "--fp16", "--data", "x.npz", "--no-latency", "--json", folder=tmp_path).stdout)
    assert report["work"]["total_macs"] == seen["multiply_accumulates"]
    assert any("without a constant number of iterations" in text for text in report["notes"]) == once


@pytest.mark.parametrize("shape", [[4, 32], ["rows", "columns"], None])
def test_work_in_a_loop_counts_whatever_its_body_says_of_shapes(shape, tmp_path):
    b = networks.Builder(11)
    body = [helper.make_node("MatMul", ["state", "w"], ["moved"], "product"), helper.make_node("Tanh", ["moved"], ["next"], "tanh"),
            helper.make_node("Identity", ["go"], ["again"], "again")]
    inner = helper.make_graph(body, "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                                             helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                                             helper.make_tensor_value_info("state", 1, shape)],
                              [helper.make_tensor_value_info("again", TensorProto.BOOL, []),
                               helper.make_tensor_value_info("next", 1, shape)])
    stored = [numpy_helper.from_array(b.normal(32, 32) / 6, "w"), numpy_helper.from_array(np.array(True), "go_on"),
              numpy_helper.from_array(np.int64(3), "steps")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["first"], "first"),
             helper.make_node("Loop", ["steps", "go_on", "first"], ["y"], "loop", body=inner)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, ["rows", 32])],
                              [helper.make_tensor_value_info("y", 1, ["rows", 32])], stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(3, 4, 32))
    report = json.loads(vernier("diagnose", "net.onnx", "--int8", "--data", "x.npz", "--no-latency", "--json", folder=tmp_path).stdout)
    assert report["work"]["total_macs"] == 4 * (4 * 32 * 32)
    assert report["work"]["macs"] == 4 * 32 * 32


def test_what_onnx_does_not_allow_is_told_by_the_library_too(tmp_path):
    """The checks of `check lint` are part of each job: a Softmax with an attribute that it does not have."""
    small_network(tmp_path)
    vernier("convert", "float.onnx", "--int8", "--data", "x.npz", "-o", "int8.onnx", folder=tmp_path)
    model = onnx.load(tmp_path / "int8.onnx")
    model.graph.node[-1].attribute.append(helper.make_attribute("sharpness", 3))
    onnx.save(model, tmp_path / "int8.onnx")
    broken = model.graph.node[-1].name
    both = ["float.onnx", "int8.onnx", "--data", "x.npz", "--json"]
    for command in (["verify", *both], ["verify", *both, "--no-explain"]):
        verdict = json.loads(vernier(*command, folder=tmp_path, codes=(1,)).stdout)
        assert verdict["outcome"] == "refused"
        assert ("invalid-node", broken) in [(defect["kind"], defect["node"]) for defect in verdict["defects"]]
    loss = json.loads(vernier("debug", "loss", *both, folder=tmp_path, codes=(1,)).stdout)
    assert ("invalid-node", broken) in [(defect["kind"], defect["node"]) for defect in loss["defects"]]
    placed = json.loads(vernier("check", "placement", "int8.onnx", "--json", folder=tmp_path, codes=(1,)).stdout)
    assert ("invalid-node", broken) in [(finding["rule"], finding["node"]) for finding in placed["findings"]]


def test_two_nodes_of_one_name_are_refused_by_onnxruntime_alone(tmp_path):
    small_network(tmp_path)
    vernier("convert", "float.onnx", "--int8", "--data", "x.npz", "-o", "int8.onnx", folder=tmp_path)
    model = onnx.load(tmp_path / "int8.onnx")
    model.graph.node[0].name = model.graph.node[1].name
    onnx.save(model, tmp_path / "int8.onnx")
    with pytest.raises(Exception, match="same node name"):
        onnxruntime.InferenceSession(tmp_path / "int8.onnx")
    both = ["float.onnx", "int8.onnx", "--data", "x.npz", "--json"]
    wanted = ("invalid-node", model.graph.node[1].name)
    for option in ("--target", "--on"):
        verdict = json.loads(vernier("verify", *both, option, "onnxruntime", folder=tmp_path, codes=(1,)).stdout)
        assert verdict["outcome"] == "refused"
        assert wanted in [(defect["kind"], defect["node"]) for defect in verdict["defects"]]
    elsewhere = json.loads(vernier("verify", *both, folder=tmp_path).stdout)
    assert wanted in [(defect["kind"], defect["node"]) for defect in elsewhere["defects"]] and elsewhere["outcome"] != "refused"
    placed = ["check", "placement", "int8.onnx", "--json", "--target"]
    found = json.loads(vernier(*placed, "onnxruntime", folder=tmp_path, codes=(1,)).stdout)
    assert wanted in [(finding["rule"], finding["node"]) for finding in found["findings"]]
    vernier(*placed, "tensorrt", folder=tmp_path)
    vernier("convert", "int8.onnx", "-o", "named.onnx", folder=tmp_path)
    onnxruntime.InferenceSession(tmp_path / "named.onnx")


def test_a_weight_stored_in_half_is_low(tmp_path):
    small_network(tmp_path)
    model = onnx.load(tmp_path / "float.onnx")
    weight = next(t for t in model.graph.initializer if t.name == "second.weight")
    halves = numpy_helper.from_array(numpy_helper.to_array(weight).astype(np.float16), "halves")
    model.graph.initializer.remove(weight)
    model.graph.initializer.append(halves)
    model.graph.node.insert(0, helper.make_node("Cast", ["halves"], ["second.weight"], "widen", to=TensorProto.FLOAT))
    onnx.save(model, tmp_path / "halves.onnx")
    for file, code in (("halves.onnx", 0), ("float.onnx", 5)):
        vernier("verify", "float.onnx", file, "--data", "x.npz", "--min-sqnr", "20", folder=tmp_path, codes=(code,))


def test_a_clipped_weight_is_not_taken_for_an_equalized_one(tmp_path):
    small_network(tmp_path)
    vernier("convert", "float.onnx", "--int8", "--data", "x.npz", "--target", "onnxruntime", "-o", "clipped.onnx", folder=tmp_path)
    model = onnx.load(tmp_path / "clipped.onnx")
    stored = {t.name: t for t in model.graph.initializer}
    read = next(node for node in model.graph.node if node.op_type == "DequantizeLinear" and node.input[0].startswith("second.weight"))
    codes, scale = (numpy_helper.to_array(stored[name]) for name in read.input[:2])
    stored[read.input[0]].CopyFrom(numpy_helper.from_array(np.clip(codes.astype(np.int32) * 6, -127, 127).astype(codes.dtype), read.input[0]))
    stored[read.input[1]].CopyFrom(numpy_helper.from_array(scale / np.float32(6), read.input[1]))
    onnx.save(model, tmp_path / "clipped.onnx")
    _, _, notes = taken_over("clipped.onnx", tmp_path)
    assert not any("as after equalization" in note for note in notes), notes


def pooled_clip(folder):
    b = networks.Builder(56)
    b.conv("x", "first", 3, 16)
    b.add("Clip", ["first", b.constant("low", np.float32(0)), b.constant("high", np.float32(1))], "bounded")
    b.add("AveragePool", ["bounded"], "pooled", kernel_shape=[16, 16])
    b.add("Flatten", ["pooled"], "flat")
    b.linear("flat", "y", 16, 4)
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, 16, 16])], [("y", networks.FLOAT, [1, 4])]), folder / "net.onnx")
    np.savez(folder / "x.npz", x=b.normal(4, 3, 16, 16))


def typed_by_others(folder):
    """The network in bfloat16 with its Clip, as other exporters write it."""
    model = onnx.load(folder / "net.onnx")
    half = TensorProto.BFLOAT16
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        tensor.CopyFrom(helper.make_tensor(tensor.name, half, values.shape, values.flatten().tolist()))
    for node in model.graph.node:
        node.input[:] = ["x.half" if name == "x" else name for name in node.input]
        node.output[:] = ["y.half" if name == "y" else name for name in node.output]
    model.graph.node.insert(0, helper.make_node("Cast", ["x"], ["x.half"], "cast.x", to=half))
    model.graph.node.append(helper.make_node("Cast", ["y.half"], ["y"], "cast.y", to=TensorProto.FLOAT))
    del model.graph.value_info[:]
    onnx.save(model, folder / "half.onnx")


def test_a_limit_that_tensorrt_loses_is_a_cause(tmp_path):
    pooled_clip(tmp_path)
    typed_by_others(tmp_path)

    def causes(model, *options):
        done = vernier("diagnose", model, "--bf16", "--data", "x.npz", "--no-latency", "--json", *options, folder=tmp_path)
        explanation = json.loads(done.stdout).get("explanation", {"causes": []})
        return {(c["id"], c["layer"]): c for c in explanation["causes"] if c["id"] == "lost-limit"}
    would, does = causes("net.onnx"), causes("half.onnx")
    assert list(would) == list(does) == [("lost-limit", "bounded")]
    assert "would drop" in would["lost-limit", "bounded"]["sentence"] and "in the given file" in does["lost-limit", "bounded"]["sentence"]
    assert not causes("net.onnx", "--target", "openvino")
    vernier("diagnose", "half.onnx", "--bf16", "--data", "x.npz", "--no-latency", "-o", "out", folder=tmp_path)
    assert {"Relu", "Min"} <= {node.op_type for node in onnx.load(tmp_path / "out/model.onnx").graph.node}
    placed = json.loads(vernier("check", "placement", "out/model.onnx", "--json", folder=tmp_path).stdout)
    assert placed["findings"] == []


def test_what_is_joined_along_the_first_axis_is_judged_part_by_part(tmp_path):
    b = networks.Builder(57)
    b.conv("x", "first", 3, 16)
    b.add("Relu", ["first"], "one")
    b.conv("one", "small", 16, 4, size=1)
    b.add("Mul", ["small", b.constant("size", np.float32(640))], "boxes")
    b.conv("one", "raw", 16, 4, size=1)
    b.add("Sigmoid", ["raw"], "scores")
    b.add("Concat", ["boxes", "scores"], "y", axis=0)
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, 8, 8])], [("y", networks.FLOAT, [2, 4, 8, 8])]), tmp_path / "net.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(8, 1, 3, 8, 8))
    done = vernier("diagnose", "net.onnx", "--int8", "--target", "onnxruntime", "--even-if-slower", "--data", "x.npz",
                   "--min-sqnr", "25", "--no-latency", "--no-options", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    figures = {output["name"]: output["sqnr_db"] for output in report["all_low"]["outputs"]}
    assert list(figures) == ["y", "y[:1]", "y[1:]"] and figures["y"] < figures["y[1:]"]


def test_angles_of_many_turns_are_the_cause_in_int8(tmp_path):
    b = networks.Builder(58)
    b.constant("w", b.normal(32, 32) / 6)
    b.add("MatMul", ["x", "w"], "rates")
    b.add("Abs", ["rates"], "positive")
    b.add("CumSum", ["positive", b.constant("axis", np.int64(0))], "turns")
    b.add("Mul", ["turns", b.constant("turn", np.float32(2 * np.pi))], "phase")
    b.add("Sin", ["phase"], "y")
    onnx.save(b.model([("x", networks.FLOAT, [256, 32])], [("y", networks.FLOAT, [256, 32])]), tmp_path / "net.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(4, 256, 32))
    done = vernier("diagnose", "net.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "30", "--no-latency", "--no-options",
                   "--json", folder=tmp_path, codes=(5,))
    assert [(c["id"], c["layer"]) for c in json.loads(done.stdout)["explanation"]["causes"]][0] == ("large-phase", "rates")


@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("wrong", [False, True])
def test_a_zero_point_of_a_weight_that_is_not_that_of_its_codes_is_named(axis, wrong, tmp_path):
    b = networks.Builder(59)
    weight = b.normal(8, 3, 3, 3)
    scale = np.abs(weight).max(axis=None if axis is None else (1, 2, 3)) / 127
    codes = np.round(weight / np.reshape(scale, (-1, 1, 1, 1))).astype(np.int8)
    zero = np.zeros(np.shape(scale), np.int8)
    if wrong:
        zero[... if axis is None else 2] = 5
    for name, nodes in {"float": [], "quantized": [("codes", codes), ("scale", np.float32(scale)), ("zero", zero)]}.items():
        n = networks.Builder(60)
        if nodes:
            n.add("DequantizeLinear", [n.constant(*row) for row in nodes], "w", **({} if axis is None else {"axis": axis}))
        else:
            n.constant("w", weight)
        n.add("Conv", ["x", "w"], "y", pads=[1] * 4)
        onnx.save(n.model([("x", networks.FLOAT, [1, 3, 8, 8])], [("y", networks.FLOAT, [1, 8, 8, 8])]), tmp_path / f"{name}.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(4, 1, 3, 8, 8))
    verdict = json.loads(vernier("verify", "float.onnx", "quantized.onnx", "--data", "x.npz", "--json", folder=tmp_path).stdout)
    found = [(defect["kind"], defect["node"]) for defect in verdict.get("defects", [])]
    assert found == ([("shifted-codes", "w")] if wrong else [])


@pytest.mark.parametrize("formats", [["--int8"], ["--fp16"]])
@pytest.mark.parametrize("opset", [17, 21])
def test_norms_that_onnx_runtime_writes_are_taken(formats, opset, tmp_path):
    b = networks.Builder(61, opset)
    b.linear("x", "stream", 16, 16)
    b.add("LayerNormalization", ["stream", b.constant("scale", np.float32(1 + 0.1 * b.normal(16)))], "norm", axis=-1,
          epsilon=1e-6, stash_type=1)
    b.linear("norm", "y", 16, 8)
    model = b.model([("x", networks.FLOAT, [1, 6, 16])], [("y", networks.FLOAT, [1, 6, 8])])
    next(node for node in model.graph.node if node.name == "norm").op_type = "SimplifiedLayerNormalization"  # unknown to onnx
    onnx.save(model, tmp_path / "net.onnx")
    samples = b.normal(12, 1, 6, 16)
    np.savez(tmp_path / "x.npz", x=samples)
    vernier("diagnose", "net.onnx", *formats, "--data", "x.npz", "--min-sqnr", "20", "--no-latency", "-o", "out", folder=tmp_path)
    outputs = []
    plain = onnxruntime.SessionOptions()  # its optimizer breaks INT8 pairs of opset 21, as the report says
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    for file in ("net.onnx", "out/model.onnx"):
        session = onnxruntime.InferenceSession(tmp_path / file, plain, providers=["CPUExecutionProvider"])
        outputs.append(np.stack([session.run(None, {"x": sample})[0] for sample in samples]).astype(np.float64))
    assert 10 * np.log10(np.sum(outputs[0] ** 2) / np.sum((outputs[0] - outputs[1]) ** 2)) > 20


def figures_of_users(reference, file, data, options=None):
    """SQNR of the output `y` with all of ONNX Runtime's optimizations, as a session has them by default."""
    def outputs(path):
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return np.stack([session.run(["y"], {"x": x})[0] for x in data]).astype(np.float64)
    float_outputs = outputs(reference)
    error = outputs(file) - float_outputs
    return 10 * np.log10((float_outputs ** 2).sum() / (error ** 2).sum())


@pytest.mark.parametrize("low", ["--int8", "--fp8"])
def test_what_onnx_runtime_gives_is_said_where_it_is_less(low, tmp_path):
    """A file for TensorRT in ONNX Runtime: sums that saturate on some CPUs, a Relu that is dropped in front of a pair of float8.
    What was simulated is told as it is, and what this machine gives beside it, unless a warning has that figure."""
    b = networks.Builder(57)
    b.add("Gemm", ["x", b.constant("first.weight", np.abs(b.normal(32, 24)) / 4), b.constant("c", b.normal(5, 24) - 4)],
          "first", beta=2.0)
    b.add("Relu", ["first"], "positive")
    b.add("Gemm", ["positive", b.constant("y.weight", b.normal(24, 6) / 4), b.constant("d", b.normal(5, 6))], "y", beta=3.0)
    onnx.save(b.model([("x", networks.FLOAT, [5, 32])], [("y", networks.FLOAT, [5, 6])]), tmp_path / "float.onnx")
    data = np.abs(b.normal(16, 5, 32))
    np.savez(tmp_path / "x.npz", x=data)
    done = vernier("diagnose", "float.onnx", low, "--data", "x.npz", "--min-sqnr", "10", "--no-split", "--no-latency",
                   "-o", "out", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    claimed = report["final_figures"]["outputs"][0]["sqnr_db"]
    real = figures_of_users(tmp_path / "float.onnx", tmp_path / "out/model.onnx", data)
    done = vernier("verify", "float.onnx", "out/model.onnx", "--data", "x.npz", "--json", folder=tmp_path)
    verdict = json.loads(done.stdout)
    assert abs(verdict["figures"]["outputs"][0]["sqnr_db"] - claimed) < 0.05
    if low == "--fp8":
        assert real < claimed - 1
    for texts in (report["typed"]["notes"], verdict["notes"] + verdict["warnings"]):
        said = [text for text in texts if "default optimizations" in text or "without VNNI" in text]
        figures = [float(figure) for text in said for figure in re.findall(r"(?:gets|CPU is) (-?[0-9.]+) dB", text)]
        if real < claimed - 0.6:
            assert any(abs(figure - real) < 0.15 for figure in figures) or "changes the result" in said[0], (real, said)
        if real > claimed - 0.4:
            assert not any("default optimizations" in text for text in said), (real, said)


def test_biases_that_default_optimizations_clip_stand_in_the_answer(tmp_path):
    """Float biases of filters with tiny weights: ONNX Runtime stores them in int32, at a scale that they exceed."""
    b = networks.Builder(266)
    weight, bias = b.normal(8, 3, 3, 3) * np.float32(0.3), b.normal(8) * np.float32(0.2)
    weight[1] *= np.float32(1e-9)
    weight[4] *= np.float32(1e-8)
    bias[[1, 4]] = 5
    b.add("Conv", ["x", b.constant("w", weight), b.constant("b", bias)], "first", pads=[1] * 4)
    b.conv(b.add("Relu", ["first"], "one"), "second", 8, 6)
    b.add("Conv", [b.add("Relu", ["second"], "two"), b.weight("last", 6, 6, 1, 1)], "y")
    shapes = [1, 3, 12, 12], [1, 6, 12, 12]
    onnx.save(b.model([("x", networks.FLOAT, shapes[0])], [("y", networks.FLOAT, shapes[1])]), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(16, 1, 3, 12, 12))
    common = ["--data", "x.npz", "--min-sqnr", "15"]
    fixed = vernier("fix", "float.onnx", "--int8", *common, "--no-latency", "-o", "out", folder=tmp_path).stdout
    verified = vernier("verify", "float.onnx", "out/model.onnx", *common, folder=tmp_path).stdout
    real = figures_of_users(tmp_path / "float.onnx", tmp_path / "out/model.onnx", np.load(tmp_path / "x.npz")["x"])
    if real > 15:
        pytest.skip("this ONNX Runtime does not clip such biases")
    option = "optimization.disable_specified_optimizers", "WeightBiasQuantization"
    for text in (fixed, verified):
        answer = " ".join(text.split("\n\n")[0].split())
        [figure] = re.findall(r"but (-?[0-9.]+) dB in ONNX Runtime with its default optimizations", answer)
        assert abs(float(figure) - real) < 0.2, (real, answer)
        told = " ".join(text.split())
        assert "It differs first at 'first' (Conv)" in told and f"The session option {option[0]}={option[1]} avoids it" in told, told
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(*option)
    cured = figures_of_users(tmp_path / "float.onnx", tmp_path / "out/model.onnx", np.load(tmp_path / "x.npz")["x"], options)
    assert cured > real + 20, (real, cured)
    done = vernier("check", "placement", "out/model.onnx", "--target", "onnxruntime", folder=tmp_path, codes=(1,))
    assert ": :" not in done.stdout and "onnxruntime computes the file differently" in done.stdout, done.stdout


@pytest.mark.parametrize("target", ["onnxruntime", "openvino"])
def test_quantize_warns_of_pairs_that_saturate(target, tmp_path):
    b = networks.Builder(265)
    weight = np.abs(b.normal(32, 32) * np.float32(0.05) + np.float32(0.5))
    b.add("Gemm", ["x", b.constant("w", weight), b.constant("c", b.normal(32) - np.float32(8))], "first")
    b.add("Relu", ["first"], "relu")
    b.add("MatMul", ["relu", b.constant("v", b.normal(32, 8) * np.float32(0.3))], "y")
    onnx.save(b.model([("x", networks.FLOAT, [8, 32])], [("y", networks.FLOAT, [8, 8])]), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=b.random.uniform(0.2, 1, (16, 8, 32)).astype(np.float32))
    command = ["quantize", "float.onnx", "--data", "x.npz", "--target", target, "-o", "q.onnx",
               *(["--even-if-slower"] if target == "onnxruntime" else [])]
    said = vernier(*command, folder=tmp_path)
    assert "without VNNI" in said.stderr + said.stdout and "--reduce-range" in said.stderr + said.stdout, said.stderr
    if target == "onnxruntime":
        assert "without VNNI" not in vernier(*command, "--reduce-range", folder=tmp_path).stderr


@pytest.mark.parametrize("form", ["fp8", "blocks"])
def test_a_file_that_onnx_runtime_refuses_by_default_is_told(form, tmp_path):
    """Its optimizer makes kernels on codes of them that take neither float8 nor blocks. Without optimizations both run."""
    b = networks.Builder(58, opset=21)
    weight = b.normal(32, 8) / 4
    onnx.save(model_of_product(np.pad(weight, ((0, 32), (0, 24)))), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(6, 4, 64))
    if form == "fp8":
        vernier("convert", "float.onnx", "--fp8", "--data", "x.npz", "-o", "typed.onnx", folder=tmp_path)
    else:
        scale = np.maximum(np.abs(np.pad(weight, ((0, 32), (0, 24)))).reshape(4, 16, 32).max(1) / 127, 1e-3).astype(np.float32)
        codes = np.round(np.pad(weight, ((0, 32), (0, 24))) / np.repeat(scale, 16, 0)).astype(np.int8)
        step, zero = b.constant("step", np.float32(4 / 127)), b.constant("zero", np.int8(0))
        b.add("QuantizeLinear", ["x", step, zero], "x.codes")
        b.add("DequantizeLinear", ["x.codes", step, zero], "x.values")
        b.add("DequantizeLinear", [b.constant("codes", codes), b.constant("scale", scale)], "w", axis=0, block_size=16)
        b.add("MatMul", ["x.values", "w"], "product")
        outside, nought = b.constant("outside", np.float32(0.05)), b.constant("nought", np.int8(0))
        b.add("QuantizeLinear", ["product", outside, nought], "y.codes")
        b.add("DequantizeLinear", ["y.codes", outside, nought], "y")
        model = b.model([("x", networks.FLOAT, [4, 64])], [("y", networks.FLOAT, [4, 32])])
        model.ir_version = 10
        onnx.save(model, tmp_path / "typed.onnx")
    data = np.load(tmp_path / "x.npz")["x"]
    try:
        figures_of_users(tmp_path / "float.onnx", tmp_path / "typed.onnx", data)
        runs = True
    except Exception:
        runs = False
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "x.npz", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    told = [text for text in report["notes"] + report["warnings"] if "does not run" in text and "without them it does" in text]
    assert bool(told) != runs, (runs, report["notes"])


@pytest.mark.parametrize("order", [[4, 0, 5, 1, 6, 2, 3], [0, 1, 2, 3, 4, 5, 6]])
def test_places_that_one_scale_makes_constant_are_told_wherever_they_lie(order, tmp_path):
    """Four boxes up to 640 and three scores up to 1 of one output: they are parts side by side and in turns."""
    b = networks.Builder(59)
    b.conv("x", "one", 3, 8)
    b.add("Relu", ["one"], "features")
    for name, width in (("box", 4), ("score", 3)):
        b.conv("features", f"{name}.logits", 8, width, size=1)
        b.add("Sigmoid", [f"{name}.logits"], f"{name}.share")
    b.add("Mul", ["box.share", b.constant("stride", np.float32(640))], "box")
    b.add("Concat", ["box", "score.share"], "joined", axis=1)
    b.add("Gather", ["joined", b.constant("order", np.array(order, np.int64))], "y", axis=1)
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, 8, 8])], [("y", networks.FLOAT, [1, 7, 8, 8])]), tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(8, 1, 3, 8, 8))
    step, zero = b.constant("step", np.float32(640 / 127)), b.constant("zero", np.int8(0))
    for node in b.nodes:
        if node.op_type == "Gather":
            node.output[0] = "sorted"
    b.add("QuantizeLinear", ["sorted", step, zero], "codes")
    b.add("DequantizeLinear", ["codes", step, zero], "y")
    model = b.model([("x", networks.FLOAT, [1, 3, 8, 8])], [("y", networks.FLOAT, [1, 7, 8, 8])])
    onnx.save(model, tmp_path / "typed.onnx")
    places = ", ".join(str(place) for place, channel in enumerate(order) if channel >= 4)
    part = "'y[:,4:]' is constant" if order == sorted(order) else f"'y[:,[{places.replace(' ', '')}]]' is constant"
    for options, expected in (([], part), (["--no-output-parts"], f"constant in the output model: 3 of 7 places along axis 1 of 'y' ({places}).")):
        done = vernier("verify", "float.onnx", "typed.onnx", "--data", "x.npz", *options, "--json", folder=tmp_path)
        told = [text for text in json.loads(done.stdout)["warnings"] if "constant in the output model" in text]
        assert len(told) == 1 and told[0].startswith(expected), told


@pytest.mark.parametrize("tensor", ["sum.relu", "inner"])
def test_a_range_of_the_file_that_clips_is_replaced(tensor, tmp_path):
    """Whether a product reads the tensor or an Add alone, and before repairs that would learn all ranges again hide it."""
    network, samples = files.residual()
    files.write(tmp_path, network, samples, "float.onnx")
    given, _ = files.residual(np.uint8)
    step = next(constant for constant in given.graph.initializer if constant.name == f"{tensor}.step")
    step.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(step) / np.float32(8), step.name))
    files.write(tmp_path, given)
    done = vernier("fix", "float.onnx", "--from", "quantized.onnx", "--int8", "--target", "onnxruntime", "--even-if-slower", "--data", "x.npz",
                   "--min-sqnr", "22", "--claim-confidence", "0.5", "--no-latency", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    assert report["given"]["outputs"][0]["sqnr_db"] < 18
    rows = [row for row in report["explanation"]["repairs"] if row["id"] == "range" and row["accepted"]]
    assert any(f"'{tensor}'" in row["why"] for row in rows), report["explanation"]["repairs"]
    assert report["kept"]["layers"] == [], report["kept"]


@pytest.mark.parametrize("wrong", ["clipped", "coarse", "axis"])
def test_scales_that_lose_far_more_of_a_weight_than_its_own_are_not_taken_over(tmp_path, wrong):
    """The file quantizes weights that it holds in float: with other scales they are right."""
    def network(scales):
        b, source = files.Quantizer(77), "x"
        for name in ("first", "second"):
            weight = b.normal(24, 24) * np.geomspace(0.05, 0.6, 24)[:, None].astype(np.float32)
            step, axis = np.abs(weight).max(1) / 127, 0
            if name == "second" and scales == "clipped":
                step = step / 4
            elif name == "second" and scales == "coarse":
                step[5] *= 60
            elif name == "second" and scales == "axis":
                axis = 1
            read = b.constant(f"{name}.weight", weight)
            if scales:
                parameters = [b.constant(f"{name}.step", step.astype(np.float32)), b.constant(f"{name}.zero", np.zeros(24, np.int8))]
                b.add("QuantizeLinear", [read, *parameters], f"{name}.codes", axis=axis)
                read = b.add("DequantizeLinear", [f"{name}.codes", *parameters], f"{name}.values", axis=axis)
                most = 4 if name == "first" else 12
                source = b.pair(source, -most * 128 / 127, most, np.int8)
            b.add("Gemm", [source, read], name, transB=1)
            source = b.add("Relu", [name], f"{name}.relu")
        return b.model([("x", networks.FLOAT, [1, 24])], [("second.relu", networks.FLOAT, [1, 24])])
    files.write(tmp_path, network(None), {"x": networks.Builder(78).normal(24, 1, 24)}, "float.onnx")
    files.write(tmp_path, network(wrong))
    report = json.loads(vernier("fix", "float.onnx", "--from", "quantized.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20",
                                "--no-latency", "--json", folder=tmp_path).stdout)
    assert report["outcome"] == "nothing-needed", report["outcome"]
    assert any("1 weight (second.weight) gets scales of its own" in text for text in report["notes"]), report["notes"]
