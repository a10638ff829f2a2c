"""Networks that are large by number, which run in parts (src/model/parts.h) and share runs (src/analysis/sensitivity.h):
the figures are those of smaller ones all the same."""
import json
import pathlib
import sys

import numpy as np
import onnx
import pytest

from test_traits import check_claim, vernier

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import many_nodes  # noqa: E402


def diagnosed(model, folder, *arguments):
    data = model.with_suffix(".npy")
    vernier("diagnose", model, "--int8", "--data", data, "--no-latency", "-o", "out", *arguments, folder=folder)
    return json.loads((folder / "out/report.json").read_text()), {"x": np.load(data)}


def test_a_long_chain(tmp_path):
    model = many_nodes.made(tmp_path / "chain.onnx", many_nodes.chain, 1250)
    assert len(onnx.load(model).graph.node) > 5000
    report, samples = diagnosed(model, tmp_path)
    check_claim(model, tmp_path / "out/model.onnx", samples, report["final_figures"], "--int8")
    measured = [row["name"] for row in report["layers"] if row.get("sensitivity_db") is not None]
    assert len(measured) == 1250 and not any("sensitivity" in note for note in report["notes"])


def test_many_heads(tmp_path):
    """Each head changes its own output alone, so that its sensitivity is that output's error."""
    model = many_nodes.made(tmp_path / "heads.onnx", many_nodes.heads, 300)
    report, samples = diagnosed(model, tmp_path)
    check_claim(model, tmp_path / "out/model.onnx", samples, report["final_figures"], "--int8")
    errors = {figure["name"]: float(figure["sqnr_db"]) for figure in report["all_low"]["outputs"]}
    for row in report["layers"]:
        assert float(row["sensitivity_db"]) == pytest.approx(errors[row["name"].replace("head", "y")], abs=0.01)
