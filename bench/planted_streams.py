"""Transformers with random weights, and the faults of residual streams that planted_causes.py injects into them.

The networks have the shapes of bench/export_shapes.py, small, and no channel or token that stands out. A fault has the arguments
that it has there: it changes the net, and says which layers may be named.
"""
import re

import export_builder
import export_shapes
import numpy as np
import onnx
import onnxruntime
import stream_outliers
from onnx import helper, numpy_helper

WIDTH = 128
BLOCK = 32  # of INT4
STREAMS = stream_outliers.STREAMS | {"whisper": "placed"}  # of its encoder
SIZES = {"bert-base": {"inner": 4 * WIDTH, "layers": 2, "vocabulary": 500, "heads": 4},
         "whisper": {"layers": 2, "vocabulary": 500, "heads": 4, "frames": 128, "tokens": 16}}
NETS = [*stream_outliers.STREAMS, *SIZES]
LIMIT = 65504


def made(name, folder, samples):
    """Writes the network: its path, and the samples of its one input."""
    path = folder / f"{name}.onnx"
    if name in stream_outliers.STREAMS:
        model, data = stream_outliers.sound(name, folder, WIDTH, samples)
    else:
        export_builder.SAMPLES = export_shapes.SAMPLES = 4  # of which the padding has the shape
        _, data, _ = export_shapes.make(name, folder, width=WIDTH, **SIZES[name])
        model = onnx.load(folder / "model.onnx")
    with np.load(data) as arrays:
        first, *others = [i.name for i in model.graph.input]
        for other in others:
            with_constant(model, other, np.ones_like(arrays[other][0]) if other == "attention_mask" else arrays[other][0])
        values = list(arrays[first][:samples])
    onnx.save(model, path)
    return path, values


def with_constant(model, name, value):
    """In place of an input; and masks are finite in FP16."""
    model.graph.input.remove(next(i for i in model.graph.input if i.name == name))
    model.graph.initializer.append(numpy_helper.from_array(value, name))
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        if value.ndim == 0 and value < -1e30:
            tensor.CopyFrom(numpy_helper.from_array(np.float32(-1e4), tensor.name))


def values(net, tensors, arrays):
    """Of tensors of the network as it is, on each sample."""
    model = onnx.ModelProto()
    model.CopyFrom(net.model)
    del model.graph.output[:]
    model.graph.output.extend(helper.make_empty_tensor_value_info(tensor) for tensor in tensors)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [session.run(None, {session.get_inputs()[0].name: array}) for array in arrays.values()]


def reach(net, tensors, arrays):
    """The largest value of each tensor of the network as it is, over the samples."""
    return [float(max(np.abs(of).max() for of in each)) for each in zip(*values(net, tensors, arrays), strict=True)]


def before(net, node, place, constant, name):
    """A Mul in front of one input of `node`."""
    mul = helper.make_node("Mul", [node.input[place], net.constant(f"{name}_c", constant)], [name], name=name)
    node.input[place] = name
    net.graph.node.insert(list(net.graph.node).index(node), mul)


# Places: names of nodes.
def streams(net):
    """The whole network, where its stream is read through norms in front of all weights."""
    return [None] if net.network in stream_outliers.STREAMS else []


def last_and_first(nodes):
    return [n.name for n in (nodes[-1:] + nodes[:1])]


def hidden(net):
    """Layers that read the hidden values of a block: an activation is in front of them."""
    makers = {output: n for n in net.graph.node for output in n.output}

    def reads_activation(node):
        maker = makers.get(node.input[0])
        while maker is not None and maker.op_type == "Reshape":
            maker = makers.get(maker.input[0])
        return maker is not None and maker.op_type == "Mul"
    return last_and_first([n for n in net.weighted() if reads_activation(n)])


def softmaxes(net):
    return last_and_first([n for n in net.graph.node if n.op_type == "Softmax"])


def weighted(net):
    return last_and_first(net.weighted()[1:-1])


def norms(net):
    return last_and_first([n for n in net.graph.node if n.op_type == "LayerNormalization"])


def streams_of_norms(net):
    """As streams(), where a LayerNorm is one operator: in pieces, its squares overflow first."""
    return [None] if net.network in STREAMS and norms(net) else []


def residual_outliers(net, strength, **_):
    """Two channels of the stream are large; the scales of norms and weights make up for it."""
    stream_outliers.add_outliers(net.model, net.network, WIDTH, strength)
    read = re.compile(stream_outliers.READERS[net.network])
    return [n.name for n in net.graph.node if n.op_type in ("MatMul", "Gemm") and any(map(read.search, n.input))]


def place_outliers(net, node, strength, arrays, **_):
    """The first token of what the node reads is `strength` times as large, and what it makes as much smaller."""
    reads = values(net, [node.input[0]], arrays)[0][0]
    token = np.ones((reads.shape[-2], 1), np.float32)
    token[0] = strength
    before(net, node, 0, token, "planted_token")
    output = node.output[0]
    node.output[0] = "planted_large"
    back = helper.make_node("Mul", ["planted_large", net.constant("planted_back_c", 1 / token)], [output], name="planted_back")
    net.graph.node.insert(list(net.graph.node).index(node) + 1, back)
    return [node.name]


def large_logits(net, node, strength, **_):
    """Scores of an attention `strength` times as large. What computes them may be named: the product, its scale, the mask."""
    makers = {output: n for n in net.graph.node for output in n.output}
    path = [node]
    while path[-1].op_type != "MatMul":
        path.append(makers[path[-1].input[0]])
    scale = next(n for n in path if n.op_type == "Mul")
    before(net, scale, 0, strength, "planted_scores")
    return [n.name for n in path] + ["planted_scores"]


def block_outliers(net, node, strength, **_):
    """In every second block of weights one is `strength` times as large, and what it multiplies as much smaller."""
    w = net.weights[node.input[1]].copy()
    factor = np.ones(w.shape[0], np.float32)
    factor[::2 * BLOCK] = strength
    net.set_weight(node.input[1], w * factor[:, None])
    before(net, node, 0, 1 / factor, "planted_channel")
    return [node.name]


def large_mean(net, node, strength, **_):
    """All channels that a LayerNorm reads are `strength` larger."""
    add = helper.make_node("Add", [node.input[0], net.constant("planted_mean_c", strength)], ["planted_mean"], name="planted_mean")
    node.input[0] = "planted_mean"
    net.graph.node.insert(list(net.graph.node).index(node), add)
    return ["planted_mean", node.name]


def residual_overflow(net, arrays, **_):
    """All that is added to the stream is multiplied, so that its last sums do not fit FP16."""
    stream, sums = [STREAMS[net.network]], []
    for node in net.graph.node:
        if node.op_type == "Add" and any(tensor in stream for tensor in node.input):
            stream.append(node.output[0])
            sums.append(node)
    factor = 1.25 * LIMIT / max(reach(net, stream, arrays))
    for index, node in enumerate(sums):
        for place, tensor in enumerate(node.input):
            if tensor not in stream:
                before(net, node, place, factor, f"planted_{index}")
    start = next(n for n in net.graph.node if stream[0] in n.output)
    start.output[0] = "planted_start"
    mul = helper.make_node("Mul", ["planted_start", net.constant("planted_start_c", factor)], [stream[0]], name="planted_stream")
    net.graph.node.insert(list(net.graph.node).index(start) + 1, mul)
    return [n.name for n in sums]
