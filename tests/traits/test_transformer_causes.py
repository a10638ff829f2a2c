"""Causes that transformers are known for lead where they are built in, and stay silent in the same network without the fault."""
import json

import numpy as np
import onnx
import onnxruntime
import pytest

from networks import FLOAT, Builder
from test_causes import causes
from test_traits import vernier

WIDTH, INNER, TOKENS = 64, 96, 12
LARGE = [5, 41]


def blocks(fault=None, seed=90):
    """Two blocks around norms with a gain of one. `fault`: channels, token, growth."""
    b = Builder(seed)

    def constant(name, values):
        return b.constant(name, np.asarray(values, np.float32))

    def product(source, name, width_in, width_out, size=1.0):
        weights = b.normal(width_in, width_out) * np.float32(size / np.sqrt(width_in))
        if fault == "channels" and width_in == WIDTH:
            weights[LARGE] *= 0.02  # as trained networks have it: large channels say little
        return b.add("MatMul", [source, constant(f"{name}.w", weights)], name)

    gain = np.ones(WIDTH)
    x = b.add("MatMul", ["x", constant("embed", np.eye(WIDTH))], "stream0")
    if fault == "channels":
        far = np.zeros(WIDTH)
        far[LARGE] = 60
        x = b.add("Add", [x, constant("far", far)], "uneven")
    if fault == "growth":
        x = b.add("Mul", [x, constant("grown", np.float32(1.2e4))], "uneven")
    for i in range(2):
        normed = b.add("LayerNormalization", [x, constant(f"b{i}.gain", gain), constant(f"b{i}.bias", np.zeros(WIDTH))], f"b{i}.norm", axis=-1)
        hidden = b.add("Tanh", [product(normed, f"b{i}.up", WIDTH, INNER)], f"b{i}.act")
        made = product(hidden, f"b{i}.down", INNER, WIDTH, 1.6e4 if fault == "growth" else 1)
        x = b.add("Add", [x, made], f"b{i}.out")
    normed = b.add("LayerNormalization", [x, constant("final.gain", gain), constant("final.bias", np.zeros(WIDTH))], "final.norm", axis=-1)
    product(normed, "y", WIDTH, 20)
    samples = b.normal(16, 1, TOKENS, WIDTH)
    return b.model([("x", FLOAT, [1, TOKENS, WIDTH])], [("y", FLOAT, [1, TOKENS, 20])]), {"x": samples}


def test_channels_that_stand_out_along_the_stream(tmp_path):
    found, order, report = causes(*blocks("channels"), tmp_path, "--int8", "--min-sqnr", "45")
    assert found["b0.up"][0] == found["b1.up"][0] == order[0] == "residual-outliers", (order, found)
    assert not any("outlier-channels" in ids for ids in found.values()), found
    cause = next(c for c in report["explanation"]["causes"] if c["layer"] == "b0.up")
    assert "rotate-stream" in cause["repairs"] and "smooth" in cause["repairs"]
    found, _, _ = causes(*blocks(), tmp_path, "--int8", "--min-sqnr", "60")
    assert not any({"residual-outliers", "outlier-channels", "place-outliers"} & set(ids) for ids in found.values()), found


def test_one_layer_with_large_channels_tells_nothing_of_the_stream(tmp_path):
    b = Builder(91)
    wide = np.ones(WIDTH, np.float32)
    wide[7] = 60
    b.add("Mul", ["x", b.constant("wide", wide)], "uneven")
    b.add("MatMul", ["uneven", b.constant("w", b.normal(WIDTH, 20))], "y")
    model = b.model([("x", FLOAT, [1, TOKENS, WIDTH])], [("y", FLOAT, [1, TOKENS, 20])])
    found, _, _ = causes(model, {"x": b.normal(16, 1, TOKENS, WIDTH)}, tmp_path, "--int8", "--min-sqnr", "50")
    assert found["y"][0] == "outlier-channels", found


