"""Writes a trained `network.Digits` as ONNX, operator by operator.

By hand rather than with PyTorch's exporter: node names stay short and never change with PyTorch's version, and batch
normalization stays a node of its own, as it does in many files in the wild.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import network

OPSET = 17
IR_VERSION = 8


class GraphWriter:
    """Collects nodes and initializers. Each node's output is named after the node, with `_out` behind it."""

    def __init__(self):
        self.nodes = []
        self.initializers = []

    def constant(self, name: str, value) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op: str, name: str, *inputs: str, output: str = "", **attributes) -> str:
        output = output or f"{name}_out"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=name, **attributes))
        return output

    def parameter(self, name: str, tensor) -> str:
        return self.constant(name, tensor.detach().numpy().astype(np.float32))

    def conv(self, name: str, module, x: str) -> str:
        return self.node("Conv", name, x, self.parameter(f"{name}.weight", module.weight),
                         kernel_shape=list(module.kernel_size), strides=list(module.stride),
                         pads=list(module.padding) * 2, group=module.groups)

    def batch_norm(self, name: str, module, x: str) -> str:
        parts = [("weight", module.weight), ("bias", module.bias), ("mean", module.running_mean),
                 ("variance", module.running_var)]
        return self.node("BatchNormalization", name, x, *(self.parameter(f"{name}.{n}", t) for n, t in parts),
                         epsilon=module.eps)

    def linear(self, name: str, module, x: str, output: str = "") -> str:
        return self.node("Gemm", name, x, self.parameter(f"{name}.weight", module.weight),
                         self.parameter(f"{name}.bias", module.bias), output=output, transB=1)

    def conv_bn_relu(self, owner, prefix: str, part: str, x: str) -> str:
        x = self.conv(f"{prefix}{part}_conv", getattr(owner, f"{part}_conv"), x)
        x = self.batch_norm(f"{prefix}{part}_bn", getattr(owner, f"{part}_bn"), x)
        return self.node("Relu", f"{prefix}{part}_relu", x)


def write_local_contrast(g: GraphWriter, counts: str) -> str:
    pool = {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1, 1, 1, 1], "count_include_pad": 0}
    mean = g.node("AveragePool", "contrast_mean", counts, **pool)
    centered = g.node("Sub", "contrast_center", counts, mean)
    square = g.node("Mul", "contrast_square", centered, centered)
    variance = g.node("AveragePool", "contrast_variance", square, **pool)
    epsilon = g.constant("contrast_epsilon", np.float32(network.CONTRAST_EPSILON))
    guarded = g.node("Add", "contrast_add_epsilon", variance, epsilon)
    deviation = g.node("Sqrt", "contrast_sqrt", guarded)
    return g.node("Div", "contrast_divide", centered, deviation)


def write_block_energy(g: GraphWriter, counts: str) -> str:
    square = g.node("Mul", "energy_square", counts, counts)
    mean = g.node("AveragePool", "energy_mean", square, kernel_shape=[2, 2], strides=[2, 2])
    return g.node("Mul", "energy_sum", mean, g.constant("energy_block_size", np.float32(4)))


def write_feature_norm(g: GraphWriter, features: str) -> str:
    mean = g.node("ReduceMean", "feature_mean", features, axes=[-1], keepdims=1)
    centered = g.node("Sub", "feature_center", features, mean)
    square = g.node("Mul", "feature_square", centered, centered)
    variance = g.node("ReduceMean", "feature_variance", square, axes=[-1], keepdims=1)
    epsilon = g.constant("feature_epsilon", np.float32(network.FEATURE_EPSILON))
    guarded = g.node("Add", "feature_add_epsilon", variance, epsilon)
    deviation = g.node("Sqrt", "feature_sqrt", guarded)
    return g.node("Div", "feature_divide", centered, deviation)


def write_block(g: GraphWriter, name: str, block, x: str) -> str:
    y = g.conv_bn_relu(block, f"{name}_", "expand", x)
    y = g.conv_bn_relu(block, f"{name}_", "depthwise", y)
    y = g.conv(f"{name}_project_conv", block.project_conv, y)
    y = g.batch_norm(f"{name}_project_bn", block.project_bn, y)
    return g.node("Add", f"{name}_add", x, y) if block.residual else y


def write_count_sums(g: GraphWriter, name: str, axis: int) -> str:
    axes = g.constant(f"{name}_axis", np.array([axis], np.int64))
    sums = g.node("ReduceSum", f"{name}_sum", "counts", axes, keepdims=0)
    return g.node("Flatten", f"{name}_flatten", sums)


def to_onnx(net) -> onnx.ModelProto:
    """The trained network (in evaluation mode) as a checked model: `counts` [1,1,8,8] to `logits` [1,10]."""
    g = GraphWriter()
    x = g.node("Concat", "stem_concat", "counts", write_local_contrast(g, "counts"), axis=1)
    x = g.conv_bn_relu(net, "", "stem", x)
    for name in ("block1", "block2", "block3"):
        x = write_block(g, name, getattr(net, name), x)
    x = g.node("Concat", "energy_concat", x, write_block_energy(g, "counts"), axis=1)
    for name in ("block4", "block5"):
        x = write_block(g, name, getattr(net, name), x)
    x = g.conv_bn_relu(net, "", "head", x)
    x = g.node("Flatten", "head_flatten", g.node("GlobalAveragePool", "head_pool", x))
    parts = [write_feature_norm(g, x), write_count_sums(g, "rows", 3), write_count_sums(g, "columns", 2)]
    x = g.node("Concat", "hidden_concat", *parts, axis=1)
    x = g.node("Relu", "hidden_relu", g.linear("hidden_gemm", net.hidden, x))
    g.linear("classifier_gemm", net.classifier, x, output="logits")

    image = helper.make_tensor_value_info("counts", TensorProto.FLOAT, [1, 1, network.IMAGE_SIDE, network.IMAGE_SIDE])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, network.CLASSES])
    graph = helper.make_graph(g.nodes, "digits", [image], [logits], g.initializers)
    model = helper.make_model(graph, producer_name="vernier-examples",
                              opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    return model
