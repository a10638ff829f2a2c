"""Networks of a few layers with traits that the shared ones lack: outputs that are no floats, halves, integer inputs,
grouped and transposed convolutions, states, layouts of other exporters. Weights are seeded; samples come with each.

A network is a function that returns (model, samples): samples map each input to an array whose first axis counts them.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
ZERO_OF_CODES = 120
NETWORKS = {}


def network(build):
    NETWORKS[build.__name__] = build
    return build


class Builder:
    def __init__(self, seed, opset=OPSET):
        self.random = np.random.default_rng(seed)
        self.opset = opset
        self.nodes, self.initializers, self.sparse = [], [], []

    def constant(self, name, value):
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def sparse_weight(self, name, *shape, by_axis):
        """A quarter of the values; indices are places in the flat tensor, or one number for each axis."""
        places = np.sort(self.random.permutation(np.prod(shape))[:np.prod(shape) // 4]).astype(np.int64)
        values = self.random.normal(0, 2 / np.sqrt(shape[0]), len(places)).astype(np.float32)
        indices = np.stack(np.unravel_index(places, shape), 1).astype(np.int64) if by_axis else places
        return helper.make_sparse_tensor(numpy_helper.from_array(values, name),
                                         numpy_helper.from_array(indices, f"{name}.indices"), list(shape))

    def weight(self, name, *shape):
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        return self.constant(name, self.random.normal(0, 1 / np.sqrt(max(fan_in, 1)), shape).astype(np.float32))

    def add(self, operator, inputs, output, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [output] if isinstance(output, str) else output,
                                           name=output if isinstance(output, str) else output[0], **attributes))
        return output

    def conv(self, source, output, channels_in, channels_out, size=3, **attributes):
        weight = self.weight(f"{output}.weight", channels_out, channels_in // attributes.get("group", 1), size, size)
        bias = self.weight(f"{output}.bias", channels_out)
        return self.add("Conv", [source, weight, bias], output, pads=[size // 2] * 4, **attributes)

    def linear(self, source, output, width_in, width_out):
        weight = self.constant(f"{output}.weight",
                               self.random.normal(0, 1 / np.sqrt(width_in), (width_in, width_out)).astype(np.float32))
        self.add("MatMul", [source, weight], f"{output}.product")
        return self.add("Add", [f"{output}.product", self.weight(f"{output}.bias", width_out)], output)

    def model(self, inputs, outputs, domains=()):
        def infos(rows):
            return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in rows]
        graph = helper.make_graph(self.nodes, "traits", infos(inputs), infos(outputs), self.initializers,
                                  sparse_initializer=self.sparse)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset),
                                                        *(helper.make_opsetid(domain, 1) for domain in domains)])
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=not self.sparse)  # it infers nothing from sparse initializers
        return model

    def normal(self, *shape):
        return self.random.normal(0, 1, shape).astype(np.float32)


FLOAT, DOUBLE, HALF, INT64, INT32, UINT8 = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64,
                                            TensorProto.INT32, TensorProto.UINT8)


def segmentation(b):
    b.conv("x", "stem", 3, 16)
    b.add("Relu", ["stem"], "relu")
    b.conv("relu", "head", 16, 7, size=1)
    return "head"


@network
def labels():
    """A segmentation that gives out its labels alone."""
    b = Builder(1)
    segmentation(b)
    b.add("ArgMax", ["head"], "labels", axis=1, keepdims=0)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("labels", INT64, [1, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def labels_beside_a_box():
    """Labels of 32 bits, their axis kept, beside a float output."""
    b = Builder(2)
    segmentation(b)
    b.add("ArgMax", ["head"], "picked", axis=1, keepdims=1)
    b.add("Cast", ["picked"], "labels", to=INT32)
    b.add("GlobalAveragePool", ["relu"], "pooled")
    b.add("Flatten", ["pooled"], "flat")
    b.linear("flat", "box", 16, 4)
    return (b.model([("x", FLOAT, [1, 3, 16, 16])], [("labels", INT32, [1, 1, 16, 16]), ("box", FLOAT, [1, 4])]),
            {"x": b.normal(6, 1, 3, 16, 16)})


@network
def classes_before_pixels():
    """Logits of shape N x classes x H x W."""
    b = Builder(3)
    segmentation(b)
    b.add("Identity", ["head"], "logits")
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("logits", FLOAT, [1, 7, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def bytes_from_tensorflow():
    """uint8 pixels N x H x W x C in, classes last out, as converters from TensorFlow write them."""
    b = Builder(4)
    b.add("Cast", ["image"], "float", to=FLOAT)
    b.add("Mul", ["float", b.constant("scale", np.float32(1 / 64))], "scaled")
    b.add("Sub", ["scaled", b.constant("two", np.float32(2))], "centred")
    b.add("Transpose", ["centred"], "x", perm=[0, 3, 1, 2])
    b.conv("x", "stem", 3, 16, strides=[2, 2])
    b.add("Relu", ["stem"], "relu")
    b.conv("relu", "head", 16, 6, size=1)
    b.add("Transpose", ["head"], "last", perm=[0, 2, 3, 1])
    b.add("Softmax", ["last"], "classes", axis=-1)
    return (b.model([("image", UINT8, [1, 16, 16, 3])], [("classes", FLOAT, [1, 8, 8, 6])]),
            {"image": b.random.integers(0, 256, (6, 1, 16, 16, 3), dtype=np.uint8)})


@network
def boxes_and_scores():
    """A detector that gives out boxes up to 320 and scores up to 1 in one output, as YOLOv8 does."""
    b = Builder(26)
    b.conv("x", "stem", 3, 12, strides=[2, 2])
    b.add("Relu", ["stem"], "relu")
    b.conv("relu", "box", 12, 4, size=1)
    b.add("Sigmoid", ["box"], "inside")
    b.add("Mul", ["inside", b.constant("stride", np.float32(320))], "boxes")
    b.conv("relu", "class", 12, 5, size=1)
    b.add("Sub", ["class", b.constant("rare", np.float32(2))], "rarely")
    b.add("Sigmoid", ["rarely"], "shares")
    b.add("Concat", ["boxes", "shares"], "joined", axis=1)
    b.add("Reshape", ["joined", b.constant("shape", np.array([0, 0, -1], np.int64))], "output0")
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("output0", FLOAT, [1, 9, 64])]), {"x": b.normal(8, 1, 3, 16, 16)}


@network
def boxes_and_a_score_of_one_layer():
    """One convolution makes four coordinates in pixels and a score, as heads of one class do."""
    b = Builder(27)
    b.conv("x", "stem", 3, 12, strides=[2, 2])
    b.add("Relu", ["stem"], "relu")
    b.conv("relu", "raw", 12, 5, size=1)
    b.add("Mul", ["raw", b.constant("units", np.array([200, 200, 200, 200, 0.5], np.float32).reshape(1, 5, 1, 1))], "output")
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("output", FLOAT, [1, 5, 8, 8])]), {"x": b.normal(8, 1, 3, 16, 16)}


@network
def half_output():
    """Computes in float32 and gives out float16."""
    b = Builder(5)
    segmentation(b)
    b.add("Cast", ["head"], "scores", to=HALF)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("scores", HALF, [1, 7, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def half_interface():
    """float16 in and out, float32 between."""
    b = Builder(6)
    b.add("Cast", ["h"], "x", to=FLOAT)
    segmentation(b)
    b.add("Cast", ["head"], "scores", to=HALF)
    return (b.model([("h", HALF, [1, 3, 16, 16])], [("scores", HALF, [1, 7, 16, 16])]),
            {"h": b.normal(6, 1, 3, 16, 16).astype(np.float16)})


@network
def double_inside():
    """Scores normalized in float64, with a weight of that type, between float32 layers."""
    b = Builder(15)
    segmentation(b)
    b.add("Cast", ["head"], "wide", to=DOUBLE)
    b.add("Mul", ["wide", b.constant("temperature", np.float64(0.5))], "warm")
    b.add("Softmax", ["warm"], "shares", axis=1)
    b.add("Cast", ["shares"], "back", to=FLOAT)
    b.conv("back", "mix", 7, 4, size=1)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("mix", FLOAT, [1, 4, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def double_output():
    """A head that sums in float64 and gives that out."""
    b = Builder(16)
    segmentation(b)
    b.add("Cast", ["head"], "wide", to=DOUBLE)
    b.add("ReduceMean", ["wide"], "scores", axes=[2, 3], keepdims=0)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("scores", DOUBLE, [1, 7])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def warped():
    """Features warped by a flow that the network makes itself."""
    b = Builder(18)
    b.conv("x", "features", 3, 8)
    b.conv("x", "flow", 3, 2)
    b.add("Tanh", ["flow"], "bounded")
    b.add("Transpose", ["bounded"], "grid", perm=[0, 2, 3, 1])
    b.add("GridSample", ["features", "grid"], "moved", align_corners=0, mode="bilinear")
    b.add("Relu", ["moved"], "relu")
    b.conv("relu", "head", 8, 4, size=1)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("head", FLOAT, [1, 4, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def codes_out():
    """The last node quantizes: the output is uint8."""
    b = Builder(7)
    segmentation(b)
    b.add("QuantizeLinear", ["head", b.constant("step", np.float32(0.02)), b.constant("zero", np.uint8(ZERO_OF_CODES))], "codes")
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("codes", UINT8, [1, 7, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def grouped():
    """Grouped and depthwise convolutions and transposed ones, each with a BatchNormalization."""
    b = Builder(8)

    def norm(source, output, channels):
        names = [b.constant(f"{output}.{what}", value.astype(np.float32)) for what, value in (
            ("scale", np.exp(b.random.normal(0, 1, channels))), ("bias", b.random.normal(0, 0.2, channels)),
            ("mean", b.random.normal(0, 0.2, channels)), ("variance", np.exp(b.random.normal(0, 1.5, channels))))]
        return b.add("BatchNormalization", [source, *names], output)
    b.conv("x", "stem", 4, 16)
    b.add("Relu", [norm("stem", "stem.norm", 16)], "a")
    b.conv("a", "groups", 16, 16, group=4)
    b.add("Relu", [norm("groups", "groups.norm", 16)], "c")
    b.conv("c", "depthwise", 16, 16, group=16)
    b.add("Relu", [norm("depthwise", "depthwise.norm", 16)], "d")
    b.add("ConvTranspose", ["d", b.weight("up.weight", 16, 1, 4, 4)], "up", group=16, strides=[2, 2], pads=[1] * 4)
    b.add("Relu", [norm("up", "up.norm", 16)], "e")
    b.add("ConvTranspose", ["e", b.weight("up2.weight", 16, 2, 2, 2)], "up2", group=4, strides=[2, 2])
    norm("up2", "up2.norm", 8)
    b.conv("up2.norm", "y", 8, 3)
    return b.model([("x", FLOAT, [1, 4, 8, 8])], [("y", FLOAT, [1, 3, 32, 32])]), {"x": b.normal(6, 1, 4, 8, 8)}


@network
def sequence():
    """Two recurrent layers, one of them both ways, over a sequence of tokens."""
    b = Builder(9)
    b.add("Gather", [b.weight("table", 40, 24), "tokens"], "embedded")
    b.add("Transpose", ["embedded"], "steps", perm=[1, 0, 2])
    b.add("LSTM", ["steps", b.weight("l.w", 2, 64, 24), b.weight("l.r", 2, 64, 16), b.weight("l.b", 2, 128)],
          ["both"], hidden_size=16, direction="bidirectional")
    b.add("Transpose", ["both"], "joined", perm=[0, 2, 1, 3])
    b.add("Reshape", ["joined", b.constant("shape", np.array([0, 0, 32], np.int64))], "flat")
    b.add("GRU", ["flat", b.weight("g.w", 1, 48, 32), b.weight("g.r", 1, 48, 16), b.weight("g.b", 1, 96)],
          ["out"], hidden_size=16)
    b.add("Squeeze", ["out", b.constant("one", np.array([1], np.int64))], "squeezed")
    b.linear("squeezed", "logits", 16, 40)
    return (b.model([("tokens", INT64, [1, 12])], [("logits", FLOAT, [12, 1, 40])]),
            {"tokens": b.random.integers(0, 40, (6, 1, 12), dtype=np.int64)})


@network
def audio():
    """A filter bank as convolution, a power spectrum, a logarithm and a classifier."""
    b = Builder(10)
    b.add("Conv", ["wave", b.constant("bank", (b.random.normal(0, 1, (32, 1, 64)) * np.hanning(64)).astype(np.float32))],
          "filtered", strides=[32])
    b.add("Mul", ["filtered", "filtered"], "power")
    b.add("Add", ["power", b.constant("tiny", np.float32(1e-6))], "floored")
    b.add("Log", ["floored"], "log")
    b.add("Conv", ["log", b.weight("mix.weight", 16, 32, 3), b.weight("mix.bias", 16)], "mix", pads=[1, 1])
    b.add("Relu", ["mix"], "relu")
    b.add("ReduceMean", ["relu"], "pooled", axes=[2], keepdims=0)
    b.linear("pooled", "logits", 16, 8)
    return b.model([("wave", FLOAT, [1, 1, 2048])], [("logits", FLOAT, [1, 8])]), {"wave": b.normal(6, 1, 1, 2048)}


@network
def log_mel():
    """Quiet sound: a Fourier transform in two convolutions, the squares of both, a filter bank, a floor, a logarithm."""
    b = Builder(16)
    time = np.arange(64)
    angles = 2 * np.pi * np.outer(np.arange(32), time) / 64
    window = np.hanning(64)
    for name, wave in (("real", np.cos), ("imaginary", np.sin)):
        basis = (wave(angles) * window).astype(np.float32).reshape(32, 1, 64)
        b.add("Conv", ["wave", b.constant(f"{name}.basis", basis)], name, strides=[32])
        b.add("Pow", [name, b.constant(f"{name}.two", np.float32(2))], f"{name}.power")
    b.add("Add", ["real.power", "imaginary.power"], "power")
    b.add("Transpose", ["power"], "frames", perm=[0, 2, 1])
    bank = np.maximum(0, 1 - np.abs(np.arange(32)[:, None] - np.linspace(1, 30, 12)[None, :]) / 3)
    b.add("MatMul", ["frames", b.constant("bank", bank.astype(np.float32))], "mel")
    b.add("Max", ["mel", b.constant("floor", np.float32(1e-8))], "floored")
    b.add("Log", ["floored"], "log")
    b.linear("log", "hidden", 12, 16)
    b.add("Relu", ["hidden"], "relu")
    b.add("ReduceMean", ["relu"], "pooled", axes=[1], keepdims=0)
    b.linear("pooled", "logits", 16, 8)
    loudness = np.array([1, 0.3, 0.1, 0.03, 0.01, 0.003], np.float32).reshape(6, 1, 1, 1)
    sound = loudness * np.cumsum(b.normal(6, 1, 1, 2048), axis=-1) * np.float32(0.003)
    return b.model([("wave", FLOAT, [1, 1, 2048])], [("logits", FLOAT, [1, 8])]), {"wave": sound.astype(np.float32)}


@network
def norm_of_sums():
    """LayerNorms written as sums times 1/n, of values whose sums are beyond float16 and whose means are not."""
    b = Builder(17)
    width = 512

    def mean(source, output):
        b.add("ReduceSum", [source, b.constant(f"{output}.axes", np.array([-1], np.int64))], f"{output}.sum")
        return b.add("Mul", [f"{output}.sum", b.constant(f"{output}.share", np.float32(1 / width))], output)
    b.linear("x", "wide", 32, width)
    b.add("Mul", ["wide", b.constant("gain", np.float32(50))], "large")
    b.add("Add", ["large", b.constant("offset", np.float32(180))], "shifted")
    b.add("Sub", ["shifted", mean("shifted", "mean")], "centred")
    b.add("Mul", ["centred", "centred"], "square")
    b.add("Add", [mean("square", "variance"), b.constant("eps", np.float32(1e-5))], "floored")
    b.add("Sqrt", ["floored"], "deviation")
    b.add("Div", ["centred", "deviation"], "unit")
    b.linear("unit", "y", width, 32)
    return b.model([("x", FLOAT, [1, 10, 32])], [("y", FLOAT, [1, 10, 32])]), {"x": b.normal(6, 1, 10, 32)}


@network
def log_of_shares():
    """The logarithm of probabilities with a floor, as a loss or a beam search wants them."""
    b = Builder(18)
    b.linear("x", "scores", 32, 40)
    b.add("Mul", ["scores", b.constant("sharpen", np.float32(3))], "sharp")
    b.add("Softmax", ["sharp"], "shares", axis=-1)
    b.add("Clip", ["shares", b.constant("low", np.float32(1e-9)), b.constant("high", np.float32(1))], "floored")
    b.add("Log", ["floored"], "log")
    return b.model([("x", FLOAT, [1, 10, 32])], [("log", FLOAT, [1, 10, 40])]), {"x": b.normal(6, 1, 10, 32)}


@network
def attention():
    """A block of attention with a LayerNorm in pieces and a tanh GELU, as PyTorch's older exporter writes them."""
    b = Builder(11)
    attention_block(b)
    return b.model([("x", FLOAT, [1, 10, 32])], [("y", FLOAT, [1, 10, 32])]), {"x": b.normal(6, 1, 10, 32)}


