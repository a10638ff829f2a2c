"""`vernier debug loss FLOAT QUANTIZED` on files that read other tensors than the float model, in another order, at other places,
or that lost a bias: the layer is named, and nothing else. Files that compute the same in another way have no defect."""
import numpy as np
import onnx
import pytest

import quantized_files as files
from networks import FLOAT
from test_pair_defects import found

CHANNELS = 8
WEIGHT = np.random.default_rng(111).normal(0, 0.35, (CHANNELS, CHANNELS)).astype(np.float32)
BIAS = np.random.default_rng(112).normal(0, 0.8, CHANNELS).astype(np.float32)


class Layers:
    """A product and a Relu on `x`, quantized or not, and what a case puts behind."""

    def __init__(self, quantized, opset=18):
        self.quantized, self.b = quantized, files.Quantizer(113, opset)

    def read(self, tensor, high=4.0):
        return self.b.pair(tensor, -high, high, np.int8) if self.quantized else tensor

    def weight(self, name="weight", values=WEIGHT, kind=127):
        if not self.quantized:
            return self.b.constant(name, values)
        steps = np.abs(values).max(0) / kind
        return self.b.stored(name, np.round(values / steps).astype(np.int8), steps, axis=1)

    def product(self, name="product", source="x", op_type="MatMul", bias=None, kind=127):
        extra = [] if bias is None else [self.b.constant("bias", bias)]
        return self.b.add(op_type, [self.read(source), self.weight(f"{name}.weight", kind=kind), *extra], name)

    def integers(self, name, *values):
        return self.b.constant(name, np.array(values, np.int64))


def compare(folder, case, shape=(6, CHANNELS), code=1, rank=2):
    """`case`, called with the layers of the float model and of the file, returns its last tensor."""
    def model(quantized):
        layers = Layers(quantized)
        layers.b.add("Identity", [case(layers)], "y")
        return layers.b.model([("x", FLOAT, shape)], [("y", FLOAT, [None] * rank)])
    samples = {"x": np.random.default_rng(114).standard_normal((8, *shape)).astype(np.float32)}
    files.write(folder, model(False), samples, "float.onnx")
    return found(folder, model(True), code)


def block(layers, quantized, in_float):
    """A product, a Relu, and a last node that differs."""
    layers.product()
    layers.b.add("Relu", ["product"], "relu")
    wanted = quantized if layers.quantized else in_float
    return layers.b.add(wanted[0], wanted[1], "last", **(wanted[2] if len(wanted) > 2 else {}))


@pytest.mark.parametrize("held, wanted, said", [
    (("Identity", ["relu"]), ("Add", ["relu", "x"]), "reads 'x', and"),
    (("Add", ["relu", "product"]), ("Add", ["relu", "x"]), "reads 'product', but 'x' in the float model"),
    (("Add", ["relu", "x"]), ("Identity", ["relu"]), "reads 'x', unlike"),
    (("Sub", ["x", "relu"]), ("Sub", ["relu", "x"]), "reads 'x', 'relu' in this order, in the float model 'relu', 'x'"),
    (("Concat", ["x", "relu"], {"axis": 1}), ("Concat", ["relu", "x"], {"axis": 1}), "in this order, in the float model 'relu', 'x'")])
def test_other_tensors_that_are_read_are_named(tmp_path, held, wanted, said):
    names, report = compare(tmp_path, lambda layers: block(layers, held, wanted))
    assert [kind for kind, _ in names] == ["other-operator"] and said in report["defects"][0]["text"], report["defects"]


@pytest.mark.parametrize("op_type, held, wanted, attributes, said", [
    ("Slice", ([1], [5], [1]), ([2], [6], [1]), {}, "has [1] in"),
    ("Gather", ([2, 4, 3],), ([2, 3, 4],), {"axis": 1}, "has [2, 4, 3] in"),
    ("ReduceMean", ([2],), ([1],), {"keepdims": 0}, "has [2] in")])
def test_other_integers_that_say_what_to_read_are_named(tmp_path, op_type, held, wanted, attributes, said):
    shape = (1, CHANNELS, CHANNELS) if op_type == "ReduceMean" else (6, CHANNELS)
    def case(layers):
        numbers = [layers.integers(f"n{i}", *values) for i, values in enumerate(held if layers.quantized else wanted)]
        return layers.b.add(op_type, [layers.product(), *numbers], "last", **attributes)
    names, report = compare(tmp_path, case, shape)
    assert names == [("other-operator", "last")] and said in report["defects"][0]["text"], report["defects"]


