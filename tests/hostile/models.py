"""Model files that no exporter writes."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

MODELS = {}
FLOAT = TensorProto.FLOAT


def hostile(build):
    MODELS[build.__name__] = build
    return build


def value(name, shape=(1, 4), kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs=("x",), outputs=("y",), initializers=(), functions=(), opset=17):
    graph = helper.make_graph(nodes, "hostile", [value(name) for name in inputs], [value(name) for name in outputs],
                              list(initializers))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("f", 1)]
    made = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
    made.ir_version = 8
    return made


def function(name, nodes, opset=17):
    return helper.make_function("f", name, ["x"], ["y"], nodes, [helper.make_opsetid("", opset), helper.make_opsetid("f", 1)])


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs, outputs, **attributes)


@hostile
def recursive_function():
    return model([node("again", ["x"], ["y"], domain="f")],
                 functions=[function("again", [node("again", ["x"], ["y"], domain="f")])])


@hostile
def mutually_recursive_functions():
    return model([node("a", ["x"], ["y"], domain="f")],
                 functions=[function("a", [node("b", ["x"], ["y"], domain="f")]),
                            function("b", [node("a", ["x"], ["y"], domain="f")])])


@hostile
def exponential_functions():
    """Each calls the one before twice: 2^40 nodes."""
    functions = [function("f0", [node("Relu", ["x"], ["y"])])]
    for i in range(1, 41):
        functions.append(function(f"f{i}", [node(f"f{i-1}", ["x"], ["t"], domain="f"),
                                            node(f"f{i-1}", ["t"], ["y"], domain="f")]))
    return model([node("f40", ["x"], ["y"], domain="f")], functions=functions)


@hostile
def nodes_without_inputs():
    return model([node(operator, [], [f"t{i}"]) for i, operator in enumerate(
        ("Relu", "Conv", "MatMul", "Gemm", "Add", "Reshape", "Softmax", "ArgMax", "Cast", "QuantizeLinear", "Transpose",
         "DequantizeLinear", "BatchNormalization", "Concat", "Slice", "Loop", "If", "Scan", "LSTM", "TopK", "Identity"))] +
        [node("Relu", ["x"], ["y"])])


@hostile
def nodes_without_outputs():
    return model([node("Relu", ["x"], []), node("Conv", ["x"], []), node("Relu", ["x"], ["y"])])


@hostile
def one_input_twice():
    return model([node("Relu", ["x"], ["y"])], inputs=("x", "x"))


@hostile
def one_initializer_twice():
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    return model([node("MatMul", ["x", "w"], ["y"])], initializers=[weight, weight])


@hostile
def one_output_twice():
    return model([node("Relu", ["x"], ["y"])], outputs=("y", "y"))


@hostile
def output_without_type():
    made = model([node("Relu", ["x"], ["y"])])
    made.graph.output[0].ClearField("type")
    return made


@hostile
def input_without_type():
    made = model([node("Relu", ["x"], ["y"])])
    made.graph.input[0].ClearField("type")
    return made


def loop(trips):
    body = helper.make_graph([node("Identity", ["go"], ["on"]), node("Relu", ["v"], ["w"])], "body",
                             [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("v")],
                             [value("on", [], TensorProto.BOOL), value("w")])
    return model([node("Loop", ["trips", "", "x"], ["y"], body=body)],
                 initializers=[numpy_helper.from_array(np.array(trips, np.int64), "trips")])


@hostile
def endless_loop():
    made = loop(1)
    made.graph.node[0].input[0] = ""
    return made


@hostile
def constant_loop():
    """Constant, and longer than anyone waits."""
    made = loop(2 ** 62)
    del made.graph.input[:]
    made.graph.initializer.append(numpy_helper.from_array(np.ones((1, 4), np.float32), "x"))
    made.graph.node.append(node("Add", ["u", "y"], ["z"]))
    made.graph.input.append(value("u"))
    del made.graph.output[:]
    made.graph.output.append(value("z"))
    return made


@hostile
def huge_constant_of_shape():
    return model([node("ConstantOfShape", ["s"], ["c"]), node("ReduceMax", ["c"], ["m"], keepdims=0), node("Add", ["x", "m"], ["y"])],
                 initializers=[numpy_helper.from_array(np.array([2 ** 20, 2 ** 20], np.int64), "s")])


@hostile
def huge_range():
    return model([node("Range", ["a", "b", "c"], ["r"]), node("ReduceMax", ["r"], ["m"], keepdims=0),
                  node("Cast", ["m"], ["f"], to=1), node("Add", ["x", "f"], ["y"])],
                 initializers=[numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("a", 0), ("b", 2 ** 62), ("c", 1))])


@hostile
def negative_dims():
    made = model([node("Relu", ["x"], ["y"])])
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -5
    return made


@hostile
def weight_of_wrong_size():
    weight = helper.make_tensor("w", FLOAT, [4, 4], np.ones(16, np.float32).tobytes(), raw=True)
    weight.dims[0] = 2 ** 40
    return model([node("MatMul", ["x", "w"], ["y"])], initializers=[weight])


@hostile
def negative_weight_dims():
    weight = helper.make_tensor("w", FLOAT, [4, 4], np.ones(16, np.float32).tobytes(), raw=True)
    weight.dims[0] = -4
    return model([node("MatMul", ["x", "w"], ["y"])], initializers=[weight])


@hostile
def names_of_odd_characters():
    return model([helper.make_node("Relu", ["x"], ["\x1b[31m\n\0y"], name="\x1b]0;gone\x07"),
                  node("Relu", ["\x1b[31m\n\0y"], ["y"])])


@hostile
def scale_of_zero():
    return model([node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])],
                 initializers=[numpy_helper.from_array(np.float32(0), "s"), numpy_helper.from_array(np.int8(0), "z")])


# What no job reads, with the words that say why.
REFUSED = {
    "recursive_function": "function 'again' calls itself",
    "mutually_recursive_functions": "calls itself",
    "exponential_functions": "unfold to more than 2000000 nodes",
    "nodes_without_inputs": "a node (Relu) without a name has 0 inputs, its operator needs 1",
    "nodes_without_outputs": "a node (Relu) without a name has 0 outputs, its operator needs 1",
    "one_input_twice": "two inputs of a graph have the name 'x'",
    "one_initializer_twice": "two initializers of a graph have the name 'w'",
    "constant_loop": "takes 4611686018427387904 turns",
    "endless_loop": "never ends",
    "names_of_odd_characters": "has a zero byte in it",
    "negative_weight_dims": "negative dimension",
    "weight_of_wrong_size": "the file holds 64",
}
