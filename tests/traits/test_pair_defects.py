"""`vernier debug loss FLOAT QUANTIZED` on files with one pair, one weight or one float layer that is wrong: that one is named,
and nothing else."""
import functools
import json
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import networks
import quantized_files as files
from networks import FLOAT
from test_given_files import n_bits
from test_traits import vernier

CHANNELS = 6
ACTIVATIONS = ["x", "one.relu", "pooled", "leaky", "gate", "joined", "flat", "y"]


def samples():
    return {"x": np.random.default_rng(91).standard_normal((12, 1, 3, 16, 16)).astype(np.float32)}


@functools.cache
def ranges_of_float():
    model = network()
    for name in ACTIVATIONS[1:-1]:
        model.graph.output.append(helper.make_empty_tensor_value_info(name))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    seen = [[x, *session.run(ACTIVATIONS[1:], {"x": x})] for x in samples()["x"]]
    return {name: (min(values.min() for values in every), max(values.max() for values in every))
            for name, every in zip(ACTIVATIONS, zip(*seen))}


def network(kind=None, narrow=None, size_of_narrow=0.25, **changed):
    """Convolutions with activations, a gate, a Concat and a product; with a `kind` quantized, `narrow` cut off at a quarter, or
    with a range of another size."""
    b = files.Quantizer(90)
    ranges = ranges_of_float() if kind else {}
    def pair(name, values=None):
        if not kind:
            return name
        values = values or name
        size = size_of_narrow if values == narrow else 1
        low, high = (size * end for end in ranges[values])
        return b.pair(name, *((min(low, 0), high) if kind == np.uint8 else (-max(-low, high), max(-low, high))), kind)
    def weight(name, *shape):
        values = b.random.normal(0, 1.4 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32)
        values = changed.get(name, lambda v: v)(values) if not kind else values
        if not kind:
            return b.constant(name, values)
        steps = np.abs(values).max(axis=tuple(range(1, len(shape)))) / 127
        codes = np.clip(np.round(values / steps.reshape(-1, *[1] * (len(shape) - 1))), -127, 127).astype(np.int8)
        codes, steps = changed.get(name, lambda c, s: (c, s))(codes, steps)
        return b.stored(name, codes, steps, axis=0)
    def activation(op_type, source, name, **attributes):
        attributes |= changed.get(name, {})
        return source if changed.get(name) == {"lost": True} else b.add(op_type, [source], name, **attributes)
    b.add("Conv", [pair("x"), weight("one.weight", CHANNELS, 3, 3, 3)], "one", pads=changed.get("one", [1] * 4))
    first = activation("Relu", "one", "one.relu")
    b.add("MaxPool", [pair(first, "one.relu")], "pooled", kernel_shape=[2, 2], strides=[2, 2])
    pooled = pair("pooled")
    b.add("Conv", [pooled, weight("two.weight", CHANNELS, CHANNELS, 3, 3)], "two", pads=[1] * 4)
    activation("LeakyRelu", "two", "leaky", alpha=0.1)
    b.add("Conv", [pooled, weight("three.weight", CHANNELS, CHANNELS, 1, 1)], "three")
    b.add("Sigmoid", ["three"], "gate")
    b.add("Concat", [pair("leaky"), pair("gate")], "joined", axis=1)
    b.add("ReduceMean", [pair("joined")], "flat", axes=[2, 3], keepdims=0)
    b.add("Gemm", [pair("flat"), weight("head.weight", 5, 2 * CHANNELS)], "product" if kind else "y", transB=1)
    if kind:
        b.add("Identity", [pair("product", "y")], "y")
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("y", FLOAT, [1, 5])])


@pytest.fixture
def folder(tmp_path):
    files.write(tmp_path, network(), samples(), "float.onnx")
    return tmp_path


def found(folder, model, code=1):
    files.write(folder, model)
    codes = code if isinstance(code, tuple) else (code,)
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "x.npz", "--json", folder=folder, codes=codes)
    report = json.loads(done.stdout)
    return [(defect["kind"], defect["node"]) for defect in report["defects"]], report


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_a_sound_file_has_no_defect(folder, kind):
    assert found(folder, network(kind), code=0)[0] == []


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("narrow", ACTIVATIONS)
def test_a_pair_that_cuts_off_values_is_named_whoever_reads_it(folder, kind, narrow):
    """In front of an output, a Concat, a pooling or a gate as well as in front of a weighted layer; pairs behind it see few values."""
    names, report = found(folder, network(kind, narrow))
    assert names == [("lost-pair", f"{'product' if narrow == 'y' else narrow}.codes")], report["defects"]


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("times", [8, 16])
@pytest.mark.parametrize("wide", ["joined", "flat", "y"])
def test_a_range_that_is_far_too_wide_is_named_if_it_costs_an_output(folder, kind, wide, times):
    names, report = found(folder, network(kind, wide, times), code=(0, 1))
    named = [f"{'product' if wide == 'y' else wide}.codes"]
    db = report["outputs"][0]["sqnr_db"]
    assert [node for _, node in names] in ([named] if db < 28 else [named, []] if db < 40 else [[]]), report["outputs"]