@pytest.mark.parametrize("held, wanted", [(None, [0, 2, 1]), ([0, 2, 1], None), ([0, 1, 2], [0, 2, 1])])
@pytest.mark.parametrize("behind", ["Reshape", "MatMul"])
def test_values_that_are_moved_elsewhere_are_named(tmp_path, held, wanted, behind):
    def case(layers):
        last = layers.product()
        perm = held if layers.quantized else wanted
        if perm:
            last = layers.b.add("Transpose", [last], "turned", perm=perm)
        if behind == "MatMul":
            return layers.product("behind", last)
        return layers.b.add("Reshape", [last, layers.integers("shape", 1, CHANNELS * CHANNELS)], "flat")
    names, report = compare(tmp_path, case, (1, CHANNELS, CHANNELS), rank=3 if behind == "MatMul" else 2)
    assert [kind for kind, _ in names] == ["other-operator"], report["defects"]
    assert "Transpose" in report["defects"][0]["text"]


def with_bias(layers, held, wanted):
    """`held`, `wanted`: a bias inside of a Gemm, in an Add behind a MatMul, or none."""
    form, bias = held if layers.quantized else wanted
    inside = form == "Gemm"
    layers.product("sum" if inside or bias is None else "product", op_type=form, bias=bias if inside else None)
    if not inside and bias is not None:
        layers.b.add("Add", ["product", layers.b.constant("bias", bias)], "sum")
    layers.b.add("Relu", ["sum"], "relu")
    return layers.product("last", "relu")


@pytest.mark.parametrize("held, wanted", [
    (("Gemm", None), ("Gemm", BIAS)), (("Gemm", BIAS), ("Gemm", None)), (("MatMul", None), ("MatMul", BIAS)), (("MatMul", BIAS), ("MatMul", None)),
    (("Gemm", BIAS[::-1].copy()), ("Gemm", BIAS))])
def test_a_bias_that_is_lost_or_added_or_changed_is_named(tmp_path, held, wanted):
    names, report = compare(tmp_path, lambda layers: with_bias(layers, held, wanted))
    assert [kind for kind, _ in names] == ["other-operator"], report["defects"]
    assert "bias" in report["defects"][0]["text"]


@pytest.mark.parametrize("held, wanted", [(("Gemm", BIAS), ("MatMul", BIAS)), (("MatMul", BIAS), ("Gemm", BIAS))])
def test_a_bias_in_another_place_is_no_defect(tmp_path, held, wanted):
    assert compare(tmp_path, lambda layers: with_bias(layers, held, wanted), code=0)[0] == []


HIGH = float(np.abs(np.random.default_rng(114).standard_normal((8, 6, CHANNELS))).max())  # of the samples


def with_changed_scale(folder, changed, factor):
    """A Gemm whose scales are right, but for one that was changed after all quantized values were stored; that of the bias before."""
    def case(layers):
        b = layers.b
        if not layers.quantized:
            return layers.product(op_type="Gemm", bias=BIAS)
        steps = (np.abs(WEIGHT).max(0) / 127).astype(np.float32) * np.float32(2 * HIGH / 255)
        steps, other = (steps * np.float32(factor), 1) if changed == "bias" else (steps, factor)
        inputs = [layers.read("x", HIGH), layers.weight(), b.stored("bias", np.round(BIAS / steps).astype(np.int32), steps, axis=0)]
        step = next(tensor for tensor in b.initializers if tensor.name == f"{changed}.step")
        step.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(step) * np.float32(other), step.name))
        return b.add("Gemm", inputs, "product")
    return compare(folder, case)


@pytest.mark.parametrize("factor", [0.75, 1.4])
def test_an_input_scale_changed_after_its_bias_was_stored_is_named(tmp_path, factor):
    """The bias has the right values at its own scale, so that its scale is not what is wrong."""
    names, report = with_changed_scale(tmp_path, "x", factor)
    assert [node for _, node in names] == ["x.codes"], report["defects"]


@pytest.mark.parametrize("changed, factor", [("weight", 1.4), ("weight", 1.03), ("weight", 0.97), ("weight", 1.01), ("bias", 1.4), ("bias", 0.5)])
def test_an_input_is_not_blamed_for_another_scale_that_was_changed(changed, factor, tmp_path):
    names, report = with_changed_scale(tmp_path, changed, factor)
    assert names and all(node != "x.codes" for _, node in names), report["defects"]


