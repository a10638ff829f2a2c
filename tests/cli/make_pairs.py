"""Writes files with Q/DQ pairs that are seldom made:

    python make_pairs.py body OUT           one that TensorRT does not take (zero point 3) inside a branch of an If
    python make_pairs.py weights IN OUT     that zero point in the place of the first stored weight's of IN
    python make_pairs.py scaled IN X OUT    the scale of the activation behind the first layer X times as large
    python make_pairs.py extra IN OUT       a stored constant that no float model has, added to the input of IN
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def body():
    constants = [numpy_helper.from_array(np.float32(0.5), "scale"), numpy_helper.from_array(np.uint8(3), "zero")]
    pair = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["codes"], "q"),
            helper.make_node("DequantizeLinear", ["codes", "scale", "zero"], ["branch_y"], "d")]
    float_info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])
    then = helper.make_graph(pair, "then", [], [float_info("branch_y")], constants)
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["other_y"], "neg")], "else", [], [float_info("other_y")])
    choose = helper.make_node("If", ["condition"], ["y"], "choose", then_branch=then, else_branch=other)
    graph = helper.make_graph([choose], "g", [helper.make_tensor_value_info("condition", TensorProto.BOOL, []),
                                              float_info("x")], [float_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def spoiled(path):
    model = onnx.load(path)
    node = next(node for node in model.graph.node if node.op_type == "DequantizeLinear")
    kept = next(t for t in model.graph.initializer if t.name == node.input[2])
    zero = numpy_helper.to_array(kept)
    model.graph.initializer.append(numpy_helper.from_array(zero + np.int8(3), "three"))
    node.input[2] = "three"
    return model


def extended(path):
    model = onnx.load(path)
    name = model.graph.input[0].name
    for node in model.graph.node:
        node.input[:] = ["shifted" if read == name else read for read in node.input]
    model.graph.initializer.extend([numpy_helper.from_array(np.zeros(1, np.int8), "extra_codes"),
                                    numpy_helper.from_array(np.float32(0.5), "extra_scale")])
    model.graph.node.insert(0, helper.make_node("DequantizeLinear", ["extra_codes", "extra_scale"], ["extra"], "extra"))
    model.graph.node.insert(1, helper.make_node("Add", [name, "extra"], ["shifted"], "shift"))
    return model


def scaled(path, factor):
    model = onnx.load(path)
    scale = [node for node in model.graph.node if node.op_type == "QuantizeLinear"][1].input[1]
    kept = next(t for t in model.graph.initializer if t.name == scale)
    kept.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(kept) * np.float32(factor), scale))
    return model


made = {"scaled": scaled, "body": body, "weights": spoiled, "extra": extended}[sys.argv[1]](*sys.argv[2:-1])
onnx.save(made, sys.argv[-1])
