"""Layers that a quantized file writes in another form than its float model: their weights and biases are compared, a wrong one is
named, and nothing else is."""
import json

import numpy as np
import onnx
import pytest

import quantized_files as files
from networks import FLOAT
from test_traits import vernier

ROWS, WIDTH, OUTPUTS, HEADS = 5, 16, 12, 3
RIGHT = {"codes": lambda codes: codes, "steps": lambda steps: steps, "zero": 0, "bias": lambda bias: bias}
WRONG = {
    "right": {}, "scale": {"steps": lambda steps: 3 * steps}, "zero point": {"zero": 7}, "sign": {"codes": lambda codes: -codes},
    "one channel": {"steps": lambda steps: steps * np.where(np.arange(len(steps)) == 1, 8, 1)},
    "places": {"codes": lambda codes: np.roll(codes, 1, axis=0)}, "bias": {"bias": lambda bias: -bias},
}


class Form:
    """Products of one model: `wrong` changes what the first one stores, in a file; of the float model it is absent."""

    def __init__(self, b, wrong=None):
        self.b, self.quantized, self.wrong = b, wrong is not None, wrong or {}

    def read(self, tensor, size=5.0):
        return self.b.pair(tensor, -size, size, np.int8) if self.quantized else tensor

    def weight(self, name, values, axis):
        """`values`: with the outputs along `axis`."""
        if not self.quantized:
            return self.b.constant(f"{name}.weight", values)
        how = RIGHT | (self.wrong if name.startswith("first") else {})
        steps = np.abs(values).max(axis=tuple(k for k in range(values.ndim) if k != axis)) / np.float32(127)
        wide = steps.reshape([-1 if k == axis else 1 for k in range(values.ndim)])
        codes = np.moveaxis(how["codes"](np.moveaxis(np.round(values / wide), axis, -1)), -1, axis).astype(np.int8)
        parts = [self.b.constant(f"{name}.codes", codes), self.b.constant(f"{name}.step", how["steps"](steps).astype(np.float32)),
                 self.b.constant(f"{name}.zero", np.full(steps.shape, how["zero"], np.int8))]
        return self.b.add("DequantizeLinear", parts, f"{name}.weight.values", axis=axis)

    def bias(self, name, values):
        wrong = self.quantized and name.startswith("first")
        values = (RIGHT | self.wrong)["bias"](values) if wrong else values
        if not self.quantized:
            return self.b.constant(f"{name}.bias", values)
        step = np.float32(1e-4)
        return self.b.stored(f"{name}.bias", np.round(values / step).astype(np.int32), step)

    def reshape(self, source, name, *shape):
        return self.b.add("Reshape", [source, self.b.constant(f"{name}.shape", np.array(shape))], name)

    def matmul(self, name, source, weight, bias):
        product = self.b.add("MatMul", [source, self.weight(name, weight, 1)], f"{name}.product")
        return self.b.add("Add", [product, self.bias(name, bias)], f"{name}.matmul")

    def gemm(self, name, source, weight, bias, **how):
        rows = self.reshape(source, f"{name}.rows", -1, len(weight))
        stored = self.weight(name, np.ascontiguousarray(weight.T), 0) if how else self.weight(name, weight, 1)
        product = self.b.add("Gemm", [rows, stored, self.bias(name, bias)], f"{name}.gemm", **how)
        return self.reshape(product, f"{name}.tokens", 1, -1, weight.shape[1])

    def gemm_turned(self, name, source, weight, bias):
        return self.gemm(name, source, weight, bias, transB=1)

    def pointwise(self, name, source, weight, bias):
        """A Conv whose channels are the inputs."""
        turned = self.b.add("Transpose", [source], f"{name}.turned", perm=[0, 2, 1])
        kernel = self.weight(name, np.ascontiguousarray(weight.T)[:, :, None], 0)
        product = self.b.add("Conv", [turned, kernel], f"{name}.conv")
        bias = self.reshape(self.bias(name, bias), f"{name}.channels", 1, -1, 1)
        return self.b.add("Transpose", [self.b.add("Add", [product, bias], f"{name}.biased")], f"{name}.pointwise", perm=[0, 2, 1])