def test_one_token_that_is_far_larger(tmp_path):
    """As the first token of a text often is, in a few channels."""
    b = Builder(92)
    samples = b.normal(16, 1, 40, WIDTH)
    samples[:, :, 0, [3, 19]] *= 300
    b.add("MatMul", ["x", b.constant("w", b.normal(WIDTH, 20))], "product")
    b.add("Tanh", ["product"], "y")
    model = b.model([("x", FLOAT, [1, 40, WIDTH])], [("y", FLOAT, [1, 40, 20])])
    found, order, report = causes(model, {"x": samples}, tmp_path, "--int8", "--min-sqnr", "40")
    assert found["product"][0] == order[0] == "place-outliers", found
    cause = report["explanation"]["causes"][0]
    assert {f["name"]: f["value"] for f in cause["figures"]}["large places"] > 0
    assert not {"outlier-channels", "residual-outliers", "activation-outliers"} & set(found["product"]), found


@pytest.mark.parametrize("form", [("--int4",), ("--nvfp4",), ("--low", "mxfp4")])
def test_one_value_in_many_blocks_of_weights(form, tmp_path):
    for outliers in (False, True):
        b = Builder(93)
        weights = b.normal(128, 64) * np.float32(0.1)
        if outliers:
            weights[7::16] *= 25
        b.add("MatMul", ["x", b.constant("w", weights)], "product")
        b.add("Relu", ["product"], "y")
        model = b.model([("x", FLOAT, [1, 8, 128])], [("y", FLOAT, [1, 8, 64])])
        found, order, _ = causes(model, {"x": b.normal(16, 1, 8, 128)}, tmp_path, *form, "--min-sqnr", "60")
        if outliers:
            assert found["product"][0] == order[0] == "block-outliers", found
        else:
            assert not any("block-outliers" in ids for ids in found.values()), found


def test_one_channel_in_a_block_of_data(tmp_path):
    for outliers in (False, True):
        b = Builder(94)
        samples, weights = b.normal(16, 1, 8, 128), b.normal(128, 64) * np.float32(0.1)
        if outliers:
            samples[..., 5::16] *= 40
            weights[5::16] *= 0.02
        b.add("MatMul", ["x", b.constant("w", weights)], "product")
        b.add("Relu", ["product"], "y")
        model = b.model([("x", FLOAT, [1, 8, 128])], [("y", FLOAT, [1, 8, 64])])
        found, order, _ = causes(model, {"x": samples}, tmp_path, "--nvfp4", "--min-sqnr", "60")
        assert ("block-outliers" in found.get("product", [])) == outliers, found


def test_a_stream_that_grows_beyond_float16(tmp_path):
    found, order, report = causes(*blocks("growth"), tmp_path, "--fp16", "--min-sqnr", "40")
    assert order[0] == "residual-overflow", (order, found)
    assert any("scale-stream" in c["repairs"] for c in report["explanation"]["causes"] if c["id"] == "residual-overflow")
    found, order, _ = causes(*blocks(), tmp_path, "--fp16", "--min-sqnr", "90")
    assert "residual-overflow" not in order


@pytest.mark.parametrize("form, size", [(("--bf16",), 40.0), (("--fp16",), 600.0)])
def test_scores_in_front_of_a_softmax(form, size, tmp_path):
    """Two scores of nearly the same size decide, so one step of the format is a large change of a probability."""
    def scored(scale):
        b = Builder(95)
        b.add("MatMul", ["x", b.constant("w", b.normal(16, 8) * np.float32(0.25))], "raw")
        b.add("Add", ["raw", b.constant("level", np.float32(scale))], "scores")
        b.add("Softmax", ["scores"], "y", axis=-1)
        return b.model([("x", FLOAT, [1, 8, 16])], [("y", FLOAT, [1, 8, 8])]), {"x": b.normal(16, 1, 8, 16)}
    found, order, _ = causes(*scored(size), tmp_path, *form, "--min-sqnr", "60")
    assert order[0] == "large-logits" and {"scores", "y"} & set(found), (order, found)
    found, order, _ = causes(*scored(0), tmp_path, *form, "--min-sqnr", "90")
    assert "large-logits" not in order, found


