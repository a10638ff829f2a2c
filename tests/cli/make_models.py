"""Writes the models and samples that tests/cli/real.test runs on, broken ones most of all, into the folder given.

    python tests/cli/make_models.py FOLDER [NAME ...]        # all, or those whose file name starts with a NAME
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=(), domains=()):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", OPSET), *(helper.make_opsetid(domain, 1) for domain in domains)]
    made = helper.make_model(graph, opset_imports=opsets)
    made.ir_version = 8
    return made


def weights(name, *shape, seed=0):
    return numpy_helper.from_array(np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32), name)


def small():
    """x [1,4] -> first (MatMul) -> relu -> second (MatMul) -> y [1,3]."""
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
             helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("MatMul", ["b", "w2"], ["y"], name="second")]
    return model(nodes, [value("x", [1, 4])], [value("y", [1, 3])], [weights("w1", 4, 8), weights("w2", 8, 3, seed=1)])


def convolutions():
    """x [1,8,10,10] -> wide (Conv 3x3 to 32, bias) -> relu -> deep (Conv 3x3 to 8, bias) -> y: sums of 72 and 288 products."""
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["a"], name="wide"),
             helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("Conv", ["b", "w2", "b2"], ["y"], name="deep")]
    return model(nodes, [value("x", [1, 8, 10, 10])], [value("y", [1, 8, 6, 6])],
                 [weights("w1", 32, 8, 3, 3), weights("b1", 32, seed=1), weights("w2", 8, 32, 3, 3, seed=2), weights("b2", 8, seed=3)])


def external(location):
    made = small()
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return made


def lookup():
    """i [n,2], indices of the five rows of a table -> Gather -> scale (Mul) -> y [n,2,3]."""
    nodes = [helper.make_node("Gather", ["table", "i"], ["a"], name="look"), helper.make_node("Mul", ["a", "factor"], ["y"], name="scale")]
    return model(nodes, [value("i", ["n", 2], TensorProto.INT64)], [value("y", ["n", 2, 3])], [weights("table", 5, 3), weights("factor", 3)])


def newer_ir():
    made = small()
    made.ir_version = 14  # what an exporter of a later year writes
    return made


def tied():
    """A table of 600 tokens that the last layer reads, too, transposed; as PyTorch exports tied weights."""
    nodes = [helper.make_node("Gather", ["table", "ids"], ["e"], name="embedding"),
             helper.make_node("MatMul", ["e", "w"], ["m"], name="middle"),
             helper.make_node("Transpose", ["table"], ["turned"], name="turn", perm=[1, 0]),
             helper.make_node("MatMul", ["m", "turned"], ["y"], name="head")]
    ids = helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [1, 8])
    return model(nodes, [ids], [value("y", [1, 8, 600])], [weights("table", 600, 32), weights("w", 32, 32, seed=1)])


def cyclic():
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="forth"), helper.make_node("Relu", ["a"], ["b"], name="back")]
    return model(nodes, [value("x", [1, 4])], [value("b", [1, 4])])


def unknown(operator, domain=""):
    """An ordinary layer in front of one that nobody knows."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
             helper.make_node(operator, ["a"], ["y"], name="strange", domain=domain)]
    return model(nodes, [value("x", [1, 4])], [value("y", [1, 4])], [weights("w", 4, 4)], [domain] if domain else [])