def scaled(channels, factor):
    def change(codes, steps):
        steps = steps.copy()
        steps[channels] *= factor
        return codes, steps
    return change


@pytest.mark.parametrize("layer", ["one.weight", "two.weight"])
@pytest.mark.parametrize("channels, factor", [(slice(None), 1.3), (slice(None), 0.8), (slice(2, 3), 1.5)])
def test_a_weight_of_another_scale_is_named(folder, layer, channels, factor):
    names, report = found(folder, network(np.int8, **{layer: scaled(channels, factor)}))
    assert names == [("weight-scale", f"{layer}.values")] and f"are {factor:g}" in report["defects"][0]["text"]


@pytest.mark.parametrize("layer", ["one.weight", "two.weight", "head.weight"])
def test_quantized_values_that_were_cut_off_are_named(folder, layer):
    names, _ = found(folder, network(np.int8, **{layer: lambda codes, steps: (np.clip(codes, -60, 60), steps)}))
    assert names == [("clipped-weight", f"{layer}.values")]


@pytest.mark.parametrize("changed, said", [
    ({"one.relu": {"lost": True}}, "has no Relu after 'one'"), ({"leaky": {"alpha": 0.5}}, "has alpha 0.5, in the float model 0.1"),
    ({"one": [0, 0, 2, 2]}, "has pads [0, 0, 2, 2], in the float model [1, 1, 1, 1]")])
def test_a_float_layer_that_computes_something_else_comes_before_pairs(folder, changed, said):
    names, report = found(folder, network(np.int8, **changed))
    assert [kind for kind, _ in names] == ["other-operator"] and said in report["defects"][0]["text"], report["defects"]


def test_a_relu_that_a_pair_stands_for_is_not_lost(folder):
    """Its grid starts at zero, as ONNX Runtime's quantizer leaves it."""
    assert found(folder, network(np.uint8, **{"one.relu": {"lost": True}}), code=0)[0] == []


@pytest.mark.parametrize("factors", [np.full(CHANNELS, 4), np.geomspace(0.5, 2, CHANNELS), np.geomspace(0.7, 1.4, CHANNELS)])
def test_factors_that_another_layer_undoes_are_no_defect(tmp_path, factors):
    """As equalization leaves them, large ones and small ones, in weights of few values as well."""
    random = np.random.default_rng(92)
    first, second = (random.normal(0, 0.3, shape).astype(np.float32) for shape in ((CHANNELS, 3, 3, 3), (4, CHANNELS, 1, 1)))
    factors = factors.astype(np.float32)
    def model(quantized):
        b = files.Quantizer(93)
        def weight(name, values):
            if not quantized:
                return b.constant(name, values)
            steps = np.abs(values).max(axis=(1, 2, 3)) / 127
            return b.stored(name, np.round(values / steps.reshape(-1, 1, 1, 1)).astype(np.int8), steps, axis=0)
        one, two = (first * factors.reshape(-1, 1, 1, 1), second / factors.reshape(1, -1, 1, 1)) if quantized else (first, second)
        b.add("Conv", [b.pair("x", -4, 4, np.int8) if quantized else "x", weight("one.weight", one)], "one", pads=[1] * 4)
        b.add("Relu", ["one"], "relu")
        b.add("Conv", [b.pair("relu", -8 * factors.max(), 8 * factors.max(), np.int8) if quantized else "relu", weight("two.weight", two)], "y")
        return b.model([("x", FLOAT, [1, 3, 8, 8])], [("y", FLOAT, [1, 4, 8, 8])])
    files.write(tmp_path, model(False), {"x": random.standard_normal((8, 1, 3, 8, 8)).astype(np.float32)}, "float.onnx")
    assert found(tmp_path, model(True), code=0)[0] == []


