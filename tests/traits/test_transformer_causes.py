"""Causes that transformers are known for lead where they are built in, and stay silent in the same network without the fault."""
import json

import numpy as np
import pytest

from networks import FLOAT, Builder
from test_causes import causes
from test_traits import vernier

WIDTH, INNER, TOKENS = 64, 96, 12
LARGE = [5, 41]
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


def test_ordinary_scores_of_uneven_queries(tmp_path):
    """What is lost is lost in one channel of the queries; no weight could take a factor of it."""
    found, order, report = causes(*attends(1, uneven=400), tmp_path, "--int8", "--min-sqnr", "30")
    assert order[0] == found["qk"][0] == "outlier-channels" and "large-logits" not in order, found
    cause = next(cause for cause in report["explanation"]["causes"] if cause["layer"] == "qk")
    assert not {"smooth", "split-channels"} & set(cause["repairs"]), cause


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
        assert any(repair["accepted"] and repair["neutral_db"] > 100 for repair in tried), tried


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
