"""Causes that transformers are known for lead where they are built in, and stay silent in the same network without the fault."""
import numpy as np
import pytest

from networks import FLOAT, Builder
from test_causes import causes

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
