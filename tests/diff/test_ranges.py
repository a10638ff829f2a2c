"""Ways to choose a range against NumPy: bins from the bits of the values, each method from its definition, on the raw
values wherever the definition does not name bins."""
import json
import math
import os
import subprocess

import numpy as np
import pytest

CODES = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7)}
LEVELS = {"int8": 128, "uint8": 256, "int4": 8}


@pytest.fixture(scope="module")
def ask():
    program = subprocess.Popen([os.environ["VERNIER_RANGES"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def answer(values, parts=1):
        values = np.asarray(values, np.float32)
        program.stdin.write(json.dumps({"count": values.size, "parts": parts}).encode() + b"\n" + values.tobytes())
        program.stdin.flush()
        return json.loads(program.stdout.readline())

    yield answer
    program.stdin.close()
    assert program.wait(timeout=10) == 0


def random(seed):
    return np.random.default_rng(seed)


def outliers(rng, n):
    values = rng.normal(size=n)
    values[:10] = 60
    return values


TENSORS = {
    "gauss": random(1).normal(size=200_000),
    "laplace": random(2).laplace(size=150_000),
    "relu": np.maximum(random(3).normal(size=180_000), 0),
    "shifted": random(4).normal(size=100_000) * 0.3 + 0.2,
    "outliers": outliers(random(5), 200_000),
    "swish": (lambda x: x / (1 + np.exp(-x)))(random(6).normal(size=120_000) * 3),
    "negative": -random(7).gamma(2.0, size=90_000),
    "heavy": random(8).standard_t(3, size=100_000) * 1e-3,
    "pixels": random(9).integers(0, 256, size=100_000).astype(np.float64),
}


def grid(values, kind, low, high):
    """Rounds as QuantizeLinear and DequantizeLinear do."""
    least, most = CODES[kind]
    if kind == "uint8":
        low, high = min(low, 0.0), max(high, 0.0)
        scale = np.float32((high - low) / 255)
        zero = np.clip(np.rint(np.float32(-low) / scale), 0, 255)
    else:
        scale = np.float32(max(abs(low), abs(high)) / most)
        zero = 0
    codes = np.clip(np.rint(values.astype(np.float32) / scale) + zero, least, most)
    return (codes - zero) * scale


def noise(values, kind, low, high):
    return np.sum((values.astype(np.float64) - grid(values, kind, low, high)) ** 2)


def bins_of(values):
    """Bins of 1/512 of a power of two, by arithmetic instead of bits."""
    values = values[np.isfinite(values)]
    tiny = np.abs(values) < np.finfo(np.float32).tiny
    found = {(0.0, 0.0): int(tiny.sum())} if tiny.any() else {}
    rest = values[~tiny].astype(np.float64)
    mantissa, exponent = np.frexp(np.abs(rest))
    step = np.ldexp(1.0, exponent - 1) / 512
    low = np.floor(np.abs(rest) / step) * step
    for sign in (1, -1):
        edges, at, counts = np.unique(low[np.sign(rest) == sign], return_index=True, return_counts=True)
        steps = step[np.sign(rest) == sign][at]
        for edge, width, count in zip(edges, steps, counts):
            found[(edge, edge + width) if sign > 0 else (-edge - width, -edge)] = int(count)
    return [[low, high, count] for (low, high), count in sorted(found.items())]


@pytest.mark.parametrize("name", TENSORS)
def test_bins_are_those_of_numpy_in_any_order(ask, name):
    values = TENSORS[name].astype(np.float32)
    whole = ask(values)
    assert whole["bins"] == bins_of(values)
    assert ask(values, parts=7) == whole


def close(got, expected, relative):
    return got == pytest.approx(expected, rel=relative, abs=1e-12)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("percent", [99.9, 99.999])
def test_percentile(ask, name, percent):
    values = TENSORS[name].astype(np.float32)
    ranges = ask(values)["ranges"]
    for kind in ("int8", "uint8"):
        low, high, _ = ranges[kind][f"percentile:{percent:g}"]
        if kind == "int8":
            bound = np.quantile(np.abs(values), percent / 100, method="inverted_cdf") if values.size * (1 - percent / 100) >= 1 else np.abs(values).max()
            assert close(max(-low, high), min(bound, np.abs(values).max()), 0.004)
        else:
            left = (1 - percent / 100) / 2
            left = left if left * values.size >= 1 else 0
            assert close(low, np.quantile(values, left, method="inverted_cdf") if left else values.min(), 0.004)
            assert close(high, np.quantile(values, 1 - left, method="inverted_cdf") if left else values.max(), 0.004)


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("kind", CODES)
def test_mse_is_within_a_hair_of_the_best_of_a_fine_search(ask, name, kind):
    values = TENSORS[name].astype(np.float32)
    low, high, _ = ask(values)["ranges"][kind]["mse"]
    got = noise(values, kind, low, high)
    bound = (float(values.min()), float(values.max())) if kind == "uint8" else (-float(np.abs(values).max()),) * 2
    best = min(noise(values, kind, bound[0] * f, bound[1] * f) for f in np.geomspace(0.02, 1, 150))
    assert got <= best * 1.02
    assert got <= noise(values, kind, *bound) * 1.0001


def entropy_by_definition(counts, levels):
    """Migacz's loop as it is written, one window after the other, without sums kept."""
    total = counts.sum()
    least, best = math.inf, len(counts)
    for i in range(levels, len(counts) + 1):
        p = counts[:i].copy()
        p[-1] += counts[i:].sum()
        q = np.zeros(i)
        for level in range(levels):
            group = slice(level * i // levels, (level + 1) * i // levels)
            filled = counts[group] > 0
            if filled.any():
                q[group] = np.where(filled, counts[group].sum() / filled.sum(), 0)
        inside = q.sum()
        if inside == 0 or np.any((p > 0) & (q <= 0)):
            continue
        some = p > 0
        divergence = np.sum(p[some] / total * np.log((p[some] / total) / (q[some] / inside)))
        if divergence < least - 1e-12:
            least, best = divergence, i
    return best


@pytest.mark.parametrize("name", ["gauss", "relu", "outliers", "negative", "heavy"])
def test_entropy(ask, name):
    values = TENSORS[name].astype(np.float32)
    answer = ask(values)
    sizes = np.abs(values)
    # Our bins, spread evenly over 2048 equal ones: the raw values would differ within a bin.
    edges = np.linspace(0, float(sizes.max()), 2049)
    counts = np.zeros(2048)
    folded = {}
    least, most = float(values.min()), float(values.max())
    for low, high, count in answer["bins"]:
        low, high = np.clip([low, high], least, most)
        folded[(abs(high), abs(low)) if high <= 0 else (low, high)] = folded.get((abs(high), abs(low)) if high <= 0 else (low, high), 0) + count
    for (low, high), count in folded.items():
        if high == low:
            counts[min(int(low / edges[1]), 2047)] += count
            continue
        overlap = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None)
        counts += count * overlap / (high - low)
    counts[0] = counts[1]
    expected = float(sizes.max()) * entropy_by_definition(counts, 128) / 2048
    low, high, _ = answer["ranges"]["int8"]["entropy"]
    assert close(max(-low, high), expected, 2 / 2048)


def test_entropy_clips_outliers_that_mse_keeps(ask):
    ranges = ask(TENSORS["outliers"])["ranges"]["int8"]
    assert ranges["entropy"][1] < 12
    assert 45 < ranges["mse"][1] <= 60


def test_onnx_runtimes_default_entropy_has_one_candidate():
    """128 bins for 128 levels: its loop has one window, the whole range. Why ours has 2048 bins."""
    from onnxruntime.quantization.calibrate import HistogramCollector

    collector = HistogramCollector("entropy", True, 128, 128, 99.999, "same")
    values = TENSORS["outliers"].astype(np.float32)
    collector.collect({"x": [values]})
    low, high = collector.compute_collection_result()["x"][:2]
    assert float(high) == pytest.approx(60, rel=0.02)


@pytest.mark.parametrize("kind,bits", [("int8", 8), ("int4", 4)])
@pytest.mark.parametrize("name", ["gauss", "laplace"])
def test_aciq_is_the_root_of_its_equation(ask, name, kind, bits):
    from math import erf, exp, pi, sqrt

    values = TENSORS[name].astype(np.float32).astype(np.float64)

    def solve(slope):
        low, high = 1e-9, 100.0
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        return low

    step = 2 / (3 * 4**bits)
    laplace = solve(lambda a: a * step - 2 * exp(-a)) * np.mean(np.abs(values))
    gauss = solve(lambda a: a * (1 - erf(a / sqrt(2))) - exp(-a * a / 2) * sqrt(2 / pi) + a * step / 2) * np.sqrt(np.mean(values**2))
    expected = gauss if name == "gauss" else laplace
    low, high, _ = ask(values)["ranges"][kind]["aciq"]
    assert close(max(-low, high), min(expected, np.abs(values).max()), 0.002)


def test_aciq_factors_are_the_published_ones(ask):
    """Banner et al.: 5.03 b and 2.55 standard deviations for 4 bits, 9.89 b for 8."""
    laplace = random(20).laplace(size=400_000)
    ranges = ask(laplace)["ranges"]
    assert ranges["int4"]["aciq"][1] == pytest.approx(5.03, rel=0.01)
    assert ranges["int8"]["aciq"][1] == pytest.approx(9.89, rel=0.01)
    gauss = random(21).normal(size=400_000)
    assert ask(gauss)["ranges"]["int4"]["aciq"][1] == pytest.approx(2.55, rel=0.01)


METHODS = ["minmax", "percentile:99.9", "percentile:99.999", "entropy", "mse", "aciq"]


@pytest.mark.parametrize("values,low,high", [
    ([3.0] * 500, 3, 3), ([-3.0] * 500, -3, -3), ([0.0] * 9, 0, 0), ([], 0, 0), ([1.5], 1.5, 1.5),
    ([np.nan, np.inf, -np.inf], 0, 0), ([np.nan, 2.0, np.inf], 2, 2), ([1e-40] * 5, 1e-40, 1e-40),
])
def test_degenerate_tensors(ask, values, low, high):
    answer = ask(values)
    for kind, ranges in answer["ranges"].items():
        for method in METHODS:
            if kind == "float8e4m3fn" and method in ("entropy", "aciq"):
                continue
            assert ranges[method][:2] == pytest.approx([low, high], rel=1e-6), (kind, method)
    assert answer["nonfinite"] == np.sum(~np.isfinite(np.asarray(values, np.float64)))


def test_two_values(ask):
    for kind, ranges in ask([0.0] * 999 + [1.0])["ranges"].items():
        for method in METHODS:
            if isinstance(ranges[method], str):
                continue
            low, high, _ = ranges[method]
            assert 0 <= low <= high <= 1, (kind, method)
            if method in ("minmax", "mse"):
                assert high == pytest.approx(1, rel=1e-3), (kind, method)


@pytest.mark.parametrize("method", ["entropy", "aciq"])
def test_float8_has_no_equal_levels(ask, method):
    answer = ask(TENSORS["gauss"])["ranges"]["float8e4m3fn"]
    assert "float8e4m3fn does not have" in answer[method]
    assert isinstance(answer["mse"], list)


@pytest.mark.parametrize("mask", [-1e9, -3.4028234663852886e38, -1e4, -65504.0, 1e9])
def test_masks_are_taken_out(ask, mask):
    scores = random(30).normal(size=50_000).astype(np.float32) * 4
    values = np.where(random(31).random(50_000) < 0.3, np.float32(mask), scores).astype(np.float32)
    if abs(mask) < 1e5:
        values = np.where(values == np.float32(mask), values + scores, values)  # added, not put in the place of
    answer = ask(values)
    assert answer["mask"][2] == np.sum(np.abs(values) > 1000)
    kept = values[np.abs(values) < 1000]
    assert answer["ends"][:2] == pytest.approx([kept.min(), kept.max()], rel=0.002)
    assert answer["ends"][2] == kept.size


def test_two_masks_that_met(ask):
    values = random(32).normal(size=10_000)
    values[:100] = -1e9
    values[100:110] = -2e9
    answer = ask(values)
    assert answer["mask"][2] == 110
    assert answer["ends"][1] < 10


@pytest.mark.parametrize("outlier", [60.0, 1000.0, 15000.0, -3000.0])
def test_outliers_are_no_masks(ask, outlier):
    values = random(33).normal(size=10_000)
    values[:3] = outlier
    answer = ask(values)
    assert "mask" not in answer
    assert outlier in [pytest.approx(end) for end in answer["ends"][:2]]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int4"])
@pytest.mark.parametrize("outlier", [5000.0, -5000.0])
def test_one_huge_outlier(ask, kind, outlier):
    """One value of a hundred thousand is 5000 times the others: what each method makes of it, from its definition."""
    values = random(35).normal(size=100_000).astype(np.float32)
    values[77] = outlier
    ranges = {method: answer[:2] for method, answer in ask(values)["ranges"][kind].items()}
    reach = {method: max(-low, high) for method, (low, high) in ranges.items()}
    ordinary = float(np.abs(np.delete(values, 77)).max())
    assert reach["minmax"] == pytest.approx(5000)
    # A hundred of them may be left out, or fifty at each end: the outlier is among them.
    assert reach["percentile:99.9"] < ordinary
    # One may; half of one at each end of uint8 is none.
    assert reach["percentile:99.999"] == pytest.approx(5000 if kind == "uint8" else ordinary, rel=0.004)
    # Its smallest window is as many of 2048 bins as the grid has levels.
    assert 5000 * LEVELS[kind] / 2048 * 0.999 <= reach["entropy"] <= 5000
    # Rounding all others to zero costs 1e5, clipping the outlier 2.5e7: where nothing lies between, it is kept whole.
    low, high = ranges["mse"]
    ends = ranges["minmax"] if kind == "uint8" else (-5000, 5000)
    best = min(noise(values, kind, ends[0] * factor, ends[1] * factor) for factor in np.geomspace(1 / 1024, 1, 300))
    assert noise(values, kind, low, high) <= best * 1.02
    assert noise(values, kind, low, high) <= noise(values, kind, *ranges["minmax"])
    # The moments are what it knows: the outlier is in the deviation, and next to nothing in the mean magnitude.
    bits = {"int8": 8, "uint8": 8, "int4": 4}[kind]
    laplace, gauss = {8: (9.89, 3.92), 4: (5.03, 2.56)}[bits]
    exact = values.astype(np.float64)
    expected = [laplace * np.mean(np.abs(exact)), gauss * np.sqrt(np.mean(exact**2))]
    assert any(close(reach["aciq"], one, 0.02) for one in expected), (reach["aciq"], expected)


def test_a_mask_alone_stays(ask):
    answer = ask([0.0, -1e9] * 500)
    assert "mask" not in answer
    assert answer["ranges"]["uint8"]["mse"][:2] == pytest.approx([-1e9, 0])


def test_large_values_without_a_gap_are_no_mask(ask):
    assert "mask" not in ask(random(34).normal(size=10_000) * 1e8)
    assert "mask" not in ask([-1e9] * 50)
