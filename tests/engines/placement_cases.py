"""What each placement rule for TensorRT is about, both ways: a small network as the rule finds it, and the same with the change that
the rule asks for. `CASES`: rule -> (as it stands, as changed)."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIZE = 32, 16


class Network:
    """A graph with one input `x`, written operator by operator."""

    def __init__(self):
        self.nodes, self.constants, self.random = [], [], np.random.default_rng(7)

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, operator, *inputs, name=None, **attributes):
        name = name or f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name + ":0"], name, **attributes))
        return name + ":0"

    def zero(self, codes, count=None, value=0):
        """A zero point of these codes: a number, or one for each of `count` scales."""
        shape = () if count is None else (count,)
        kind = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "float8": TensorProto.FLOAT8E4M3FN}[codes]
        name = f"z{len(self.constants)}"
        self.constants.append(helper.make_tensor(name, kind, shape, [value] * (count or 1)))
        return name

    def pair(self, x, scale=0.05, codes="int8", zero=0, axis=None):
        scales = np.broadcast_to(np.float32(scale), () if axis is None else (CHANNELS,))
        attributes = {} if axis is None else {"axis": axis}
        parameters = self.constant(scales), self.zero(codes, None if axis is None else CHANNELS, zero)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *parameters, **attributes), *parameters, **attributes)

    def weight(self, *shape, axis=0, codes="int8"):
        scale = self.constant(np.full(shape[axis], 0.01))
        zero = self.zero(codes, shape[axis])
        if codes == "int8":
            stored = self.constant(self.random.integers(-100, 100, shape), np.int8)
        else:
            stored = self.node("QuantizeLinear", self.constant(self.random.normal(0, 1, shape)), scale, zero, axis=axis)
        return self.node("DequantizeLinear", stored, scale, zero, axis=axis)

    def conv(self, x, axis=0, codes="int8"):
        """On codes, where `x` is dequantized."""
        return self.node("Conv", x, self.weight(CHANNELS, CHANNELS, 3, 3, axis=axis, codes=codes), self.constant(self.random.normal(0, 1, CHANNELS)),
                         kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    def bfloat16(self, *shape, value=None):
        """A constant: random, or one number."""
        name = f"b{len(self.constants)}"
        values = self.random.normal(0, 1, shape).ravel() if value is None else [value]
        self.constants.append(helper.make_tensor(name, TensorProto.BFLOAT16, shape, values))
        return name

    def model(self, y, shape=(1, CHANNELS, SIZE, SIZE), opset=19):
        graph = helper.make_graph(self.nodes, "placement", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 20 else 9)


def zero_point(zero):
    net = Network()
    return net.model(net.conv(net.pair("x", zero=zero)))


def code_type(codes):
    net = Network()
    return net.model(net.conv(net.pair("x", codes=codes)))


def activation_scales(axis):
    net = Network()
    return net.model(net.conv(net.pair("x", axis=axis)))


def weight_axis(axis):
    net = Network()
    return net.model(net.conv(net.pair("x"), axis=axis))


def product_of_activations(both):
    net = Network()
    turned = net.node("Transpose", "x", perm=[0, 1, 3, 2])
    return net.model(net.node("MatMul", net.pair("x"), net.pair(turned) if both else turned))


def epilogue(pair):
    net = Network()
    y = net.conv(net.pair("x"))
    y = net.node("Relu", net.pair(y) if pair else y)
    return net.model(net.conv(net.pair(y)))


def residual(skip):
    net = Network()
    start = net.node("Relu", "x")
    y = net.conv(net.pair(net.node("Relu", net.conv(net.pair(start)))))
    y = net.node("Relu", net.node("Add", y, net.pair(start) if skip else start))
    return net.model(net.conv(net.pair(y)))


def concat(equal):
    net = Network()
    parts = [net.pair(net.node("Relu", net.conv(net.pair("x")))), net.pair(net.node("Relu", net.conv(net.pair("x"))), scale=0.05 if equal else 0.08)]
    y = net.node("Concat", *parts, axis=2)
    return net.model(net.conv(net.pair(y)))


def two_formats(one):
    net = Network()
    y = net.node("Relu", net.conv(net.pair("x")))
    codes = "int8" if one else "float8"
    return net.model(net.conv(net.pair(y, codes=codes), codes=codes))


def clip_in_front_of_a_pool(spelled_out):
    net = Network()
    x = net.node("Conv", net.node("Cast", "x", to=TensorProto.BFLOAT16), net.bfloat16(CHANNELS, CHANNELS, 1, 1))
    zero, six = net.bfloat16(value=0), net.bfloat16(value=6)
    y = net.node("Min", net.node("Relu", x), six) if spelled_out else net.node("Clip", x, zero, six)
    return net.model(net.node("Cast", net.node("AveragePool", y, kernel_shape=[SIZE, SIZE]), to=TensorProto.FLOAT), opset=22)


def one_limit(spelled_out):
    net = Network()
    x, limit = net.node("Cast", "x", to=TensorProto.BFLOAT16), net.bfloat16(value=0.5)
    y = net.node("Max", x, limit) if spelled_out else net.node("Clip", x, limit)
    return net.model(net.node("Cast", y, to=TensorProto.FLOAT), opset=22)


def log_softmax(in_float):
    net = Network()
    x = net.node("Cast", "x", to=TensorProto.FLOAT16)
    if in_float:
        return net.model(net.node("LogSoftmax", net.node("Cast", x, to=TensorProto.FLOAT), axis=-1), opset=22)
    return net.model(net.node("Cast", net.node("LogSoftmax", x, axis=-1), to=TensorProto.FLOAT), opset=22)


CASES = {
    "zero-point": (zero_point(5), zero_point(0)),
    "code-type": (code_type("uint8"), code_type("int8")),
    "activation-along-axis": (activation_scales(1), activation_scales(None)),
    "weight-axis": (weight_axis(1), weight_axis(0)),
    "one-input-in-float": (product_of_activations(False), product_of_activations(True)),
    "pair-in-an-epilogue": (epilogue(True), epilogue(False)),
    "skip-branch-in-float": (residual(False), residual(True)),
    "unequal-concat": (concat(False), concat(True)),
    "int8-and-float8": (two_formats(False), two_formats(True)),
    "lost-upper-limit": (clip_in_front_of_a_pool(False), clip_in_front_of_a_pool(True)),
    "absent-limit": (one_limit(False), one_limit(True)),
    "half-steps": (log_softmax(False), log_softmax(True)),
}