def mixed():
    """first -> strange -> last, beside it side -> last: unknown in the middle."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
             helper.make_node("Frobnicate", ["a"], ["b"], name="strange", domain="com.example"),
             helper.make_node("Relu", ["x"], ["c"], name="side"),
             helper.make_node("Add", ["b", "c"], ["y"], name="last")]
    return model(nodes, [value("x", [1, 4])], [value("y", [1, 4])], [weights("w", 4, 4)], ["com.example"])


def hostile_names():
    """Names that mean something to a terminal, to Graphviz, to SVG, to HTML and to Python."""
    name = "</text><script>alert(1)</script>\x1b[31m\"];\\n'"
    nodes = [helper.make_node("Relu", [name], [name + "y"], name=name + "node")]
    return model(nodes, [value(name, [1, "n"])], [value(name + "y", [1, "n"])])


def pooled(**attributes):
    nodes = [helper.make_node("MaxPool", ["x"], ["y"], name="pool", **attributes)]
    return model(nodes, [value("x", [1, 2, 8, 8])], [value("y", [1, 2, "h", "w"])])


def wrong_channels():
    """Loads and breaks: the weight takes 4 channels, x has 3."""
    return model([helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], [value("x", [1, 3, 8, 8])],
                 [value("y", [1, 2, 6, 6])], [weights("w", 2, 4, 3, 3)])


def several_faults():
    """Two products that do not fit, one for its weight and one for how many elements of x are not 0; what stands behind
    them cannot be tried. An input and two nodes that no output needs."""
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name="narrow"),
             helper.make_node("Relu", ["a"], ["b"], name="behind"),
             helper.make_node("NonZero", ["x"], ["places"], name="places"),
             helper.make_node("Cast", ["places"], ["floats"], name="floats", to=TensorProto.FLOAT),
             helper.make_node("MatMul", ["floats", "w2"], ["c"], name="counted"),
             helper.make_node("Neg", ["idle"], ["d"], name="first_idle"),
             helper.make_node("Neg", ["d"], ["e"], name="second_idle")]
    return model(nodes, [value("x", [1, 4]), value("idle", [2])], [value("b", [1, 8]), value("c", [2, 3])],
                 [weights("w1", 5, 8), weights("w2", 7, 3)])


def chosen_branch():
    """y is x where flag holds; else it is x as a product with a weight of other size."""
    def branch(name, node):
        return helper.make_graph([node], name, [], [helper.make_empty_tensor_value_info(name + "_y")])
    node = helper.make_node("If", ["flag"], ["a"], name="choose",
                            then_branch=branch("then", helper.make_node("Identity", ["x"], ["then_y"], name="keep")),
                            else_branch=branch("else", helper.make_node("Concat", ["x", "x"], ["else_y"], name="double", axis=1)))
    return model([node, helper.make_node("MatMul", ["a", "w"], ["y"], name="product")],
                 [value("flag", [1], TensorProto.BOOL), value("x", [1, 4])], [value("y", [1, 3])], [weights("w", 4, 3)])


def codes():
    """A Conv whose int8 weights stand behind a DequantizeLinear, no group of four with two zeros."""
    stored = numpy_helper.from_array(np.arange(1, 65).reshape(4, 4, 2, 2).astype(np.int8), "codes")
    scale = numpy_helper.from_array(np.float32(0.01), "scale")
    return model([helper.make_node("DequantizeLinear", ["codes", "scale"], ["w"], name="dequantize"),
                  helper.make_node("Conv", ["x", "w"], ["y"], name="conv")], [value("x", [1, 4, 4, 4])],
                 [value("y", [1, 4, 3, 3])], [stored, scale])


def quantized():
    """A MatMul whose input goes through codes."""
    pair = [helper.make_node("QuantizeLinear", ["x", "scale"], ["q"], name="quantize"),
            helper.make_node("DequantizeLinear", ["q", "scale"], ["d"], name="dequantize")]
    return model([*pair, helper.make_node("MatMul", ["d", "w1"], ["y"], name="first")], [value("x", [1, 4])],
                 [value("y", [1, 8])], [weights("w1", 4, 8), numpy_helper.from_array(np.float32(0.1), "scale")])


def sliced():
    """Two Slices along two axes."""
    def numbers(name, number):
        return numpy_helper.from_array(np.array([number], np.int64), name)
    return model([helper.make_node("Slice", ["x", "zero", "two", "one", "one"], ["a"], name="across"),
                  helper.make_node("Slice", ["a", "zero", "two", "zero", "one"], ["y"], name="down")],
                 [value("x", [4, 4])], [value("y", [2, 2])], [numbers("zero", 0), numbers("one", 1), numbers("two", 2)])


def one_token():
    """x [1,1,32], attention over its one row -> y: ONNX Runtime's QLinearSoftmax cannot say 1 as the scale of a code."""
    def product(a, b, y):
        return helper.make_node("MatMul", [a, b], [y], name=f"product_{y}")
    nodes = [product("x", "wq", "q"), product("x", "wk", "k"), product("x", "wv", "v"),
             helper.make_node("Transpose", ["k"], ["kt"], name="turn", perm=[0, 2, 1]), product("q", "kt", "scores"),
             helper.make_node("Mul", ["scores", "factor"], ["scaled"], name="scale"),
             helper.make_node("Softmax", ["scaled"], ["shares"], name="shares", axis=-1), product("shares", "v", "mixed"),
             helper.make_node("Add", ["mixed", "x"], ["y"], name="residual")]
    numbers = np.random.default_rng(1)
    stored = [numpy_helper.from_array((numbers.standard_normal((32, 32)) / 6).astype(np.float32), name) for name in ("wq", "wk", "wv")]
    return model(nodes, [value("x", [1, 1, 32])], [value("y", [1, 1, 32])],
                 [*stored, numpy_helper.from_array(np.float32(0.2), "factor")])


def labelled():
    """The same with words beside y."""
    made = small()
    made.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [2], [b"no", b"yes"]))
    made.graph.node.append(helper.make_node("Identity", ["words"], ["label"], name="label"))
    made.graph.output.append(value("label", [2], TensorProto.STRING))
    return made


def numbered(product="5", positive="6", small="7", leaky="8"):
    """x [1,4] -> product, of whose elements the negative ones become a tenth -> product -> y [1,3]; tensors by number."""
    nodes = [helper.make_node("MatMul", ["x", "w1"], [product], name="first"),
             helper.make_node("Greater", [product, "zero"], [positive], name="positive"),
             helper.make_node("Mul", [product, "tenth"], [small], name="tenth"),
             helper.make_node("Where", [positive, product, small], [leaky], name="leaky"),
             helper.make_node("MatMul", [leaky, "w2"], ["y"], name="second")]
    return model(nodes, [value("x", [1, 4])], [value("y", [1, 3])],
                 [weights("w1", 4, 8), weights("w2", 8, 3, seed=1), numpy_helper.from_array(np.float32(0), "zero"),
                  numpy_helper.from_array(np.float32(0.1), "tenth")])


