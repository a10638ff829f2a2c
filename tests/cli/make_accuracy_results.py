"""Writes accuracy results as Polygraphy saves them: make_accuracy_results.py FILE KIND."""
import json
import pathlib
import sys


def simple(worst, mean, passed, stat="elemwise"):
    figures = {f"{name}_{kind}diff": value for name, value in (("max", worst), ("mean", mean), ("median", mean))
               for kind in ("abs", "rel")}
    return {**figures, "quantile_absdiff": None, "quantile_reldiff": None,
            "thresholds": {"check_error_stat": stat, "atol": 1e-05, "rtol": 1e-05, "polygraphy_class": "SimpleThreshold"},
            "passed": passed if stat == "elemwise" else None, "polygraphy_class": "OutputCompareResult"}


def snr(value):
    return {"snr": value, "thresholds": {"threshold": 20.0, "polygraphy_class": "SnrThreshold"}, "polygraphy_class": "SnrResult"}


def result(iterations, aggregation="per_sample"):
    return {"lst": [[["low", "ref"], iterations]], "aggregation": aggregation, "polygraphy_class": "AccuracyResult"}


KINDS = {
    "good": [result([{"y": simple(0.0, 0.0, True)}])],
    # One of two outputs failed, in one of two iterations; the largest error is 0.5, the mean 0.125.
    "failed": [result([{"y": simple(0.5, 0.125, False), "z": simple(0.0, 0.0, True)},
                       {"y": simple(0.0, 0.0, True), "z": simple(0.0, 0.0, True)}]),
               result([{"y": snr(12.5), "z": snr(float("inf"))}, {"y": snr(float("inf")), "z": snr(float("inf"))}])],
    "nan": [result([{"y": simple(float("nan"), float("nan"), None, "max")}])],
    "average": [result([{"y": snr(10.0)}, {"y": snr(32.0)}], "average")],
    "shape": [result([{"y": False}])],
    "empty": [],
    "unknown": [result([{"y": {"lpips": 0.5, "polygraphy_class": "PerceptualMetricsResult"}}])],
}

pathlib.Path(sys.argv[1]).write_text(json.dumps({"lst": KINDS[sys.argv[2]], "polygraphy_class": "AccuracyResults"}, indent=4))
