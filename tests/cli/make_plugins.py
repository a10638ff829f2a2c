"""A model, plugins with patterns for it, and a stand-in for ONNX GraphSurgeon, which the tests' Python lacks.

    python make_plugins.py FOLDER

writes FOLDER/m.onnx (Relu, twice Mul and Add, Relu), plugins/scale/pattern.py, which finds each Mul with its Add,
plugins/none/pattern.py, which finds nothing, plugins/own/pattern.py with a replace_with_plugin() of its own, and
modules/onnx_graphsurgeon.py.
"""
import pathlib
import sys

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

SCALE = '''
def get_matching_subgraphs(graph):
    found = []
    for node in graph.nodes:
        if node.op != "Mul":
            continue
        add = node.outputs[0].outputs[0]
        found.append({"inputs": [node.inputs[0].name], "outputs": [add.outputs[0].name],
                      "attributes": {"factor": 2.5, "names": ["a", "b"]}})
    return found


def get_plugin_metadata():
    return {"name": "scale", "op": "ScalePlugin"}
'''

NONE = '''
def get_matching_subgraphs(graph):
    return None


def get_plugin_metadata():
    return {"name": "none", "op": "Nothing"}
'''

OWN = SCALE.replace('"scale"', '"own"') + '''

def replace_with_plugin(graph, input_tensors, output_tensors, attrs, op):
    if input_tensors[0].name != "a":
        return None
    output_tensors[0].inputs.clear()
    graph.layer(op="Own" + op, name="own", inputs=input_tensors, outputs=output_tensors, attrs=attrs)
    graph.cleanup().toposort()
    return True
'''

MODULE = '''
import onnx
from onnx import helper


class Tensor:
    def __init__(self, name):
        self.name, self.inputs, self.outputs = name, [], []


class Node:
    def __init__(self, op, name, inputs, outputs, attrs):
        self.op, self.name, self.inputs, self.outputs, self.attrs = op, name, inputs, outputs, attrs or {}
        for tensor in inputs:
            tensor.outputs.append(self)
        for tensor in outputs:
            tensor.inputs.append(self)


class Graph:
    def __init__(self, model):
        self.model, self.named, self.nodes = model, {}, []
        for node in model.graph.node:
            attrs = {each.name: helper.get_attribute_value(each) for each in node.attribute}
            self.layer(node.op_type, node.name, [self.tensor(name) for name in node.input],
                       [self.tensor(name) for name in node.output], attrs)

    def tensor(self, name):
        return self.named.setdefault(name, Tensor(name))

    def tensors(self):
        return dict(self.named)

    def layer(self, op, name, inputs, outputs, attrs):
        self.nodes.append(Node(op, name, inputs, outputs, attrs))

    def cleanup(self):
        needed, left = set(), [self.named[output.name] for output in self.model.graph.output]
        while left:
            for node in left.pop().inputs:
                if id(node) not in needed:
                    needed.add(id(node))
                    left += node.inputs
        self.nodes = [node for node in self.nodes if id(node) in needed]
        return self

    def toposort(self):
        made, nodes, left = {value.name for value in self.model.graph.input}, [], list(self.nodes)
        made |= {value.name for value in self.model.graph.initializer}
        while left:
            node = next(node for node in left if all(tensor.name in made for tensor in node.inputs))
            left.remove(node)
            nodes.append(node)
            made |= {tensor.name for tensor in node.outputs}
        self.nodes = nodes
        return self


def import_onnx(model):
    return Graph(model)


def export_onnx(graph):
    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    del model.graph.node[:]
    model.graph.node.extend(helper.make_node(node.op, [tensor.name for tensor in node.inputs],
                                             [tensor.name for tensor in node.outputs], name=node.name, **node.attrs)
                            for node in graph.nodes)
    return model
'''


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, text in (("scale", SCALE), ("none", NONE), ("own", OWN)):
        (folder / "plugins" / name).mkdir(parents=True)
        (folder / "plugins" / name / "pattern.py").write_text(text, encoding="utf-8")
    (folder / "modules").mkdir()
    (folder / "modules" / "onnx_graphsurgeon.py").write_text(MODULE, encoding="utf-8")
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="first"),
             helper.make_node("Mul", ["a", "w"], ["b"], name="mul0"), helper.make_node("Add", ["b", "w"], ["c"], name="add0"),
             helper.make_node("Mul", ["c", "w"], ["d"], name="mul1"), helper.make_node("Add", ["d", "w"], ["e"], name="add1"),
             helper.make_node("Relu", ["e"], ["y"], name="last")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
                              [numpy_helper.from_array(np.ones(4, np.float32), "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / "m.onnx")


main()
