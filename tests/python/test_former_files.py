"""What version 0.1 wrote (tests/golden/former/0.1) is taken by the Python of today."""
import gzip

import numpy as np
import onnx_vernier as vernier
import pytest
from conftest import DIGITS, ROOT

FORMER = ROOT / "tests/golden/former/0.1"


@pytest.fixture(scope="module")
def samples():
    return {"counts": np.load(DIGITS / "test.npz")["counts"][:8]}


def test_saved_runs_are_arrays():
    results = vernier.polygraphy.load_results(FORMER / "outputs.json")
    assert [name.split("-runner")[0] for name in results] == ["onnxrt", "sim"]
    for iterations in results.values():
        assert [iteration["logits"].shape for iteration in iterations] == [(1, 10), (1, 10)]


@pytest.mark.parametrize("form", ["ranges.json", "ranges.cache", "ranges_onnxruntime.json"])
def test_ranges_stand_in_for_samples(form, samples):
    typed = vernier.quantize(DIGITS / "digits.onnx", calibration_cache=FORMER / form).model
    # All layers in INT8: that is what 0.1 measured of them, too.
    assert vernier.verify(DIGITS / "digits.onnx", typed, samples).figures.outputs[0].sqnr_db == pytest.approx(6.34, abs=0.1)


def test_typed_files_are_verified(samples):
    report = vernier.verify(DIGITS / "digits.onnx", FORMER / "typed.onnx", samples, min_sqnr=20)
    assert report.figures.outputs[0].sqnr_db == pytest.approx(22.9, abs=0.1)


def test_reports_are_rendered():
    text = gzip.decompress((FORMER / "diagnose_report.json.gz").read_bytes()).decode()
    report = vernier.DiagnoseReport((text, "", None, ""))
    assert report.passed and report.kept_layers == ["block4_expand_conv"]
    assert "block4_expand_conv" in report.to_html() and "0.1.0" in report.deploy()
