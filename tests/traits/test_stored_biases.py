"""INT32 biases that differ from the float model's by less than a quarter of their energy: bias correction does so by little."""
import json

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import quantized_files as files
from test_traits import vernier

BIASES = {"clipped": lambda v: np.clip(v, -np.sort(np.abs(v))[3], np.sort(np.abs(v))[3]),
          "halved": lambda v: v * np.where(np.arange(len(v)) < 5, 0.5, 1), "all halved": lambda v: v / 2,
          "shifted": lambda v: v + np.where(np.arange(len(v)) < 6, 0.4, 0).astype(np.float32)}
HARMLESS = {"right": lambda v: v, "corrected": lambda v: v + np.float32(0.004) * (1 + np.arange(len(v)) % 3)}


def in_operators(model):
    """The second convolution and its pairs as QLinearConv."""
    made = {name: node for node in model.graph.node for name in node.output}
    conv = made["second"]
    data, weight, bias = (made[name] for name in conv.input)
    scale, zero = next(n for n in model.graph.node if n.input[0] == "last").input[1:]
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(files.CHANNELS, np.int8), "weight.zero"))
    conv.CopyFrom(helper.make_node("QLinearConv", [data.input[0], *data.input[1:], weight.input[0], weight.input[1], "weight.zero",
                                                   scale, zero, bias.input[0]], ["last.codes"], name="second", pads=[1] * 4))
    gone = {"last", "last.codes", data.output[0], weight.output[0], bias.output[0]}
    kept = [n for n in model.graph.node if n.op_type == "QLinearConv" or not gone & {*n.output}]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


def report_of(folder, *command, codes):
    return json.loads(vernier(*command, "--data", "x.npz", "--json", folder=folder, codes=codes).stdout)


@pytest.mark.parametrize("operators", [False, True], ids=["pairs", "operators"])
@pytest.mark.parametrize("bias", [*BIASES, *HARMLESS])
def test_biases_that_are_wrong_beyond_bias_correction_are_named(bias, operators, tmp_path):
    model, samples = files.float_network()
    onnx.save(model, tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", **samples)
    quantized = files.quantized(bias=(BIASES | HARMLESS)[bias])
    files.write(tmp_path, in_operators(quantized) if operators else quantized)
    wrong = bias in BIASES
    found = report_of(tmp_path, "verify", "float.onnx", "quantized.onnx", "--min-sqnr", 20, codes=(int(wrong),))
    lost = report_of(tmp_path, "debug", "loss", "float.onnx", "quantized.onnx", codes=(int(wrong),))
    for report in (found, lost):
        assert [defect["kind"] for defect in report.get("defects", [])] == (["other-values"] if wrong else []), report.get("defects")
        assert not wrong or "second.bias" in report["defects"][0]["text"]
