"""A network of two convolutions, and the file that a quantizer makes of it: with pairs of any type, a bias inside of the
convolution or in an Add behind it, layers left in float, and one thing wrong where a test asks for it."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

from networks import FLOAT, Builder

CHANNELS = 8
ENDS = {np.int8: (-128, 127), np.uint8: (0, 255), np.int16: (-32768, 32767), np.uint16: (0, 65535)}


class Quantizer(Builder):
    def pair(self, source, low, high, kind, name=None):
        """A Q/DQ pair of an activation whose grid goes from `low` to `high`."""
        name = name or source
        first, last = ENDS[kind]
        step = np.float32((high - low) / (last - first))
        zero = kind(np.clip(round(first - low / step), first, last))
        parameters = [self.constant(f"{name}.step", step), self.constant(f"{name}.zero", zero)]
        self.add("QuantizeLinear", [source, *parameters], f"{name}.codes")
        return self.add("DequantizeLinear", [f"{name}.codes", *parameters], f"{name}.values")

    def stored(self, name, codes, step, **axis):
        return self.add("DequantizeLinear", [self.constant(f"{name}.codes", codes), self.constant(f"{name}.step", np.float32(step))],
                        f"{name}.values", **axis)


def weights():
    random = np.random.default_rng(71)
    def normal(*shape, size=1.0):
        return (size * random.standard_normal(shape)).astype(np.float32)
    return {"first.weight": normal(CHANNELS, 3, 3, 3, size=0.2), "first.bias": normal(CHANNELS, size=0.3),
            "second.weight": normal(CHANNELS, CHANNELS, 3, 3, size=0.12), "second.bias": normal(CHANNELS, size=0.3)}


def float_network(bias_in_add=False):
    b = Builder(72)
    values = weights()
    for name, source in (("first", "x"), ("second", "first.relu")):
        kernel, bias = b.constant(f"{name}.weight", values[f"{name}.weight"]), values[f"{name}.bias"]
        if bias_in_add:
            b.add("Conv", [source, kernel], f"{name}.product", pads=[1] * 4)
            b.add("Add", [f"{name}.product", b.constant(f"{name}.bias", bias.reshape(1, -1, 1, 1))], name)
        else:
            b.add("Conv", [source, kernel, b.constant(f"{name}.bias", bias)], name, pads=[1] * 4)
        b.add("Relu", [name], f"{name}.relu")
    return b.model([("x", FLOAT, [1, 3, 12, 12])], [("second.relu", FLOAT, [1, CHANNELS, 12, 12])]), {"x": b.normal(8, 1, 3, 12, 12)}


def quantized(kind=np.uint8, wrong=lambda codes: None, bias_in_add=False, bias_first=False, bias=lambda values: values,
              bias_step=1.0, left_in_float=(), weight_kind=np.int8):
    """`wrong` changes the codes of the second weight in place; `bias` gives the second bias that is stored, at a scale
    `bias_step` times what it should be."""
    opset = 21 if np.int16 in (kind, weight_kind) or kind == np.uint16 else 17
    b = Quantizer(72, opset)
    values = weights()
    source = b.pair("x", -4.0, 4.0, kind)
    for name, high in (("first", 4.0), ("second", 6.0)):
        kernel = values[f"{name}.weight"]
        data_step = dict((t.name, t) for t in b.initializers)[source.replace(".values", ".step")]
        data_step = float(numpy_helper.to_array(data_step))
        if name in left_in_float:
            weight = b.constant(f"{name}.weight", kernel)
            inputs = [source, weight, b.constant(f"{name}.bias", values[f"{name}.bias"])]
            b.add("Conv", inputs, name, pads=[1] * 4)
        else:
            last = ENDS[weight_kind][1]
            steps = np.abs(kernel).max(axis=(1, 2, 3)) / last
            codes = np.clip(np.round(kernel / steps.reshape(-1, 1, 1, 1)), -last, last).astype(weight_kind)
            if name == "second":
                wrong(codes)
            weight = b.stored(f"{name}.weight", codes, steps, axis=0)
            held = bias(values[f"{name}.bias"]) if name == "second" else values[f"{name}.bias"]
            step = data_step * steps * (bias_step if name == "second" else 1)
            if bias_in_add:
                step = step.max()
            stored = np.round(held / step).astype(np.int32)
            shape, axis = ((1, -1, 1, 1), {}) if bias_in_add else ((-1,), {"axis": 0})
            stored = b.stored(f"{name}.bias", stored.reshape(shape), step, **axis)
            if bias_in_add:
                b.add("Conv", [source, weight], f"{name}.product", pads=[1] * 4)
                b.add("Add", [stored, f"{name}.product"] if bias_first else [f"{name}.product", stored], name)
            else:
                b.add("Conv", [source, weight, stored], name, pads=[1] * 4)
        b.add("Relu", [name], f"{name}.relu" if name == "first" else "last")
        if name == "first":
            source = b.pair("first.relu", 0.0, high, kind)
    b.add("Identity", [b.pair("last", 0.0, 6.0, kind)], "second.relu")
    return b.model([("x", FLOAT, [1, 3, 12, 12])], [("second.relu", FLOAT, [1, CHANNELS, 12, 12])])


def residual(kind=None):
    """A block with a skip branch; with a `kind`, as a quantizer writes it that quantizes both inputs of the Add."""
    b = Quantizer(73)
    source = "x"
    def layer(name, source):
        weight = b.random.normal(0, 0.1, (CHANNELS, CHANNELS, 3, 3)).astype(np.float32)
        if kind:
            step = np.abs(weight).max() / 127
            kernel = b.stored(f"{name}.weight", np.round(weight / step).astype(np.int8), step)
        else:
            kernel = b.constant(f"{name}.weight", weight)
        return b.add("Conv", [source, kernel], name, pads=[1] * 4)
    read = lambda tensor, low, high: b.pair(tensor, low, high, kind) if kind else tensor
    layer("stem", read(source, -4.0, 4.0))
    skip = read(b.add("Relu", ["stem"], "stem.relu"), 0.0, 4.0)
    inner = read(layer("inner", skip), -4.0, 4.0)
    b.add("Add", [inner, skip], "sum")
    layer("head", read(b.add("Relu", ["sum"], "sum.relu"), 0.0, 6.0))
    return (b.model([("x", FLOAT, [1, CHANNELS, 12, 12])], [("head", FLOAT, [1, CHANNELS, 12, 12])]),
            {"x": b.normal(8, 1, CHANNELS, 12, 12)})


def with_half_scale(model, tensor):
    for kept in model.graph.initializer:
        if kept.name == tensor:
            kept.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(kept).astype(np.float16), tensor))
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 19))
    return model


def write(folder, model, samples=None, name="quantized.onnx"):
    onnx.save(model, folder / name)
    if samples:
        np.savez(folder / "x.npz", **samples)
