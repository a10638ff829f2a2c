"""What networks give whose float16 convolutions really sum in float16, to hold the noise of `--accumulate float16` against:

    python bench/hardware/exact_sums.py FOLDER [NETWORK ...]

Each network's FP16 file, as `vernier convert` writes it, runs node by node: in float32 with the result rounded once, but for convolutions, whose sums
are rounded every 16 products (in the order height, width, channel) and before the bias is added. FOLDER/exact_sums.json gets SQNR in dB of each
output over 4 samples. Needs vernier (VERNIER names the program), onnx, onnxruntime and VERNIER_SHARED.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
import compare
import compare_sums
import networks

BLOCK = 16


def options():
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level, quiet.graph_optimization_level = 4, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return quiet


def to_half(values):
    with np.errstate(over="ignore"):
        return values.astype(np.float16)


class NodeByNode:
    def __init__(self, model):
        self.model, self.sessions = model, {}
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}

    def run(self, feeds):
        values = {**self.constants, **feeds}
        for node in self.model.graph.node:
            inputs = [values.get(name) for name in node.input]
            for name, value in zip(node.output, self.outputs_of(node, inputs)):
                values[name] = value
        return {output.name: values[output.name] for output in self.model.graph.output}

    def outputs_of(self, node, inputs):
        if node.op_type == "Cast":
            to = next(a.i for a in node.attribute if a.name == "to")
            return [to_half(inputs[0]) if to == onnx.TensorProto.FLOAT16 else inputs[0].astype(helper.tensor_dtype_to_np_dtype(to))]
        low = any(value is not None and value.dtype == np.float16 for value in inputs)
        wide = [value.astype(np.float32) if value is not None and value.dtype == np.float16 else value for value in inputs]
        outputs = self.convolved(node, wide) if low and node.op_type == "Conv" else self.in_float32(node, wide)
        return [to_half(value) if low and value.dtype == np.float32 else value for value in outputs]

    def in_float32(self, node, inputs):
        key = node.output[0], len(inputs), tuple(None if value is None else (value.shape, value.dtype.str) for value in inputs)
        given = {name: value for name, value in zip(node.input, inputs) if name}
        if key not in self.sessions:
            typed = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                     for name, value in given.items()]
            made = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
            alone = helper.make_model(helper.make_graph([node], "node", typed, made), opset_imports=self.model.opset_import,
                                      ir_version=min(self.model.ir_version, 10))
            self.sessions[key] = onnxruntime.InferenceSession(alone.SerializeToString(), options(), providers=["CPUExecutionProvider"])
        return self.sessions[key].run(None, given)

    def convolved(self, node, inputs):
        bias = inputs[2] if len(inputs) > 2 else None
        without = onnx.NodeProto()
        without.CopyFrom(node)
        del without.input[2:]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if attributes.get("group", 1) == 1:
            sums = self.summed(inputs[0], inputs[1], attributes)
        else:  # depthwise: rounded once
            assert inputs[1].shape[1] == 1, node.name
            sums = self.in_float32(without, inputs[:2])[0]
        if bias is None:
            return [sums]
        return [to_half(sums).astype(np.float32) + bias.reshape(1, -1, *[1] * (sums.ndim - 2))]

    @staticmethod
    def summed(data, weight, attributes):
        assert data.ndim == 4 and data.shape[0] == 1 and attributes.get("auto_pad", b"NOTSET") == b"NOTSET"
        top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
        (down, across), (tall, wide) = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
        channels, _, height, width = weight.shape
        padded = np.pad(data[0], ((0, 0), (top, bottom), (left, right)))
        rows = (padded.shape[1] - tall * (height - 1) - 1) // down + 1
        columns = (padded.shape[2] - wide * (width - 1) - 1) // across + 1
        factors = np.concatenate([padded[:, y * tall:y * tall + down * (rows - 1) + 1:down,
                                         x * wide:x * wide + across * (columns - 1) + 1:across].reshape(len(padded), -1)
                                  for y in range(height) for x in range(width)])
        flat = weight.transpose(0, 2, 3, 1).reshape(channels, -1)
        sums = np.zeros((channels, rows * columns), np.float32)
        for first in range(0, len(factors), BLOCK):
            sums = to_half(sums + flat[:, first:first + BLOCK] @ factors[first:first + BLOCK]).astype(np.float32)
        return sums.reshape(1, channels, rows, columns)


def figures_of(network, scratch):
    model, typed = networks.model_file(network), scratch / f"{network}.onnx"
    compare.vernier("convert", model, "--fp16", "-o", typed)
    reference = onnxruntime.InferenceSession(str(model), options(), providers=["CPUExecutionProvider"])
    exact, names = NodeByNode(onnx.load(typed)), [output.name for output in reference.get_outputs()]
    samples = np.load(networks.make(scratch, network, compare_sums.SAMPLES))
    feeds = [{reference.get_inputs()[0].name: sample} for sample in samples]
    figures = compare.sqnr([dict(zip(names, reference.run(names, feed))) for feed in feeds], [exact.run(feed) for feed in feeds])
    return [round(float(figures[name]), 1) for name in names]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1]) / "exact_sums.json"
    with tempfile.TemporaryDirectory() as scratch:
        for network in sys.argv[2:] or compare_sums.NETWORKS:
            figures = figures_of(network, pathlib.Path(scratch))
            print(network, figures, flush=True)
            path.write_text(json.dumps({**compare.known(path), network: figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
