"""Small networks of random operators for test_written_files.py: one seed, one network, its samples and the options of the conversion."""
import dataclasses
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F = TensorProto.FLOAT
STEPS, BATCH, WIDTHS = (1, 5), (1, 3), (16, 32, 64)
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


class Network:
    """A chain: `x` is its input, `last` the tensor that it has come to."""

    def __init__(self, seed):
        self.choose, self.random = random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape):
        return self.constant(self.random.normal(0, 0.3, shape))

    def add(self, operator, *inputs, outputs=1, **attributes):
        name = f"{operator.lower()}{len(self.nodes)}"
        made = [f"{name}:{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), made, name, **attributes))
        return made[0] if outputs == 1 else made

    def model(self, shape, opset=22):
        last = self.nodes[-1].output[0]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", F, shape)],
                                  [helper.make_tensor_value_info(last, F, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)


# Steps on a sequence [steps, batch, width]; each gives a tensor of this kind again.

def recurrent(n, x, width):
    operator = n.choose.choice(sorted(GATES))
    sides = n.choose.choice((1, 1, 1, 2))
    gates = GATES[operator]
    more = {"direction": "bidirectional"} if sides == 2 else {"direction": n.choose.choice(("forward", "reverse"))}
    weights = [n.weight(sides, gates * width, width), n.weight(sides, gates * width, width)]
    if n.choose.random() < 0.25:
        weights += ["", n.constant([n.steps] * n.batch, np.int32)]  # lengths
    made = n.add(operator, x, *weights, hidden_size=width, **more)
    return n.add("Squeeze", made, n.constant([1], np.int64)) if sides == 1 else n.add("ReduceMean", made, n.constant([1], np.int64), keepdims=0)


def product(n, x, width):
    return n.add("MatMul", x, n.weight(width, width))


def flat_product(n, x, width):
    flat = n.add("Reshape", x, n.constant([-1, width], np.int64))
    made = n.add("Gemm", flat, n.weight(width, width), n.weight(width), transB=n.choose.choice((0, 1)))
    return n.add("Add", x, n.add("Reshape", made, n.constant([n.steps, -1, width], np.int64)))


def wide_product(n, x, width):
    made = n.add("MatMul", n.add("Unsqueeze", x, n.constant([0], np.int64)), n.weight(width, width))
    return n.add("Squeeze", made, n.constant([0], np.int64))


def attention(n, x, width):
    keys = n.add("Transpose", product(n, x, width), perm=[0, 2, 1])
    return n.add("MatMul", n.add("Softmax", n.add("MatMul", product(n, x, width), keys), axis=-1), x)


def einsum(n, x, width):
    return n.add("Einsum", x, n.weight(width, width), equation="sbw,wv->sbv")


def convolution(n, x, width):
    turned = n.add("Transpose", x, perm=[1, 2, 0])
    group = n.choose.choice((1, width))
    made = n.add("Conv", turned, n.weight(width, width // group, 3), n.weight(width), pads=[1, 1], group=group)
    return n.add("Transpose", made, perm=[2, 0, 1])


def up_and_down(n, x, width):
    turned = n.add("Transpose", x, perm=[1, 2, 0])
    made = n.add("ConvTranspose", turned, n.weight(width, width, 3), pads=[1, 1])
    return n.add("Transpose", made, perm=[2, 0, 1])


def normalized(n, x, width):
    if n.choose.random() < 0.5:
        return n.add("LayerNormalization", x, n.constant(np.ones(width)), n.constant(np.zeros(width)))
    made = n.add("InstanceNormalization", n.add("Unsqueeze", x, n.constant([3], np.int64)), n.constant(np.ones(n.batch)), n.constant(np.zeros(n.batch)))
    return n.add("Squeeze", made, n.constant([3], np.int64))


def one_input(n, x, width):
    return n.add(n.choose.choice(("Relu", "Sigmoid", "Tanh", "HardSwish", "Softplus", "Exp", "Abs", "Gelu", "Elu", "Softmax", "LogSoftmax")), x)


def moved(n, x, width):
    kind = n.choose.randrange(4)
    if kind == 0:
        return n.add("Transpose", n.add("Transpose", x, perm=[1, 0, 2]), perm=[1, 0, 2])
    if kind == 1:
        return n.add("Reshape", n.add("Flatten", x, axis=2), n.constant([n.steps, -1, width], np.int64))
    if kind == 2:
        halves = n.add("Split", x, outputs=2, axis=2, num_outputs=2)
        return n.add("Concat", halves[1], halves[0], axis=2)
    return n.add("Gather", x, n.constant(list(range(width))[::-1], np.int64), axis=2)


def picked(n, x, width):
    best, places = n.add("TopK", x, n.constant([width], np.int64), outputs=2, axis=2)
    return n.add("GatherElements", n.add("Add", x, best), places, axis=2)


def masked(n, x, width):
    return n.add("Where", n.add("Greater", x, n.constant(0.1)), x, n.add("Mul", x, n.constant(0.5)))


def counted(n, x, width):
    return n.add("Add", x, n.add("Cast", n.add("Cast", x, to=TensorProto.INT32), to=F))


def scattered(n, x, width):
    return n.add("ScatterND", x, n.constant([[0]], np.int64), n.add("Slice", x, *(n.constant([end], np.int64) for end in (0, 1, 0))))


def chosen(n, x, width):
    """An If that both branches of compute."""
    def branch(operator):
        made = f"{operator}_made{len(n.nodes)}"
        return helper.make_graph([helper.make_node(operator, [x], [made], made)], operator, [], [helper.make_tensor_value_info(made, F, None)])
    positive = n.add("Greater", n.add("ReduceSum", x, keepdims=0), n.constant(0))
    return n.add("If", positive, then_branch=branch("Relu"), else_branch=branch("Tanh"))


def shared(n, x, width):
    weight = n.weight(width, width)
    return n.add("MatMul", n.add("Relu", n.add("MatMul", x, weight)), weight)


KINDS = (recurrent, recurrent, recurrent, product, product, flat_product, wide_product, attention, einsum, convolution, up_and_down, normalized,
         one_input, one_input, moved, moved, picked, masked, counted, scattered, chosen, shared)
# By the name of a conversion: its options, and the compute capability whose kernels it is for.
CONVERSIONS = {
    "fp16": (["--fp16"], "8.9"), "bf16": (["--bf16"], "8.9"), "int8": (["--int8"], "8.9"), "fp8": (["--fp8"], "8.9"),
    "int4": (["--int4"], "8.9"), "nvfp4": (["--nvfp4"], "12.0"), "mxfp8": (["--mxfp8"], "12.0"),
    "mxfp4": (["--low", "mxfp4"], "12.0"), "mxfp8e5m2": (["--low", "mxfp8e5m2"], "12.0"), "uint4": (["--low", "uint4"], "8.9"),
    "e5m2": (["--low", "float8e5m2"], "8.9"), "uint8": (["--low", "uint8"], "8.9"),
    "int8 over fp16": (["--int8", "--high", "float16"], "8.9"), "int8, bf16": (["--int8", "--bf16"], "8.9"),
    "nvfp4 over bf16": (["--nvfp4", "--high", "bfloat16"], "12.0"), "mxfp8 over fp16": (["--mxfp8", "--high", "float16"], "12.0"),
}
MIXED = ("float32", "float16", "bfloat16", "int8", "float8e4m3fn")


@dataclasses.dataclass
class Sample:
    model: onnx.ModelProto
    data: np.ndarray
    conversion: str
    options: list
    capability: str


def sample(seed):
    n = Network(seed)
    n.steps, n.batch, width = n.choose.choice(STEPS), n.choose.choice(BATCH), n.choose.choice(WIDTHS)
    last = "x"
    for _ in range(n.choose.randint(1, 4)):
        last = n.choose.choice(KINDS)(n, last, width)
    if n.choose.random() < 0.3:
        n.add("MatMul", last, n.weight(width, 1))
    shape = [n.steps, n.batch, width]
    model = n.model(shape)
    name = n.choose.choice([*CONVERSIONS, "mixed", "mixed", "mixed", "mixed"])
    if name == "mixed":
        formats = [f"{node.name}:{n.choose.choice(MIXED)}" for node in n.nodes if n.choose.random() < 0.6]
        options, capability = [n.choose.choice(("--fp16", "--bf16"))] + (["--layer-precisions", *formats] if formats else []), "8.9"
    else:
        options, capability = CONVERSIONS[name]
    return Sample(model, n.random.normal(size=(2, *shape)).astype(np.float32), name, options, capability)
