"""The two defects of OpenVINO that docs/records/truth-openvino.md names, on small graphs:

    python bench/hardware/openvino_defects.py

  signed-behind-concat   two convolutions, Concat, a pair, convolution: for several steps of the pair, SQNR in dB of OpenVINO against
                         ONNX Runtime without optimizations, on codes of both signs; and against a file whose step there is 1.
                         Once with this machine's kernels, once with those that take unsigned codes only
  one-bias-for-all       three quantized convolutions beside a tensor of the batch's size: against the file, and against files where one
                         convolution has its first channel's bias at all channels; and what makes it go away

Needs onnxruntime, openvino, onnx and numpy.
"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import explain_differences as engines

KERNELS = {"all kernels": {}, "unsigned codes only": {"ONEDNN_MAX_CPU_ISA": engines.VNNI}}


class Graph:
    """Nodes and constants, put together line by line."""

    def __init__(self):
        self.nodes, self.constants = [], {}
        self.random = np.random.default_rng(1)

    def constant(self, array):
        name = f"constant_{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def add(self, kind, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [f"t{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def pair(self, tensor, scale, zero):
        parameters = self.constant(np.float32(scale)), self.constant(zero)
        return self.add("DequantizeLinear", self.add("QuantizeLinear", tensor, *parameters), *parameters)

    def convolution(self, tensor, channels, scale, bias=None):
        weight = self.constant(self.random.integers(-127, 128, (8, channels, 3, 3)).astype(np.int8))
        weight = self.add("DequantizeLinear", weight, self.constant(np.float32(scale)), self.constant(np.int8(0)))
        return self.add("Conv", tensor, weight, *([] if bias is None else [self.constant(bias)]), pads=[1, 1, 1, 1])

    def model(self, shape):
        stored = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(self.nodes[-1].output[0], TensorProto.FLOAT, None)], stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(by, model, feeds):
    return by(model.SerializeToString(), model.graph.output[0].name, feeds)


def by_both(model, feeds):
    return run(lambda data, tensor, feeds: engines.by_onnxruntime(data, tensor, feeds, False), model, feeds), run(engines.by_openvino, model, feeds)


def concat(step, real, zero):
    """`real`: the unit that all values are in; the pair behind the Concat has the step `step`."""
    graph = Graph()
    data = graph.pair("x", 0.02 * real, np.uint8(128))
    halves = [graph.convolution(data, 4, 0.004) for _ in range(2)]
    graph.convolution(graph.pair(graph.add("Concat", *halves, axis=1), step, zero), 16, 0.004)
    return graph.model([1, 4, 8, 8])


def signed_behind_concat():
    print("| step | codes | OpenVINO against the file | against a file with step 1 |\n|---|---|---|---|")
    for step in (0.05, 0.5, 1.0, 4.0):
        real = step / 0.05
        feeds = [{"x": (np.random.default_rng(i).normal(0, 1, (1, 4, 8, 8)) * real).astype(np.float32)} for i in range(4)]
        for name, zero in (("int8", np.int8(0)), ("uint8", np.uint8(128))):
            exact, got = by_both(concat(step, real, zero), feeds)
            whole, _ = by_both(concat(1.0, real, zero), feeds)
            print(f"| {step} | {name} | {engines.decibels(exact, got):.1f} | {engines.decibels(whole, got):.1f} |")


def token(batch="N", relu=False, pair=True, joined="Concat", one_bias=None):
    """A tensor of the batch's size beside three convolutions; `one_bias`: the convolution that gets one bias at all channels."""
    graph = Graph()
    data = graph.pair("x", 0.02, np.uint8(120))
    for i in range(3):
        bias = graph.random.normal(0, 1, 8).astype(np.float32)
        data = graph.convolution(data, 3 if i == 0 else 8, 0.002, np.full(8, bias[0]) if i == one_bias else bias)
        data = graph.add("Relu", data) if relu else data
        data = graph.pair(data, 0.05, np.uint8(126)) if pair or i > 0 else data
    size = graph.add("Gather", graph.add("Shape", "x"), graph.constant(np.array([0])))
    size = graph.add("Concat", size, graph.constant(np.array([1, 8, 8])), axis=0)
    own = graph.add("Add", graph.add("ConstantOfShape", size), graph.constant(graph.random.normal(0, 2, (1, 8, 8)).astype(np.float32)))
    graph.add("Concat", own, data, axis=1) if joined == "Concat" else graph.add("Add", own, data)
    return graph.model([batch, 3, 8, 8])


def one_bias_for_all():
    print("\n| file | OpenVINO against it | one bias in convolution 1 | in 2 | in 3 |\n|---|---|---|---|---|")
    feeds = [{"x": np.random.default_rng(i).normal(0, 1, (1, 3, 8, 8)).astype(np.float32)} for i in range(4)]
    for name, how in (("a tensor of the batch's size at a Concat", {}), ("a batch of 1 in the file", {"batch": 1}),
                      ("Relu in front of the pairs", {"relu": True}), ("no pair behind the first", {"pair": False}),
                      ("Add in place of Concat", {"joined": "Add"})):
        exact, got = by_both(token(**how), feeds)
        others = [by_both(token(**how, one_bias=i), feeds)[0] for i in range(3)]
        print(f"| {name} | {engines.decibels(exact, got):.1f} | " + " | ".join(f"{engines.decibels(o, got):.1f}" for o in others) + " |")


def main():
    if sys.argv[1:] == ["here"]:
        signed_behind_concat()
        one_bias_for_all()
        return
    for name, environment in KERNELS.items():
        print(f"\n{name}\n", flush=True)
        subprocess.run([sys.executable, __file__, "here"], check=True, env={**os.environ, **environment})


if __name__ == "__main__":
    main()