FORMS = ["matmul", "gemm", "gemm_turned", "pointwise"]


def values(*shape, seed, size=0.3):
    return (size * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def integer(form, operator, name, source, codes, step, zero, bias, **how):
    """What ONNX Runtime's dynamic quantizer writes: a product of integers, their scales, and an Add."""
    b = form.b
    b.add("DynamicQuantizeLinear", [source], [f"{name}.data", f"{name}.scale", f"{name}.low"])
    b.nodes[-1].name = f"{name}.quantize"
    stored = [b.constant(f"{name}.codes", codes), f"{name}.low", b.constant(f"{name}.zero", zero)]
    b.add(operator, [f"{name}.data", stored[0], *stored[1:]], f"{name}.sums", **how)
    b.add("Cast", [f"{name}.sums"], f"{name}.float", to=FLOAT)
    b.add("Mul", [f"{name}.scale", b.constant(f"{name}.step", step)], f"{name}.scales")
    b.add("Mul", [f"{name}.float", f"{name}.scales"], f"{name}.product")
    return b.add("Add", [f"{name}.product", bias], name)


def dynamic(b, form, wrong=None):
    """A Conv and a Gemm, which become ConvInteger and MatMulInteger."""
    f = Form(b, wrong)
    kernel, bias, weight, last = values(8, 3, 3, 3, seed=41), values(8, seed=42), values(OUTPUTS, 8, seed=43), values(OUTPUTS, seed=44)
    def stored(name, values):
        how = RIGHT | (wrong if name == "first" else {})
        step = np.abs(values).max() / np.float32(127)
        codes = how["codes"](np.round(values / step)) + 128
        return codes.astype(np.uint8), how["steps"](np.full(1, step))[0].astype(np.float32), np.uint8(128 + how["zero"])
    if form == "float":
        b.add("Conv", ["x", b.constant("first.weight", kernel), b.constant("first.bias", bias)], "first", pads=[1] * 4)
    else:
        added = f.reshape(b.constant("first.bias", (RIGHT | wrong)["bias"](bias)), "first.channels", 1, -1, 1, 1)
        integer(f, "ConvInteger", "first", "x", *stored("first", kernel), added, pads=[1] * 4)
    b.add("GlobalAveragePool", [b.add("Relu", ["first"], "relu")], "pooled")
    b.add("Flatten", ["pooled"], "flat")
    if form == "float":
        b.add("Gemm", ["flat", b.constant("last.weight", weight), b.constant("last.bias", last)], "last", transB=1)
    else:
        integer(f, "MatMulInteger", "last", "flat", *stored("last", np.ascontiguousarray(weight.T)), b.constant("last.bias", last))
    b.add("Identity", ["last"], "y")
    return [1, 3, 12, 12], [1, OUTPUTS]


def two_products(b, form, wrong=None):
    f = Form(b, wrong)
    write = getattr(f, form)
    hidden = write("first", f.read("x"), values(WIDTH, WIDTH, seed=1), values(WIDTH, seed=2))
    hidden = b.add("Relu", [hidden], "relu")
    b.add("Identity", [write("last", f.read(hidden), values(WIDTH, OUTPUTS, seed=3), values(OUTPUTS, seed=4))], "y")
    return [1, ROWS, WIDTH], [1, ROWS, OUTPUTS]


def convolutions(b, form, wrong=None):
    """Of one dimension, or of two of which one is 1."""
    f = Form(b, wrong)
    def conv(name, source, seed):
        kernel, bias = values(8, 8, 3, seed=seed), values(8, seed=seed + 1)
        if form == "one":
            return b.add("Conv", [source, f.weight(name, kernel, 0), f.bias(name, bias)], name)
        axes = b.constant(f"{name}.axes", np.array([2]))
        wide = b.add("Unsqueeze", [source, axes], f"{name}.wide")
        made = b.add("Conv", [wide, f.weight(name, kernel[:, :, None], 0), f.bias(name, bias)], f"{name}.conv")
        return b.add("Squeeze", [made, axes], f"{name}.narrow")
    hidden = b.add("Relu", [conv("first", f.read("x"), 11)], "relu")
    b.add("Identity", [conv("last", f.read(hidden), 13)], "y")
    return [1, 8, 20], [1, 8, 16]


def attention(b, form, wrong=None):
    """Queries, keys and values by three products, or by one that is split."""
    f = Form(b, wrong)
    parts = [(values(WIDTH, WIDTH, seed=21 + k), values(WIDTH, seed=31 + k)) for k in range(HEADS)]
    source = f.read("x")
    if form == "packed":
        all_parts = f.matmul("first", source, np.concatenate([w for w, _ in parts], 1), np.concatenate([bias for _, bias in parts]))
        b.add("Split", [all_parts, b.constant("sizes", np.array([WIDTH] * HEADS))], ["q", "k", "v"], axis=2)
        made = ["q", "k", "v"]
    else:
        made = [f.matmul(f"first{k}", source, *part) for k, part in enumerate(parts)]
    turned = b.add("Transpose", [made[1]], "turned", perm=[0, 2, 1])
    shares = b.add("Softmax", [b.add("MatMul", [made[0], turned], "scores")], "shares", axis=-1)
    b.add("MatMul", [shares, made[2]], "y")
    return [1, ROWS, WIDTH], [1, ROWS, WIDTH]


CASES = [(two_products, a, b) for a in FORMS for b in FORMS if a != b]
CASES += [(convolutions, "one", "two"), (convolutions, "two", "one"), (attention, "apart", "packed"), (attention, "packed", "apart")]


def write(folder, network, float_form, form, wrong):
    models = []
    for how in ((float_form,), (form, WRONG[wrong])):
        b = files.Quantizer(5, 17)
        shape, result = network(b, *how)
        models.append(b.model([("x", FLOAT, shape)], [("y", FLOAT, result)]))
    onnx.save(models[0], folder / "float.onnx")
    onnx.save(models[1], folder / "quantized.onnx")
    np.savez(folder / "x.npz", x=np.random.default_rng(6).standard_normal((16, *shape)).astype(np.float32))


def defects_found(folder, code, least=27):
    """By `verify`, and by `debug loss`."""
    for command in (["verify", "--min-sqnr", least], ["debug", "loss"]):
        where = 1 if command[0] == "verify" else 2
        done = vernier(*command[:where], "float.onnx", "quantized.onnx", *command[where:], "--data", "x.npz", "--json", folder=folder,
                       codes=(code,))
        yield json.loads(done.stdout).get("defects", [])


@pytest.mark.sampled
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize(("network", "float_form", "form"), CASES, ids=[f"{a}-{b}" for _, a, b in CASES])
def test_a_wrong_constant_of_a_layer_in_another_form_is_named(network, float_form, form, wrong, tmp_path):
    write(tmp_path, network, float_form, form, wrong)
    right = wrong == "right"
    constant = "bias" if wrong == "bias" else "weight"
    for defects in defects_found(tmp_path, code=0 if right else 1):
        assert right == (not defects), defects
        for defect in defects:
            assert defect["node"].startswith("first") and defect["node"].endswith(f".{constant}.values"), defects


@pytest.mark.parametrize(("wrong", "named"), [
    ("right", None), ("scale", ("weight-scale", "first.codes")), ("zero point", ("shifted-codes", "first.codes")),
    ("sign", ("other-values", "first.codes")), ("places", ("other-values", "first.codes")), ("bias", ("other-operator", "first.channels"))])
def test_weights_of_products_of_integers_with_a_bias_are_compared(wrong, named, tmp_path):
    write(tmp_path, dynamic, "float", "integer", wrong)
    for defects in defects_found(tmp_path, code=0 if named is None else 1):
        names = [(defect["kind"], defect["node"].removesuffix("_DequantizeLinear")) for defect in defects]
        assert names == ([] if named is None else [named]), defects


@pytest.mark.parametrize("narrow", [1, 0.1])
def test_a_factor_that_the_other_form_holds_is_not_a_wrong_scale(narrow, tmp_path):
    """MatMul, Mul and Add as one Gemm; a pair behind it cuts off too much, or none does."""
    weight, factors, bias = values(WIDTH, WIDTH, seed=1), 1 + 3 * np.random.default_rng(2).random(WIDTH).astype(np.float32), values(WIDTH, seed=3)
    last = values(WIDTH, OUTPUTS, seed=4), values(OUTPUTS, seed=5)
    def model(quantized):
        b = files.Quantizer(5, 17)
        f = Form(b, {} if quantized else None)
        if quantized:
            hidden = f.gemm("first", f.read("x"), weight * factors, bias)
        else:
            product = b.add("MatMul", ["x", b.constant("first.weight", weight)], "product")
            hidden = b.add("Add", [b.add("Mul", [product, b.constant("factors", factors)], "scaled"), b.constant("first.bias", bias)], "first")
        b.add("Identity", [f.matmul("last", f.read(b.add("Relu", [hidden], "relu"), 20 * narrow), *last)], "y")
        return b.model([("x", FLOAT, [1, ROWS, WIDTH])], [("y", FLOAT, [1, ROWS, OUTPUTS])])
    onnx.save(model(False), tmp_path / "float.onnx")
    onnx.save(model(True), tmp_path / "quantized.onnx")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(6).standard_normal((16, 1, ROWS, WIDTH)).astype(np.float32))
    done = vernier("verify", "float.onnx", "quantized.onnx", "--min-sqnr", "20", "--data", "x.npz", "--json", folder=tmp_path,
                   codes=(int(narrow < 1),))
    assert [defect["node"] for defect in json.loads(done.stdout).get("defects", [])] == (["relu.codes"] if narrow < 1 else [])