def branching(quantized=False, weight_size=1, range_size=1):
    """A product inside of both branches of an If."""
    b = files.Quantizer(94)
    b.linear("x", "first", 16, 16)
    b.add("ReduceSum", ["x"], "sum", keepdims=0)
    b.add("Greater", ["sum", b.constant("zero", np.float32(0))], "positive")
    def branch(name):
        inner = files.Quantizer(95)
        weight = b.random.normal(0, 0.3, (16, 8)).astype(np.float32)
        if quantized:
            source, step = inner.pair("first", -4 * range_size, 4 * range_size, np.int8, name), np.abs(weight).max() / 127
            inner.stored(f"{name}.weight", np.round(weight / step).astype(np.int8), step * weight_size)
            inner.nodes[-1].output[0] = f"{name}.weight"
        else:
            source = "first"
            inner.constant(f"{name}.weight", weight)
        inner.add("MatMul", [source, f"{name}.weight"], f"{name}.product")
        return helper.make_graph(inner.nodes, name, [], [helper.make_tensor_value_info(f"{name}.product", FLOAT, None)], inner.initializers)
    b.add("If", ["positive"], "y", then_branch=branch("then"), else_branch=branch("else"))
    return b.model([("x", FLOAT, [2, 16])], [("y", FLOAT, [2, 8])])


@pytest.mark.parametrize("weight_size, range_size, code", [(2, 1, 1), (1, 0.05, 0), (1, 1, 0)])
def test_what_lies_in_a_body_is_compared_or_said_not_to_be_measured(tmp_path, weight_size, range_size, code):
    samples = {"x": np.random.default_rng(96).standard_normal((8, 2, 16)).astype(np.float32)}
    files.write(tmp_path, branching(), samples, "float.onnx")
    names, _ = found(tmp_path, branching(True, weight_size, range_size), code)
    assert names == ([("weight-scale", f"{name}.weight.values") for name in ("else", "then")] if weight_size == 2 else []), names
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "x.npz", folder=tmp_path, codes=(code,))
    assert ("No defect found" in done.stdout) == (weight_size == range_size == 1)
    assert ("Not measured: 2 of 4 Q/DQ pairs" in done.stdout) == (range_size < 1)


@pytest.mark.parametrize("size", [1, 0.25])
def test_an_fp8_pair_that_does_not_saturate_is_named_if_it_overflows(tmp_path, size):
    random = np.random.default_rng(97)
    def model(quantized):
        b = files.Quantizer(98, 19)
        source = "x"
        if quantized:
            b.constant("step", np.float32(5 * size / 448))
            b.initializers.append(helper.make_tensor("zero", TensorProto.FLOAT8E4M3FN, [], [0.0]))
            b.add("QuantizeLinear", ["x", "step", "zero"], "codes", saturate=0)
            source = b.add("DequantizeLinear", ["codes", "step", "zero"], "values")
        b.add("Softplus", [source], "y")
        return b.model([("x", FLOAT, [4, 16])], [("y", FLOAT, [4, 16])])
    samples = {"x": np.clip(random.standard_normal((8, 4, 16)), -4.5, 4.5).astype(np.float32)}
    files.write(tmp_path, model(False), samples, "float.onnx")
    names, _ = found(tmp_path, model(True), code=int(size < 1))
    assert names == ([("overflowing-pair", "codes")] if size < 1 else [])


def test_nan_that_an_integer_pair_hides_is_named_in_the_verdict(tmp_path):
    random = np.random.default_rng(99)
    weight = random.normal(0, 0.25, (16, 12)).astype(np.float32)
    def model(quantized):
        b = files.Quantizer(100, 19)
        b.constant("weight", weight)
        if not quantized:
            b.add("MatMul", ["x", "weight"], "y")
            return b.model([("x", FLOAT, [8, 16])], [("y", FLOAT, [8, 12])])
        for name, step, kind in (("eight", 3.2 / 448, TensorProto.FLOAT8E4M3FN), ("whole", 4.5 / 127, TensorProto.INT8)):
            b.constant(f"{name}.step", np.float32(step))
            b.initializers.append(helper.make_tensor(f"{name}.zero", kind, [], [0]))
        b.add("QuantizeLinear", ["x", "eight.step", "eight.zero"], "codes", saturate=0)
        product = b.add("MatMul", [b.add("DequantizeLinear", ["codes", "eight.step", "eight.zero"], "values"), "weight"], "product")
        b.add("QuantizeLinear", [product, "whole.step", "whole.zero"], "product.codes")
        b.add("DequantizeLinear", ["product.codes", "whole.step", "whole.zero"], "y")
        return b.model([("x", FLOAT, [8, 16])], [("y", FLOAT, [8, 12])])
    values = np.clip(random.standard_normal((40, 8, 16)), -3.1, 3.1).astype(np.float32)
    for largest, met in ((3.1, "the required 10 dB is met."), (4.0, "is met, but 'codes' (QuantizeLinear) overflows inside")):
        values[3, 0, 0] = largest
        files.write(tmp_path, model(False), {"x": values}, "float.onnx")
        onnx.save(model(True), tmp_path / "quantized.onnx")
        done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "x.npz", "--min-sqnr", "10", folder=tmp_path)
        assert met in " ".join(done.stdout.split()), done.stdout


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("factor", [1, 2])
def test_a_wrong_scale_of_a_packed_weight_is_no_equalization(tmp_path, bits, factor):
    """Of one output channel: nothing undoes it, and the output agrees at 15 dB all the same."""
    n_bits(tmp_path, bits, damaged=False, zero_points=True, transposed=False)
    model = onnx.load(tmp_path / "packed.onnx")
    for kept in model.graph.initializer:
        if kept.name == "scale":
            scale = numpy_helper.to_array(kept).copy()
            scale.reshape(24, -1)[3] *= factor
            kept.CopyFrom(numpy_helper.from_array(scale, "scale"))
    names, report = found(tmp_path, model, code=int(factor != 1))
    assert names == ([("weight-scale", "product")] if factor != 1 else []) and not any("equalization" in note for note in report["notes"])


