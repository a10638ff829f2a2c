"""Small networks with random weights, and inputs for them without end: what bench/claims.py asks for claims about new samples."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

TOKENS, WIDTH, HEADS, HIDDEN = 16, 64, 4, 128


class Maker:
    """Nodes and weights, drawn in the order in which they are asked for."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def constant(self, value, kind=np.float32):
        self.weights.append(numpy_helper.from_array(np.asarray(value, kind), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, operator, inputs, **attributes):
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def dense(self, source, rows, columns):
        return self.add("MatMul", [source, self.constant(self.random.standard_normal((rows, columns)) / np.sqrt(rows))])

    def model(self, shape, output, classes):
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, classes)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def convolutions(seed, separable, softmax=False):
    m = Maker(seed)

    def conv(source, channels, filters, size, group=1, stride=1, relu=True):
        weight = m.random.standard_normal((filters, channels // group, size, size)) * np.sqrt(2 / (channels // group * size * size))
        bias = 0.1 * m.random.standard_normal(filters)
        out = m.add("Conv", [source, m.constant(weight), m.constant(bias)], kernel_shape=[size] * 2, pads=[size // 2] * 4,
                    strides=[stride] * 2, group=group)
        return m.add("Relu", [out]) if relu else out

    x = conv("x", 3, 16, 3, stride=2)
    x = m.add("Relu", [m.add("Add", [x, conv(conv(x, 16, 16, 3), 16, 16, 3, relu=False)])])
    if separable:
        x = conv(conv(conv(conv(x, 16, 16, 3, group=16), 16, 32, 1, stride=2), 32, 32, 3, group=32), 32, 32, 1)
    else:
        x = conv(conv(x, 16, 32, 3, stride=2), 32, 32, 3)
    x = m.add("Flatten", [m.add("GlobalAveragePool", [conv(x, 32, 32, 3)])])
    weight = m.random.standard_normal((32, 10)) / np.sqrt(32)
    x = m.add("Gemm", [x, m.constant(weight), m.constant(0.05 * m.random.standard_normal(10))])
    if softmax:
        x = m.add("Softmax", [m.add("Mul", [x, m.constant(6.0)])], axis=-1)
    return m.model([1, 3, 24, 24], x, [1, 10])


def transformer(seed, blocks=2):
    m = Maker(seed)

    def normalized(x):
        scale = 1 + 0.1 * m.random.standard_normal(WIDTH)
        return m.add("LayerNormalization", [x, m.constant(scale), m.constant(0.05 * m.random.standard_normal(WIDTH))], axis=-1)

    def heads(x, order):
        shape = m.constant([1, TOKENS, HEADS, WIDTH // HEADS], np.int64)
        return m.add("Transpose", [m.add("Reshape", [x, shape])], perm=order)

    x = m.dense("x", WIDTH, WIDTH)
    for _ in range(blocks):
        y = normalized(x)
        query, key, value = (m.dense(y, WIDTH, WIDTH) for _ in range(3))
        scores = m.add("MatMul", [heads(query, [0, 2, 1, 3]), heads(key, [0, 2, 3, 1])])
        scores = m.add("Softmax", [m.add("Mul", [scores, m.constant(1 / np.sqrt(WIDTH // HEADS))])], axis=-1)
        y = m.add("Transpose", [m.add("MatMul", [scores, heads(value, [0, 2, 1, 3])])], perm=[0, 2, 1, 3])
        y = m.add("Reshape", [y, m.constant([1, TOKENS, WIDTH], np.int64)])
        x = m.add("Add", [x, m.dense(y, WIDTH, WIDTH)])
        up = m.add("Add", [m.dense(normalized(x), WIDTH, HIDDEN), m.constant(0.1 * m.random.standard_normal(HIDDEN))])
        error = m.add("Erf", [m.add("Mul", [up, m.constant(np.sqrt(0.5))])])
        gelu = m.add("Mul", [m.add("Mul", [up, m.add("Add", [error, m.constant(1.0)])]), m.constant(0.5)])
        x = m.add("Add", [x, m.dense(gelu, HIDDEN, WIDTH)])
    return m.model([1, TOKENS, WIDTH], m.dense(normalized(x), WIDTH, 32), [1, TOKENS, 32])


def images(count, seed):
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        coarse = np.repeat(np.repeat(random.standard_normal((1, 3, 5, 5)), 5, 2), 5, 3)[:, :, :24, :24]
        made.append((coarse + 0.3 * random.standard_normal((1, 3, 24, 24))).astype(np.float32))
    return made


def vectors(count, seed):
    random = np.random.default_rng(seed)
    return [random.standard_normal((1, TOKENS, WIDTH)).astype(np.float32) for _ in range(count)]


def of_many_sizes(make):
    """As make(), each sample times a log-normal factor."""
    def made(count, seed):
        random = np.random.default_rng(seed + 5)
        return [(x * np.exp(0.6 * random.standard_normal())).astype(np.float32) for x in make(count, seed)]
    return made


def with_large_ones(make):
    """As make(), four in a hundred five times as large."""
    def made(count, seed):
        random = np.random.default_rng(seed + 5)
        return [(x * (5 if random.random() < 0.04 else 1)).astype(np.float32) for x in make(count, seed)]
    return made


# Name: the network, how its inputs are made.
MADE = {
    "images": (lambda: convolutions(7, False), images),
    "images of many sizes": (lambda: convolutions(11, False), of_many_sizes(images)),
    "images of many sizes, separable": (lambda: convolutions(7, True), of_many_sizes(images)),
    "images, separable": (lambda: convolutions(11, True), images),
    "images, Softmax": (lambda: convolutions(7, True, softmax=True), images),
    "images, few large": (lambda: convolutions(7, True), with_large_ones(images)),
    "vectors": (lambda: transformer(7), vectors),
    "vectors of many sizes": (lambda: transformer(11), of_many_sizes(vectors)),
    # Made after the rule was chosen.
    "vectors, few large": (lambda: transformer(19), with_large_ones(vectors)),
    "images of many sizes, Softmax": (lambda: convolutions(19, False, softmax=True), of_many_sizes(images)),
    "images, again": (lambda: convolutions(23, False), images),
    # Made after the rule for new samples like the worst was chosen.
    "images, third": (lambda: convolutions(29, True), images),
    "vectors of many sizes, again": (lambda: transformer(31), of_many_sizes(vectors)),
}
