"""Builds a network as PyTorch's exporters write it, with random weights; `SHAPES` has those of export_shapes.py by name."""
import math
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
SAMPLES = 4
TOKENS = 64
SHAPES = {}


def shape(opset=18, beside=False):
    """`beside`: the exporter writes weights in a file of their own."""
    def listed(build):
        SHAPES[build.__name__.replace("_", "-")] = (build, opset, beside)
        return build
    return listed


class Builder:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.known = [], [], set()
        self.weights_bytes = 0

    def constant(self, name, value):
        value = np.asarray(value)
        if name not in self.known:
            self.known.add(name)
            self.initializers.append(numpy_helper.from_array(value, name))
            if value.dtype == np.float32:
                self.weights_bytes += value.nbytes
        return name

    def ints(self, *values):
        return self.constant("ints_" + "_".join(map(str, values)).replace("-", "m"), np.array(values, np.int64))

    def number(self, value):
        return self.constant(f"number_{value}", np.float32(value))

    def weight(self, name, *shape, size=None):
        size = 1 / math.sqrt(math.prod(shape[1:])) if size is None else size
        return self.constant(name, self.random.standard_normal(shape, np.float32) * np.float32(size))

    def add(self, operator, inputs, output, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=f"node_{outputs[0]}", **attributes))
        return output

    def reshape(self, source, output, *shape):
        return self.add("Reshape", [source, self.ints(*shape)], output)

    def norm(self, source, name, width, outliers=0):
        scale = 1 + self.random.normal(0, 0.1, width).astype(np.float32)
        scale[self.random.permutation(width)[:outliers]] *= 40
        self.constant(f"{name}.weight", scale)
        self.constant(f"{name}.bias", self.random.normal(0, 0.05, width).astype(np.float32))
        return self.add("LayerNormalization", [source, f"{name}.weight", f"{name}.bias"], name, axis=-1, epsilon=1e-5)

    def linear(self, source, name, width_in, width_out, bias=True):
        """x W + b, the weight transposed by the exporter."""
        weight = self.weight(f"{name}.weight", width_in, width_out, size=1 / math.sqrt(width_in))
        if not bias:
            return self.add("MatMul", [source, weight], name)
        self.add("MatMul", [source, weight], f"{name}.product")
        return self.add("Add", [f"{name}.product", self.weight(f"{name}.bias", width_out, size=0.02)], name)

    def gemm(self, source, name, width_in, width_out, transposed=1):
        weight = self.weight(f"{name}.weight", *((width_out, width_in) if transposed else (width_in, width_out)),
                             size=1 / math.sqrt(width_in))
        return self.add("Gemm", [source, weight, self.weight(f"{name}.bias", width_out, size=0.02)], name, transB=transposed)

    def gelu(self, source, name):
        self.add("Div", [source, self.number(math.sqrt(2))], f"{name}.scaled")
        self.add("Erf", [f"{name}.scaled"], f"{name}.erf")
        self.add("Add", [f"{name}.erf", self.number(1.0)], f"{name}.more")
        self.add("Mul", [source, f"{name}.more"], f"{name}.twice")
        return self.add("Mul", [f"{name}.twice", self.number(0.5)], name)

    def silu(self, source, name):
        self.add("Sigmoid", [source], f"{name}.gate")
        return self.add("Mul", [source, f"{name}.gate"], name)

    def attention(self, query, key, value, name, heads, width, mask=None, tokens=TOKENS, keys=None):
        """From [1, tokens, width] projections to the context of the same shape. Returns it with the keys and values by head."""
        keys = keys or tokens
        for part, source, count in (("q", query, tokens), ("k", key, keys), ("v", value, keys)):
            self.reshape(source, f"{name}.{part}.split", 1, count, heads, width // heads)
            self.add("Transpose", [f"{name}.{part}.split"], f"{name}.{part}", perm=[0, 2, 1, 3])
        return self.attend(f"{name}.q", f"{name}.k", f"{name}.v", name, width, mask, tokens, width // heads)

    def attend(self, q, k, v, name, width, mask, tokens, head):
        self.add("Transpose", [k], f"{name}.k.turned", perm=[0, 1, 3, 2])
        self.add("MatMul", [q, f"{name}.k.turned"], f"{name}.scores")
        self.add("Mul", [f"{name}.scores", self.number(1 / math.sqrt(head))], f"{name}.scaled")
        scores = f"{name}.scaled"
        if mask:
            scores = self.add("Add", [scores, mask], f"{name}.masked")
        self.add("Softmax", [scores], f"{name}.shares", axis=-1)
        self.add("MatMul", [f"{name}.shares", v], f"{name}.mixed")
        self.add("Transpose", [f"{name}.mixed"], f"{name}.turned", perm=[0, 2, 1, 3])
        return self.reshape(f"{name}.turned", f"{name}.context", 1, tokens, width)

    def residual(self, before, change, name):
        return self.add("Add", [before, change], name)

    def conv(self, source, name, channels_in, channels_out, size=3, stride=1, act="silu", group=1):
        fan = channels_in // group * size * size
        weight = self.weight(f"{name}.weight", channels_out, channels_in // group, size, size, size=math.sqrt(2 / fan))
        bias = self.weight(f"{name}.bias", channels_out, size=0.05)
        made = name if act is None else f"{name}.conv"
        self.add("Conv", [source, weight, bias], made, kernel_shape=[size, size], strides=[stride, stride],
                 pads=[size // 2] * 4, group=group)
        return made if act is None else self.silu(made, name) if act == "silu" else self.add("Relu", [made], name)

    def write(self, path, inputs, outputs, opset, beside):
        def infos(rows):
            return [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in rows]
        graph = helper.make_graph(self.nodes, "main_graph", infos(inputs), infos(outputs), self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, producer_name="pytorch")
        onnx.save_model(model, path, save_as_external_data=beside, location=pathlib.Path(path).name + ".data", size_threshold=1024)


def token_ids(b, vocabulary, tokens=TOKENS):
    return b.random.integers(0, vocabulary, (SAMPLES, 1, tokens)).astype(np.int64)


def causal_mask(b, tokens=TOKENS):
    return b.constant("causal_mask", np.triu(np.full((1, 1, tokens, tokens), -1e4, np.float32), 1))


def images(b, size):
    """Smooth fields, as photographs are, with some grain."""
    coarse = b.random.standard_normal((SAMPLES, 1, 3, size // 16, size // 16), np.float32)
    smooth = np.kron(coarse, np.ones((1, 1, 1, 16, 16), np.float32))
    return smooth + 0.2 * b.random.standard_normal(smooth.shape, np.float32)
