"""Pairs that pooled errors do not show: masks that are cut off on purpose, small values in front of a Log, and channels that one
scale rounds to zero."""

import numpy as np
import pytest

import quantized_files as files
from networks import FLOAT
from test_pair_defects import found

LENGTH, WIDTH = 8, 16


def masked_scores(mask, low, high, quantized, seed=611):
    """Attention whose masked scores go through a pair from `low` to `high`."""
    b = files.Quantizer(seed)
    for name in "qkv":
        b.add("MatMul", ["x", b.constant(f"{name}.weight", b.normal(WIDTH, WIDTH) * np.float32(0.4))], name)
    b.add("MatMul", ["q", b.add("Transpose", ["k"], "turned", perm=[0, 2, 1])], "scores")
    hidden = np.triu(np.ones((LENGTH, LENGTH), bool), 1)
    b.add("Where", [b.constant("hidden", hidden), b.constant("lowest", np.float32(mask)), "scores"], "masked")
    scores = b.pair("masked", low, high, np.uint8) if quantized else "masked"
    b.add("MatMul", [b.add("Softmax", [scores], "shares", axis=-1), "v"], "y")
    return b.model([("x", FLOAT, [1, LENGTH, WIDTH])], [("y", FLOAT, [1, LENGTH, WIDTH])])


def named(folder, network, low, high, mask):
    files.write(folder, network(mask, low, high, False), {"x": files.Quantizer(612).normal(8, 1, LENGTH, WIDTH)}, "float.onnx")
    return found(folder, network(mask, low, high, True), code=(0, 1))


@pytest.mark.parametrize("mask", [-1e4, -3.4e38, -np.inf])
@pytest.mark.parametrize("low, high", [(-60, 30), (-120, 60)])
def test_a_mask_that_is_cut_off_on_purpose_is_no_defect(tmp_path, mask, low, high):
    """Scores are within -30 and 30: what is masked gets nothing. The pair's rounding is most of the noise."""
    names, report = named(tmp_path, masked_scores, low, high, mask)
    assert names == [], report["defects"]


@pytest.mark.parametrize("mask", [-1e4, -np.inf])
def test_a_mask_that_is_cut_off_among_the_scores_is_a_lost_pair(tmp_path, mask):
    names, report = named(tmp_path, masked_scores, -1, 30, mask)
    assert names == [("lost-pair", "masked.codes")], report["defects"]


def test_a_pair_behind_a_mask_that_is_too_coarse_for_scores_is_named(tmp_path):
    """It cuts the mask off as it should, but each of its steps is 16."""
    names, report = named(tmp_path, masked_scores, -4000, 30, -1e9)
    assert [node for _, node in names] == ["masked.codes"], report["defects"]


def logarithm(pairs, quantized):
    """Powers over six decades, whose logarithms are the features: `pairs` of the tensors in front of the Log are quantized."""
    b = files.Quantizer(613)
    read = lambda name, high: b.pair(name, 0.0, high, np.uint8) if quantized and name in pairs else name
    b.add("Mul", ["x", "x"], "powers")
    b.add("Mul", [read("powers", 100.0), b.constant("half", np.float32(0.5))], "halves")
    b.add("Add", [read("halves", 50.0), b.constant("least", np.float32(1e-6))], "kept")
    b.add("Log", ["kept"], "logs")
    b.add("MatMul", ["logs", b.constant("weight", b.normal(WIDTH, 4))], "y")
    return b.model([("x", FLOAT, [1, LENGTH, WIDTH])], [("y", FLOAT, [1, LENGTH, 4])])


@pytest.mark.parametrize("pairs", [["powers"], ["halves"], ["powers", "halves"]])
def test_all_pairs_in_front_of_a_log_that_lose_small_values_are_named(tmp_path, pairs):
    x = 10 ** np.random.default_rng(614).uniform(-2.5, 1, (8, 1, LENGTH, WIDTH)).astype(np.float32)
    files.write(tmp_path, logarithm(pairs, False), {"x": x}, "float.onnx")
    names, report = found(tmp_path, logarithm(pairs, True))
    assert names == [("lost-pair", f"{name}.codes") for name in pairs], report["defects"]
    assert not any("smooth" in defect.get("cure", "") for defect in report["defects"]), report["defects"]


def gains(size, quantized):
    """Channels of an elementwise sum, a quarter of them `size` times as large, that gains even out behind the pair."""
    b = files.Quantizer(615)
    sizes = np.where(np.arange(WIDTH) % 4 == 0, size, 1).astype(np.float32).reshape(1, WIDTH, 1)
    b.add("Mul", ["x", b.constant("sizes", sizes)], "sized")
    b.add("Add", ["sized", b.constant("offset", 0.1 * sizes)], "sum")
    read = b.pair("sum", -4.0, 4.0, np.int8) if quantized else "sum"
    b.add("Relu", [read], "positive")
    b.add("Mul", ["positive", b.constant("gains", 1 / sizes)], "evened")
    b.add("ReduceMean", ["evened"], "y", axes=[2], keepdims=0)
    return b.model([("x", FLOAT, [1, WIDTH, 12])], [("y", FLOAT, [1, WIDTH])])


@pytest.mark.parametrize("size, starves", [(0.002, True), (0.3, False)])
def test_channels_that_the_scale_of_an_elementwise_sum_starves_are_named(tmp_path, size, starves):
    files.write(tmp_path, gains(size, False), {"x": files.Quantizer(616).normal(8, 1, WIDTH, 12)}, "float.onnx")
    names, report = found(tmp_path, gains(size, True), code=(0, 1))
    assert names == ([("starved-channels", "sum.codes")] if starves else []), report["defects"]
    assert not starves or "4 of 16 channels" in report["defects"][0]["text"]


def two_sizes(form, quantized):
    """Half of the channels in front of a product are 300 times as large as the others: of one product, a Concat or a sum."""
    b = files.Quantizer(616)
    large = np.where(np.arange(WIDTH) < WIDTH // 2, 300, 1).astype(np.float32)
    if form == "product":
        b.add("MatMul", ["x", b.constant("in.weight", b.normal(WIDTH, WIDTH) * np.float32(0.3) * large)], "both")
    elif form == "concat":
        for name, size in (("high", 300), ("low", 1)):
            b.add("MatMul", ["x", b.constant(f"{name}.weight", b.normal(WIDTH, WIDTH // 2) * np.float32(0.3 * size))], name)
        b.add("Concat", ["high", "low"], "both", axis=-1)
    else:
        for name in ("one", "other"):
            b.add("MatMul", ["x", b.constant(f"{name}.weight", b.normal(WIDTH, WIDTH) * np.float32(0.2) * large)], name)
        b.add("Add", ["one", "other"], "both")
    read = b.pair("both", -1600.0, 1600.0, np.int8) if quantized else "both"
    b.add("MatMul", [read, b.constant("weight", b.normal(WIDTH, 4) / large[:, None])], "y")
    return b.model([("x", FLOAT, [1, LENGTH, WIDTH])], [("y", FLOAT, [1, LENGTH, 4])])


@pytest.mark.parametrize("form, offered", [("product", True), ("concat", False), ("sum", False)])
def test_smooth_is_offered_where_what_is_in_front_can_take_the_factors(tmp_path, form, offered):
    files.write(tmp_path, two_sizes(form, False), {"x": files.Quantizer(617).normal(16, 1, LENGTH, WIDTH)}, "float.onnx")
    names, report = found(tmp_path, two_sizes(form, True))
    assert names == [("starved-channels", "both.codes")], report["defects"]
    assert ("smooth" in report["defects"][0]["cure"]) == offered, report["defects"]