def branches():
    """x [4,64] -> one of two products, by the sign of its mean -> product -> y [4,8]."""
    def branch(name, weight):
        node = helper.make_node("MatMul", ["x", weight], [f"{name}_y"], name=f"{name}_product")
        return helper.make_graph([node], name, [], [value(f"{name}_y", None)])
    nodes = [helper.make_node("ReduceMean", ["x"], ["mean"], name="mean", keepdims=0),
             helper.make_node("Greater", ["mean", "zero"], ["positive"], name="positive"),
             helper.make_node("If", ["positive"], ["a"], name="choose", then_branch=branch("then", "w1"), else_branch=branch("else", "w2")),
             helper.make_node("MatMul", ["a", "w3"], ["y"], name="last")]
    return model(nodes, [value("x", [4, 64])], [value("y", [4, 8])],
                 [weights("w1", 64, 64), weights("w2", 64, 64, seed=1), weights("w3", 64, 8, seed=2),
                  numpy_helper.from_array(np.float32(0), "zero")])


def slow():
    """A chain of 40 convolutions with much to compute, so that a test can interrupt what it is doing."""
    nodes, initializers = [], []
    for i in range(40):
        initializers.append(numpy_helper.from_array(
            np.random.default_rng(i).normal(0, 0.06, (32, 32, 3, 3)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("Conv", [f"t{i}", f"w{i}"], [f"t{i + 1}"], name=f"conv{i}", pads=[1, 1, 1, 1]))
    return model(nodes, [value("t0", [1, 32, 64, 64])], [value("t40", [1, 32, 64, 64])], initializers)


def slow_pooled():
    """The same with an output of a few numbers, of which many samples may be kept."""
    made = slow()
    made.graph.node.append(helper.make_node("GlobalAveragePool", ["t40"], ["y"], name="pool"))
    made.graph.output[0].CopyFrom(value("y", [1, 32, 1, 1]))
    return made


def samples(shape, dtype=np.float32):
    return np.random.default_rng(7).uniform(-1, 1, shape).astype(dtype)


def with_nan():
    array = samples((3, 1, 4))
    array[1, 0, 2] = np.nan
    return array


MODELS = {"small.onnx": small, "convolutions.onnx": convolutions, "wrong_channels.onnx": wrong_channels,
          "several_faults.onnx": several_faults, "chosen_branch.onnx": chosen_branch, "codes.onnx": codes,
          "quantized.onnx": quantized, "sliced.onnx": sliced, "external_missing.onnx": lambda: external("nowhere.bin"),
          "external_outside.onnx": lambda: external("../outside.bin"), "cyclic.onnx": cyclic,
          "unknown_operator.onnx": lambda: unknown("Frobnicate"),
          "unknown_domain.onnx": lambda: unknown("Frobnicate", "com.example"), "slow.onnx": slow, "tied.onnx": tied, "slow_pooled.onnx": slow_pooled,
          "mixed.onnx": mixed, "one_token.onnx": one_token, "branches.onnx": branches, "numbered.onnx": numbered, "renumbered.onnx": lambda: numbered("6", "5", "8", "7"),
          "labelled.onnx": labelled, "hostile_names.onnx": hostile_names,
          "pooled.onnx": lambda: pooled(kernel_shape=[3, 3]),
          "dilated.onnx": lambda: pooled(kernel_shape=[3, 3], dilations=[2, 2]), "newer_ir.onnx": newer_ir, "lookup.onnx": lookup}
ARRAYS = {"good.npz": lambda: {"x": samples((3, 1, 4))}, "one_token.npz": lambda: {"x": samples((6, 1, 1, 32))}, "branches.npz": lambda: {"x": samples((6, 4, 64))},
          "zero.npz": lambda: {"x": samples((0, 1, 4))},
          "nan.npz": lambda: {"x": with_nan()}, "wrong_name.npz": lambda: {"xx": samples((3, 1, 4))},
          "wrong_rank.npz": lambda: {"x": samples((3, 1, 4, 4, 4))}, "wrong_shape.npz": lambda: {"x": samples((3, 1, 5))},
          "wrong_type.npz": lambda: {"x": samples((3, 1, 4), np.complex64)}}


def write_all(folder, wanted):
    def chosen(name):
        return not wanted or any(name.startswith(start) for start in wanted)

    for name, make in MODELS.items():
        if chosen(name):
            onnx.save(make(), str(folder / name))
    for name, make in ARRAYS.items():
        if chosen(name):
            np.savez(folder / name, **make())
    if chosen("truncated.onnx"):
        whole = small().SerializeToString()
        (folder / "truncated.onnx").write_bytes(whole[:len(whole) // 2])
    if chosen("text.onnx"):
        (folder / "text.onnx").write_text("This is a letter, not a network.\n" * 20, encoding="utf-8")
    if chosen("empty.onnx"):
        (folder / "empty.onnx").write_bytes(b"")


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_all(target, sys.argv[2:])