def attends(gain, form="pieces", mask=None, uneven=1.0, width=32, heads=4, tokens=10):
    """A layer, and attention to what it makes. `gain`: of queries and keys. `uneven`: a channel of each head that is
    larger in the queries and smaller in the keys. `mask`: of later tokens."""
    b = Builder(96)
    size = width // heads

    def product(source, name, weights):
        return b.add("MatMul", [source, b.constant(f"{name}.w", weights.astype(np.float32))], name)

    def weights(factor=1.0):
        return b.normal(width, width) * factor / np.sqrt(width)

    features = b.add("LayerNormalization", [product("x", "first", weights()), b.constant("gain", np.ones(width, np.float32))], "norm", axis=-1)
    queries, keys = weights(gain), weights(gain)
    queries[:, 2::size] *= uneven
    keys[:, 2::size] /= uneven
    q, k, v = product(features, "q", queries), product(features, "k", keys), product(features, "v", weights())
    later = None if mask is None else b.constant("later", np.triu(np.full((tokens, tokens), mask, np.float32), 1))
    if form == "Attention":
        b.opset = 23
        mixed = b.add("Attention", [q, k, v] + ([later] if later else []), "attention", q_num_heads=heads, kv_num_heads=heads)
    elif form == "MultiHeadAttention":
        mixed = b.add("MultiHeadAttention", [q, k, v], "attention", num_heads=heads, domain="com.microsoft")
    else:
        shape = b.constant("heads", np.array([0, -1, heads, size], np.int64))

        def split(tensor, *order):
            return b.add("Transpose", [b.add("Reshape", [tensor, shape], f"{tensor}.split")], f"{tensor}.heads", perm=order)

        scores = b.add("MatMul", [split(q, 0, 2, 1, 3), split(k, 0, 2, 3, 1)], "qk")
        scores = b.add("Div", [scores, b.constant("root", np.float32(np.sqrt(size)))], "scaled")
        if later:
            scores = b.add("Add", [scores, later], "masked")
        probabilities = b.add("Softmax", [scores], "softmax", axis=-1)
        mixed = b.add("MatMul", [probabilities, split(v, 0, 2, 1, 3)], "mixed")
        mixed = b.add("Reshape", [b.add("Transpose", [mixed], "turned", perm=[0, 2, 1, 3]), b.constant("flat", np.array([0, -1, width], np.int64))], "merged")
    product(mixed, "y", weights())
    model = b.model([("x", FLOAT, [1, tokens, width])], [("y", FLOAT, [1, tokens, width])],
                    domains=["com.microsoft"] if form == "MultiHeadAttention" else [])
    return model, {"x": b.normal(16, 1, tokens, width)}


@pytest.mark.parametrize("form", ["pieces", "Attention", "MultiHeadAttention"])
@pytest.mark.parametrize("low, gain", [(("--fp16",), 14), (("--bf16",), 8), (("--int8",), 6), (("--nvfp4",), 4)])
def test_a_softmax_that_saturates(form, low, gain, tmp_path):
    """Scores at the usual SQNR of a format, and probabilities far below it: in every format, and inside of operators."""
    found, order, report = causes(*attends(gain, form), tmp_path, *low, "--min-sqnr", "90")
    assert order[0] == "large-logits", (order, found)
    cause = report["explanation"]["causes"][0]
    figures = {figure["name"]: float(figure["value"]) for figure in cause["figures"]}
    assert figures["SQNR of the probabilities"] + 6 < figures["SQNR of the scores"] and cause["share"] > 0.3, cause
    found, order, _ = causes(*attends(1, form), tmp_path, *low, "--min-sqnr", "90")
    assert "large-logits" not in order, found


@pytest.mark.parametrize("mask", [-1e4, -1e9, -np.inf])
def test_masked_scores_do_not_count(mask, tmp_path):
    found, order, report = causes(*attends(6, mask=mask), tmp_path, "--int8", "--min-sqnr", "40")
    cause = next(cause for cause in report["explanation"]["causes"] if cause["id"] == "large-logits")
    figures = {figure["name"]: float(figure["value"]) for figure in cause["figures"]}
    assert figures["typical score"] < 200 and figures["off by"] < 10, cause
    assert "cancellation" not in order, "a sum with a mask cancels nothing"
    found, order, _ = causes(*attends(1, mask=mask), tmp_path, "--int8", "--min-sqnr", "40")
    assert not {"large-logits", "cancellation"} & set(order), found


