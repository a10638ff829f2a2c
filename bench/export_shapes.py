"""Networks with the shapes of PyTorch's exports at real size, and random weights, for bench/exports.py.

A network is a function that fills a `Builder` and returns its inputs and outputs. `SHAPES` has them by name, with what their
exporter leaves in the graph: tied embeddings, caches as outputs, Reshapes in front of products, boxes and scores in one output.
"""
import math
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
SAMPLES = 4
TOKENS = 64
SHAPES = {}


def shape(opset=18, beside=False):
    """`beside`: the exporter writes weights in a file of their own."""
    def listed(build):
        SHAPES[build.__name__.replace("_", "-")] = (build, opset, beside)
        return build
    return listed


class Builder:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.known = [], [], set()
        self.weights_bytes = 0

    def constant(self, name, value):
        value = np.asarray(value)
        if name not in self.known:
            self.known.add(name)
            self.initializers.append(numpy_helper.from_array(value, name))
            if value.dtype == np.float32:
                self.weights_bytes += value.nbytes
        return name

    def ints(self, *values):
        return self.constant("ints_" + "_".join(map(str, values)).replace("-", "m"), np.array(values, np.int64))

    def number(self, value):
        return self.constant(f"number_{value}", np.float32(value))

    def weight(self, name, *shape, size=None):
        size = 1 / math.sqrt(math.prod(shape[1:])) if size is None else size
        return self.constant(name, self.random.standard_normal(shape, np.float32) * np.float32(size))

    def add(self, operator, inputs, output, **attributes):
        outputs = [output] if isinstance(output, str) else output
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=f"node_{outputs[0]}", **attributes))
        return output

    def reshape(self, source, output, *shape):
        return self.add("Reshape", [source, self.ints(*shape)], output)

    def norm(self, source, name, width, outliers=0):
        scale = 1 + self.random.normal(0, 0.1, width).astype(np.float32)
        scale[self.random.permutation(width)[:outliers]] *= 40
        self.constant(f"{name}.weight", scale)
        self.constant(f"{name}.bias", self.random.normal(0, 0.05, width).astype(np.float32))
        return self.add("LayerNormalization", [source, f"{name}.weight", f"{name}.bias"], name, axis=-1, epsilon=1e-5)

    def linear(self, source, name, width_in, width_out, bias=True):
        """x W + b, the weight transposed by the exporter."""
        weight = self.weight(f"{name}.weight", width_in, width_out, size=1 / math.sqrt(width_in))
        if not bias:
            return self.add("MatMul", [source, weight], name)
        self.add("MatMul", [source, weight], f"{name}.product")
        return self.add("Add", [f"{name}.product", self.weight(f"{name}.bias", width_out, size=0.02)], name)

    def gemm(self, source, name, width_in, width_out, transposed=1):
        weight = self.weight(f"{name}.weight", *((width_out, width_in) if transposed else (width_in, width_out)),
                             size=1 / math.sqrt(width_in))
        return self.add("Gemm", [source, weight, self.weight(f"{name}.bias", width_out, size=0.02)], name, transB=transposed)

    def gelu(self, source, name):
        self.add("Div", [source, self.number(math.sqrt(2))], f"{name}.scaled")
        self.add("Erf", [f"{name}.scaled"], f"{name}.erf")
        self.add("Add", [f"{name}.erf", self.number(1.0)], f"{name}.more")
        self.add("Mul", [source, f"{name}.more"], f"{name}.twice")
        return self.add("Mul", [f"{name}.twice", self.number(0.5)], name)

    def silu(self, source, name):
        self.add("Sigmoid", [source], f"{name}.gate")
        return self.add("Mul", [source, f"{name}.gate"], name)

    def attention(self, query, key, value, name, heads, width, mask=None, tokens=TOKENS, keys=None):
        """From [1, tokens, width] projections to the context of the same shape. Returns it with the keys and values by head."""
        keys = keys or tokens
        for part, source, count in (("q", query, tokens), ("k", key, keys), ("v", value, keys)):
            self.reshape(source, f"{name}.{part}.split", 1, count, heads, width // heads)
            self.add("Transpose", [f"{name}.{part}.split"], f"{name}.{part}", perm=[0, 2, 1, 3])
        return self.attend(f"{name}.q", f"{name}.k", f"{name}.v", name, width, mask, tokens, width // heads)

    def attend(self, q, k, v, name, width, mask, tokens, head):
        self.add("Transpose", [k], f"{name}.k.turned", perm=[0, 1, 3, 2])
        self.add("MatMul", [q, f"{name}.k.turned"], f"{name}.scores")
        self.add("Mul", [f"{name}.scores", self.number(1 / math.sqrt(head))], f"{name}.scaled")
        scores = f"{name}.scaled"
        if mask:
            scores = self.add("Add", [scores, mask], f"{name}.masked")
        self.add("Softmax", [scores], f"{name}.shares", axis=-1)
        self.add("MatMul", [f"{name}.shares", v], f"{name}.mixed")
        self.add("Transpose", [f"{name}.mixed"], f"{name}.turned", perm=[0, 2, 1, 3])
        return self.reshape(f"{name}.turned", f"{name}.context", 1, tokens, width)

    def residual(self, before, change, name):
        return self.add("Add", [before, change], name)

    def conv(self, source, name, channels_in, channels_out, size=3, stride=1, act="silu", group=1):
        fan = channels_in // group * size * size
        weight = self.weight(f"{name}.weight", channels_out, channels_in // group, size, size, size=math.sqrt(2 / fan))
        bias = self.weight(f"{name}.bias", channels_out, size=0.05)
        made = name if act is None else f"{name}.conv"
        self.add("Conv", [source, weight, bias], made, kernel_shape=[size, size], strides=[stride, stride],
                 pads=[size // 2] * 4, group=group)
        return made if act is None else self.silu(made, name) if act == "silu" else self.add("Relu", [made], name)

    def write(self, path, inputs, outputs, opset, beside):
        def infos(rows):
            return [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in rows]
        graph = helper.make_graph(self.nodes, "main_graph", infos(inputs), infos(outputs), self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10, producer_name="pytorch")
        onnx.save_model(model, path, save_as_external_data=beside, location=pathlib.Path(path).name + ".data", size_threshold=1024)


def token_ids(b, vocabulary, tokens=TOKENS):
    return b.random.integers(0, vocabulary, (SAMPLES, 1, tokens)).astype(np.int64)


def causal_mask(b, tokens=TOKENS):
    return b.constant("causal_mask", np.triu(np.full((1, 1, tokens, tokens), -1e4, np.float32), 1))


@shape(opset=18, beside=True)
def llama(b, width=1024, inner=2816, layers=9, vocabulary=32000, heads=16):
    """Rotary positions, gated SiLU, RMSNorm in parts, an embedding that is the head too, caches as outputs."""
    head = width // heads
    table = b.weight("model.embed_tokens.weight", vocabulary, width, size=0.05)
    x = b.add("Gather", [table, "input_ids"], "embedding")
    mask = causal_mask(b)
    angles = np.outer(np.arange(TOKENS), 1e4 ** (-np.arange(0, head, 2) / head)).astype(np.float32)
    cos = b.constant("cos", np.tile(np.cos(angles), 2)[None, None])
    sin = b.constant("sin", np.tile(np.sin(angles), 2)[None, None])

    def rms(source, name):
        b.add("Pow", [source, b.number(2.0)], f"{name}.squares")
        b.add("ReduceMean", [f"{name}.squares", b.ints(-1)], f"{name}.mean", keepdims=1)
        b.add("Add", [f"{name}.mean", b.number(1e-5)], f"{name}.sum")
        b.add("Sqrt", [f"{name}.sum"], f"{name}.root")
        b.add("Reciprocal", [f"{name}.root"], f"{name}.factor")
        b.add("Mul", [source, f"{name}.factor"], f"{name}.unit")
        b.constant(f"{name}.weight", 1 + b.random.normal(0, 0.1, width).astype(np.float32))
        return b.add("Mul", [f"{name}.weight", f"{name}.unit"], name)

    def rotated(source, name):
        b.add("Slice", [source, b.ints(0), b.ints(head // 2), b.ints(-1)], f"{name}.first")
        b.add("Slice", [source, b.ints(head // 2), b.ints(2**62), b.ints(-1)], f"{name}.second")
        b.add("Neg", [f"{name}.second"], f"{name}.negated")
        b.add("Concat", [f"{name}.negated", f"{name}.first"], f"{name}.half", axis=-1)
        b.add("Mul", [source, cos], f"{name}.cos")
        b.add("Mul", [f"{name}.half", sin], f"{name}.sin")
        return b.add("Add", [f"{name}.cos", f"{name}.sin"], name)

    caches = []
    for i in range(layers):
        name = f"layers.{i}"
        before = rms(x, f"{name}.input_norm")
        for part in "qkv":
            b.linear(before, f"{name}.{part}_proj", width, width, bias=False)
            b.reshape(f"{name}.{part}_proj", f"{name}.{part}.split", 1, TOKENS, heads, head)
            made = f"{name}.{part}.heads" if part != "v" else f"present.{i}.value"
            b.add("Transpose", [f"{name}.{part}.split"], made, perm=[0, 2, 1, 3])
        q, k = rotated(f"{name}.q.heads", f"{name}.q"), rotated(f"{name}.k.heads", f"present.{i}.key")
        caches += [k, f"present.{i}.value"]
        context = b.attend(q, k, f"present.{i}.value", name, width, mask, TOKENS, head)
        x = b.residual(x, b.linear(context, f"{name}.o_proj", width, width, bias=False), f"{name}.attended")
        before = rms(x, f"{name}.post_norm")
        b.silu(b.linear(before, f"{name}.gate_proj", width, inner, bias=False), f"{name}.act")
        b.linear(before, f"{name}.up_proj", width, inner, bias=False)
        b.add("Mul", [f"{name}.act", f"{name}.up_proj"], f"{name}.gated")
        x = b.residual(x, b.linear(f"{name}.gated", f"{name}.down_proj", inner, width, bias=False), f"{name}.out")
    b.add("Transpose", [table], "lm_head.weight", perm=[1, 0])
    b.add("MatMul", [rms(x, "norm"), "lm_head.weight"], "logits")
    outputs = [("logits", FLOAT, [1, TOKENS, vocabulary])] + [(name, FLOAT, [1, heads, TOKENS, head]) for name in caches]
    return [("input_ids", INT64, [1, TOKENS])], outputs, {"input_ids": token_ids(b, vocabulary)}


@shape(opset=17)
def bert_base(b, width=768, inner=3072, layers=12, vocabulary=30522, heads=12):
    """Post-norm, Erf in parts, a padding mask."""
    words = b.weight("embeddings.word_embeddings.weight", vocabulary, width, size=0.05)
    places = b.weight("embeddings.position_embeddings.weight", 512, width, size=0.02)
    b.add("Gather", [words, "input_ids"], "words")
    b.add("Slice", [places, b.ints(0), b.ints(TOKENS), b.ints(0)], "places")
    b.add("Add", ["words", "places"], "embedded")
    x = b.norm("embedded", "embeddings.LayerNorm", width)
    b.add("Unsqueeze", ["attention_mask", b.ints(1, 2)], "mask.wide")
    b.add("Cast", ["mask.wide"], "mask.float", to=FLOAT)
    b.add("Sub", [b.number(1.0), "mask.float"], "mask.inverse")
    mask = b.add("Mul", ["mask.inverse", b.number(-3.4028234663852886e38)], "mask")
    for i in range(layers):
        name = f"encoder.layer.{i}"
        parts = [b.linear(x, f"{name}.{part}", width, width) for part in ("query", "key", "value")]
        context = b.attention(*parts, name, heads, width, mask)
        x = b.norm(b.residual(b.linear(context, f"{name}.dense", width, width), x, f"{name}.attended"), f"{name}.norm1", width)
        b.gelu(b.linear(x, f"{name}.intermediate", width, inner), f"{name}.act")
        x = b.norm(b.residual(b.linear(f"{name}.act", f"{name}.output", inner, width), x, f"{name}.sum"),
                   f"{name}.norm2" if i < layers - 1 else "last_hidden_state", width)
    b.add("Gather", [x, b.constant("zero", np.int64(0))], "first", axis=1)
    b.add("Tanh", [b.gemm("first", "pooler.dense", width, width)], "pooler_output")
    kept = np.arange(TOKENS) < np.array([TOKENS, TOKENS, TOKENS // 2, TOKENS // 4])[:, None, None]
    return ([("input_ids", INT64, [1, TOKENS]), ("attention_mask", INT64, [1, TOKENS])],
            [("last_hidden_state", FLOAT, [1, TOKENS, width]), ("pooler_output", FLOAT, [1, width])],
            {"input_ids": token_ids(b, vocabulary), "attention_mask": kept.astype(np.int64)})


@shape(opset=18, beside=True)
def gpt2(b, width=768, layers=12, vocabulary=50257, heads=12):
    """Conv1D: a Reshape between norm and product. The embedding is the head too; caches are outputs."""
    table = b.weight("transformer.wte.weight", vocabulary, width, size=0.05)
    places = b.weight("transformer.wpe.weight", 1024, width, size=0.02)
    b.add("Gather", [table, "input_ids"], "words")
    b.add("Slice", [places, b.ints(0), b.ints(TOKENS), b.ints(0)], "places")
    x = b.add("Add", ["words", "places"], "embedded")
    mask = causal_mask(b)

    def conv1d(source, name, width_in, width_out):
        b.reshape(source, f"{name}.rows", -1, width_in)
        b.gemm(f"{name}.rows", f"{name}.product", width_in, width_out, transposed=0)
        return b.reshape(f"{name}.product", name, 1, TOKENS, width_out)

    caches = []
    for i in range(layers):
        name = f"transformer.h.{i}"
        conv1d(b.norm(x, f"{name}.ln_1", width, outliers=2), f"{name}.c_attn", width, 3 * width)
        parts = b.add("Split", [f"{name}.c_attn", b.ints(width, width, width)], [f"{name}.{part}_in" for part in "qkv"], axis=2)
        for part, source in zip("qkv", parts):
            made = f"{name}.q" if part == "q" else f"present_key_values.{i}.{'key' if part == 'k' else 'value'}"
            b.reshape(source, f"{name}.{part}.split", 1, TOKENS, heads, width // heads)
            b.add("Transpose", [f"{name}.{part}.split"], made, perm=[0, 2, 1, 3])
        caches += [f"present_key_values.{i}.key", f"present_key_values.{i}.value"]
        context = b.attend(f"{name}.q", caches[-2], caches[-1], name, width, mask, TOKENS, width // heads)
        x = b.residual(conv1d(context, f"{name}.c_proj", width, width), x, f"{name}.attended")
        hidden = conv1d(b.norm(x, f"{name}.ln_2", width, outliers=2), f"{name}.c_fc", width, 4 * width)
        b.add("Pow", [hidden, b.number(3.0)], f"{name}.cube")
        b.add("Mul", [f"{name}.cube", b.number(0.044715)], f"{name}.part")
        b.add("Add", [hidden, f"{name}.part"], f"{name}.sum")
        b.add("Mul", [f"{name}.sum", b.number(math.sqrt(2 / math.pi))], f"{name}.inner")
        b.add("Tanh", [f"{name}.inner"], f"{name}.tanh")
        b.add("Add", [f"{name}.tanh", b.number(1.0)], f"{name}.more")
        b.add("Mul", [hidden, b.number(0.5)], f"{name}.half")
        b.add("Mul", [f"{name}.half", f"{name}.more"], f"{name}.act")
        x = b.residual(x, conv1d(f"{name}.act", f"{name}.mlp", 4 * width, width), f"{name}.out")
    b.add("Transpose", [table], "lm_head.weight", perm=[1, 0])
    b.add("MatMul", [b.norm(x, "transformer.ln_f", width), "lm_head.weight"], "logits")
    outputs = [("logits", FLOAT, [1, TOKENS, vocabulary])] + [(name, FLOAT, [1, heads, TOKENS, width // heads]) for name in caches]
    return [("input_ids", INT64, [1, TOKENS])], outputs, {"input_ids": token_ids(b, vocabulary)}


@shape(opset=17)
def vit_b16(b, width=768, layers=12, heads=12, tokens=197):
    """torchvision's attention: a Transpose between norm and product, one product for query, key and value; outlier channels."""
    b.weight("conv_proj.weight", width, 3, 16, 16)
    b.add("Conv", ["x", "conv_proj.weight", b.weight("conv_proj.bias", width, size=0.02)], "patches", kernel_shape=[16, 16], strides=[16, 16])
    b.reshape("patches", "patches.flat", 1, width, tokens - 1)
    b.add("Transpose", ["patches.flat"], "patches.tokens", perm=[0, 2, 1])
    b.add("Concat", [b.weight("class_token", 1, 1, width, size=0.02), "patches.tokens"], "with_class", axis=1)
    x = b.add("Add", ["with_class", b.weight("pos_embedding", 1, tokens, width, size=0.02)], "embedded")
    for i in range(layers):
        name = f"encoder.layers.{i}"
        b.norm(x, f"{name}.ln_1", width, outliers=3 if i in (2, 6, 9) else 0)
        b.add("Transpose", [f"{name}.ln_1"], f"{name}.in", perm=[1, 0, 2])
        b.linear(f"{name}.in", f"{name}.in_proj", width, 3 * width)
        b.reshape(f"{name}.in_proj", f"{name}.three", tokens, 1, 3, width)
        b.add("Transpose", [f"{name}.three"], f"{name}.three.first", perm=[2, 1, 0, 3])
        parts = b.add("Split", [f"{name}.three.first", b.ints(1, 1, 1)], [f"{name}.{part}.in" for part in "qkv"], axis=0)
        parts = [b.reshape(part, f"{part}.flat", 1, tokens, width) for part in parts]
        context = b.attention(*parts, name, heads, width, tokens=tokens)
        x = b.residual(b.linear(context, f"{name}.out_proj", width, width), x, f"{name}.attended")
        b.gelu(b.linear(b.norm(x, f"{name}.ln_2", width, outliers=3 if i == 6 else 0), f"{name}.mlp.0", width, 4 * width), f"{name}.act")
        x = b.residual(x, b.linear(f"{name}.act", f"{name}.mlp.3", 4 * width, width), f"{name}.out")
    b.add("Gather", [b.norm(x, "encoder.ln", width), b.constant("zero", np.int64(0))], "first", axis=1)
    b.gemm("first", "logits", width, 1000)
    return [("x", FLOAT, [1, 3, 224, 224])], [("logits", FLOAT, [1, 1000])], {"x": images(b, 224)}


def images(b, size):
    """Smooth fields, as photographs are, with some grain."""
    coarse = b.random.standard_normal((SAMPLES, 1, 3, size // 16, size // 16), np.float32)
    smooth = np.kron(coarse, np.ones((1, 1, 1, 16, 16), np.float32))
    return smooth + 0.2 * b.random.standard_normal(smooth.shape, np.float32)


@shape(opset=17)
def yolo(b, width=48, size=320, classes=80):
    """Blocks that split and concatenate, three scales, boxes and scores in one output."""
    def c2f(source, name, channels_in, channels, count, shortcut):
        half = channels // 2
        b.conv(source, f"{name}.cv1", channels_in, channels, 1)
        parts = list(b.add("Split", [f"{name}.cv1", b.ints(half, half)], [f"{name}.a", f"{name}.b"], axis=1))
        for j in range(count):
            made = b.conv(b.conv(parts[-1], f"{name}.m.{j}.cv1", half, half), f"{name}.m.{j}.cv2", half, half)
            parts.append(b.residual(parts[-1], made, f"{name}.m.{j}") if shortcut else made)
        b.add("Concat", parts, f"{name}.all", axis=1)
        return b.conv(f"{name}.all", name, half * len(parts), channels, 1)

    def up(source, name):
        return b.add("Resize", [source, "", b.constant("twice", np.float32([1, 1, 2, 2]))], name, mode="nearest",
                     coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    w = [width, 2 * width, 4 * width, 8 * width, 12 * width]
    x = b.conv("images", "model.0", 3, w[0], 3, 2)
    x = c2f(b.conv(x, "model.1", w[0], w[1], 3, 2), "model.2", w[1], w[1], 2, True)
    p3 = c2f(b.conv(x, "model.3", w[1], w[2], 3, 2), "model.4", w[2], w[2], 4, True)
    p4 = c2f(b.conv(p3, "model.5", w[2], w[3], 3, 2), "model.6", w[3], w[3], 4, True)
    p5 = c2f(b.conv(p4, "model.7", w[3], w[4], 3, 2), "model.8", w[4], w[4], 2, True)
    pools = [b.conv(p5, "model.9.cv1", w[4], w[4] // 2, 1)]
    for j in range(3):
        pools.append(b.add("MaxPool", [pools[-1]], f"model.9.pool.{j}", kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    b.add("Concat", pools, "model.9.all", axis=1)
    p5 = b.conv("model.9.all", "model.9", 2 * w[4], w[4], 1)
    b.add("Concat", [up(p5, "model.10"), p4], "model.11", axis=1)
    p4 = c2f("model.11", "model.12", w[4] + w[3], w[3], 2, False)
    b.add("Concat", [up(p4, "model.13"), p3], "model.14", axis=1)
    p3 = c2f("model.14", "model.15", w[3] + w[2], w[2], 2, False)
    b.add("Concat", [b.conv(p3, "model.16", w[2], w[2], 3, 2), p4], "model.17", axis=1)
    p4 = c2f("model.17", "model.18", w[2] + w[3], w[3], 2, False)
    b.add("Concat", [b.conv(p4, "model.19", w[3], w[3], 3, 2), p5], "model.20", axis=1)
    p5 = c2f("model.20", "model.21", w[3] + w[4], w[4], 2, False)
    levels, anchors, strides = [], [], []
    for j, (source, channels, stride) in enumerate(((p3, w[2], 8), (p4, w[3], 16), (p5, w[4], 32))):
        cells = size // stride
        box = b.conv(b.conv(b.conv(source, f"head.box.{j}.0", channels, 64), f"head.box.{j}.1", 64, 64), f"head.box.{j}", 64, 64, 1, act=None)
        score = b.conv(b.conv(b.conv(source, f"head.cls.{j}.0", channels, 128), f"head.cls.{j}.1", 128, 128), f"head.cls.{j}", 128, classes, 1,
                       act=None)
        b.add("Concat", [box, score], f"head.{j}", axis=1)
        levels.append(b.reshape(f"head.{j}", f"head.{j}.flat", 1, 64 + classes, cells * cells))
        ys, xs = np.meshgrid(np.arange(cells) + 0.5, np.arange(cells) + 0.5, indexing="ij")
        anchors.append(np.stack([xs.ravel(), ys.ravel()]))
        strides.append(np.full(cells * cells, stride))
    count = sum(part.shape[1] for part in anchors)
    b.add("Concat", levels, "head.all", axis=2)
    box, score = b.add("Split", ["head.all", b.ints(64, classes)], ["head.boxes", "head.scores"], axis=1)
    b.reshape(box, "dfl.split", 1, 4, 16, count)
    b.add("Transpose", ["dfl.split"], "dfl.turned", perm=[0, 2, 1, 3])
    b.add("Softmax", ["dfl.turned"], "dfl.shares", axis=1)
    b.add("Conv", ["dfl.shares", b.constant("dfl.weight", np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))], "dfl.sums", kernel_shape=[1, 1])
    b.reshape("dfl.sums", "dfl", 1, 4, count)
    near, far = b.add("Split", ["dfl", b.ints(2, 2)], ["dfl.near", "dfl.far"], axis=1)
    places = b.constant("anchors", np.concatenate(anchors, 1).astype(np.float32)[None])
    b.add("Sub", [places, near], "box.low")
    b.add("Add", [places, far], "box.high")
    b.add("Add", ["box.low", "box.high"], "box.sum")
    b.add("Div", ["box.sum", b.number(2.0)], "box.centre")
    b.add("Sub", ["box.high", "box.low"], "box.size")
    b.add("Concat", ["box.centre", "box.size"], "box.cells", axis=1)
    b.add("Mul", ["box.cells", b.constant("strides", np.concatenate(strides).astype(np.float32)[None])], "boxes")
    b.add("Concat", ["boxes", b.add("Sigmoid", [score], "scores")], "output0", axis=1)
    return [("images", FLOAT, [1, 3, size, size])], [("output0", FLOAT, [1, 4 + classes, count])], {"images": images(b, size)}


def make(name, folder, seed=0, **sizes):
    """Writes the network and its samples: the paths of both, and the bytes of its float32 weights."""
    build, opset, beside = SHAPES[name]
    b = Builder(seed)
    inputs, outputs, samples = build(b, **sizes)
    folder = pathlib.Path(folder)
    model, data = folder / "model.onnx", folder / "data.npz"
    b.write(model, inputs, outputs, opset, beside)
    np.savez(data, **samples)
    return model, data, b.weights_bytes
