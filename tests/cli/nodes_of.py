"""Prints the names of nodes, inputs and outputs of a model, and the shapes of the latter, as JSON."""
import json
import sys

import onnx

graph = onnx.load(sys.argv[1]).graph


def values(infos):
    return {info.name: [dim.dim_value or dim.dim_param for dim in info.type.tensor_type.shape.dim] for info in infos}


print(json.dumps({"nodes": [node.name for node in graph.node], "ops": [node.op_type for node in graph.node],
                  "inputs": values(graph.input), "outputs": values(graph.output)}))
