#!/usr/bin/env python3
"""Writes needs_constraints.onnx: four nodes of which exactly two, neighbours, must stay out of FP16.

The 256 KiB of its one weight matrix follow from a formula, so this script is committed and the file is not.

    python examples/needs_constraints/make_model.py [-o needs_constraints.onnx]      # needs numpy and onnx
"""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 256
LARGEST_HALF = np.float32(65504)  # the largest finite float16; its neighbour below is 32 smaller
OPSET = 13
IR_VERSION = 7


def make_model() -> onnx.ModelProto:
    """flip(flip(x) + 65504 - 65504): the identity on [1,1,256,256], if the sum is held precisely enough.

    Both products flip the last axis, with one shared anti-diagonal identity. Flipping loses nothing in any float format,
    so the two MatMuls are safe layers that stand on either side of the unsafe ones.
    """
    nodes = [helper.make_node("MatMul", ["x", "anti_diagonal"], ["matmul_out_0"], name="MatMul_0"),
             helper.make_node("Add", ["matmul_out_0", "largest_half"], ["add_out_1"], name="Add"),
             helper.make_node("Sub", ["add_out_1", "largest_half"], ["sub_out_2"], name="Sub"),
             helper.make_node("MatMul", ["sub_out_2", "anti_diagonal"], ["matmul_out_3"], name="MatMul_1")]
    constants = [numpy_helper.from_array(np.fliplr(np.eye(SIDE, dtype=np.float32)).copy(), "anti_diagonal"),
                 numpy_helper.from_array(LARGEST_HALF, "largest_half")]
    shape = [1, 1, SIDE, SIDE]
    graph = helper.make_graph(nodes, "needs_constraints",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("matmul_out_3", TensorProto.FLOAT, shape)], constants)
    model = helper.make_model(graph, producer_name="vernier-examples",
                              opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default="needs_constraints.onnx", help="file to write (default: %(default)s)")
    onnx.save(make_model(), parser.parse_args().output)


if __name__ == "__main__":
    main()
