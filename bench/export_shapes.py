"""Networks with the shapes of PyTorch's exports at real size, and random weights, for bench/exports.py.

A network is a function that fills a `Builder` and returns its inputs and outputs, with what its exporter leaves in the graph: tied
embeddings, caches as outputs, Reshapes in front of products. Networks that read images are in export_vision_shapes.py.
"""
import math
import pathlib

import numpy as np

import export_vision_shapes  # noqa: F401  # which adds its networks to SHAPES
from export_builder import FLOAT, INT64, SAMPLES, SHAPES, TOKENS, Builder, causal_mask, images, shape, token_ids


@shape(opset=18, beside=True)
def llama(b, width=1024, inner=2816, layers=9, vocabulary=32000, heads=16):
    """Rotary positions, gated SiLU, RMSNorm in parts, an embedding that is the head too, caches as outputs."""
    head = width // heads
    table = b.weight("model.embed_tokens.weight", vocabulary, width, size=0.05)
    x = b.add("Gather", [table, "input_ids"], "embedding")
    mask = causal_mask(b, TOKENS)
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
    return [("input_ids", INT64, [1, TOKENS])], outputs, {"input_ids": token_ids(b, vocabulary, TOKENS)}


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
    mask = causal_mask(b, TOKENS)

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
    return [("input_ids", INT64, [1, TOKENS])], outputs, {"input_ids": token_ids(b, vocabulary, TOKENS)}


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


@shape(opset=17, beside=True)
def whisper(b, width=512, layers=6, vocabulary=51865, heads=8, frames=600, tokens=32):
    """Encoder of a spectrogram and decoder with cross-attention; the embedding is the head too."""
    def block(x, name, count, mask=None, beside=None):
        def attended(source, part, keys, key_count, own_mask):
            query = b.linear(source, f"{name}.{part}.q_proj", width, width)
            key = b.linear(keys, f"{name}.{part}.k_proj", width, width, bias=False)
            value = b.linear(keys, f"{name}.{part}.v_proj", width, width)
            context = b.attention(query, key, value, f"{name}.{part}", heads, width, own_mask, count, key_count)
            return b.linear(context, f"{name}.{part}.out_proj", width, width)
        before = b.norm(x, f"{name}.self_attn_layer_norm", width)
        x = b.residual(x, attended(before, "self_attn", before, count, mask), f"{name}.attended")
        if beside:
            before = b.norm(x, f"{name}.encoder_attn_layer_norm", width)
            x = b.residual(x, attended(before, "encoder_attn", beside, frames // 2, None), f"{name}.crossed")
        hidden = b.linear(b.norm(x, f"{name}.final_layer_norm", width), f"{name}.fc1", width, 4 * width)
        return b.residual(x, b.linear(b.gelu(hidden, f"{name}.act"), f"{name}.fc2", 4 * width, width), f"{name}.out")

    for i, (channels, stride) in enumerate(((80, 1), (width, 2)), 1):
        weight = b.weight(f"conv{i}.weight", width, channels, 3, size=1 / math.sqrt(3 * channels))
        source = "input_features" if i == 1 else "conv1.act"
        b.add("Conv", [source, weight, b.weight(f"conv{i}.bias", width, size=0.02)], f"conv{i}", kernel_shape=[3], pads=[1, 1], strides=[stride])
        b.gelu(f"conv{i}", f"conv{i}.act")
    b.add("Transpose", ["conv2.act"], "frames", perm=[0, 2, 1])
    x = b.add("Add", ["frames", b.weight("encoder.embed_positions.weight", frames // 2, width, size=0.3)], "placed")
    for i in range(layers):
        x = block(x, f"encoder.layers.{i}", frames // 2)
    encoded = b.norm(x, "encoder.layer_norm", width)
    table = b.weight("decoder.embed_tokens.weight", vocabulary, width, size=0.05)
    b.add("Gather", [table, "decoder_input_ids"], "words")
    y = b.add("Add", ["words", b.weight("decoder.embed_positions.weight", tokens, width, size=0.02)], "decoder.placed")
    for i in range(layers):
        y = block(y, f"decoder.layers.{i}", tokens, causal_mask(b, tokens), encoded)
    b.add("Transpose", [table], "proj_out.weight", perm=[1, 0])
    b.add("MatMul", [b.norm(y, "decoder.layer_norm", width), "proj_out.weight"], "logits")
    spectra = np.abs(b.random.standard_normal((SAMPLES, 1, 80, frames), np.float32)) * np.linspace(1, 0.1, 80, dtype=np.float32)[:, None]
    return ([("input_features", FLOAT, [1, 80, frames]), ("decoder_input_ids", INT64, [1, tokens])],
            [("logits", FLOAT, [1, tokens, vocabulary])],
            {"input_features": spectra, "decoder_input_ids": token_ids(b, vocabulary, tokens)})


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