@pytest.mark.parametrize("scale", ["right", "one for all", "of another input"])
def test_a_bias_of_32_bits_with_another_scale_is_named_once(tmp_path, scale):
    """Its quantized values are those of input scale times weight scale."""
    def case(layers):
        b = layers.b
        if not layers.quantized:
            return layers.product(op_type="Gemm", bias=BIAS)
        steps = (np.abs(WEIGHT).max(0) / 127).astype(np.float32) * np.float32(8 / 255)
        codes = np.round(BIAS / steps).astype(np.int32)
        one = scale == "one for all"
        bias = b.stored("bias", codes, steps.mean() if one else steps * (1 if scale == "right" else 1.2), **({} if one else {"axis": 0}))
        return b.add("Gemm", [layers.read("x"), layers.weight(), bias], "product")
    names, report = compare(tmp_path, case, code=int(scale != "right"))
    assert names == ([] if scale == "right" else [("bias-scale", "bias.values")]), report["defects"]
    assert scale == "right" or "in the float model" in report["defects"][0]["text"]


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_a_bias_of_32_bits_beside_another_beta_is_no_defect(beta, tmp_path):
    """No kernel adds its quantized values as they are, so that input scale times weight scale is right, too."""
    def case(layers):
        b = layers.b
        steps = (np.abs(WEIGHT).max(0) / 127).astype(np.float32) * np.float32(8 / 255)
        if not layers.quantized:
            return b.add("Gemm", ["x", b.constant("weight", WEIGHT), b.constant("bias", BIAS)], "product", beta=beta)
        bias = b.stored("bias", np.round(BIAS / steps).astype(np.int32), steps, axis=0)
        return b.add("Gemm", [layers.read("x"), layers.weight(), bias], "product", beta=beta)
    names, report = compare(tmp_path, case, code=0)
    assert names == [], report["defects"]


def test_a_bias_that_corrects_roundings_is_no_defect(tmp_path):
    """Of three bits, on inputs that are not centred: the float bias would be worse."""
    x = np.abs(np.random.default_rng(114).standard_normal((8, 6, CHANNELS)).astype(np.float32))
    steps = np.abs(WEIGHT).max(0) / 3
    correction = (x.reshape(-1, CHANNELS).mean(0) @ (WEIGHT - np.round(WEIGHT / steps) * steps)).astype(np.float32)
    def model(quantized, corrected):
        layers = Layers(quantized)
        layers.product("y", op_type="Gemm", bias=correction if corrected else None, kind=3 if quantized else 127)
        return layers.b.model([("x", FLOAT, (6, CHANNELS))], [("y", FLOAT, [None] * 2)])
    files.write(tmp_path, model(False, False), {"x": x}, "float.onnx")
    figures = []
    for corrected in (False, True):
        names, report = found(tmp_path, model(True, corrected), code=(0, 1))
        assert "other-operator" not in [kind for kind, _ in names], report["defects"]
        figures.append(report["outputs"][0]["sqnr_db"])
    assert figures[1] > figures[0] + 2, figures


def test_layers_that_an_optimizer_rewrote_are_no_defect(tmp_path):
    """Operands of an Add exchanged, axes counted from behind, a Sub of a constant as an Add."""
    def case(layers):
        b, q = layers.b, layers.quantized
        layers.product()
        b.add("Relu", ["product"], "relu")
        b.add("Add", ["x", "relu"] if q else ["relu", "x"], "residual")
        offset = b.constant("offset", -BIAS if q else BIAS)
        b.add("Add" if q else "Sub", ["residual", offset], "moved")
        b.add("Concat", ["moved", "relu"], "joined", axis=-1 if q else 1)
        ends = [layers.integers(name, value) for name, value in (("start", 2), ("end", 2 ** 40 if q else 2 * CHANNELS), ("axis", -1 if q else 1))]
        return b.add("Slice", ["joined", *ends], "last")
    assert compare(tmp_path, case, code=0)[0] == []