@pytest.mark.parametrize("channels, narrow", [(16, 5), (128, 100), (16, None)])
def test_one_channel_of_many_that_is_cut_off_is_named(tmp_path, channels, narrow):
    """With a scale for each channel. Of 128 channels one alone costs the tensor less than 20 dB."""
    random = np.random.default_rng(99)
    x = random.standard_normal((8, 4, channels)).astype(np.float32)
    weight = random.normal(0, 0.3, (channels, 16)).astype(np.float32)
    def model(quantized):
        b = files.Quantizer(100)
        source, stored = "x", None
        if quantized:
            steps = np.abs(x).max((0, 1)) / 127
            if narrow is not None:
                steps[narrow] /= 8
            grid = [b.constant("step", steps.astype(np.float32)), b.constant("zero", np.zeros(channels, np.int8))]
            b.add("QuantizeLinear", ["x", *grid], "codes", axis=1)
            source = b.add("DequantizeLinear", ["codes", *grid], "values", axis=1)
            step = np.abs(weight).max(0) / 127
            stored = b.stored("weight", np.round(weight / step).astype(np.int8), step, axis=1)
        b.add("MatMul", [source, stored or b.constant("weight", weight)], "y")
        return b.model([("x", FLOAT, [4, channels])], [("y", FLOAT, [4, 16])])
    files.write(tmp_path, model(False), {"x": x}, "float.onnx")
    names, report = found(tmp_path, model(True), code=int(narrow is not None))
    assert names == ([] if narrow is None else [("lost-pair", "codes")])
    if narrow is not None:
        assert f"1 of {channels} channels are clipped: the range of channel {narrow} ends" in report["defects"][0]["text"]


def round_to(values, how):
    return {"rounded": np.rint, "down": np.floor, "toward zero": np.trunc}[how](values)


def product(kind, size, block, shift=0, how="rounded", places=slice(None)):
    """A MatMul of 128 inputs, and its file with a weight of `kind`, whose zero points are `shift` too large at `places`."""
    random = np.random.default_rng(101)
    weight = random.normal(0, 0.09, (128, size)).astype(np.float32)
    ends = {TensorProto.INT4: (-8, 7), TensorProto.UINT4: (0, 15), TensorProto.INT8: (-128, 127), TensorProto.UINT8: (0, 255)}[kind]
    blocks = weight.reshape(-1, block, size)
    if ends[0] == 0:
        low, high = np.minimum(blocks.min(1), 0), np.maximum(blocks.max(1), 0)
        step = ((high - low) / ends[1]).astype(np.float32)
        zero = np.clip(np.rint(-low / step), 1, ends[1] - 1)
    else:
        step = (np.abs(blocks).max(1) / ends[1]).astype(np.float32)
        zero = np.zeros_like(step)
    codes = np.clip(round_to(blocks / step[:, None], how) + zero[:, None], *ends).astype(int).reshape(128, size)
    zero[:, places] += shift
    one = block == 128
    def model(quantized):
        b = networks.Builder(102, 21)
        if not quantized:
            b.add("MatMul", ["x", b.constant("weight", weight)], "y")
        else:
            b.constant("step", step[0] if one else step)
            b.initializers.append(helper.make_tensor("codes", kind, codes.shape, codes.ravel().tolist()))
            held = zero[0] if one else zero
            b.initializers.append(helper.make_tensor("zero", kind, held.shape, held.astype(int).ravel().tolist()))
            b.add("DequantizeLinear", ["codes", "step", "zero"], "values", **({"axis": 1} if one else {"axis": 0, "block_size": block}))
            b.add("MatMul", ["x", "values"], "y")
        return b.model([("x", FLOAT, [4, 128])], [("y", FLOAT, [4, size])])
    return model(False), model(True), {"x": random.standard_normal((8, 4, 128)).astype(np.float32)}


