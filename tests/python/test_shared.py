"""On networks that are not ours: they are there in CI."""
import importlib.util
import os
import pathlib

import numpy as np
import onnx_vernier as vernier
import pytest

SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared"))


@pytest.fixture(scope="module")
def inputs():
    if not (SHARED / "tools/inputs.py").exists():
        assert not os.environ.get("CI"), f"no shared networks in {SHARED}"
        pytest.skip(f"no shared networks in {SHARED}")
    spec = importlib.util.spec_from_file_location("inputs", SHARED / "tools/inputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_ranking_that_is_mended_leaves_costs_as_they_are(inputs):
    """The search holds its items. What ranked the layers again replaced them, and costs were read from freed memory: all
    layers were kept at a cost of 6.9e-310, where one was enough."""
    model = SHARED / "models/resnet8-cifar/model.onnx"
    samples = np.stack(inputs.load("resnet8-cifar", 20))
    mended = 0
    for limit in (34, 35, 38):
        report = vernier.diagnose(model, samples, low="int8", min_sqnr=limit, cross_fit=False, claim_confidence=0.5)
        mended += report.kept.ranking.mended
        assert len(report.kept.layers) <= report.kept.cost < len(report.kept.layers) + 1, limit
        assert {row.layer for row in report.kept.certificate} == set(report.kept.layers), limit
        assert len(report.kept.layers) < 5, limit
    assert mended, "no ranking was mended: nothing was tried"


@pytest.mark.parametrize("network, low, arguments", [
    ("ppocr-en-rec", "int8", {}),
    ("stories260k", "float16", {}),
    ("vit-cifar", "int8", {"target": "onnxruntime", "min_sqnr": 20, "even_if_slower": True}),
])
def test_other_kinds_of_networks(inputs, network, low, arguments):
    """Shapes that differ from sample to sample, tokens, rules of another engine."""
    samples = [np.asarray(each) for each in inputs.load(network, 6)]
    model = SHARED / "models" / network / "model.onnx"
    report = vernier.diagnose(model, samples, low=low, **arguments)
    assert report.samples == 6 and report.all_low.outputs[0].sqnr_db > 5