def test_layers_on_one_input_are_told_apart_without_their_names(tmp_path):
    """Queries, keys and values, convolutions of two kernels and halves, which an optimizer renamed and put in another order."""
    random = np.random.default_rng(131)
    matrices = {name: random.normal(0, 0.35, (CHANNELS, CHANNELS)).astype(np.float32) for name in "qkv"}
    kernels = {name: random.normal(0, 0.3, (4, CHANNELS, size, size)).astype(np.float32) for name, size in (("narrow", 1), ("wide", 3))}
    def model(quantized):
        layers = Layers(quantized)
        b, made = layers.b, {}
        def name(of):
            return f"renamed.{of}" if quantized else of
        def weight(of, values, axis):
            if not quantized:
                return b.constant(f"{of}.weight", values)
            steps = np.abs(values).max(tuple(i for i in range(values.ndim) if i != axis), keepdims=True) / 127
            return b.stored(f"{of}.weight", np.rint(values / steps).astype(np.int8), steps.reshape(-1), axis=axis)
        def each(all):
            return list(reversed(all)) if quantized else list(all)
        source = layers.read("x")
        for of in each(matrices):
            made[of] = b.add("MatMul", [source, weight(of, matrices[of], 1)], name(of))
        b.add("Mul", [b.add("Sub", [made["q"], made["k"]], name("scores")), made["v"]], name("mixed"))
        for of, start in each([("first", 0), ("last", 4)]):
            ends = [layers.integers(f"{of}.{i}", value) for i, value in enumerate((start, start + 4, 2))]
            made[of] = b.add("Slice", [name("mixed"), *ends], name(of))
        b.add("Concat", [b.add("Relu", [made["first"]], name("relu")), made["last"]], name("halves"), axis=2)
        b.add("Unsqueeze", [name("halves"), layers.integers("end", 3)], name("image"))
        image = layers.read(b.add("Transpose", [name("image")], name("turned"), perm=[0, 2, 1, 3]), 16.0)
        for of in each(kernels):
            made[of] = b.add("Conv", [image, weight(of, kernels[of], 0)], name(of), pads=[kernels[of].shape[-1] // 2] * 4)
        b.add("Concat", [made["narrow"], made["wide"]], "y", axis=1)
        return b.model([("x", FLOAT, (1, 6, CHANNELS))], [("y", FLOAT, [None] * 4)])
    files.write(tmp_path, model(False), {"x": random.standard_normal((8, 1, 6, CHANNELS)).astype(np.float32)}, "float.onnx")
    assert found(tmp_path, model(True), code=0)[0] == []


def test_a_relu_that_a_pair_does_the_work_of_among_unknown_layers_is_no_defect(tmp_path):
    """The first layer is written in another way, and no name is that of the float model: nothing behind is compared."""
    random = np.random.default_rng(132)
    second = random.normal(0, 0.35, (CHANNELS, CHANNELS)).astype(np.float32)
    def model(quantized):
        layers = Layers(quantized)
        b = layers.b
        prefix = "renamed." if quantized else ""
        if quantized:
            b.add("Sub", [layers.read("x"), b.constant("offset", -BIAS)], prefix + "moved")
        else:
            b.add("Add", ["x", b.constant("offset", BIAS)], "moved")
        b.add("MatMul", [layers.read(prefix + "moved", 6.0), layers.weight("one.weight")], prefix + "one")
        if quantized:
            last = b.pair("renamed.one", 0.0, 8.0, np.uint8)
        else:
            last = b.add("Relu", ["one"], "relu")
        b.add("MatMul", [last, layers.weight("two.weight", second)], "y")
        return b.model([("x", FLOAT, (6, CHANNELS))], [("y", FLOAT, [None] * 2)])
    files.write(tmp_path, model(False), {"x": random.standard_normal((8, 6, CHANNELS)).astype(np.float32)}, "float.onnx")
    names, report = found(tmp_path, model(True), code=(0, 1))
    assert names == [], report["defects"]
    assert report["outputs"][0]["sqnr_db"] > 25


def test_a_bias_of_zeros_that_is_gone_costs_nothing(tmp_path):
    def case(layers):
        source = "x"
        if layers.quantized:
            source = layers.b.add("Mul", ["x", layers.b.constant("factors", np.linspace(0.3, 2, CHANNELS).astype(np.float32))], "scaled")
        layers.product(source=source, op_type="Gemm", bias=None if layers.quantized else np.zeros(CHANNELS, np.float32))
        return layers.b.add("Relu", ["product"], "relu")
    assert "has no bias" not in str(compare(tmp_path, case, code=(0, 1)))


@pytest.mark.parametrize("order", [["zero", "cut"], ["cut", "zero"]], ids=str)
def test_a_clip_behind_a_constant_keeps_a_cast_from_wrapping(order, tmp_path):
    def case(layers):
        source = "x"
        if layers.quantized:
            b = layers.b
            b.add("Div", ["x", b.constant("step", np.float32(0.8))], "scaled")
            b.add("Clip", [b.add("Round", ["scaled"], "round"), b.constant("low", np.float32(-8)), b.constant("high", np.float32(7))], "cut")
            b.constant("zero", np.float32(8))
            b.add("Cast", [b.add("Add", order, "shifted")], "codes", to=2)
            source = b.add("Mul", [b.add("Sub", [b.add("Cast", ["codes"], "back", to=1), "zero"], "centred"), "step"], "values")
        return layers.b.add("MatMul", [source, layers.b.constant("plain", WEIGHT)], "product")
    assert "no Clip is in front" not in str(compare(tmp_path, case, code=(0, 1)))


@pytest.mark.parametrize("moved", [True, False], ids=["moved", "wrong"])
def test_an_axis_counts_if_the_outputs_differ(moved, tmp_path):
    """A Transpose behind a Softmax instead of in front of it, along the other axis; and a Softmax along the wrong one."""
    def case(layers):
        layers.product()
        if not layers.quantized or not moved:
            layers.b.add("Transpose", ["product"], "turned", perm=[1, 0])
            return layers.b.add("Softmax", ["turned"], "last", axis=0 if layers.quantized else 1)
        return layers.b.add("Transpose", [layers.b.add("Softmax", ["product"], "last", axis=0)], "turned", perm=[1, 0])
    defects, report = compare(tmp_path, case, code=(0, 1))
    assert ("axis 0, in the float model 1" in str(report)) != moved, report["defects"]