KINDS = [TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8, TensorProto.UINT8]


@pytest.mark.sampled
@pytest.mark.parametrize("block", [32, 128])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [{"shift": 1}, {"shift": -1}, {"shift": -1, "places": slice(5, 6)}, {"how": "down"}, {"how": "toward zero"}, {}])
def test_quantized_values_that_are_one_step_off_together_are_named(tmp_path, kind, block, wrong):
    """As packed weights are whose zero points another tool reads one too low; and what a cast to integers cuts off."""
    float_model, quantized, data = product(kind, 32, block, **wrong)
    files.write(tmp_path, float_model, data, "float.onnx")
    names, report = found(tmp_path, quantized, code=int(bool(wrong)))
    assert names == ([("shifted-codes", "values")] if wrong else []), report["defects"]
    if "shift" in wrong:
        channels = 1 if "places" in wrong else 32
        count = channels * 128 // block
        said = f"all values in {count} of {32 * 128 // block} {'channel' if block == 128 else 'block'}s"
        assert said in report["defects"][0]["text"] and f"off by {-wrong['shift']} quantization step together" in report["defects"][0]["text"]


@pytest.mark.parametrize("weights", ["nudged", "one value a channel", "few values"])
@pytest.mark.parametrize("values", [9, 64])
def test_roundings_that_lie_together_by_chance_are_no_other_zero_point(tmp_path, weights, values):
    """What training and GPTQ leave (up to a step each), and filters of one value, whose roundings are all the same."""
    random = np.random.default_rng(103)
    weight = random.normal(0, 0.2, (values, 256)).astype(np.float32)
    if weights == "one value a channel":
        weight = np.broadcast_to(weight[:1], weight.shape).copy()
    elif weights == "few values":
        weight = random.choice(np.float32([0.11, 0.23, 0.31, 0.5]), weight.shape)
    step = np.abs(weight).max() / 7
    nudge = random.integers(0, 2, weight.shape) if weights == "nudged" else 0.5
    codes = np.clip(np.floor(weight / step + nudge), -8, 7)
    b = files.Quantizer(104)
    b.add("MatMul", ["x", b.constant("weight", weight)], "y")
    files.write(tmp_path, b.model([("x", FLOAT, [4, values])], [("y", FLOAT, [4, 256])]),
                {"x": random.standard_normal((8, 4, values)).astype(np.float32)}, "float.onnx")
    q = files.Quantizer(104)
    q.add("MatMul", ["x", q.stored("weight", codes.astype(np.int8), np.full(256, step), axis=1)], "y")
    names, report = found(tmp_path, q.model([("x", FLOAT, [4, values])], [("y", FLOAT, [4, 256])]), code=(0, 1))
    assert "shifted-codes" not in [kind for kind, _ in names], report["defects"]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("times", [32, 42, 64])
def test_a_scale_of_a_weight_that_is_far_too_large_is_not_the_format_s_fault(tmp_path, per_channel, times):
    """7 of 256 levels are used: neither too few levels of int8, nor one scale that does not fit its channels."""
    random = np.random.default_rng(105)
    weight = random.normal(0, 0.09, (128, 32)).astype(np.float32)
    step = np.abs(weight).max(0 if per_channel else None) / 127 * times
    def model(quantized):
        b = files.Quantizer(106)
        held = b.stored("weight", np.rint(weight / step).astype(np.int8), step, **({"axis": 1} if per_channel else {})) if quantized else None
        b.add("MatMul", ["x", held or b.constant("weight", weight)], "y")
        return b.model([("x", FLOAT, [4, 128])], [("y", FLOAT, [4, 32])])
    files.write(tmp_path, model(False), {"x": random.standard_normal((8, 4, 128)).astype(np.float32)}, "float.onnx")
    names, report = found(tmp_path, model(True))
    assert [node for _, node in names] == ["weight.values"] and names[0][0] in ("lost-layer", "starved-channels"), report["defects"]
    text = report["defects"][0]["text"]
    assert re.search(rf" {times}\.\d times as large as its values need", text) and "levels" in text and "scale" in report["defects"][0]["cure"], text


@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.INT8])
@pytest.mark.parametrize("wrong, count", [
    (lambda step: step * 1.3, 128), (lambda step: step * 1.1, 128), (lambda step: step * 0.8, 128), (lambda step: step[[0, 2, 1, 3]], None),
    (lambda step: np.where(np.arange(32) < 5, step * 1.3, step), 20), (lambda step: step, 0)])
