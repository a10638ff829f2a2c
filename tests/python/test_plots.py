"""Plots: of every report that diagnose() and fix() give, or a sentence that says what is missing."""
import copy
import importlib.util
import math

import numpy as np
import onnx_vernier as vernier
import pytest
from conftest import network
from onnx import TensorProto, helper, numpy_helper

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed: plots were not drawn")
KINDS = ["damage", "pareto", "histograms"]


@pytest.fixture(autouse=True)
def canvas(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    if importlib.util.find_spec("matplotlib"):
        from matplotlib import pyplot

        pyplot.close("all")


def drawn(axes):
    """Draws, and gives all that is written on it."""
    from matplotlib.text import Text

    axes.figure.canvas.draw()
    return " | ".join(text.get_text() for text in axes.figure.findobj(Text) if text.get_text())


@pytest.fixture(scope="module")
def reports(model, images):
    samples = {"image": images}
    huge = network(spread=1e6)
    one = helper.make_model(helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="only")], "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(np.ones((4, 2), np.float32), "w")]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    few = {"x": np.random.default_rng(0).normal(size=(4, 1, 4)).astype(np.float32)}
    return {
        "a requirement": vernier.diagnose(model, samples, min_sqnr=30),
        "no requirement": vernier.diagnose(model, samples),
        "a curve": vernier.diagnose(model, samples, min_sqnr=30, pareto=True),
        "costs in bytes": vernier.diagnose(model, samples, min_sqnr=30, pareto=True, cost="bytes"),
        "fix": vernier.fix(model, samples, min_sqnr=30),
        "fix without a requirement": vernier.fix(model, samples),
        "largest error": vernier.diagnose(model, samples, max_abs=1000.0, rank=True),
        "a limit for an output": vernier.diagnose(model, samples, min_sqnr={"scores": 30}),
        "a metric": vernier.diagnose(model, samples, metric=lambda outputs, references: 0.5, max_metric=1),
        "labels": vernier.diagnose(model, samples, labels=[0] * len(images), min_top1=0),
        "impossible": vernier.diagnose(model, samples, min_sqnr=500),
        "overflows": vernier.diagnose(huge, samples, low="float16", min_sqnr=30),
        "one layer": vernier.diagnose(one, few, min_sqnr=30, rank=True),
        "one exact layer": vernier.diagnose(one, {"x": np.zeros((2, 1, 4), np.float32)}, low="bfloat16"),
        "several formats": vernier.diagnose(model, samples, low=["int8", "float16"], min_sqnr=30),
        "no picture": vernier.diagnose(model, samples, min_sqnr=30, pictures=False),
    }


REPORTS = ["a requirement", "no requirement", "a curve", "costs in bytes", "fix", "fix without a requirement", "largest error",
           "a limit for an output", "a metric", "labels", "impossible", "overflows", "one layer", "one exact layer", "several formats"]


@pytest.mark.sampled
@needs_matplotlib
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", REPORTS)
def test_every_report_is_drawn(which, kind, reports):
    axes = reports[which].plot(kind)
    text = drawn(axes)
    assert axes.get_xlabel() and axes.get_ylabel() and axes.get_title()
    assert "inf" not in text.replace("not finite", "") and "nan" not in text.split(" | ")
    low, high = axes.get_ylim()
    assert math.isfinite(low) and math.isfinite(high) and low != high


@needs_matplotlib
def test_what_the_plots_say(reports):
    text = drawn(reports["a requirement"].plot())
    assert all(part in text for part in ("kept (1)", "low (2)", "required of all together: 30 dB", "second", "layer, in graph order", "dB"))
    assert "not finite" in drawn(reports["overflows"].plot())
    text = drawn(reports["a requirement"].plot("pareto"))
    assert all(part in text for part in ("a set that passes", "a set that misses", "required: 30 dB", "kept layers", "SQNR of the output, dB"))
    assert "best for its cost" in drawn(reports["a curve"].plot("pareto"))
    assert "cost of what is kept, bytes" in drawn(reports["costs in bytes"].plot("pareto"))
    assert "predicted from single layers" in drawn(reports["no requirement"].plot("pareto"))
    report = reports["a requirement"]
    for role in ("input", "weight", "output"):
        text = drawn(report.plot("histograms", layer="second", role=role))
        assert all(part in text for part in ("second: int8", "float32", "all low", f"value of the {role}")), text
    assert "step " in drawn(report.plot("histograms", layer="second"))
    assert "log2 of the magnitude" in drawn(reports["overflows"].plot("histograms"))


@needs_matplotlib
def test_into_axes_of_ones_own(reports):
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3)
    for ax, kind in zip(axes, KINDS):
        assert reports["fix"].plot(kind, ax=ax) is ax
    assert len(pyplot.get_fignums()) == 1


@needs_matplotlib
def test_reports_that_were_copied_and_ended_early(reports, model, images):
    copied = copy.deepcopy(reports["fix"])
    assert drawn(copied.plot()) == drawn(reports["fix"].plot())

    def end(text, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        vernier.diagnose(model, {"image": images}, min_sqnr=30, progress=end)
    ended = getattr(raised.value, "report", None)
    for kind in KINDS if ended is not None else ():
        try:
            drawn(ended.plot(kind))
        except vernier.UsageError as error:  # not measured yet
            assert str(error).startswith("no ")


def test_errors_say_what_would_help(reports, monkeypatch):
    report = reports["no picture"]
    for message, arguments in {
        "is not one of damage, pareto, histograms": {"kind": "depth"},
        r"no values of layers were counted \(hint: pass pictures=True": {"kind": "histograms"},
        "is of kind=\"histograms\"": {"kind": "damage", "layer": "second"},
    }.items():
        with pytest.raises(vernier.UsageError, match=message):
            report.plot(**arguments)
    with pytest.raises(vernier.UsageError, match="no values of 'third' were counted .*second"):
        reports["fix"].plot("histograms", layer="third")
    with pytest.raises(vernier.UsageError, match="role='bias': .*one of input"):
        reports["fix"].plot("histograms", role="bias")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    monkeypatch.delitem(__import__("sys").modules, "matplotlib.pyplot", raising=False)
    with pytest.raises(vernier.UsageError, match="pip install matplotlib"):
        report.plot()


def test_pages_have_the_pictures_too(reports):
    assert reports["a requirement"].get("pictures") and '"pictures"' in reports["a requirement"].to_json()
    assert reports["no picture"].get("pictures") is None
    assert len(reports["a requirement"].to_html()) > len(reports["no picture"].to_html())
