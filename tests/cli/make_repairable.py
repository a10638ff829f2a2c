"""Writes networks that one repair answers, or just does not, into the folder given; inputs come from --val-range.

    python tests/cli/make_repairable.py FOLDER
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 32


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array, np.float32), name)


def save(path, nodes, constants, opset, shape):
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "test", ends[:1], ends[1:], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    onnx.save(made, str(path))


def norm(subtracts_mean, largest, opset, in_front=()):
    """y = norm(largest x): its squares are beyond float16 where `largest` is beyond 255."""
    nodes = [*in_front, helper.make_node("Mul", ["h" if in_front else "x", "big"], ["u"], name="up")]
    squared = "u"
    if subtracts_mean:
        nodes += [helper.make_node("ReduceMean", ["u"], ["m"], name="mean", axes=[2]),
                  helper.make_node("Sub", ["u", "m"], ["d"], name="sub")]
        squared = "d"
    nodes += [helper.make_node("Pow", [squared, "two"], ["s"], name="square"),
              helper.make_node("ReduceMean", ["s"], ["v"], name="variance", axes=[2]),
              helper.make_node("Add", ["v", "e"], ["a"], name="epsilon"),
              helper.make_node("Sqrt", ["a"], ["r"], name="root"),
              helper.make_node("Div", ["one", "r"], ["i"], name="inverse"),
              helper.make_node("Mul", [squared, "i"], ["n"], name="scaled"),
              helper.make_node("Mul", ["n", "g"], ["y"], name="gain")]
    constants = [constant("big", largest), constant("two", 2), constant("e", 1e-3), constant("one", 1),
                 constant("g", np.linspace(0.5, 2, WIDTH))]
    return nodes, constants, opset, [1, 4, WIDTH]


def norm_behind_a_large_product():
    """The norm of above, which a repair answers, behind x * 1e5 * 1e-5, which none does."""
    far = [helper.make_node("Mul", ["x", "huge"], ["f"], name="far"), helper.make_node("Mul", ["f", "tiny"], ["h"], name="back")]
    nodes, constants, opset, shape = norm(True, 1000, 13, far)
    return nodes, [*constants, constant("huge", 1e5), constant("tiny", 1e-5)], opset, shape


def channels(factor):
    """Channel 5 is small where it is made and `factor` times as large as the others where it is read."""
    random = np.random.default_rng(3)
    first, second = (random.normal(0, 0.3, (WIDTH, WIDTH)) for _ in range(2))
    first[:, 5] /= factor
    second[5] *= factor
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
             helper.make_node("Relu", ["a"], ["b"], name="act"),
             helper.make_node("MatMul", ["b", "w2"], ["y"], name="second")]
    return nodes, [constant("w1", first), constant("w2", second)], 13, [4, WIDTH]


def upsampler(groups, folded):
    """A ConvTranspose and a normalization by factors from 1 to 2^-15, folded in or not; what follows makes all channels alike."""
    random = np.random.default_rng(5)
    factors = 2.0 ** -np.arange(16)
    per_group = 16 // groups
    weight = random.normal(0, 0.3, (16, per_group, 1, 1))
    constants = [constant("level", (1 / factors).reshape(16, 1, 1))]
    if folded:
        for i in range(16):
            first = i // per_group * per_group
            weight[i] *= factors[first:first + per_group].reshape(-1, 1, 1)
    nodes = [helper.make_node("ConvTranspose", ["x", "w"], ["c"], name="up", group=groups)]
    if not folded:
        nodes.append(helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], name="norm"))
        constants += [constant("s", factors), constant("b", np.zeros(16)), constant("m", np.zeros(16)), constant("v", np.ones(16))]
    nodes.append(helper.make_node("Mul", ["c" if folded else "n", "level"], ["y"], name="alike"))
    return nodes, [*constants, constant("w", weight)], 13, [1, 16, 8, 8]


def phase(largest):
    """y = cos(largest x) w: a position times a frequency."""
    nodes = [helper.make_node("Mul", ["x", "largest"], ["p"], name="angle"),
             helper.make_node("Cos", ["p"], ["c"], name="cosine"), helper.make_node("MatMul", ["c", "w"], ["y"], name="mix")]
    weight = np.random.default_rng(0).normal(size=(WIDTH, WIDTH))
    return nodes, [constant("largest", largest), constant("w", weight)], 17, [4, WIDTH]


def gelu(tanh, largest, opset, in_front=()):
    """y = gelu(largest x): its cube is beyond float16 where `largest` is beyond 14."""
    nodes = [*in_front, helper.make_node("Mul", ["h" if in_front else "x", "big"], ["u"], name="up")]
    if tanh:
        nodes += [helper.make_node("Pow", ["u", "three"], ["p"], name="cube"), helper.make_node("Mul", ["p", "kappa"], ["k"], name="part"),
                  helper.make_node("Add", ["u", "k"], ["i"], name="inner"), helper.make_node("Mul", ["i", "beta"], ["j"], name="narrow"),
                  helper.make_node("Tanh", ["j"], ["t"], name="curve")]
    else:
        nodes += [helper.make_node("Div", ["u", "root"], ["j"], name="narrow"), helper.make_node("Erf", ["j"], ["t"], name="curve")]
    nodes += [helper.make_node("Add", ["t", "one"], ["c"], name="raise"), helper.make_node("Mul", ["u", "c"], ["d"], name="gate"),
              helper.make_node("Mul", ["d", "half"], ["y"], name="halve")]
    values = {"big": largest, "three": 3, "kappa": 0.044715, "beta": np.sqrt(2 / np.pi), "root": np.sqrt(2), "one": 1, "half": 0.5}
    read = {name for node in nodes for name in node.input}
    return nodes, [constant(name, value) for name, value in values.items() if name in read], opset, [1, 4, WIDTH]


def attention(largest, scale):
    """y = softmax(Q K^T / scale) x with logits up to about 700 largest^2 before the scale."""
    random = np.random.default_rng(7)
    nodes = [helper.make_node("MatMul", ["x", "wq"], ["q0"], name="query"), helper.make_node("Add", ["q0", "bq"], ["q"], name="bias"),
             helper.make_node("MatMul", ["x", "wk"], ["k0"], name="key"), helper.make_node("Transpose", ["k0"], ["k"], perm=[0, 2, 1]),
             helper.make_node("MatMul", ["q", "k"], ["s"], name="logits"), helper.make_node("Div", ["s", "scale"], ["l"], name="scaled"),
             helper.make_node("Add", ["l", "mask"], ["m"], name="masked"), helper.make_node("Softmax", ["m"], ["p"], name="softmax"),
             helper.make_node("MatMul", ["p", "x"], ["y"], name="mix")]
    constants = [constant(name, random.normal(0, largest, (WIDTH, WIDTH))) for name in ("wq", "wk")]
    constants += [constant("bq", random.normal(0, largest, WIDTH)), constant("scale", scale),
                  constant("mask", np.triu(np.full((4, 4), -3e4), 1))]
    return nodes, constants, 13, [1, 4, WIDTH]


def exponentials(pieces):
    """Of 10 x: beyond float16 where x is above 1.1, and below it where x is under -1.7."""
    ends = {"softplus": [("Exp", ["u"], "e"), ("Add", ["one", "e"], "s"), ("Log", ["s"], "y")],
            "log_sum": [("Exp", ["u"], "e"), ("ReduceSum", ["e", "axis"], "s"), ("Log", ["s"], "l"), ("Sub", ["u", "l"], "y")],
            "ratio": [("Exp", ["u"], "e"), ("ReduceSum", ["e", "axis"], "s"), ("Div", ["e", "s"], "y")],
            "log_softmax": [("Softmax", ["u"], "e"), ("Log", ["e"], "y")]}[pieces]
    nodes = [helper.make_node(op, inputs, [output], name=output) for op, inputs, output in [("Mul", ["x", "ten"], "u"), *ends]]
    values = {"ten": 10, "one": 1}
    read = {name for node in nodes for name in node.input}
    constants = [constant(name, value) for name, value in values.items() if name in read]
    if "axis" in read:
        constants.append(numpy_helper.from_array(np.array([-1]), "axis"))
    return nodes, constants, 13, [1, 4, WIDTH]


# Hardmax over another dimension than the last changed its meaning in opset 13: such a model is not raised.
OLD = [helper.make_node("Hardmax", ["x"], ["f"], name="old", axis=1), helper.make_node("Add", ["x", "f"], ["h"], name="sum")]
NETWORKS = {"layer_norm": lambda: norm(True, 1000, 13), "rms_norm": lambda: norm(False, 1000, 13),
            "two_faults": norm_behind_a_large_product, "small_norm": lambda: norm(False, 20, 13), "old_rms_norm": lambda: norm(False, 1000, 12, OLD),
            "erf_gelu": lambda: gelu(False, 1, 13), "small_tanh_gelu": lambda: gelu(True, 1, 13),
            "tanh_gelu": lambda: gelu(True, 100, 13),
            "old_tanh_gelu": lambda: gelu(True, 100, 12, OLD), "attention": lambda: attention(16, 8),
            "odd_attention": lambda: attention(16, 6), "small_attention": lambda: attention(1, 8),
            **{name: (lambda name=name: exponentials(name)) for name in ("softplus", "log_sum", "ratio", "log_softmax")},
            "grouped_norm": lambda: upsampler(4, False), "grouped_folded": lambda: upsampler(4, True),
            "depthwise_norm": lambda: upsampler(16, False), "depthwise_folded": lambda: upsampler(16, True),
            "phase": lambda: phase(2000), "small_phase": lambda: phase(6),
            "one_channel": lambda: channels(30), "even_channels": lambda: channels(1)}

if __name__ == "__main__":
    for name, make in NETWORKS.items():
        nodes, constants, opset, shape = make()
        save(pathlib.Path(sys.argv[1]) / f"{name}.onnx", nodes, constants, opset, shape)
