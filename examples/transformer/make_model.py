"""Writes transformer.onnx, a transformer of two blocks whose attention overflows in FP16, and tokens.npz, 64 inputs for it.

    python examples/transformer/make_model.py [FOLDER]

The weights are random, with a fixed seed. As in many trained transformers, one channel of the second block is far larger than the
others. It makes the products of queries and keys reach 200,000, and FP16 ends at 65,504.
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TOKENS, WIDTH, CLASSES, SAMPLES = 16, 64, 10, 64

random = np.random.default_rng(0)
nodes, weights = [], []


def weight(name, *shape, scale=None):
    values = random.normal(0, scale or shape[0] ** -0.5, shape).astype(np.float32)
    weights.append(numpy_helper.from_array(values, name))
    return name


def constant(name, values, kind=np.float32):
    weights.append(numpy_helper.from_array(np.array(values, kind), name))
    return name


def node(operator, name, *inputs, **attributes):
    nodes.append(helper.make_node(operator, inputs, [f"{name}_out"], name=name, **attributes))
    return f"{name}_out"


def norm(name, x, scales):
    return node("LayerNormalization", name, x, constant(f"{name}.weight", scales), constant(f"{name}.bias", np.zeros(WIDTH)))


def block(name, x, large):
    scales = np.ones(WIDTH)
    scales[7] = large
    read = norm(f"{name}/norm", x, scales)
    query, key, value = (node("MatMul", f"{name}/{part}", read, weight(f"{name}.{part}", WIDTH, WIDTH)) for part in ("query", "key", "value"))
    turned = node("Transpose", f"{name}/turn", key, perm=[0, 2, 1])
    scores = node("MatMul", f"{name}/scores", query, turned)
    scaled = node("Div", f"{name}/scale", scores, "root_of_width")
    shares = node("Softmax", f"{name}/softmax", scaled, axis=-1)
    mixed = node("MatMul", f"{name}/mix", shares, value)
    x = node("Add", f"{name}/skip", x, node("MatMul", f"{name}/project", mixed, weight(f"{name}.project", WIDTH, WIDTH)))
    read = norm(f"{name}/norm2", x, np.ones(WIDTH))
    inner = node("Relu", f"{name}/relu", node("MatMul", f"{name}/up", read, weight(f"{name}.up", WIDTH, 4 * WIDTH)))
    return node("Add", f"{name}/skip2", x, node("MatMul", f"{name}/down", inner, weight(f"{name}.down", 4 * WIDTH, WIDTH)))


constant("root_of_width", WIDTH ** 0.5)
x = block("block1", "tokens", large=1)
x = block("block2", x, large=480)
pooled = node("ReduceMean", "pool", norm("last_norm", x, np.ones(WIDTH)), axes=[1], keepdims=0)
nodes.append(helper.make_node("MatMul", [pooled, weight("classify.weight", WIDTH, CLASSES)], ["logits"], name="classify"))

graph = helper.make_graph(
    nodes, "transformer",
    [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, TOKENS, WIDTH])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, CLASSES])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
onnx.save(model, folder / "transformer.onnx")
np.savez(folder / "tokens.npz", tokens=random.normal(0, 1, (SAMPLES, 1, TOKENS, WIDTH)).astype(np.float32))
