"""evaluate.py MODEL IN OUT: runs a model once in ONNX Runtime without optimizations.

IN and OUT are GraphProto messages whose initializers are the tensors; outputs come in graph order. Test code: it stands in
for the engine where a test must not depend on one.
"""
import sys

import onnx
import onnxruntime
from onnx import numpy_helper


def main(model, source, target):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    given = onnx.GraphProto()
    with open(source, "rb") as file:
        given.ParseFromString(file.read())
    feed = {tensor.name: numpy_helper.to_array(tensor) for tensor in given.initializer}
    names = [output.name for output in session.get_outputs()]
    made = onnx.GraphProto()
    for name, value in zip(names, session.run(names, feed)):
        made.initializer.append(numpy_helper.from_array(value, name))
    with open(target, "wb") as file:
        file.write(made.SerializeToString())


if __name__ == "__main__":
    main(*sys.argv[1:])