def test_blocks_with_another_scale_are_counted(tmp_path, kind, wrong, count):
    """In 4 bits few values are off by more than a step, of each block all by a factor."""
    random = np.random.default_rng(107)
    weight = random.normal(0, 0.09, (4, 32, 32)).astype(np.float32)
    most = 7 if kind == TensorProto.INT4 else 127
    step = np.abs(weight).max(1) / most
    codes = np.rint(weight / step[:, None]).astype(int)
    held = wrong(step).astype(np.float32)
    if count is None:
        factors = np.sum(codes * held[:, None] * weight, 1) / np.sum(weight ** 2, 1)
        count = int(np.sum(np.abs(factors - 1) > (0.07 if most == 7 else 0.01)))
    def model(quantized):
        b = networks.Builder(108, 21)
        source = b.constant("step", held) and b.constant("weight", weight.reshape(128, 32))
        if quantized:
            b.initializers.append(helper.make_tensor("codes", kind, (128, 32), codes.ravel().tolist()))
            source = b.add("DequantizeLinear", ["codes", "step"], "values", axis=0, block_size=32)
        b.add("MatMul", ["x", source], "y")
        return b.model([("x", FLOAT, [4, 128])], [("y", FLOAT, [4, 32])])
    files.write(tmp_path, model(False), {"x": random.standard_normal((8, 4, 128)).astype(np.float32)}, "float.onnx")
    names, report = found(tmp_path, model(True), code=int(count > 0))
    assert names == ([("weight-scale", "values")] if count else []), report["defects"]
    if count:
        told = int(report["defects"][0]["text"].split(" of 128 blocks")[0].split()[-1])
        assert abs(told - count) <= (4 if count not in (20, 128) else 0), report["defects"]


def test_blocks_of_other_values_are_counted(tmp_path):
    """Two rows of scales and values exchanged: of half of the blocks nothing is right."""
    random = np.random.default_rng(109)
    weight = random.normal(0, 0.09, (4, 32, 32)).astype(np.float32)
    step = (np.abs(weight).max(1) / 7).astype(np.float32)
    codes = np.rint(weight / step[:, None]).astype(int)[[0, 2, 1, 3]]
    def model(quantized):
        b = networks.Builder(110, 21)
        source = b.constant("step", step[[0, 2, 1, 3]]) and b.constant("weight", weight.reshape(128, 32))
        if quantized:
            b.initializers.append(helper.make_tensor("codes", TensorProto.INT4, (128, 32), codes.ravel().tolist()))
            source = b.add("DequantizeLinear", ["codes", "step"], "values", axis=0, block_size=32)
        b.add("MatMul", ["x", source], "y")
        return b.model([("x", FLOAT, [4, 128])], [("y", FLOAT, [4, 32])])
    files.write(tmp_path, model(False), {"x": random.standard_normal((8, 4, 128)).astype(np.float32)}, "float.onnx")
    names, report = found(tmp_path, model(True))
    assert names == [("other-values", "values")] and "64 of 128 blocks" in report["defects"][0]["text"], report["defects"]


@pytest.mark.parametrize("clipped", [False, True])
def test_a_cast_that_wraps_is_named_and_not_the_rounding_in_front_of_it(tmp_path, clipped):
    """A pair written in float operators, whose values reach beyond its ends."""
    random = np.random.default_rng(120)
    weight = random.normal(0, 0.3, (8, 16)).astype(np.float32)
    def model(quantized):
        b = files.Quantizer(121)
        source = "x"
        if quantized:
            step = b.constant("step", np.float32(2 / 127))
            source = b.add("Round", [b.add("Div", [source, step], "scaled")], "rounded")
            if clipped:
                source = b.add("Clip", [source, b.constant("low", np.float32(-128)), b.constant("high", np.float32(127))], "limited")
            source = b.add("Cast", [b.add("Cast", [source], "codes", to=TensorProto.INT8)], "back", to=TensorProto.FLOAT)
            source = b.add("Mul", [source, step], "values")
        b.add("MatMul", [source, b.constant("weight", weight)], "y")
        return b.model([("x", FLOAT, [4, 8])], [("y", FLOAT, [4, 16])])
    files.write(tmp_path, model(False), {"x": random.standard_normal((8, 4, 8)).astype(np.float32)}, "float.onnx")
    names, report = found(tmp_path, model(True))
    assert [kind for kind, _ in names] == ["other-operator"] and ("wraps" in report["defects"][0]["text"]) is not clipped
    assert clipped or names[0][1] == "codes"
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "x.npz", folder=tmp_path, codes=(1,))
    assert done.stdout.startswith("1 defect. ")


