"""Low precision with nothing but ONNX and ONNX Runtime: the yardstick that `measure.py` uses.

Deliberately small and independent of Vernier, so that the two can be compared. Read it for what "in FP16" and "in INT8"
mean here; use Vernier for other networks (this one assumes float initializers and one consumer per BatchNormalization).
"""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

INT8_OPS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
LEVELS = 127


def initializers_of(model) -> dict:
    return {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}


def replace_graph(model, nodes, constants: dict):
    """A copy of `model` with these nodes and initializers."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:], result.graph.initializer[:]
    result.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    result.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in constants.items() if k in used)
    return result


def fold_batch_norm(model):
    """Merges each BatchNormalization into the Conv before it: w * s and beta - mean * s, s = gamma / sqrt(var + eps)."""
    constants, nodes, producers = initializers_of(model), [], {}
    for node in model.graph.node:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        if node.op_type != "BatchNormalization":
            nodes.append(node)
            producers[node.output[0]] = node
            continue
        conv = producers[node.input[0]]
        gamma, beta, mean, variance = (constants[n] for n in node.input[1:5])
        scale = gamma / np.sqrt(variance + next(a.f for a in node.attribute if a.name == "epsilon"))
        constants[conv.input[1]] = constants[conv.input[1]] * scale[:, None, None, None]
        constants[f"{conv.name}.bias"] = (beta - mean * scale).astype(np.float32)
        conv.input.append(f"{conv.name}.bias")
        conv.output[0] = node.output[0]
    return replace_graph(model, nodes, constants)


def run(model, samples: np.ndarray, watch=()) -> list:
    """Outputs of the network over [N, 1, 8, 8] samples, stacked: first the logits [N, 10], then each watched tensor."""
    if watch:
        watched = onnx.ModelProto()
        watched.CopyFrom(model)
        watched.graph.output.extend(helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in watch)
        model = watched
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL  # or roundings may be fused away
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    runs = [session.run(None, {name: sample[None]}) for sample in samples]
    return [np.concatenate(outputs) for outputs in zip(*runs)]


def quantizable(model) -> list:
    """Nodes that the INT8 scheme touches, in file order."""
    return [n.name for n in model.graph.node if n.op_type in INT8_OPS]


def activation_ranges(model, samples) -> dict:
    """Absolute maximum over the samples of every tensor that a quantizable node reads."""
    names = list(dict.fromkeys(n.input[0] for n in model.graph.node if n.op_type in INT8_OPS))
    inputs = {i.name for i in model.graph.input}
    ranges = {name: float(np.abs(samples).max()) for name in names if name in inputs}
    watch = [name for name in names if name not in inputs]
    for name, values in zip(watch, run(model, samples, watch)[1:]):
        ranges[name] = float(np.abs(values).max())
    return ranges


def quantized_weight(weight: np.ndarray) -> np.ndarray:
    """Symmetric int8 per output channel (axis 0), back in float32."""
    scale = np.abs(weight).reshape(len(weight), -1).max(1) / LEVELS
    scale = np.where(scale == 0, 1, scale).reshape(-1, *[1] * (weight.ndim - 1))
    return (np.rint(weight / scale) * scale).astype(np.float32)


def to_int8(model, ranges: dict, low: set):
    """Symmetric int8: per tensor on the first input of each node in `low`, per output channel on its weight.

    Gemm weights must be stored transposed (transB=1), so that axis 0 is the output channel.
    """
    constants, nodes = initializers_of(model), []
    constants["zero_point"] = np.int8(0)
    for node in model.graph.node:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        if node.name in low:
            constants[node.input[1]] = quantized_weight(constants[node.input[1]])
            scale = f"{node.name}.scale"
            constants[scale] = np.float32(ranges[node.input[0]] / LEVELS)
            nodes.append(helper.make_node("QuantizeLinear", [node.input[0], scale, "zero_point"], [f"{node.name}.q"]))
            nodes.append(helper.make_node("DequantizeLinear", [f"{node.name}.q", scale, "zero_point"],
                                          [f"{node.name}.dq"]))
            node.input[0] = f"{node.name}.dq"
        nodes.append(node)
    return replace_graph(model, nodes, constants)


def to_fp16(model, high: set = frozenset()):
    """Every node outside `high` reads and writes float16 values; it computes in float32 in between.

    Casts to float16 and back do the rounding: ONNX Runtime's own FP16 nodes on a CPU do not round between nodes.
    """
    constants, nodes = initializers_of(model), []
    floats = {k for k, v in constants.items() if v.dtype == np.float32}

    def rounded(tensor, output):
        nodes.append(helper.make_node("Cast", [tensor], [f"{output}.half"], to=TensorProto.FLOAT16))
        nodes.append(helper.make_node("Cast", [f"{output}.half"], [output], to=TensorProto.FLOAT))
        return output

    for node in model.graph.node:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        if node.name in high:
            nodes.append(node)
            continue
        for i, name in enumerate(node.input):
            if name in floats or name not in constants:
                node.input[i] = rounded(name, f"{node.name}.in{i}")
        output = node.output[0]
        node.output[0] = f"{output}.unrounded"
        nodes.append(node)
        rounded(node.output[0], output)
    return replace_graph(model, nodes, constants)


def sqnr(reference: np.ndarray, low: np.ndarray) -> float:
    """10 log10(sum ref^2 / sum (ref - low)^2) in dB over all samples; NaN if any value is not finite."""
    if not np.isfinite(low).all():
        return float("nan")
    noise = np.square(reference.astype(np.float64) - low).sum()
    return float(10 * np.log10(np.square(reference.astype(np.float64)).sum() / noise)) if noise else float("inf")
