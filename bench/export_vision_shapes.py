"""Networks that read images, with the shapes of PyTorch's exports (export_shapes.py)."""
import math

import numpy as np

from export_builder import FLOAT, SAMPLES, images, shape


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


def bottlenecks(b, source):
    """torchvision's ResNet-50 without its head, norms folded by the exporter: [1, 2048, size / 32, size / 32]."""
    x = b.conv(source, "conv1", 3, 64, 7, 2, act="relu")
    x = b.add("MaxPool", [x], "maxpool", kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2])
    channels = 64
    for stage, (inner, count) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
        for i in range(count):
            name, stride = f"layer{stage}.{i}", 2 if stage > 1 and i == 0 else 1
            made = b.conv(x, f"{name}.conv1", channels, inner, 1, act="relu")
            made = b.conv(made, f"{name}.conv2", inner, inner, 3, stride, act="relu")
            made = b.conv(made, f"{name}.conv3", inner, 4 * inner, 1, act=None)
            beside = b.conv(x, f"{name}.downsample", channels, 4 * inner, 1, stride, act=None) if i == 0 else x
            b.add("Mul", [made, b.number(0.3)], f"{name}.scaled")  # random residuals would grow
            x = b.add("Relu", [b.residual(f"{name}.scaled", beside, f"{name}.sum")], f"{name}.out")
            channels = 4 * inner
    return x


@shape(opset=17)
def resnet50(b, size=224):
    """Bottlenecks, folded norms, one Gemm."""
    b.add("GlobalAveragePool", [bottlenecks(b, "x")], "pooled")
    b.add("Flatten", ["pooled"], "flat", axis=1)
    b.gemm("flat", "logits", 2048, 1000)
    return [("x", FLOAT, [1, 3, size, size])], [("logits", FLOAT, [1, 1000])], {"x": images(b, size)}


