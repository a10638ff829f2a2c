"""`vernier debug loss FLOAT QUANTIZED` on two exports of one network, whose exporters number their tensors, write norms and GELU as
one operator or in pieces, and order branches differently. Names then say nothing: only what is wrong is named, or nothing."""
import numpy as np
import pytest

import quantized_files as files
from networks import FLOAT
from test_pair_defects import found

WIDTH, SAMPLES = 16, 8
EPSILON = 1e-5


class Export(files.Quantizer):
    """The float one has operators in pieces; the quantized one, with the fault, has them as one operator each."""

    def __init__(self, quantized, numbers, fault=(None, None), ranges=None):
        super().__init__(7, 20)
        self.quantized, self.name, self.count = quantized, *numbers
        self.kind, self.place = fault
        self.ranges, self.read = ranges or {}, {}

    def made(self, operator, inputs, node="", **attributes):
        self.count += 1
        self.add(operator, inputs, self.name.format(self.count), **attributes)
        self.nodes[-1].name = node
        return self.name.format(self.count)

    def value(self, value):
        return self.constant(f"constant{len(self.initializers)}", np.asarray(value))

    def wrong(self, kind, place):
        return self.quantized and (self.kind, self.place) == (kind, place)

    def rounded(self, source, place):
        if not self.quantized:
            self.read[place] = source
            return source
        low, high = self.ranges[place]
        step = np.float32((high - low) / 255 / (8 if self.wrong("narrow", place) else 1))
        parameters = [self.constant(f"{place}.step", step), self.constant(f"{place}.zero", np.uint8(np.clip(round(-low / step), 0, 255)))]
        return self.made("DequantizeLinear", [self.made("QuantizeLinear", [source, *parameters], f"{place}.codes"), *parameters])

    def linear(self, source, place, outputs, inputs=WIDTH):
        weight, bias = (self.normal_of(place, shape) for shape in ((inputs, outputs), (outputs,)))
        source = self.rounded(source, place)
        if self.quantized:
            step = np.float32(np.abs(weight).max() / 127)
            codes = np.round(weight / step).astype(np.int8)
            codes = self.constant(f"{place}.weight", codes[::-1].copy() if self.wrong("other weight", place) else codes)
            step = self.constant(f"{place}.weight.step", step * np.float32(3 if self.wrong("weight scale", place) else 1))
            weight = self.made("DequantizeLinear", [codes, step], f"{place}.weight.values")
            bias = 0 * bias if self.wrong("no bias", place) else bias
        else:
            weight = self.constant(f"{place}.weight", weight)
        return self.made("Add", [self.made("MatMul", [source, weight]), self.constant(f"{place}.bias", bias)])

    def normal_of(self, place, shape):
        return (0.3 * np.random.default_rng([*place.encode(), len(shape)]).standard_normal(shape)).astype(np.float32)

    def norm(self, source, place):
        size, shift = self.value(1 + self.normal_of(f"{place}.size", (WIDTH,))), self.value(self.normal_of(place, (WIDTH,)))
        if self.quantized:
            epsilon = 0.3 if self.wrong("epsilon", place) else EPSILON
            return self.made("LayerNormalization", [source, size, shift], place, epsilon=epsilon)
        axes = self.value(np.array([-1]))
        off = self.made("Sub", [source, self.made("ReduceMean", [source, axes])])
        variance = self.made("ReduceMean", [self.made("Pow", [off, self.value(np.float32(2))]), axes])
        root = self.made("Sqrt", [self.made("Add", [variance, self.value(np.float32(EPSILON))])])
        return self.made("Add", [self.made("Mul", [self.made("Div", [off, root]), size]), shift])

    def activation(self, source, place):
        if self.wrong("operator", place):
            return self.made("Sigmoid", [source], place)
        if self.quantized:
            return self.made("Gelu", [source])
        half = self.made("Erf", [self.made("Div", [source, self.value(np.float32(2**0.5))])])
        product = self.made("Mul", [source, self.made("Add", [half, self.value(np.float32(1))])])
        return self.made("Mul", [product, self.value(np.float32(0.5))])

    def block(self, source, place):
        hidden = self.norm(source, f"{place}.norm")
        branches = {name: self.linear(hidden, f"{place}.{name}", WIDTH) for name in ("vqk" if self.quantized else "qkv")}
        product = self.made("MatMul", [branches["q"], self.made("Transpose", [branches["k"]], perm=[0, 2, 1])])
        scaled = self.made("Mul", [product, self.value(np.float32(0.25))]) if self.quantized else self.made("Div", [product, self.value(np.float32(4))])
        attended = self.made("MatMul", [self.made("Softmax", [scaled], axis=-1), branches["v"]])
        source = self.made("Add", [source, self.linear(attended, f"{place}.out", WIDTH)])
        inner = self.activation(self.linear(self.norm(source, f"{place}.second"), f"{place}.up", 2 * WIDTH), f"{place}.act")
        return self.made("Add", [source, self.linear(inner, f"{place}.down", WIDTH, 2 * WIDTH)])

    def network(self, outputs=()):
        last = self.linear(self.block(self.block("x", "one"), "two"), "head", 8)
        self.add("Identity", [last], "y")
        model = self.model([("x", FLOAT, [1, 4, WIDTH])], [("y", FLOAT, [1, 4, 8]), *((name, FLOAT, [None] * 3) for name in outputs)])
        model.ir_version = 9
        return model


