"""Verdicts and figures of comparisons against the real Polygraphy, on random pairs of tensors.

VERNIER_VERDICT names the program built from verdict_cli.cpp, VERNIER_PROGRAM the program itself.

Where we differ on purpose (docs/migration/from-polygraphy.md) no case is drawn: whole numbers that overflow, empty tensors, sums that
float32 cannot hold, quantiles beside an infinity.
"""
import json
import math
import os
import pathlib
import subprocess

import numpy as np
import pytest

try:
    from polygraphy.comparator import (CosineSimilarityCompareFunc, IndicesCompareFunc, IterationResult, L2CompareFunc,
                                       PsnrCompareFunc, SimpleCompareFunc, SnrCompareFunc, TopKPostprocessFunc)
    from polygraphy.comparator.struct import AccuracyResult, AccuracyResults
    from polygraphy.logger import G_LOGGER
    G_LOGGER.module_severity = G_LOGGER.CRITICAL
except ModuleNotFoundError as missing:
    if os.environ.get("CI"):
        raise
    pytest.skip(f"Polygraphy is not installed: {missing}", allow_module_level=True)

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"
VERDICT = os.environ.get("VERNIER_VERDICT", str(BUILD / "tests/diff/verdict_cli"))
VERNIER = os.environ.get("VERNIER_PROGRAM", str(BUILD / "apps/vernier/vernier"))

DTYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
          "float64": 11, "uint32": 12}
FLOATS = ["float16", "float32", "float64"]
SHAPES = [(), (1,), (7,), (4, 5), (2, 3, 4), (1, 3, 33, 17), (20011,)]


