"""`vernier debug loss FLOAT QUANTIZED` on files that write a layer with other nodes, attributes or names, or leave its limits to a
pair: such a layer is no defect, and what is wrong elsewhere is named alone."""
import numpy as np
import pytest

import quantized_files as files
from networks import FLOAT
from test_pair_defects import found

CHANNELS = 8


def values(*shape, seed, size=0.3):
    return (size * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


class Layers(files.Quantizer):
    def __init__(self, quantized, wrong=False):
        super().__init__(7, 20)
        self.quantized, self.wrong = quantized, wrong

    def read(self, tensor, low=-5.0, high=5.0):
        return self.pair(tensor, low, high, np.uint8) if self.quantized else tensor

    def other_scale(self):
        """The last pair dequantizes with three times its scale."""
        node = self.nodes[-1]
        node.input[1] = self.constant(f"{node.output[0]}.step", np.float32(0.12))

    def weight(self, name, weight):
        if not self.quantized:
            return self.constant(name, weight)
        step = np.abs(weight).max() / 127
        return self.stored(name, np.round(weight / step).astype(np.int8), step)

    def conv(self, source, name, seed, bias=True, **how):
        inputs = [source, self.weight(f"{name}.weight", values(CHANNELS, CHANNELS, 3, 3, seed=seed, size=0.15))]
        inputs += [self.constant(f"{name}.bias", values(CHANNELS, seed=seed + 1, size=1))] if bias else []
        return self.add("Conv", inputs, name, **how)


def compare(folder, build, shape, code=1):
    def model(quantized):
        layers = Layers(quantized)
        layers.add("Identity", [build(layers)], "y")
        model = layers.model([("x", FLOAT, shape)], [("y", FLOAT, [None] * len(shape))])
        model.ir_version = 9
        return model
    samples = {"x": np.random.default_rng(8).standard_normal((12, *shape)).astype(np.float32)}
    files.write(folder, model(False), samples, "float.onnx")
    return found(folder, model(True), code)


IMAGE = [1, CHANNELS, 10, 10]


def written_out(b, wrong):
    """Default attributes; two Transposes as one; a pair that dequantizes with another scale in front of either."""
    source = b.read("x")
    if b.quantized and wrong:
        b.other_scale()
    b.conv(source, "one", 1, **({"auto_pad": "NOTSET", "dilations": [1, 1], "group": 1} if b.quantized else {}))
    b.add("Relu", ["one"], "relu")
    source = b.read("relu")
    if b.quantized and wrong:
        b.other_scale()
    if not b.quantized:
        source = b.add("Transpose", [source], "first", perm=[0, 2, 3, 1])
    b.add("Transpose", [source], "turned", perm=[0, 3, 2, 1] if b.quantized else [0, 2, 1, 3])
    return b.add("MatMul", ["turned", b.weight("last", values(CHANNELS, 6, seed=5))], "product")


@pytest.mark.parametrize("wrong", [False, True])
def test_defaults_and_merged_nodes_are_no_other_operators(wrong, tmp_path):
    names, report = compare(tmp_path, lambda b: written_out(b, wrong), IMAGE, code=int(wrong))
    assert {kind for kind, _ in names} == ({"other-scale"} if wrong else set()), report["defects"]


def activation(b, op_type):
    if not b.quantized:
        return b.add(op_type, ["one"], "activation")
    if op_type == "HardSwish":
        return b.add("Mul", ["one", b.add("HardSigmoid", ["one"], "gate", alpha=1 / 6)], "activation")
    inner = b.add("Erf", [b.add("Mul", ["one", b.constant("root", np.float32(0.5**0.5))], "inner")], "erf")
    share = b.add("Mul", [b.add("Add", [inner, b.constant("1", np.float32(1))], "more"), b.constant("half", np.float32(0.5))], "share")
    return b.add("Mul", ["one", share], "activation")


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("op_type", ["HardSwish", "Gelu"])
def test_an_operator_written_with_others_is_not_blamed_for_a_lost_bias(op_type, lost, tmp_path):
    def build(b):
        b.conv(b.read("x"), "one" if not b.quantized else "kept", 1, bias=not (lost and b.quantized))
        if b.quantized:
            b.add("Identity", ["kept"], "one")
        activation(b, op_type)
        return b.conv(b.read("activation"), "two", 3)
    names, report = compare(tmp_path, build, IMAGE, code=int(lost))
    texts = [defect["text"] for defect in report["defects"]]
    assert len(texts) == int(lost) and all("has no bias 'one.bias'" in text for text in texts), texts


@pytest.mark.parametrize(("op_type", "limits", "ends", "said"), [
    ("Relu", [], (0, 4), None), ("Clip", [0.0, 2.0], (0, 2), None), ("Clip", [-1.0, 1.0], (-1, 1), None),
    ("Relu", [], (-1, 4), "limits values to -1 and 4 instead of 0 and more"),
    ("Clip", [0.0, 2.0], (-0.5, 1.5), "instead of 0 and 2"), ("Clip", [0.0, 2.0], (0, 20), "limits values to 0 and 20 instead of 0 and 2")])
def test_a_pair_with_other_limits_than_its_activation_is_named_with_both(op_type, limits, ends, said, tmp_path):
    def build(b):
        b.conv(b.read("x"), "one", 1)
        if b.quantized:
            source = b.pair("one", *ends, np.uint8)
        else:
            source = b.add(op_type, ["one", *(b.constant(f"limit{limit}", np.float32(limit)) for limit in limits)], "activation")
        return b.conv(source, "two", 3)
    names, report = compare(tmp_path, build, IMAGE, code=int(said is not None))
    assert names == ([] if said is None else [("other-operator", "one.codes")]), report["defects"]
    assert said is None or said in report["defects"][0]["text"].replace("-0.996", "-1").replace("4.02", "4"), report["defects"]


@pytest.mark.parametrize("narrow", [1, 0.3])
def test_a_pair_that_clamps_inside_of_a_hard_sigmoid_does_its_work(narrow, tmp_path):
    def build(b):
        b.conv(b.read("x"), "one", 1)
        if b.quantized:
            clamped = b.pair(b.add("Add", ["one", b.constant("3", np.float32(3))], "above"), 0, 6, np.uint8)
            b.add("Div", [clamped, b.constant("6", np.float32(6))], "gate")
        else:
            b.add("HardSigmoid", ["one"], "gate", alpha=1 / 6)
        return b.conv(b.read("gate", 0, narrow), "two", 3)
    names, report = compare(tmp_path, build, IMAGE, code=int(narrow < 1))
    assert names == ([("lost-pair", "gate.codes")] if narrow < 1 else []), report["defects"]