@pytest.mark.sampled
@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("wrong", ["right", "swapped", "bias"])
@pytest.mark.parametrize(("float_form", "form"), [("matmul", "gemm"), ("gemm", "matmul"), ("matmul", "pointwise")])
def test_layers_of_a_residual_stream_in_another_form_have_their_own_constants(float_form, form, wrong, half, tmp_path):
    """Two layers of one size, whose weights the file has in each other's place, or one without its bias. An Add reads what each makes."""
    weights, biases = [values(WIDTH, WIDTH, seed=51 + k) for k in range(2)], [values(WIDTH, seed=61 + k) for k in range(2)]
    class Plain(Form):
        def bias(self, name, values):
            return self.b.constant(f"{name}.bias", values)
        def weight(self, name, values, axis):
            return self.b.constant(f"{name}.weight", values) if half else super().weight(name, values, axis)
    def model(quantized):
        b = files.Quantizer(5, 17)
        f = Plain(b, {} if quantized else None)
        write, source = getattr(f, form if quantized else float_form), "x"
        order, factor = ([1, 0] if quantized and wrong == "swapped" else [0, 1]), 0 if quantized and wrong == "bias" else 1
        for k, name in enumerate(("one", "two")):
            read = source if half else f.read(source, 8)
            made = write(name, read, weights[order[k]], biases[k] * np.float32(factor if k == 0 else 1))
            source = b.add("Add", [source, b.add("Identity", [made], name)], f"{name}.sum")
        return b.model([("x", FLOAT, [1, ROWS, WIDTH])], [(source, FLOAT, [1, ROWS, WIDTH])])
    onnx.save(model(False), tmp_path / "float.onnx")
    onnx.save(model(True), tmp_path / "quantized.onnx")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(6).standard_normal((16, 1, ROWS, WIDTH)).astype(np.float32))
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "x.npz", "--json", folder=tmp_path, codes=(int(wrong != "right"),))
    found = [(defect["node"], defect["text"].split(". ")[0]) for defect in json.loads(done.stdout)["defects"]]
    assert [node.split(".")[0] for node, _ in found] == {"right": [], "swapped": ["one", "two"], "bias": ["one"]}[wrong], found
    said = {"swapped": ["'one.weight'", "'two.weight'"], "bias": ["'one.bias'"]}.get(wrong, [])
    assert all(name in text for name in said for _, text in found), found