@shape(opset=18)
def swin_t(b, size=224, window=7, width=96):
    """Windows by Reshape and Transpose, shifts by Slice and Concat, position biases, patches merged by strided Slices."""
    def rolled(source, name, by):
        for axis in (1, 2):
            b.add("Slice", [source, b.ints(by), b.ints(2**62), b.ints(axis)], f"{name}.{axis}.late")
            b.add("Slice", [source, b.ints(0), b.ints(by), b.ints(axis)], f"{name}.{axis}.early")
            source = b.add("Concat", [f"{name}.{axis}.late", f"{name}.{axis}.early"], f"{name}.{axis}", axis=axis)
        return source

    def masked(cells, by):
        """Windows that a shift made of two sides of the image: those places do not see each other."""
        side = np.zeros(cells, np.int64)
        side[cells - window:cells - by], side[cells - by:] = 1, 2
        places = (3 * side[:, None] + side).reshape(cells // window, window, cells // window, window).swapaxes(1, 2).reshape(-1, window * window)
        return np.where(places[:, :, None] == places[:, None], 0, -100).astype(np.float32)[:, None]

    def block(x, name, cells, channels, heads, by):
        count, places, head = (cells // window) ** 2, window * window, channels // heads
        y = b.norm(x, f"{name}.norm1", channels)
        y = rolled(y, f"{name}.roll", by) if by else y
        b.reshape(y, f"{name}.split", 1, cells // window, window, cells // window, window, channels)
        b.add("Transpose", [f"{name}.split"], f"{name}.windows", perm=[0, 1, 3, 2, 4, 5])
        b.reshape(f"{name}.windows", f"{name}.in", count, places, channels)
        b.linear(f"{name}.in", f"{name}.qkv", channels, 3 * channels)
        b.reshape(f"{name}.qkv", f"{name}.three", count, places, 3, heads, head)
        b.add("Transpose", [f"{name}.three"], f"{name}.turned", perm=[2, 0, 3, 1, 4])
        q, k, v = (b.add("Gather", [f"{name}.turned", b.constant(f"place{i}", np.int64(i))], f"{name}.{part}", axis=0)
                   for i, part in enumerate("qkv"))
        b.add("Mul", [q, b.number(1 / math.sqrt(head))], f"{name}.q.scaled")
        b.add("Transpose", [k], f"{name}.k.turned", perm=[0, 1, 3, 2])
        b.add("MatMul", [f"{name}.q.scaled", f"{name}.k.turned"], f"{name}.scores")
        scores = b.add("Add", [f"{name}.scores", b.weight(f"{name}.bias", 1, heads, places, places, size=0.2)], f"{name}.biased")
        if by:
            scores = b.add("Add", [scores, b.constant(f"mask{cells}", masked(cells, by))], f"{name}.masked")
        b.add("Softmax", [scores], f"{name}.shares", axis=-1)
        b.add("MatMul", [f"{name}.shares", v], f"{name}.mixed")
        b.add("Transpose", [f"{name}.mixed"], f"{name}.mixed.turned", perm=[0, 2, 1, 3])
        b.reshape(f"{name}.mixed.turned", f"{name}.context", count, places, channels)
        b.linear(f"{name}.context", f"{name}.proj", channels, channels)
        b.reshape(f"{name}.proj", f"{name}.back", 1, cells // window, cells // window, window, window, channels)
        b.add("Transpose", [f"{name}.back"], f"{name}.back.turned", perm=[0, 1, 3, 2, 4, 5])
        y = b.reshape(f"{name}.back.turned", f"{name}.merged", 1, cells, cells, channels)
        x = b.residual(x, rolled(y, f"{name}.unroll", cells - by) if by else y, f"{name}.attended")
        hidden = b.linear(b.norm(x, f"{name}.norm2", channels), f"{name}.mlp.0", channels, 4 * channels)
        return b.residual(x, b.linear(b.gelu(hidden, f"{name}.act"), f"{name}.mlp.3", 4 * channels, channels), f"{name}.out")

    def merged(x, name, channels):
        parts = []
        for row in range(2):
            for column in range(2):
                part = f"{name}.{row}{column}"
                b.add("Slice", [x, b.ints(row, column), b.ints(2**62, 2**62), b.ints(1, 2), b.ints(2, 2)], part)
                parts.append(part)
        b.add("Concat", parts, f"{name}.four", axis=-1)
        return b.linear(b.norm(f"{name}.four", f"{name}.norm", 4 * channels), name, 4 * channels, 2 * channels, bias=False)

    weight = b.weight("features.0.weight", width, 3, 4, 4)
    b.add("Conv", ["x", weight, b.weight("features.0.bias", width, size=0.02)], "patches", kernel_shape=[4, 4], strides=[4, 4])
    b.add("Transpose", ["patches"], "patches.last", perm=[0, 2, 3, 1])
    x, channels, cells = b.norm("patches.last", "features.0.norm", width), width, size // 4
    for stage, (count, heads) in enumerate(((2, 3), (2, 6), (6, 12), (2, 24))):
        if stage > 0:
            x, channels, cells = merged(x, f"features.{2 * stage}", channels), 2 * channels, cells // 2
        for i in range(count):
            x = block(x, f"features.{2 * stage + 1}.{i}", cells, channels, heads, window // 2 if i % 2 and cells > window else 0)
    b.add("ReduceMean", [b.norm(x, "norm", channels), b.ints(1, 2)], "pooled", keepdims=0)
    b.gemm("pooled", "logits", channels, 1000)
    return [("x", FLOAT, [1, 3, size, size])], [("logits", FLOAT, [1, 1000])], {"x": images(b, size)}


@shape(opset=17)
def detr(b, size=320, width=256, queries=100, layers=6, heads=8):
    """ResNet-50, encoder and decoder around queries, classes and boxes."""
    cells = size // 32
    places = cells * cells
    b.conv(bottlenecks(b, "pixel_values"), "input_projection", 2048, width, 1, act=None)
    b.reshape("input_projection", "flat", 1, width, places)
    x = b.add("Transpose", ["flat"], "tokens", perm=[0, 2, 1])
    where = b.weight("position_embedding", 1, places, width, size=0.5)
    asked = b.weight("query_position_embeddings.weight", 1, queries, width, size=0.5)

    def attended(name, query, keys, values, count, key_count):
        parts = [b.linear(source, f"{name}.{part}_proj", width, width) for part, source in (("q", query), ("k", keys), ("v", values))]
        return b.linear(b.attention(*parts, name, heads, width, None, count, key_count), f"{name}.out_proj", width, width)

    def rest(x, name):
        b.add("Relu", [b.linear(x, f"{name}.fc1", width, 2048)], f"{name}.act")
        return b.norm(b.residual(x, b.linear(f"{name}.act", f"{name}.fc2", 2048, width), f"{name}.sum"), f"{name}.final_layer_norm", width)

    for i in range(layers):
        name = f"encoder.layers.{i}"
        placed = b.add("Add", [x, where], f"{name}.placed")
        x = b.norm(b.residual(x, attended(f"{name}.self_attn", placed, placed, x, places, places), f"{name}.attended"), f"{name}.norm", width)
        x = rest(x, name)
    keys = b.add("Add", [x, where], "memory.placed")
    y = b.constant("queries", np.zeros((1, queries, width), np.float32))
    for i in range(layers):
        name = f"decoder.layers.{i}"
        placed = b.add("Add", [y, asked], f"{name}.placed")
        y = b.norm(b.residual(y, attended(f"{name}.self_attn", placed, placed, y, queries, queries), f"{name}.attended"), f"{name}.norm", width)
        placed = b.add("Add", [y, asked], f"{name}.asked")
        crossed = attended(f"{name}.encoder_attn", placed, keys, x, queries, places)
        y = rest(b.norm(b.residual(y, crossed, f"{name}.crossed"), f"{name}.cross_norm", width), name)
    y = b.norm(y, "decoder.layernorm", width)
    b.linear(y, "logits", width, 92)
    for i in range(2):
        b.linear(y, f"bbox.{i}", width, width)
        y = b.add("Relu", [f"bbox.{i}"], f"bbox.{i}.act")
    b.add("Sigmoid", [b.linear(y, "bbox.2", width, 4)], "pred_boxes")
    return ([("pixel_values", FLOAT, [1, 3, size, size])],
            [("logits", FLOAT, [1, queries, 92]), ("pred_boxes", FLOAT, [1, queries, 4])], {"pixel_values": images(b, size)})


@shape(opset=18, beside=True)
def unet(b, size=32, width=192, words=77, text=768, heads=8):
    """Diffusion: a time step as sines, GroupNorm in parts, attention over pixels and to a text, skips by Concat."""
    inner = 4 * width
    rates = b.constant("rates", np.exp(-math.log(1e4) * np.arange(width // 2) / (width // 2)).astype(np.float32)[None])
    b.add("Unsqueeze", ["timestep", b.ints(-1)], "step.column")
    b.add("Mul", ["step.column", rates], "angles")
    b.add("Concat", [b.add("Cos", ["angles"], "cosines"), b.add("Sin", ["angles"], "sines")], "waves", axis=-1)
    b.silu(b.gemm("waves", "time_embedding.linear_1", width, inner), "time.act")
    step = b.silu(b.gemm("time.act", "time_embedding.linear_2", inner, inner), "time")

    def group_norm(x, name, channels, cells):
        b.reshape(x, f"{name}.groups", 1, 32, -1)
        b.add("InstanceNormalization", [f"{name}.groups", b.constant("ones32", np.ones(32, np.float32)), b.constant("zeros32", np.zeros(32, np.float32))],
              f"{name}.unit", epsilon=1e-5)
        b.reshape(f"{name}.unit", f"{name}.back", 1, channels, cells, cells)
        scale = b.constant(f"{name}.weight", 1 + b.random.normal(0, 0.1, (channels, 1, 1)).astype(np.float32))
        b.add("Mul", [f"{name}.back", scale], f"{name}.scaled")
        return b.add("Add", [f"{name}.scaled", b.weight(f"{name}.bias", channels, 1, 1, size=0.05)], name)

    def resnet(x, name, channels_in, channels, cells):
        y = b.conv(b.silu(group_norm(x, f"{name}.norm1", channels_in, cells), f"{name}.act1"), f"{name}.conv1", channels_in, channels, act=None)
        b.gemm(step, f"{name}.time_emb_proj", inner, channels)
        b.reshape(f"{name}.time_emb_proj", f"{name}.time", 1, channels, 1, 1)
        b.add("Add", [y, f"{name}.time"], f"{name}.timed")
        y = b.silu(group_norm(f"{name}.timed", f"{name}.norm2", channels, cells), f"{name}.act2")
        y = b.conv(y, f"{name}.conv2", channels, channels, act=None)
        x = x if channels_in == channels else b.conv(x, f"{name}.conv_shortcut", channels_in, channels, 1, act=None)
        return b.residual(x, y, name)

    def attention(x, name, channels, cells):
        places = cells * cells
        b.reshape(group_norm(x, f"{name}.norm", channels, cells), f"{name}.flat", 1, channels, places)
        b.add("Transpose", [f"{name}.flat"], f"{name}.turned", perm=[0, 2, 1])
        y = b.linear(f"{name}.turned", f"{name}.proj_in", channels, channels)
        for part, keys, width_in, count in (("attn1", None, channels, places), ("attn2", "encoder_hidden_states", text, words)):
            before = b.norm(y, f"{name}.{part}.norm", channels)
            source = keys or before
            made = b.attention(b.linear(before, f"{name}.{part}.to_q", channels, channels, bias=False),
                               b.linear(source, f"{name}.{part}.to_k", width_in, channels, bias=False),
                               b.linear(source, f"{name}.{part}.to_v", width_in, channels, bias=False),
                               f"{name}.{part}", heads, channels, None, places, count)
            y = b.residual(y, b.linear(made, f"{name}.{part}.to_out", channels, channels), f"{name}.{part}.out")
        gated = b.linear(b.norm(y, f"{name}.norm3", channels), f"{name}.ff.0", channels, 8 * channels)
        value, gate = b.add("Split", [gated, b.ints(4 * channels, 4 * channels)], [f"{name}.ff.value", f"{name}.ff.gate"], axis=-1)
        b.add("Mul", [value, b.gelu(gate, f"{name}.ff.act")], f"{name}.ff.gated")
        y = b.residual(y, b.linear(f"{name}.ff.gated", f"{name}.ff.2", 4 * channels, channels), f"{name}.ff")
        b.add("Transpose", [b.linear(y, f"{name}.proj_out", channels, channels)], f"{name}.back", perm=[0, 2, 1])
        return b.residual(x, b.reshape(f"{name}.back", f"{name}.map", 1, channels, cells, cells), name)

    levels = [width, 2 * width, 4 * width]
    x, channels, cells, skips = b.conv("sample", "conv_in", 4, width, act=None), width, size, []
    for i, level in enumerate(levels):
        for j in range(2):
            x, channels = resnet(x, f"down.{i}.resnets.{j}", channels, level, cells), level
            x = attention(x, f"down.{i}.attentions.{j}", level, cells) if i > 0 else x
            skips.append((x, level))
        if i < 2:
            x, cells = b.conv(x, f"down.{i}.downsample", level, level, 3, 2, act=None), cells // 2
    x = attention(resnet(x, "mid.resnets.0", channels, channels, cells), "mid.attentions.0", channels, cells)
    for i, level in reversed(list(enumerate(levels))):
        for j in range(2):
            skip, more = skips.pop()
            b.add("Concat", [x, skip], f"up.{i}.{j}.joined", axis=1)
            x, channels = resnet(f"up.{i}.{j}.joined", f"up.{i}.resnets.{j}", channels + more, level, cells), level
            x = attention(x, f"up.{i}.attentions.{j}", level, cells) if i > 0 else x
        if i > 0:
            b.add("Resize", [x, "", b.constant("twice", np.float32([1, 1, 2, 2]))], f"up.{i}.wide", mode="nearest",
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")
            x, cells = b.conv(f"up.{i}.wide", f"up.{i}.upsample", level, level, act=None), 2 * cells
    b.conv(b.silu(group_norm(x, "conv_norm_out", width, cells), "out.act"), "out_sample", width, 4, act=None)
    return ([("sample", FLOAT, [1, 4, size, size]), ("timestep", FLOAT, [1]), ("encoder_hidden_states", FLOAT, [1, words, text])],
            [("out_sample", FLOAT, [1, 4, size, size])],
            {"sample": b.random.standard_normal((SAMPLES, 1, 4, size, size), np.float32),
             "timestep": np.float32([[1], [250], [500], [999]]),
             "encoder_hidden_states": b.random.standard_normal((SAMPLES, 1, words, text), np.float32)})
