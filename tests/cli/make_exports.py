"""Small networks with what PyTorch's exporters write.

    make_exports.py FOLDER
"""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def weights(name, *shape, seed=0):
    return numpy_helper.from_array(np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32), name)


def save(path, nodes, inputs, outputs, initializers):
    graph = helper.make_graph(nodes, "export", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def modules(path):
    """x -> node_MatMul_3 in layers.0.fc -> relu -> node_MatMul_7 in layers.1.fc -> y; relu stands in no module."""
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["a"], name="node_MatMul_3"), helper.make_node("Relu", ["a"], ["b"], name="node_relu"),
             helper.make_node("MatMul", ["b", "w1"], ["y"], name="node_MatMul_7")]
    for node, scopes in zip(nodes, (["", "layers.0", "layers.0.fc", "linear"], ["", "relu"], ["", "layers.1", "layers.1.fc", "linear_1"])):
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(scopes))
    save(path, nodes, [value("x", [1, 8])], [value("y", [1, 8])], [weights("w0", 8, 8), weights("w1", 8, 8, seed=1)])


def cached(path):
    """A layer with its logits, and the keys and values that the next step reads."""
    nodes = [helper.make_node("MatMul", ["x", f"w{i}"], [name], name=f"p{i}")
             for i, name in enumerate(("present.0.key", "present.0.value", "logits"))]
    save(path, nodes, [value("x", [1, 8])], [value(name, [1, 8]) for name in ("logits", "present.0.key", "present.0.value")],
         [weights(f"w{i}", 8, 8, seed=i) for i in range(3)])


def open_sizes(path):
    """Runs only where the open size is 3."""
    nodes = [helper.make_node("Concat", ["x", "c"], ["a"], name="join", axis=1), helper.make_node("MatMul", ["a", "w"], ["y"], name="fc")]
    save(path, nodes, [value("x", ["n", 4])], [value("y", ["n", 8])], [weights("c", 3, 4), weights("w", 8, 8)])


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    modules(folder / "modules.onnx")
    cached(folder / "cached.onnx")
    open_sizes(folder / "open.onnx")