def noise_with_tail(random, tail):
    """16 samples of normal noise between -2 and 2, one value of which is `tail`, unless that is 0."""
    x = np.clip(random.normal(0, 1, (16, 32, 16)), -2, 2).astype(np.float32)
    if tail:
        x[3, 5, 7] = tail
    return x


@pytest.mark.parametrize("size, tail, named", [(0.8, 0, True), (1, 0, False), (0.25, 12, False)])
def test_a_range_that_cuts_off_more_than_rounding_would_lose_is_named(tmp_path, size, tail, named):
    """At 23 dB, where a range that holds all values would leave 40; ranges that leave out rare large values are meant so."""
    random = np.random.default_rng(122)
    weight = random.normal(0, 0.3, (16, 8)).astype(np.float32)
    x = noise_with_tail(random, tail)
    def model(quantized):
        b = files.Quantizer(123)
        end = size * float(np.abs(x).max())
        source = b.pair("x", -end, end, np.int8) if quantized else "x"
        step = np.abs(weight).max(0) / 127
        held = b.stored("weight", np.rint(weight / step).astype(np.int8), step, axis=1) if quantized else b.constant("weight", weight)
        b.add("MatMul", [source, held], "y")
        return b.model([("x", FLOAT, [32, 16])], [("y", FLOAT, [32, 8])])
    files.write(tmp_path, model(False), {"x": x}, "float.onnx")
    names, report = found(tmp_path, model(True), code=int(named))
    assert names == ([("lost-pair", "x.codes")] if named else []), report["quantizers"]


@pytest.mark.parametrize("kind", [np.int16, np.int8])
@pytest.mark.parametrize("size, tail, named", [(0.97, 0, True), (1, 0, False), (0.25, 12, False)])
def test_a_range_is_judged_by_what_its_format_can_give(tmp_path, kind, size, tail, named):
    """At 37 dB, beyond what counts as lost: 16 bits give 90, and the outputs gain if this range alone is mended."""
    random = np.random.default_rng(124)
    weight = random.normal(0, 0.3, (16, 8)).astype(np.float32)
    x = noise_with_tail(random, tail)
    def model(quantized):
        b = files.Quantizer(125, 21)
        end = size * float(np.abs(x).max())
        source = b.pair("x", -end, end, kind) if quantized else "x"
        b.add("MatMul", [source, b.constant("weight", weight)], "product")
        last = b.pair("product", -6.0, 6.0, np.int16) if quantized else "product"
        b.add("Identity", [last], "y")
        return b.model([("x", FLOAT, [32, 16])], [("y", FLOAT, [32, 8])])
    files.write(tmp_path, model(False), {"x": x}, "float.onnx")
    names, report = found(tmp_path, model(True), code=int(named))
    assert names == ([("lost-pair", "x.codes")] if named else []), report["quantizers"]


@pytest.mark.parametrize("low, named", [(-1, True), (0, False)])
def test_a_zero_point_that_is_off_where_a_pair_does_the_work_of_a_relu(tmp_path, low, named):
    """Negative values become -1 step in place of 0."""
    random = np.random.default_rng(126)
    weights = [random.normal(0, 0.3, shape).astype(np.float32) for shape in ((16, 32), (32, 8))]
    x = random.normal(0, 1, (8, 32, 16)).astype(np.float32)
    end = float((x @ weights[0]).max())
    def model(quantized):
        b = files.Quantizer(127)
        b.add("MatMul", ["x", b.constant("first", weights[0])], "hidden")
        if quantized:
            values = b.pair("hidden", low * end / 255, end + low * end / 255, np.int8, "relu")
        else:
            values = b.add("Relu", ["hidden"], "relu")
        b.add("MatMul", [values, b.constant("second", weights[1])], "y")
        return b.model([("x", FLOAT, [32, 16])], [("y", FLOAT, [32, 8])])
    files.write(tmp_path, model(False), {"x": x}, "float.onnx")
    names, report = found(tmp_path, model(True), code=int(named))
    assert names == ([("lost-pair", "relu.codes")] if named else []), report["quantizers"]