@network
def masked_attention():
    """The same with a mask of -inf among the inputs: what a decoder gets of each sample."""
    b = Builder(17)
    attention_block(b, mask="mask")
    mask = np.stack([np.triu(np.full((1, 1, 10, 10), -np.inf, np.float32), 1 + i) for i in range(6)])
    return (b.model([("x", FLOAT, [1, 10, 32]), ("mask", FLOAT, [1, 1, 10, 10])], [("y", FLOAT, [1, 10, 32])]),
            {"x": b.normal(6, 1, 10, 32), "mask": mask})


def attention_block(b, mask=None):
    def norm(source, output, width):
        b.add("ReduceMean", [source], f"{output}.mean", axes=[-1])
        b.add("Sub", [source, f"{output}.mean"], f"{output}.centred")
        b.add("Pow", [f"{output}.centred", b.constant(f"{output}.two", np.float32(2))], f"{output}.square")
        b.add("ReduceMean", [f"{output}.square"], f"{output}.variance", axes=[-1])
        b.add("Add", [f"{output}.variance", b.constant(f"{output}.eps", np.float32(1e-5))], f"{output}.floored")
        b.add("Sqrt", [f"{output}.floored"], f"{output}.deviation")
        b.add("Div", [f"{output}.centred", f"{output}.deviation"], f"{output}.unit")
        return b.add("Mul", [f"{output}.unit", b.weight(f"{output}.gain", width)], output)
    norm("x", "norm", 32)
    for name in ("q", "k", "v"):
        b.linear("norm", name, 32, 32)
        b.add("Reshape", [name, b.constant(f"{name}.heads", np.array([0, 0, 4, 8], np.int64))], f"{name}.split")
        b.add("Transpose", [f"{name}.split"], f"{name}.t", perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
    b.add("MatMul", ["q.t", "k.t"], "scores")
    b.add("Div", ["scores", b.constant("root", np.float32(np.sqrt(8)))], "scaled")
    masked = "scaled" if mask is None else b.add("Add", ["scaled", mask], "masked")
    b.add("Softmax", [masked], "weights", axis=-1)
    b.add("MatMul", ["weights", "v.t"], "mixed")
    b.add("Transpose", ["mixed"], "mixed.t", perm=[0, 2, 1, 3])
    b.add("Reshape", ["mixed.t", b.constant("joined", np.array([0, 0, 32], np.int64))], "heads")
    b.linear("heads", "projected", 32, 32)
    b.add("Add", ["x", "projected"], "residual")
    norm("residual", "norm2", 32)
    b.linear("norm2", "wide", 32, 64)
    b.add("Pow", ["wide", b.constant("three", np.float32(3))], "cube")
    b.add("Mul", ["cube", b.constant("small", np.float32(0.044715))], "bent")
    b.add("Add", ["wide", "bent"], "sum")
    b.add("Mul", ["sum", b.constant("slope", np.float32(0.7978846))], "inner")
    b.add("Tanh", ["inner"], "tanh")
    b.add("Add", ["tanh", b.constant("plus", np.float32(1))], "gate")
    b.add("Mul", ["wide", "gate"], "gated")
    b.add("Mul", ["gated", b.constant("half", np.float32(0.5))], "gelu")
    b.linear("gelu", "narrow", 64, 32)
    b.add("Add", ["residual", "narrow"], "y")


@network
def sometimes_nan():
    """The float model itself gives NaN, for a part of its values."""
    b = Builder(15)
    segmentation(b)
    b.add("Sqrt", ["head"], "root")
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("root", FLOAT, [1, 7, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def open_batch():
    """The first dimension is open, and each sample stands for itself."""
    b = Builder(31)
    b.conv("x", "stem", 3, 8, strides=[2, 2])
    b.add("Relu", ["stem"], "relu")
    b.add("GlobalAveragePool", ["relu"], "pooled")
    b.add("Flatten", ["pooled"], "flat")
    b.linear("flat", "classes", 8, 5)
    return b.model([("x", FLOAT, ["N", 3, 16, 16])], [("classes", FLOAT, ["N", 5])]), {"x": b.normal(7, 1, 3, 16, 16)}


@network
def samples_that_meet():
    """The first dimension is open, and attention goes along it: what is put together there is another network."""
    b = Builder(32)
    b.linear("x", "query", 16, 16)
    b.linear("x", "key", 16, 16)
    b.add("Transpose", ["key"], "turned", perm=[1, 0])
    b.add("MatMul", ["query", "turned"], "scores")
    b.add("Softmax", ["scores"], "shares", axis=-1)
    b.add("MatMul", ["shares", "x"], "mixed")
    b.linear("mixed", "y", 16, 4)
    return b.model([("x", FLOAT, ["tokens", 16])], [("y", FLOAT, ["tokens", 4])]), {"x": b.normal(6, 3, 16)}


def halved(model):
    """All of a model in float16, as converters write it."""
    def half(tensor):
        value = numpy_helper.to_array(tensor)
        return numpy_helper.from_array(value.astype(np.float16) if value.dtype == np.float32 else value, tensor.name)
    graph = model.graph
    initializers = [half(tensor) for tensor in graph.initializer]
    del graph.initializer[:]
    graph.initializer.extend(initializers)
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type == FLOAT:
            value.type.tensor_type.elem_type = HALF
    onnx.checker.check_model(model, full_check=True)
    return model


@network
def half_file():
    """Weights, inputs, outputs and all between in float16."""
    b = Builder(12)
    segmentation(b)
    b.add("Sigmoid", ["head"], "scores")
    model = b.model([("x", FLOAT, [1, 3, 16, 16])], [("scores", FLOAT, [1, 7, 16, 16])])
    return halved(model), {"x": b.normal(6, 1, 3, 16, 16).astype(np.float16)}


def quantized(kind, per_channel, seed):
    """Three convolutions, the first two with Q/DQ pairs and stored codes, as quantizers write them."""
    b = Builder(seed)
    zero = b.constant("zero", np.zeros((), kind))

    def pair(source, largest):
        step = 2 * largest / 255 if kind == np.int8 else largest / 255
        scale = b.constant(f"{source}.scale", np.float32(step))
        middle = zero
        if kind == np.uint8 and source == "x":  # of both signs
            scale = b.constant(f"{source}.scale2", np.float32(2 * largest / 255))
            middle = b.constant(f"{source}.middle", np.uint8(128))
        b.add("QuantizeLinear", [source, scale, middle], f"{source}.codes")
        return b.add("DequantizeLinear", [f"{source}.codes", scale, middle], f"{source}.values")

    def conv(source, output, inputs, outputs, size):
        weight = b.random.normal(0, 1 / np.sqrt(inputs * size * size), (outputs, inputs, size, size)).astype(np.float32)
        largest = np.abs(weight).max(axis=(1, 2, 3)) if per_channel else np.abs(weight).max()
        # Not the scale that the largest value would give: a quantizer that looks for the least error cuts it.
        scale = (np.asarray(largest) * 0.9 / 127).astype(np.float32)
        codes = np.clip(np.round(weight / scale.reshape(-1, 1, 1, 1)), -128, 127)
        middle = 0
        if kind == np.uint8:
            codes, middle = codes + 128, 128
        zeros = np.full(scale.shape, middle, kind)
        b.add("DequantizeLinear", [b.constant(f"{output}.codes", codes.astype(kind)), b.constant(f"{output}.steps", scale),
                                   b.constant(f"{output}.zeros", zeros)], f"{output}.weight",
              **({"axis": 0} if per_channel else {}))
        return b.add("Conv", [source, f"{output}.weight", b.weight(f"{output}.bias", outputs)], output, pads=[size // 2] * 4)
    conv(pair("x", 3.0), "stem", 3, 16, 3)
    b.add("Relu", ["stem"], "relu")
    conv(pair("relu", 3.0), "middle", 16, 16, 3)
    b.add("Relu", ["middle"], "last")
    b.conv("last", "head", 16, 7, size=1)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("head", FLOAT, [1, 7, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def quantized_file():
    """int8, a scale for each channel of weights, no zero points."""
    return quantized(np.int8, True, 13)


@network
def quantized_to_bytes():
    """uint8 with zero points, one scale for each weight."""
    return quantized(np.uint8, False, 14)


def clamped_by_quantizers(kind, last, pairs=True):
    """Convolutions whose activations are nothing but the range of the quantizer behind each, as TFLite's converter folds
    them: from 0 to `last`. pairs=False: the float network that was quantized, with its activations."""
    b = Builder(41)
    lowest = np.iinfo(kind).min

    def activation(source):
        if not pairs:
            return b.add("Clip", [source, b.constant(f"{source}.least", np.float32(0)),
                                  b.constant(f"{source}.most", np.float32(last))], f"{source}.values")
        scale, zero = b.constant(f"{source}.scale", np.float32(last / 255)), b.constant(f"{source}.zero", kind(lowest))
        b.add("QuantizeLinear", [source, scale, zero], f"{source}.codes")
        return b.add("DequantizeLinear", [f"{source}.codes", scale, zero], f"{source}.values")

    def conv(source, output, inputs, outputs, gain):
        weight = b.random.normal(0, gain / np.sqrt(inputs * 9), (outputs, inputs, 3, 3)).astype(np.float32)
        scale = np.float32(np.abs(weight).max() / 127)
        codes = np.round(weight / scale).astype(np.int8)
        if pairs:
            b.add("DequantizeLinear", [b.constant(f"{output}.stored", codes), b.constant(f"{output}.step", scale),
                                       b.constant(f"{output}.middle", np.int8(0))], f"{output}.weight")
        else:
            b.constant(f"{output}.weight", codes.astype(np.float32) * scale)
        return b.add("Conv", [source, f"{output}.weight", b.weight(f"{output}.bias", outputs)], output, pads=[1] * 4)
    values = "x"
    for i, (inputs, outputs) in enumerate([(3, 16), (16, 16), (16, 16)]):
        values = activation(conv(values, f"conv{i}", inputs, outputs, 4))
    conv(values, "head", 16, 7, 1)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("head", FLOAT, [1, 7, 16, 16])]), {"x": b.normal(6, 1, 3, 16, 16)}


@network
def relu6_in_the_quantizer():
    """int8 from -128 on: the grid begins at 0 and ends at 6."""
    return clamped_by_quantizers(np.int8, 6)


@network
def clamp_in_the_quantizer():
    """uint8 without a zero point, and a clamp that bounds many values at an end that no activation is known by."""
    return clamped_by_quantizers(np.uint8, 2.5)


@network
def sparse_weights():
    """Weights as sparse tensors: an initializer with an index for each axis, and a Constant with flat ones."""
    b = Builder(30)
    b.sparse.append(b.sparse_weight("first.weight", 16, 32, by_axis=True))
    b.nodes.append(helper.make_node("Constant", [], ["second.weight"], name="second.weight",
                                    sparse_value=b.sparse_weight("second.weight", 32, 8, by_axis=False)))
    b.add("MatMul", ["x", "first.weight"], "first")
    b.add("Relu", ["first"], "relu")
    b.add("MatMul", ["relu", "second.weight"], "y")
    return b.model([("x", FLOAT, [1, 16])], [("y", FLOAT, [1, 8])]), {"x": b.normal(6, 1, 16)}


@network
def optional_value():
    """A tensor that goes through an Optional, and an If that asks whether it is there."""
    b = Builder(31)
    b.linear("x", "first", 16, 32)
    b.add("Optional", ["first"], "maybe")
    b.add("OptionalHasElement", ["maybe"], "there")
    info = helper.make_tensor_value_info
    given = helper.make_graph([helper.make_node("OptionalGetElement", ["maybe"], ["given"], name="given"),
                               helper.make_node("Relu", ["given"], ["relu"], name="relu")], "given", [],
                              [info("relu", FLOAT, [1, 32])])
    absent = helper.make_graph([helper.make_node("Neg", ["first"], ["neg"], name="neg")], "absent", [],
                               [info("neg", FLOAT, [1, 32])])
    b.add("If", ["there"], "chosen", then_branch=given, else_branch=absent)
    b.linear("chosen", "y", 32, 8)
    return b.model([("x", FLOAT, [1, 16])], [("y", FLOAT, [1, 8])]), {"x": b.normal(6, 1, 16)}


@network
def sequences():
    """Tensors that go through a sequence: made at once, grown, and split off one. What is in front of them counts, too."""
    b = Builder(36)
    b.linear("x", "first", 16, 32)
    b.add("Tanh", ["first"], "bent")
    b.add("SequenceConstruct", ["first", "bent"], "two")
    b.add("SequenceInsert", ["two", "bent"], "three")
    b.add("ConcatFromSequence", ["three"], "joined", axis=1)
    b.linear("joined", "wide", 96, 32)
    b.add("SplitToSequence", ["wide", b.constant("halves", np.array([16, 16], np.int64))], "split", axis=1)
    b.add("SequenceAt", ["split", b.constant("second", np.int64(1))], "half")
    b.linear("half", "y", 16, 8)
    return b.model([("x", FLOAT, [1, 16])], [("y", FLOAT, [1, 8])]), {"x": b.normal(6, 1, 16)}


@network
def codes_of_microsoft():
    """A sum and a sigmoid that ONNX Runtime's quantizer has put on codes, between float layers."""
    b = Builder(32)
    scale = lambda name, value: b.constant(name, np.float32(value))
    zero = lambda name, value: b.constant(name, np.uint8(value))
    codes = [scale("s", 0.03), zero("z", 128)]
    summed, squashed = [scale("s_sum", 0.06), zero("z_sum", 128)], [scale("s_sigmoid", 1 / 256), zero("z_sigmoid", 0)]
    b.linear("x", "first", 16, 16)
    b.add("QuantizeLinear", ["first", *codes], "first.codes")
    b.add("QuantizeLinear", ["x", *codes], "x.codes")
    b.add("QLinearAdd", ["first.codes", *codes, "x.codes", *codes, *summed], "sum", domain="com.microsoft")
    b.add("QLinearSigmoid", ["sum", *summed, *squashed], "sigmoid", domain="com.microsoft")
    b.add("DequantizeLinear", ["sigmoid", *squashed], "between")
    b.linear("between", "y", 16, 8)
    return (b.model([("x", FLOAT, [1, 16])], [("y", FLOAT, [1, 8])], domains=["com.microsoft"]), {"x": b.normal(6, 1, 16)})

@network
def mostly_recurrent():
    """LSTMs that do nearly all the work, one of them in both directions, and a GRU; one small layer at the end."""
    b = Builder(33)
    hidden, width = 32, 24
    def recurrent(operator, source, output, width_in, directions, gates, **attributes):
        weights = [b.constant(f"{output}.{name}", b.normal(directions, gates * hidden, size) / np.float32(np.sqrt(size)))
                   for name, size in (("weight", width_in), ("recurrence", hidden))]
        b.add(operator, [source, *weights], f"{output}.steps", hidden_size=hidden, **attributes)
        b.add("Transpose", [f"{output}.steps"], f"{output}.turned", perm=[0, 2, 1, 3])
        b.add("Reshape", [f"{output}.turned", b.constant(f"{output}.shape", np.array([0, 0, -1], np.int64))], output)
    recurrent("LSTM", "x", "both_ways", width, 2, 4, direction="bidirectional")
    recurrent("GRU", "both_ways", "one_way", 2 * hidden, 1, 3)
    b.linear("one_way", "y", hidden, 4)
    return b.model([("x", FLOAT, [20, 1, width])], [("y", FLOAT, [20, 1, 4])]), {"x": b.normal(6, 20, 1, width)}


@network
def operators_of_microsoft():
    """A block as ONNX Runtime's optimizer writes it: between its float layers ONNX's own inference knows no type."""
    b = Builder(34)
    width, inside = 16, 32
    def add(operator, inputs, output, **attributes):
        return b.add(operator, inputs, output, domain="com.microsoft", **attributes)
    def product(source, output, width_in, width_out):
        return b.add("MatMul", [source, b.constant(f"{output}.weight", b.normal(width_in, width_out) / 4)], output)
    def norm(name):
        return [b.constant(f"{name}.scale", np.full(width, 1.2, np.float32)), b.weight(f"{name}.shift", width)]
    qkv = [b.constant("qkv.weight", b.normal(width, 3 * width) / 4), b.weight("qkv.bias", 3 * width)]
    add("Attention", ["x", *qkv, "mask"], "attention", num_heads=2)
    product("attention", "mixed", width, width)
    add("SkipLayerNormalization", ["mixed", "x", *norm("first")], "middle", epsilon=1e-6)
    product("middle", "wide", width, inside)
    add("BiasGelu", ["wide", b.weight("wide.bias", inside)], "gelu")
    product("gelu", "narrow", inside, width)
    add("SkipLayerNormalization", ["narrow", "middle", *norm("second")], "last", epsilon=1e-6)
    add("FusedMatMul", ["last", b.constant("y.weight", b.normal(width, 5) / 4)], "y", alpha=0.5)
    samples = {"x": b.normal(6, 1, 8, width), "mask": (b.random.random((6, 1, 8)) < 0.8).astype(np.int32)}
    samples["mask"][:, :, 0] = 1
    return (b.model([("x", FLOAT, [1, 8, width]), ("mask", INT32, [1, 8])], [("y", FLOAT, [1, 8, 5])],
                    domains=["com.microsoft"]), samples)


@network
def grouped_queries():
    """One step of a decoder as ONNX Runtime's builder writes it: GroupQueryAttention of com.microsoft with caches."""
    b = Builder(43)
    width, heads, groups, size, past, new = 32, 4, 2, 8, 5, 3
    def product(source, output, width_in, width_out):
        return b.add("MatMul", [source, b.constant(f"{output}.weight", b.normal(width_in, width_out) / np.float32(np.sqrt(width_in)))], output)
    def norm(source, output):
        scale = [b.constant(f"{output}.scale", np.full(width, 1.2, np.float32)), b.weight(f"{output}.shift", width)]
        return b.add("LayerNormalization", [source, *scale], output, axis=-1)
    read = norm("x", "first")
    parts = [product(read, part, width, count * size) for part, count in (("q", heads), ("k", groups), ("v", groups))]
    lengths = [b.constant("lengths", np.array([past + new - 1], np.int32)), b.constant("total", np.array(past + new, np.int32))]
    b.add("GroupQueryAttention", [*parts, "past.key", "past.value", *lengths], ["mixed", "present.key", "present.value"],
          domain="com.microsoft", num_heads=heads, kv_num_heads=groups, scale=size ** -0.5)
    b.add("Add", ["x", product("mixed", "o", width, width)], "middle")
    b.add("Tanh", [product(norm("middle", "second"), "up", width, 2 * width)], "hidden")
    b.add("Add", ["middle", product("hidden", "down", 2 * width, width)], "out")
    product("out", "logits", width, 16)
    old, whole = [1, groups, past, size], [1, groups, past + new, size]
    return (b.model([("x", FLOAT, [1, new, width]), ("past.key", FLOAT, old), ("past.value", FLOAT, old)],
                    [("logits", FLOAT, [1, new, 16]), ("present.key", FLOAT, whole), ("present.value", FLOAT, whole)],
                    domains=["com.microsoft"]),
            {"x": b.normal(6, 1, new, width), "past.key": b.normal(6, *old), "past.value": b.normal(6, *old)})


def write(name, folder):
    """Writes NAME.onnx and NAME.npz; returns both paths and the samples."""
    model, samples = NETWORKS[name]()
    onnx.save(model, folder / f"{name}.onnx")
    np.savez(folder / f"{name}.npz", **samples)
    return folder / f"{name}.onnx", folder / f"{name}.npz", samples
