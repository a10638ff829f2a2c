"""Writes a model of 100,000 nodes with 1 GB of weights beside the file: python bench/big_model.py OUT.onnx"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

NODES, SIZE, BYTES = 100_000, 64, 1_000_000_000


def main(path):
    data = path + ".data"
    each = SIZE * SIZE * 4
    weights = BYTES // each
    blob = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype("f").tobytes()
    initializers = []
    with open(data, "wb") as file:
        for index in range(weights):
            tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[SIZE, SIZE], data_location=TensorProto.EXTERNAL)
            for key, value in (("location", os.path.basename(data)), ("offset", index * each), ("length", each)):
                tensor.external_data.add(key=key, value=str(value))
            initializers.append(tensor)
            file.write(blob)
    nodes, before = [], "x"
    for index in range(NODES):
        inputs = [before, f"w{index}"] if index < weights else [before]
        before = f"t{index}"
        nodes.append(helper.make_node("MatMul" if index < weights else "Relu", inputs, [before], name=f"n{index}"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "big", [value("x", TensorProto.FLOAT, [1, SIZE])], [value(before, TensorProto.FLOAT, [1, SIZE])],
                              initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


if __name__ == "__main__":
    main(sys.argv[1])