@pytest.mark.parametrize("size, named", [(0, False), (0.002, True)])
def test_filters_that_are_zero_in_the_float_model_starve_nothing(tmp_path, size, named):
    """Their scale is shared; another weight has one that makes the outputs bad. Small filters that a layer evens out are lost."""
    random = np.random.default_rng(130)
    weights = [random.normal(0, 0.3, (16, 16)).astype(np.float32) for _ in range(2)]
    weights[1][:, :4] *= size
    x = random.normal(0, 1, (8, 32, 16)).astype(np.float32)
    gain = np.where(np.arange(16) < 4, 500, 1).astype(np.float32)
    def model(quantized):
        b = files.Quantizer(131)
        source = "x"
        for i, weight in enumerate(weights):
            source = b.pair(source, -6.0, 6.0, np.int8, f"data{i}") if quantized else source
            held = b.constant(f"weight{i}", weight)
            if quantized:
                step = np.float32(np.abs(weight).max() / (7 if i == 0 else 127))
                held = b.stored(f"weight{i}", np.rint(weight / step).astype(np.int8), step)
            source = b.add("MatMul", [source, held], f"product{i}")
        b.add("Mul", [source, b.constant("gain", gain)], "y")
        return b.model([("x", FLOAT, [32, 16])], [("y", FLOAT, [32, 16])])
    files.write(tmp_path, model(False), {"x": x}, "float.onnx")
    names, report = found(tmp_path, model(True), code=(0, 1))
    blamed = [node for name, node in names if name == "starved-channels"]
    assert ("weight1.values" in blamed) is named, report["defects"]


@pytest.mark.parametrize("wrong, kind", [("turned", "other-values"), ("axis", "wrong-axis")])
def test_one_wrong_weight_is_one_defect(tmp_path, wrong, kind):
    """A float weight behind a pair, whose values or axis are wrong: not too few levels as well, and no other scale."""
    random = np.random.default_rng(128)
    weight = (random.normal(0, 0.3, (16, 16)) * np.exp(random.normal(0, 0.5, 16))).astype(np.float32)
    x = random.normal(0, 1, (8, 32, 16)).astype(np.float32)
    def model(quantized):
        b = files.Quantizer(129)
        source, held = "x", b.constant("weight", weight.T.copy() if quantized and wrong == "turned" else weight)
        if quantized:
            source = b.pair("x", -4.0, 4.0, np.int8)
            step = b.constant("step", (np.abs(weight).max(0) / 127).astype(np.float32))
            zero = b.constant("zero", np.zeros(16, np.int8))
            b.add("QuantizeLinear", [held, step, zero], "codes", axis=1)
            codes = "codes"
            if wrong == "axis":
                low, high = b.constant("low", np.int8(-127)), b.constant("high", np.int8(127))
                codes = b.add("Clip", ["codes", low, high], "limited")
            held = b.add("DequantizeLinear", [codes, step, zero], "values", axis=0 if wrong == "axis" else 1)
        b.add("MatMul", [source, held], "y")
        return b.model([("x", FLOAT, [32, 16])], [("y", FLOAT, [32, 16])])
    files.write(tmp_path, model(False), {"x": x}, "float.onnx")
    names, report = found(tmp_path, model(True))
    assert [name for name, _ in names] == [kind], report["defects"]


@pytest.mark.parametrize("overflows", [True, False])
def test_a_constant_that_the_format_itself_rounds_is_no_other_one(overflows, tmp_path):
    """-3.4e38 becomes -inf in FP16, which hides the same scores; what overflows are the squares of a norm."""
    b = networks.Builder(31)
    for name in "qk":
        b.add("MatMul", ["x", b.constant(f"w{name}", b.normal(16, 16) / 4)], name)
    b.add("Transpose", ["k"], "turned", perm=[0, 2, 1])
    b.add("MatMul", ["q", "turned"], "scores")
    hidden = b.constant("hidden", np.triu(np.ones((8, 8), bool), 1))
    b.add("Where", [hidden, b.constant("lowest", np.float32(-3.4e38)), "scores"], "masked")
    b.add("Softmax", ["masked"], "weights", axis=-1)
    b.add("MatMul", ["weights", "x"], "mixed")
    b.add("Mul", ["mixed", b.constant("large", np.float32(3000 if overflows else 1))], "stream")
    b.add("Pow", ["stream", b.constant("two", np.float32(2))], "squares")
    b.add("ReduceMean", ["squares"], "mean", axes=[-1], keepdims=1)
    b.add("Sqrt", ["mean"], "size")
    b.add("Div", ["stream", "size"], "normed")
    b.add("MatMul", ["normed", b.constant("wo", b.normal(16, 16) / 4)], "y")
    files.write(tmp_path, b.model([("x", 1, [1, 8, 16])], [("y", 1, [1, 8, 16])]), {"x": b.normal(6, 1, 8, 16)}, "float.onnx")
    vernier("convert", "float.onnx", "--int8", "-p", "float16", "--data", "x.npz", "-o", "low.onnx", folder=tmp_path)
    done = vernier("debug", "loss", "float.onnx", "low.onnx", "--data", "x.npz", "--json", folder=tmp_path, codes=(0, 1))
    assert "other-operator" not in [defect["kind"] for defect in json.loads(done.stdout)["defects"]]