class Ours:
    def __init__(self):
        self.process = subprocess.Popen([VERDICT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, got, ref, **about):
        got, ref = np.asarray(got), np.asarray(ref)
        for side, array in (("got", got), ("ref", ref)):
            about[side] = {"dtype": DTYPES[array.dtype.name], "shape": array.shape}
        self.process.stdin.write(json.dumps(about).encode() + b"\n" + got.tobytes() + ref.tobytes())
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer


@pytest.fixture(scope="module")
def ours():
    ours = Ours()
    yield ours
    ours.process.stdin.close()
    ours.process.wait(10)


def as_number(value):
    return float(value) if isinstance(value, str) else value


def near(ours, theirs, tolerance):
    ours, theirs = as_number(ours), float(theirs)
    if math.isnan(theirs):
        return math.isnan(ours)
    if math.isinf(theirs):
        return ours == theirs
    return abs(ours - theirs) <= tolerance * max(abs(theirs), 1e-30)


def peer(function, got, ref):
    results = [IterationResult(outputs={"y": np.asarray(array)}, runner_name=name)
               for name, array in (("low", got), ("ref", ref))]
    with np.errstate(all="ignore"):
        return function(*results)["y"]


def draw(random, dtype, shape):
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        return np.asarray(random.normal(0, random.choice([1e-2, 1, 30]), shape)).astype(dtype)
    return np.asarray(random.integers(0, 100, shape)).astype(dtype)


def draw_pair(random, special=True):
    """A tensor, and the same with errors: a few or everywhere, of one type or of two."""
    dtype = random.choice(list(DTYPES))
    other = random.choice(list(DTYPES)) if random.random() < 0.3 else dtype
    shape = SHAPES[random.integers(len(SHAPES))]
    ref = draw(random, other, shape)
    got = ref.astype(np.float64)
    if random.random() < 0.8:
        noise = random.normal(0, 10 ** random.uniform(-6, 0), shape) * np.maximum(np.abs(got), 1e-3)
        got = got + noise * (random.random(shape) < random.choice([1, 0.1]))
    with np.errstate(all="ignore"):
        if dtype not in FLOATS:
            got = np.clip(np.round(got + (random.random(shape) < 0.1)), 0, 100)
        got = np.asarray(got).astype(dtype)
    if special and dtype in FLOATS and other in FLOATS and got.size > 3 and random.random() < 0.3:
        got, ref = got.copy(), ref.copy()
        for array in (got, ref):
            for value in (np.nan, np.inf, -np.inf, 0.0):
                if random.random() < 0.3:
                    array.flat[random.integers(array.size)] = value
        if random.random() < 0.5:
            got.flat[1] = ref.flat[1] = random.choice([np.inf, -np.inf])
    return got, ref


@pytest.mark.parametrize("seed", range(300))
def test_simple(ours, seed):
    random = np.random.default_rng(seed)
    got, ref = draw_pair(random)
    stat = random.choice(["elemwise", "elemwise", "max", "mean", "median", "quantile"])
    quantile = float(random.choice([0.0, 0.5, 0.9, 0.99, 1.0]))
    infinities = bool(random.random() < 0.3)
    tolerances = {"atol": float(10 ** random.uniform(-7, 1)), "rtol": float(10 ** random.uniform(-7, 1))}
    if stat == "elemwise" and got.dtype == np.float32 and ref.dtype == np.float32 and random.random() < 0.3:
        # Exactly the largest error: on the limit both sides have to round alike.
        error = np.abs(got - ref)
        if np.isfinite(error).all():
            tolerances = {"atol": float(error.max()), "rtol": 0.0}
    if stat in ("quantile", "median") and not (np.isfinite(got).all() and np.isfinite(ref).all()):
        stat = "max"
    if stat == "quantile" and got.dtype == ref.dtype == bool:
        stat = "mean"  # the peer ends with a TypeError
    theirs = peer(SimpleCompareFunc(check_error_stat=stat, error_quantile=quantile,
                                    infinities_compare_equal=infinities, **tolerances), got, ref)
    answer = ours.ask(got, ref, function="simple", stat=stat, quantile=quantile, infinities_compare_equal=infinities,
                      **tolerances)
    assert answer["passed"] == bool(theirs), answer["text"]
    for kind, suffix in (("absolute", "absdiff"), ("relative", "reldiff")):
        for name in ("max", "mean", "median", "quantile"):
            value = getattr(theirs, f"{name}_{suffix}")
            if value is None:
                continue
            # Theirs are FP32 accumulation.
            assert near(answer[kind][name], value, 1e-3 if name == "mean" else 1e-6), (kind, name)


SINGLE = {"l2": (L2CompareFunc, "l2_norm"),
          "cosine_similarity": (CosineSimilarityCompareFunc, "cosine_similarity"),
          "psnr": (PsnrCompareFunc, "psnr"), "snr": (SnrCompareFunc, "snr")}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("seed", range(60))
def test_figures(ours, name, seed):
    function, field = SINGLE[name]
    random = np.random.default_rng(1000 + seed)
    got, ref = draw_pair(random)
    if got.dtype == bool and ref.dtype == bool:
        got = got.astype(np.uint8)  # NumPy refuses to subtract one from the other
    threshold = {"l2": float(10 ** random.uniform(-4, 2)), "cosine_similarity": float(random.uniform(0.9, 1)),
                 "psnr": float(random.uniform(0, 80)), "snr": float(random.uniform(0, 80))}[name]
    theirs = peer(function(threshold), got, ref)
    answer = ours.ask(got, ref, function=name, threshold=threshold)
    value = getattr(theirs, field)
    if name == "cosine_similarity" and abs(value - threshold) < 1e-5:
        return  # decided by the last digits of float32
    assert answer["passed"] == bool(theirs), (answer["value"], value, threshold)
    if np.isfinite(got.astype(np.float64)).all() and np.isfinite(ref.astype(np.float64)).all():
        assert near(answer["value"], value, 1e-4), answer["text"]


@pytest.mark.parametrize("seed", range(60))
def test_indices(ours, seed):
    random = np.random.default_rng(2000 + seed)
    shape = [(6,), (3, 5), (2, 2, 8)][seed % 3]
    got = np.argsort(random.random(shape), axis=-1)
    ref = got.copy()
    for _ in range(random.integers(0, 4)):
        row = ref.reshape(-1, shape[-1])[random.integers(ref.size // shape[-1])]
        i = random.integers(shape[-1] - 1)
        row[i], row[i + 1] = row[i + 1], row[i]
        if random.random() < 0.1:
            row[i] = 99
    tolerance = int(random.integers(0, 3))
    theirs = peer(IndicesCompareFunc(index_tolerance=tolerance), got, ref)
    assert ours.ask(got, ref, function="indices", threshold=tolerance)["passed"] == bool(theirs)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((1, 2, 3), (1, 3, 2)), ((6,), (2, 3)), ((2, 3), (1, 2, 3)),
                                    ((2, 2, 3), (3, 2, 2)), ((), (1,)), ((4,), (2, 2))])
def test_shapes(ours, shapes):
    random = np.random.default_rng(5)
    got = random.normal(size=shapes[0]).astype(np.float32)
    for ref in (got.reshape(shapes[1]), random.normal(size=shapes[1]).astype(np.float32),
                np.transpose(got) if got.shape[::-1] == shapes[1] else got.reshape(shapes[1])):
        for check in (True, False):
            theirs = peer(SimpleCompareFunc(check_shapes=check), got, ref)
            answer = ours.ask(got, ref, function="simple", shape_check=check)
            assert answer["passed"] == bool(theirs)
            if not isinstance(theirs, bool):
                assert near(answer["absolute"]["max"], theirs.max_absdiff, 1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_statistics_are_numpys(ours, seed):
    random = np.random.default_rng(3000 + seed)
    values, _ = draw_pair(random, special=False)
    answer = ours.ask(values, values, stats=True)
    wide = values.astype(np.float64)
    expected = {"mean": wide.mean(), "std": wide.std(), "median": np.median(wide), "min": wide.min(), "max": wide.max(),
                "min_at": wide.argmin(), "max_at": wide.argmax(), "magnitude": np.abs(wide).mean(),
                "p90": np.quantile(wide, 0.9), "p95": np.quantile(wide, 0.95), "p99": np.quantile(wide, 0.99)}
    for name, value in expected.items():
        assert near(answer[name], value, 1e-9) or abs(answer[name] - value) < 1e-12, name
    assert answer["bins"] == np.histogram(wide, bins=10)[0].tolist()


@pytest.mark.parametrize("seed", range(20))
def test_top_k(ours, seed):
    random = np.random.default_rng(4000 + seed)
    values = random.integers(-5, 5, (3, 4, 5)).astype(random.choice(["float32", "int64", "float16"]))
    k, axis = int(random.integers(1, 7)), int(random.integers(-3, 3))
    result = IterationResult(outputs={"y": values}, runner_name="low")
    theirs = TopKPostprocessFunc(k=(k, axis))(result)["y"]
    answer = ours.ask(values, values, top_k=k, axis=axis)
    assert answer["shape"] == list(theirs.shape)
    assert answer["indices"] == theirs.ravel().tolist()


FUNCTIONS = {"simple": lambda: SimpleCompareFunc(), "l2": lambda: L2CompareFunc(),
             "cosine_similarity": lambda: CosineSimilarityCompareFunc(), "psnr": lambda: PsnrCompareFunc(),
             "snr": lambda: SnrCompareFunc(), "indices": lambda: IndicesCompareFunc()}


@pytest.mark.parametrize("function", [*FUNCTIONS, "mse", "sqnr", "kl", "ulp"])
@pytest.mark.parametrize("case", ["equal", "off", "nan", "shape"])
def test_the_peer_reads_our_record(ours, tmp_path, function, case):
    ref = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    got = {"equal": ref, "off": ref + 1, "nan": np.where(ref == 4, np.nan, ref).astype(np.float32),
           "shape": ref.reshape(3, 2)}[case]
    path = tmp_path / "ours.json"
    answer = ours.ask(got, ref, function=function, record=str(path))
    theirs = AccuracyResults.load(str(path))
    assert bool(theirs) == answer["passed"]
    assert list(theirs[0].keys()) == [("low", "ref")]
    again = subprocess.run([VERNIER, "check", "accuracy", path], capture_output=True, text=True)
    assert again.returncode == (0 if answer["passed"] else 1), again.stderr


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", ["equal", "off", "nan", "shape"])
def test_we_read_the_peers_record(tmp_path, function, case):
    ref = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    got = {"equal": ref, "off": ref + 1, "nan": np.where(ref == 4, np.nan, ref).astype(np.float32),
           "shape": ref.reshape(3, 2)}[case]
    theirs = AccuracyResults([AccuracyResult({("low", "ref"): [{"y": peer(FUNCTIONS[function](), got, ref)}]})])
    path = tmp_path / "theirs.json"
    theirs.save(str(path))
    done = subprocess.run([VERNIER, "check", "accuracy", path], capture_output=True, text=True)
    assert done.returncode == (0 if theirs else 1), done.stdout + done.stderr
    # Saved again by us, read again by the peer.
    copy = tmp_path / "copy.json"
    subprocess.run([VERNIER, "check", "accuracy", path, "--save-accuracy-results", copy], capture_output=True)
    assert bool(AccuracyResults.load(str(copy))) == bool(theirs)
