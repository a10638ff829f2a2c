"""Faults that show on few of the samples: defects are looked for on all, or the report tells on how many."""
import json

import numpy as np
import onnx
import pytest

from networks import FLOAT
from quantized_files import Quantizer
from test_traits import vernier

SAMPLES = 40
RARE = 37  # neither among eight samples spread evenly nor among the first


def network(branches, wrong=None):
    """Branches that run on samples of large values alone, each with a pair; the range of `wrong` ends at what others need."""
    b = Quantizer(911)
    b.add("Relu", [b.conv("x", "stem", 3, 8)], "features")
    sums = []
    for i in range(branches):
        b.add("Sub", ["features", b.constant(f"high{i}", np.float32(8))], f"beyond{i}")
        b.add("Relu", [f"beyond{i}"], f"rare{i}")
        source = f"rare{i}"
        if wrong is not None:
            source = b.pair(source, 0.0, 1.0 if i == wrong else 40.0, np.uint8)
        sums.append(b.conv(source, f"branch{i}", 8, 4))
    sums.append(b.conv("features", "main", 8, 4))
    b.add("Sum", sums, "y")
    return b.model([("x", FLOAT, [1, 3, 8, 8])], [("y", FLOAT, [1, 4, 8, 8])])


def write(folder, branches, wrong, rare=RARE):
    onnx.save(network(branches), folder / "float.onnx")
    onnx.save(network(branches, wrong), folder / "quantized.onnx")
    x = Quantizer(912).normal(SAMPLES, 1, 3, 8, 8)
    x[rare] *= 12
    np.savez(folder / "net.npz", x=x)


def loss(folder):
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "net.npz", "--json", folder=folder, codes=(0, 1))
    return json.loads(done.stdout)


@pytest.mark.parametrize("rare", [3, RARE, SAMPLES - 1])
def test_a_pair_that_clips_one_sample_is_named(rare, tmp_path):
    write(tmp_path, 2, 1, rare)
    report = loss(tmp_path)
    assert report["examined"] == SAMPLES and "rare1.codes" in [defect["node"] for defect in report["defects"]]
    report = json.loads(vernier("verify", "float.onnx", "quantized.onnx", "--data", "net.npz", "--json", folder=tmp_path).stdout)
    assert report["examined"] == SAMPLES and "rare1.codes" in [defect["node"] for defect in report["defects"]]


def test_what_is_too_much_work_is_told_and_begins_with_the_worst_samples(tmp_path):
    samples, rare = 2000, 1001
    for name, high in (("float", None), ("quantized", 6.0)):
        b = Quantizer(913)
        b.add("Abs", [b.linear("x", "stem", 4, 4)], "features")
        b.linear("features" if high is None else b.pair("features", 0.0, high, np.uint8), "y", 4, 4)
        onnx.save(b.model([("x", FLOAT, [1, 4])], [("y", FLOAT, [1, 4])]), tmp_path / f"{name}.onnx")
    x = Quantizer(914).normal(samples, 1, 4)
    x[rare] *= 1000
    np.savez(tmp_path / "net.npz", x=x)
    report = loss(tmp_path)
    assert 8 < report["examined"] < samples
    assert "features.codes" in [defect["node"] for defect in report["defects"]]
    assert any(f"looked for on {report['examined']} of {samples} samples" in note for note in report["notes"])