def ranges_of(samples, numbers):
    import onnxruntime

    export = Export(False, numbers)
    export.network()
    tensors = sorted(set(export.read.values()) - {"x"})
    session = onnxruntime.InferenceSession(Export(False, numbers).network(tensors).SerializeToString())
    values = {"x": samples, **{name: np.stack(of) for name, of in zip(tensors, zip(*(session.run(tensors, {"x": x}) for x in samples)))}}
    return {place: (min(float(values[tensor].min()), 0.0), float(values[tensor].max())) for place, tensor in export.read.items()}


FAULTS = {"narrow": "two.up.codes", "weight scale": "one.k.weight.values", "other weight": "one.q.weight.values", "no bias": "constant 'one.up.bias'",
          "operator": "Sigmoid 'one.act'", "epsilon": "epsilon 0.3, in the float model 1e-05"}


@pytest.mark.sampled
@pytest.mark.parametrize("first", [10, 13, 17, 22])
@pytest.mark.parametrize("name", ["{}", "val_{}"])
@pytest.mark.parametrize("kind", [None, *FAULTS])
def test_only_what_is_wrong_is_named(kind, name, first, tmp_path):
    """Numbers of the float model begin at 10, those of the file at `first`."""
    samples = np.random.default_rng(5).standard_normal((SAMPLES, 1, 4, WIDTH)).astype(np.float32)
    place = {"narrow": "two.up", "weight scale": "one.k", "other weight": "one.q", "no bias": "one.up", "operator": "one.act", "epsilon": "one.norm"}.get(kind)
    files.write(tmp_path, Export(False, (name, 10)).network(), {"x": samples}, "float.onnx")
    quantized = Export(True, (name, first), (kind, place), ranges_of(samples, (name, 10))).network()
    names, report = found(tmp_path, quantized, code=int(kind is not None))
    assert len(names) == (kind is not None), report["defects"]
    assert kind is None or FAULTS[kind] in report["defects"][0]["node"] + " " + report["defects"][0]["text"], report["defects"]


class Chain(files.Quantizer):
    """Four convolutions with Relus, numbered by `numbers`; quantizers leave the work of a Relu to the pair behind it."""

    def __init__(self, numbers, quantized, layout=False):
        super().__init__(9, 17)
        self.numbers, self.quantized, self.layout = iter(numbers), quantized, layout

    def read(self, source, low, high):
        return self.pair(source, low, high, np.uint8) if self.quantized else source

    def network(self):
        source = self.read("x", -4.0, 4.0)
        for layer in range(4):
            weight = self.random.normal(0, 0.15, (6, 6, 3, 3)).astype(np.float32)
            if self.quantized:
                step = np.abs(weight).max() / 127
                weight = self.stored(f"w{layer}", np.round(weight / step).astype(np.int8), step)
            else:
                weight = self.constant(f"w{layer}", weight)
            made = self.add("Conv", [source, weight], str(next(self.numbers)), pads=[1 if layer != 2 else 0] * 4)
            if layer == 3:
                break
            result = str(next(self.numbers))
            if self.layout:
                turned = self.add("Transpose", [self.read(made, -4.0, 4.0)], f"turned{layer}", perm=[0, 2, 3, 1])
                source = self.add("Transpose", [self.add("Relu", [turned], f"relu{layer}")], result, perm=[0, 3, 1, 2])
            elif self.quantized:
                source = self.read(made, 0.0, 3.0)
            else:
                source = self.add("Relu", [made], result)
        self.add("Identity", [made], "y")
        model = self.model([("x", FLOAT, [1, 6, 8, 8])], [("y", FLOAT, [1, 6, 6, 6])])
        for node in model.graph.node:
            node.name = ""
        return model


@pytest.mark.parametrize("layout", [False, True])
@pytest.mark.parametrize("numbering", range(6))
def test_numbers_that_collide_and_relus_that_pairs_do_are_no_defects(numbering, layout, tmp_path):
    """The other file drops each Relu, or has it behind a Transpose."""
    samples = np.random.default_rng(3).standard_normal((SAMPLES, 1, 6, 8, 8)).astype(np.float32)
    files.write(tmp_path, Chain(range(1, 9), False).network(), {"x": samples}, "float.onnx")
    numbers = np.random.default_rng(numbering).permutation(range(1, 9))
    names, report = found(tmp_path, Chain(numbers, True, layout).network(), code=0)
    assert names == [] and len(report["tensors"]) >= 4, report["defects"]


def test_a_relu_that_cuts_nothing_off_is_told_by_its_operator(tmp_path):
    """On the first sample it has the values of what it reads, and a norm behind it is written otherwise."""
    def model(names):
        b = files.Quantizer(9, 17)
        b.add("MatMul", ["x", b.constant("w", np.eye(8, dtype=np.float32))], names[0])
        b.add("Relu", [names[0]], names[1])
        b.add("MatMul", [names[1], b.constant("v", b.random.normal(0, 0.5, (8, 8)).astype(np.float32))], names[2])
        b.add("Identity", [names[2]], "y")
        return b.model([("x", FLOAT, [1, 8])], [("y", FLOAT, [1, 8])])
    samples = np.random.default_rng(3).standard_normal((SAMPLES, 1, 8)).astype(np.float32)
    samples[0] = np.abs(samples[0])
    files.write(tmp_path, model(["1", "2", "3"]), {"x": samples}, "float.onnx")
    assert found(tmp_path, model(["2", "3", "1"]), code=0)[0] == []