def accepted(folder, repair, *options):
    """Repairs of that kind that `fix` accepts, and its report."""
    done = vernier("fix", "net.onnx", "--data", "net.npz", "--no-cache", "--no-split", "--json", *options, folder=folder, codes=(0, 1, 5))
    report = json.loads(done.stdout)
    return [tried for tried in report["explanation"]["repairs"] if tried["id"] == repair and tried["accepted"]], report


def test_ordinary_scores_of_uneven_queries(tmp_path):
    """What is lost is lost in one channel of the queries, which can be scaled against that of the keys."""
    found, order, report = causes(*attends(1, uneven=400), tmp_path, "--int8", "--min-sqnr", "30")
    assert order[0] == found["qk"][0] == "outlier-channels" and "large-logits" not in order, found
    cause = next(cause for cause in report["explanation"]["causes"] if cause["layer"] == "qk")
    assert "smooth" in cause["repairs"] and "split-channels" not in cause["repairs"], cause
    repairs, report = accepted(tmp_path, "smooth", "--int8", "--min-sqnr", "30")
    assert any("qk" in tried["layers"] and float(tried["neutral_db"]) > 100 and tried["after_db"] > tried["before_db"] + 10 for tried in repairs), repairs


def positions(form, uneven, cache=False, heads=4, size=8, tokens=10):
    """Queries and keys that positions turn, in pairs of channels of which one in each head is uneven; with biases."""
    b, width = Builder(100), heads * size
    b.opset = 23

    def made(name, factors):
        weights = b.normal(width, width) / np.float32(np.sqrt(width)) * factors
        product = b.add("MatMul", ["x", b.constant(f"{name}.w", weights.astype(np.float32))], f"{name}.product")
        return b.add("Add", [product, b.constant(f"{name}.b", (0.1 * b.normal(width) * factors).astype(np.float32))], name)

    factors = np.ones(width)
    for head in range(heads):
        pair = [head * size + head // 2 * 2, head * size + head // 2 * 2 + 1] if form == "neighbours" else [head * size + head, head * size + head + size // 2]
        factors[pair] = uneven
    angles = np.outer(np.arange(tokens), 1 / 10 ** np.arange(size // 2)).astype(np.float32)
    if form in ("operator", "neighbours"):
        cos, sin = b.constant("cos", np.cos(angles)[None]), b.constant("sin", np.sin(angles)[None])
    else:
        cos, sin = (b.constant(name, np.concatenate([values] * 2, -1)) for name, values in (("cos", np.cos(angles)), ("sin", np.sin(angles))))
    shape = b.constant("heads", np.array([0, -1, heads, size], np.int64))
    parts = b.constant("halves", np.array([size // 2, size // 2], np.int64))
    axis, zero, half, end = (b.constant(f"c{i}", np.array([value], np.int64)) for i, value in enumerate((-1, 0, size // 2, 2**31)))

    def turned(tensor):
        split = b.add("Transpose", [b.add("Reshape", [tensor, shape], f"{tensor}.split")], f"{tensor}.heads", perm=[0, 2, 1, 3])
        if form in ("operator", "neighbours"):
            return b.add("RotaryEmbedding", [split, cos, sin], f"{tensor}.turned", interleaved=int(form == "neighbours"))
        if form == "split":
            one, two = b.add("Split", [split, parts], [f"{tensor}.one", f"{tensor}.two"], axis=-1)
        else:
            one = b.add("Slice", [split, zero, half, axis], f"{tensor}.one")
            two = b.add("Slice", [split, half, end, axis], f"{tensor}.two")
        other = b.add("Concat", [b.add("Neg", [two], f"{tensor}.minus"), one], f"{tensor}.other", axis=-1)
        return b.add("Add", [b.add("Mul", [split, cos], f"{tensor}.cos"), b.add("Mul", [other, sin], f"{tensor}.sin")], f"{tensor}.turned")

    queries, keys, values = turned(made("q", factors)), turned(made("k", 1 / factors)), made("v", np.ones(width))
    inputs, samples, outputs = [("x", FLOAT, [1, tokens, width])], {"x": b.normal(16, 1, tokens, width)}, []
    if cache:
        outputs.append((keys, FLOAT, [1, heads, tokens, size]))
    scores = b.add("MatMul", [queries, b.add("Transpose", [keys], "turn", perm=[0, 1, 3, 2])], "qk")
    shares = b.add("Softmax", [b.add("Div", [scores, b.constant("root", np.float32(np.sqrt(size)))], "scaled")], "softmax", axis=-1)
    mixed = b.add("MatMul", [shares, b.add("Transpose", [b.add("Reshape", [values, shape], "v.split")], "v.heads", perm=[0, 2, 1, 3])], "mixed")
    b.add("Reshape", [b.add("Transpose", [mixed], "back", perm=[0, 2, 1, 3]), b.constant("flat", np.array([0, -1, width], np.int64))], "y")
    return b.model(inputs, [("y", FLOAT, [1, tokens, width]), *outputs]), samples


@pytest.mark.parametrize("form", ["slices", "split", "operator", "neighbours"])
def test_queries_are_scaled_against_keys_through_positions(form, tmp_path):
    model, samples = positions(form, 100)
    onnx.save(model, tmp_path / "net.onnx")
    np.savez(tmp_path / "net.npz", **samples)
    repairs, report = accepted(tmp_path, "smooth", "--int8", "--min-sqnr", "32", "-o", "out")
    scaled = [tried for tried in repairs if "qk" in tried["layers"]]
    assert scaled and float(scaled[0]["neutral_db"]) > 100 and "each pair that positions turn" in scaled[0]["why"], report["explanation"]["repairs"]
    plain = onnxruntime.SessionOptions()
    plain.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    ran = [onnxruntime.InferenceSession(str(tmp_path / name), plain).run(["y"], {"x": samples["x"][0]})[0] for name in ("net.onnx", "out/model.onnx")]
    assert 10 * np.log10((ran[0]**2).sum() / ((ran[0] - ran[1])**2).sum()) > 25


def test_keys_that_others_read_are_not_scaled(tmp_path):
    model, samples = positions("slices", 100, cache=True)
    onnx.save(model, tmp_path / "net.onnx")
    np.savez(tmp_path / "net.npz", **samples)
    _, report = accepted(tmp_path, "smooth", "--int8", "--min-sqnr", "32")
    tried = [row for row in report["explanation"]["repairs"] if row["id"] == "smooth" and "before_db" in row]
    assert not any("qk" in row["layers"] for row in tried), tried


@pytest.mark.parametrize("gate", ["Sigmoid", "Tanh"])
def test_one_large_channel_behind_a_gate(gate, tmp_path):
    """SwiGLU, and other gates: the product that the gate multiplies takes the factors."""
    b = Builder(101)
    weights = b.normal(48, 96) / np.float32(np.sqrt(48))
    weights[:, 9] *= 60
    b.add("MatMul", ["x", b.constant("g", b.normal(48, 96) / np.float32(np.sqrt(48)))], "gate")
    b.add("MatMul", ["x", b.constant("u", weights)], "up")
    silu = b.add("Mul", ["gate", b.add("Sigmoid", ["gate"], "sigmoid")], "silu") if gate == "Sigmoid" else b.add("Tanh", ["gate"], "tanh")
    b.add("Mul", [silu, "up"], "gated")
    down = b.normal(96, 48) / np.float32(np.sqrt(96))
    down[9] /= 60
    b.add("MatMul", ["gated", b.constant("d", down)], "y")
    onnx.save(b.model([("x", FLOAT, [1, 16, 48])], [("y", FLOAT, [1, 16, 48])]), tmp_path / "net.onnx")
    np.savez(tmp_path / "net.npz", x=b.normal(16, 1, 16, 48))
    repairs, report = accepted(tmp_path, "smooth", "--int8", "--min-sqnr", "36")
    assert any(set(tried["layers"]) == {"up", "y"} and float(tried["neutral_db"]) > 100 and tried["after_db"] > tried["before_db"] + 3
               for tried in repairs), report["explanation"]["repairs"]


@pytest.mark.parametrize("form", ["erf", "op"])
def test_one_large_channel_behind_a_gelu(form, tmp_path):
    """Tokens are alike; those in which the channel is far out are no tokens of their own kind. The half of a GELU in
    pieces takes the factors of the channels."""
    b = Builder(97)
    b.opset = 20
    weights = b.normal(48, 192) / np.float32(np.sqrt(48))
    weights[:, 9] *= 30
    b.add("MatMul", ["x", b.constant("w1", weights)], "up")
    if form == "erf":
        b.add("Erf", [b.add("Div", ["up", b.constant("root", np.float32(np.sqrt(2)))], "divided")], "erf")
        b.add("Mul", ["up", b.add("Add", ["erf", b.constant("one", np.float32(1))], "raised")], "twice")
        b.add("Mul", ["twice", b.constant("half", np.float32(0.5))], "gelu")
    else:
        b.add("Gelu", ["up"], "gelu")
    b.add("MatMul", ["gelu", b.constant("w2", b.normal(192, 48) / np.float32(np.sqrt(192)))], "down")
    b.add("LayerNormalization", [b.add("Add", ["x", "down"], "sum"), b.constant("gain", np.ones(48, np.float32))], "y", axis=-1)
    model = b.model([("x", FLOAT, [1, 32, 48])], [("y", FLOAT, [1, 32, 48])])
    samples = {"x": b.normal(16, 1, 32, 48)}
    found, order, report = causes(model, samples, tmp_path, "--int8", "--min-sqnr", "35")
    assert found["down"][0] == order[0] == "outlier-channels", (order, found)
    repairs = next(cause["repairs"] for cause in report["explanation"]["causes"] if cause["layer"] == "down")
    assert ("smooth" in repairs) is (form == "erf") and "split-channels" not in repairs, repairs
    if form == "erf":
        done = vernier("fix", "net.onnx", "--data", "net.npz", "--int8", "--min-sqnr", "35", "--no-cache", "--no-split", "--json",
                       folder=tmp_path, codes=(0, 1, 5))
        tried = [repair for repair in json.loads(done.stdout)["explanation"]["repairs"] if repair["id"] == "smooth"]
        assert any(repair["accepted"] and float(repair["neutral_db"]) > 100 for repair in tried), tried


@pytest.mark.parametrize("factor", [60, 200])
def test_one_huge_weight(factor, tmp_path):
    """It holds most of the energy of its channel, whose other weights round to nothing."""
    def layers(size):
        b = Builder(98)
        weights = b.normal(128, 64) / np.float32(np.sqrt(128))
        if size > 1:
            weights[11, 3] = size * np.abs(weights).max()
        b.add("Tanh", [b.add("MatMul", ["x", b.constant("w1", b.normal(64, 128) / np.float32(8))], "up")], "act")
        b.add("MatMul", ["act", b.constant("w2", weights)], "down")
        b.add("LayerNormalization", ["down", b.constant("gain", np.ones(64, np.float32))], "norm", axis=-1)
        b.add("MatMul", ["norm", b.constant("w3", b.normal(64, 32) / np.float32(8))], "y")
        return b.model([("x", FLOAT, [1, 8, 64])], [("y", FLOAT, [1, 8, 32])]), {"x": b.normal(16, 1, 8, 64)}
    found, order, _ = causes(*layers(factor), tmp_path, "--int8", "--min-sqnr", "45")
    assert "weight-outliers" in found.get("down", []), found
    found, order, _ = causes(*layers(1), tmp_path, "--int8", "--min-sqnr", "60")
    assert "weight-outliers" not in order, found


HEADS, SIZE, NEW, BEFORE = 4, 16, 6, 5
# operator, heads of keys, and what it has besides queries, keys and values
ATTENDING = {"Attention": ["past", "past+causal", "grouped", "past+mask+grouped", "lengths+causal"],
             "MultiHeadAttention": ["past", "past+causal", "bias", "padding", "counted+past", "bias+mask+past"],
             "GroupQueryAttention": ["past", "prompt", "buffer", "rotary+buffer", "rotary+interleaved+past", "window+past", "mask+past"]}


def remembers(operator, parts, gain):
    """Attention to what a layer makes and to earlier tokens, as one operator; and its scores in NumPy, from queries and keys."""
    b, width = Builder(99), HEADS * SIZE
    batch = 1 if operator == "GroupQueryAttention" else 2
    b.opset = 24 if "lengths" in parts else 23
    groups = 2 if operator == "GroupQueryAttention" or "grouped" in parts else HEADS
    keys_before = 0 if set(parts) & {"prompt", "lengths", "grouped", "bias", "padding"} and "past" not in parts else BEFORE
    room = BEFORE + 8 if "buffer" in parts else keys_before
    total = keys_before + NEW
    features = b.add("LayerNormalization", [b.add("MatMul", ["x", b.constant("first.w", b.normal(width, width) / np.float32(6))], "first"),
                                            b.constant("gain", np.ones(width, np.float32))], "norm", axis=-1)

    def product(name, columns, size):
        return b.add("MatMul", [features, b.constant(f"{name}.w", b.normal(width, columns) * np.float32(size / np.sqrt(width)))], name)

    q, k, v = product("q", width, gain), product("k", groups * SIZE, gain), product("v", groups * SIZE, 1)
    inputs = [("x", FLOAT, [batch, NEW, width])]
    samples = {"x": b.normal(4, batch, NEW, width)}
    optional = dict.fromkeys(range(3, 11), "")
    if room:
        for index, name in enumerate(("past_k", "past_v")):
            inputs.append((name, FLOAT, [batch, groups, room, SIZE]))
            samples[name] = b.normal(4, batch, groups, room, SIZE) * np.float32(gain if index == 0 else 1)
    first = {"Attention": 4, "MultiHeadAttention": 6, "GroupQueryAttention": 3}[operator]
    if room:
        optional[first], optional[first + 1] = "past_k", "past_v"
    domain, attributes, added = "com.microsoft", {"num_heads": HEADS}, np.zeros((batch, HEADS, NEW, total), np.float32)
    place, before = np.arange(NEW)[:, None] + keys_before, np.arange(total)[None]
    later = np.where(before > place, np.float32(-np.inf), np.float32(0))
    bias = np.zeros(3 * width, np.float32)
    if operator == "Attention":
        domain, attributes = "", {"q_num_heads": HEADS, "kv_num_heads": groups}
        if "lengths" in parts:
            optional[6] = b.constant("lengths", np.array([NEW, NEW - 2], np.int64))
            for i, length in enumerate([NEW, NEW - 2]):
                added[i] = np.where((before >= length) | (before > place + length - NEW), -np.inf, 0)
        if "causal" in parts:
            attributes["is_causal"] = 1
            added = added + (0 if "lengths" in parts else later)
    if operator == "MultiHeadAttention":
        if "bias" in parts:
            bias = b.normal(3 * width) * np.float32(gain)
            optional[3] = b.constant("bias", bias)
        if "padding" in parts:
            padding = np.ones((batch, total), np.int32)
            padding[0, 2:4] = 0
            optional[4] = b.constant("padding", padding)
            added[0, :, :, 2:4] -= 10000
        if "counted" in parts:
            optional[4] = b.constant("padding", np.array([total - 2, total], np.int32))
            added[0, :, :, -2:] -= 10000
        if "causal" in parts:
            attributes["unidirectional"] = 1
            added = added + later
    if operator == "GroupQueryAttention":
        attributes["kv_num_heads"] = groups
        optional[5] = b.constant("lengths", np.full(batch, total - 1, np.int32))
        optional[6] = b.constant("total", np.int32(total))
        added = added + later
        if "window" in parts:
            attributes["local_window_size"] = 3
            added = np.where(before <= place - 3, np.float32(-np.inf), added)
        if "rotary" in parts:
            angles = np.outer(np.arange(32), 1 / 10 ** np.arange(SIZE // 2)).astype(np.float32)
            optional[7], optional[8] = b.constant("cos", np.cos(angles)), b.constant("sin", np.sin(angles))
            attributes |= {"do_rotary": 1, "rotary_interleaved": int("interleaved" in parts)}
    if "mask" in parts:
        mask = b.normal(1, HEADS, NEW, total)
        optional[{"Attention": 3, "MultiHeadAttention": 5, "GroupQueryAttention": 10}[operator]] = b.constant("mask", mask)
        added = added + mask

    def turned(values, places):
        if "rotary" not in parts:
            return values
        cos, sin = np.cos(angles)[places], np.sin(angles)[places]
        one, two = (values[..., ::2], values[..., 1::2]) if "interleaved" in parts else np.split(values, 2, -1)
        both = one * cos - two * sin, two * cos + one * sin
        return np.stack(both, -1).reshape(values.shape) if "interleaved" in parts else np.concatenate(both, -1)

    def scores(queries, keys, past):
        places = np.arange(NEW) + keys_before
        queries = turned((queries + bias[:width]).reshape(batch, NEW, HEADS, SIZE).transpose(0, 2, 1, 3), places)
        keys = keys + bias[width:width + keys.shape[-1]]
        keys = turned(keys.reshape(batch, NEW, groups, SIZE).transpose(0, 2, 1, 3), places)
        keys = np.concatenate([past[:, :, :keys_before], keys], 2) if room else keys
        return queries @ np.repeat(keys, HEADS // groups, 1).transpose(0, 1, 3, 2) / np.float32(np.sqrt(SIZE)) + added

    names = [q, k, v, *optional.values()]
    while not names[-1]:
        names.pop()
    outputs = ["attention", "present_k", "present_v"] if room or operator == "GroupQueryAttention" else "attention"
    b.add(operator, names, outputs, domain=domain, **attributes)
    b.add("MatMul", ["attention", b.constant("y.w", b.normal(width, width) / np.float32(6))], "y")
    model = b.model(inputs, [("y", FLOAT, [batch, NEW, width])], domains=["com.microsoft"] if domain else [])
    model.ir_version = 10
    return model, samples, scores


@pytest.mark.parametrize("operator, parts", [(operator, parts) for operator, forms in ATTENDING.items() for parts in forms])
def test_scores_inside_of_operators_are_those_of_their_definition(operator, parts, tmp_path):
    model, samples, scores = remembers(operator, parts.split("+"), 8)
    found, order, report = causes(model, samples, tmp_path, "--bf16", "--min-sqnr", "90")
    cause = next((cause for cause in report["explanation"]["causes"] if cause["id"] == "large-logits"), None)
    assert cause is not None, (order, found)
    figures = {figure["name"]: float(figure["value"]) for figure in cause["figures"]}
    for name in ("q", "k", "v", "attention"):
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, FLOAT, None))
    run = onnxruntime.InferenceSession(model.SerializeToString())
    squares, rows = 0, 0
    for i in range(4):
        sample = {name: values[i] for name, values in samples.items()}
        q, k, v, made = run.run(["q", "k", "v", "attention"], sample)
        exact = scores(q, k, sample.get("past_k")).astype(np.float64)
        shares = np.exp(exact - exact.max(-1, keepdims=True, where=np.isfinite(exact), initial=-1e30))
        shares /= np.maximum(shares.sum(-1, keepdims=True), 1e-30)
        has = np.isfinite(exact).any(-1)
        squares += (shares * np.where(np.isfinite(exact), exact, 0) ** 2).sum(-1)[has].sum()
        rows += has.sum()
        if "bias" not in parts and i == 0:  # NumPy's scores are those of ONNX Runtime
            values = v.reshape(len(v), NEW, -1, SIZE).transpose(0, 2, 1, 3)
            if "past_v" in sample:
                values = np.concatenate([sample["past_v"][:, :, :exact.shape[-1] - NEW], values], 2)
            mixed = shares @ np.repeat(values, HEADS // values.shape[1], 1)
            np.testing.assert_allclose(made[np.swapaxes(has, 1, 2).any(-1)], mixed.transpose(0, 2, 1, 3).reshape(made.shape)[np.swapaxes(has, 1, 2).any(-1)],
                                       rtol=2e-3, atol=2e-3)
    assert figures["typical score"] == pytest.approx(np.sqrt(squares / rows), rel=0.05)


def test_scores_that_are_not_known_are_left_alone(tmp_path):
    model, samples, _ = remembers("Attention", ["past"], 8)
    model.graph.node[-2].attribute.append(onnx.helper.make_attribute("softcap", 50.0))
    _, order, _ = causes(model, samples, tmp_path, "--bf16", "--min-sqnr", "90")
    assert "large-logits" not in order
