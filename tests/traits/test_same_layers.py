"""`vernier debug loss FLOAT QUANTIZED` on files that write a layer with other nodes, attributes or names, or leave its limits to a
pair: such a layer is no defect, and what is wrong elsewhere is named alone."""
import numpy as np
import pytest
from onnx import helper

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


def norm(b):
    if b.quantized:
        return b.add("LayerNormalization", ["x", b.constant("size", 1 + values(16, seed=1)), b.constant("shift", values(16, seed=2))], "norm")
    axes = b.constant("axes", np.array([-1]))
    b.add("Sub", ["x", b.add("ReduceMean", ["x", axes], "mean")], "off")
    b.add("ReduceMean", [b.add("Pow", ["off", b.constant("2", np.float32(2))], "square"), axes], "variance")
    b.add("Sqrt", [b.add("Add", ["variance", b.constant("least", np.float32(1e-5))], "sum")], "root")
    scaled = b.add("Mul", [b.add("Div", ["off", "root"], "even"), b.constant("size", 1 + values(16, seed=1))], "scaled")
    return b.add("Add", [scaled, b.constant("shift", values(16, seed=2))], "norm")


@pytest.mark.sampled
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("first", range(10, 20))
def test_numbered_tensors_of_two_exports_are_matched_by_value(first, wrong, tmp_path):
    """Numbers of the float model begin at 10, those of the file at `first`."""
    def build(b):
        hidden = b.read(norm(b))
        weight = values(16, 16, seed=3)
        product = b.add("MatMul", [hidden, b.weight("weight", weight)], "product")
        if b.quantized and wrong:
            step = next(t for t in b.initializers if t.name == "weight.step")
            step.CopyFrom(helper.make_tensor("weight.step", FLOAT, [], [3 * np.abs(weight).max() / 127]))
        last = b.add("Relu", [product], "relu")
        number = first if b.quantized else 10
        names = {name: str(number + k) for k, name in enumerate(name for node in b.nodes for name in node.output)}
        for node in b.nodes:
            node.input[:] = [names.get(name, name) for name in node.input]
            node.output[:] = [names.get(name, name) for name in node.output]
        return names[last]
    names, report = compare(tmp_path, build, [4, 16], code=int(wrong))
    assert [kind for kind, _ in names] == (["weight-scale"] if wrong else []), report["defects"]


def test_a_pair_of_two_scales_may_stand_for_a_relu(tmp_path):
    def build(b):
        b.conv(b.read("x"), "one", 1)
        source = b.pair("one", 0, 4, np.uint8) if b.quantized else b.add("Relu", ["one"], "relu")
        if b.quantized:
            b.other_scale()
        return b.conv(source, "two", 3)
    names, report = compare(tmp_path, build, IMAGE)
    assert names == [("other-scale", "one.values")], report["defects"]


@pytest.mark.parametrize(("op_type", "limits", "ends", "said"), [
    ("Relu", [], (0, 6), None), ("Clip", [0.0, 2.0], (0, 2), None), ("Clip", [-1.0, 1.0], (-1, 1), None),
    ("Relu", [], (-1, 4), "clips to -1 and 4 instead of 0 and more"),
    ("Clip", [0.0, 2.0], (-0.5, 1.5), "instead of 0 and 2"), ("Clip", [0.0, 2.0], (0, 20), "clips to 0 and 20 instead of 0 and 2")])
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


LIMITS = {"Relu": ((0.0, 6.0), (-6.0, 6.0)), "Clip": ((0.0, 2.0), (0.0, 6.0))}


@pytest.mark.parametrize("op_type", LIMITS)
@pytest.mark.parametrize("wide", [None, 0, 1, 2])
def test_several_pairs_do_the_work_of_an_activation_that_several_layers_read(op_type, wide, tmp_path):
    """As ONNX Runtime's DedicatedQDQPair leaves them. Of three pairs, one may have a range that does not clip."""
    def build(b):
        b.conv(b.read("x"), "made" if b.quantized else "made.all", 1, pads=[1] * 4)
        limits = [b.constant("least", np.float32(0)), b.constant("most", np.float32(2))] if op_type == "Clip" else []
        made = "made" if b.quantized else b.add(op_type, ["made.all", *limits], "made")
        ends = [LIMITS[op_type][int(reader == wide)] for reader in range(3)]
        reads = [b.pair(made, *ends[i], np.uint8, f"pair{i}") if b.quantized else made for i in range(3)]
        first, second = (b.conv(reads[i], f"reader{i}", 3 + i, pads=[1] * 4) for i in range(2))
        return b.add("Add", [b.add("Add", [first, second], "both"), reads[2]], "sum")
    names, report = compare(tmp_path, build, IMAGE, code=int(wide is not None))
    assert names == ([] if wide is None else [("other-operator", f"pair{wide}.codes")]), report["defects"]
