"""Figures that would be perfect because nothing, or not everything, was compared: one class, infinities of the float model, and
outputs without a value."""
import json

import numpy as np
import onnx
import pytest

from networks import FLOAT, Builder
from test_traits import vernier

CLASSES = 16
ANY_VALUE = ("--min-sqnr 20", "--max-abs-error 0.1", "--max-mse 1", "--min-cosine 0.5")


def product(sign, mask=None, width=CLASSES, threshold=None):
    """x times weights of that sign; with a mask added, or only at places where x is above a threshold."""
    b = Builder(501)
    b.add("MatMul", ["x", b.constant("weight", np.float32(sign) * b.normal(8, width))], "product" if mask is not None or threshold else "y")
    if mask is not None:
        b.add("Add", ["product", b.constant("mask", mask)], "y")
    if threshold is None:
        return b.model([("x", FLOAT, [1, 8])], [("y", FLOAT, [1, width])])
    b.add("Greater", ["x", b.constant("threshold", np.float32(threshold))], "above")
    b.add("Transpose", [b.add("NonZero", ["above"], "places")], "rows", perm=[1, 0])
    b.add("GatherND", ["product", "rows"], "y")
    return b.model([("x", FLOAT, [1, 8])], [("y", FLOAT, ["found"])])


def mask_of(value):
    mask = np.zeros((1, CLASSES), np.float32)
    mask[:, 12:] = value
    return mask


def files(folder, **models):
    np.savez(folder / "net.npz", x=Builder(502).normal(12, 1, 8))
    for name, model in models.items():
        onnx.save(model, folder / f"{name}.onnx")


def verify(folder, limit, codes):
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "net.npz", *limit.split(), "--json", folder=folder, codes=codes)
    report = json.loads(done.stdout)
    return done.stderr if report["outcome"] == "error" else report


def test_top1_of_one_class_is_refused(tmp_path):
    files(tmp_path, float=product(1, width=1), typed=product(-1, width=1))
    assert "several classes" in verify(tmp_path, "--min-top1-agreement 0.9", (3,))
    for job in ("diagnose", "fix"):
        done = vernier(job, "float.onnx", "--int8", "--data", "net.npz", "--min-top1-agreement", "0.9", folder=tmp_path, codes=(3,))
        assert "several classes" in done.stderr
    np.save(tmp_path / "labels.npy", np.zeros(12, np.int64))
    done = vernier("verify", "float.onnx", "typed.onnx", "--data", "net.npz", "--labels", "labels.npy", "--min-top1", "0.9", folder=tmp_path, codes=(3,))
    assert "a score for each class" in done.stderr


@pytest.mark.parametrize("limit", ANY_VALUE)
@pytest.mark.parametrize("lost", [0, np.inf, np.nan], ids=str)
def test_an_infinity_that_is_lost_has_an_error_without_bound(lost, limit, tmp_path):
    files(tmp_path, float=product(1, mask_of(-np.inf)), typed=product(1, mask_of(lost)))
    report = verify(tmp_path, limit, (1,))
    figure = report["figures"]["outputs"][0]
    assert report["outcome"] == "missed" and figure["sqnr_db"] == "-inf" and figure["lost_infinities"] == 48
    assert "reference-not-finite" in [note["code"] for note in report["warning_codes"]]


@pytest.mark.parametrize("limit", [*ANY_VALUE, "--min-top1-agreement 1"])
def test_an_infinity_that_comes_back_is_no_error(limit, tmp_path):
    files(tmp_path, float=product(1, mask_of(-np.inf)), typed=product(1, mask_of(-np.inf)))
    report = verify(tmp_path, limit, (5,))  # all of it in FP32
    assert report["outcome"] == "nothing-left" and "lost_infinities" not in report["figures"]["outputs"][0]


@pytest.mark.parametrize("lost", [-1000, 0, np.inf, np.nan], ids=str)
def test_top1_agreement_counts_rows_whatever_is_infinite(lost, tmp_path):
    given, typed = product(1, mask_of(-np.inf)), product(1, mask_of(lost))
    files(tmp_path, float=given, typed=typed)
    samples = np.load(tmp_path / "net.npz")["x"]
    weight = onnx.numpy_helper.to_array(given.graph.initializer[0])
    rows = [(row @ weight)[0] for row in samples]
    same = np.mean([np.argmax(row + mask_of(-np.inf)[0]) == np.argmax(row + mask_of(lost)[0]) for row in rows])
    assert (same == 1) == (lost == -1000)
    report = verify(tmp_path, "--min-top1-agreement 0.95", (5,) if same == 1 else (1,))
    assert report["figures"]["outputs"][0]["top1_agreement"] == pytest.approx(same)


@pytest.mark.parametrize("limit", [*ANY_VALUE, "--min-top1-agreement 0.5", ""])
def test_outputs_without_a_value_in_any_sample_are_refused(limit, tmp_path):
    files(tmp_path, float=product(1, threshold=1e9), typed=product(-1, threshold=1e9))
    assert "empty in every sample" in verify(tmp_path, limit, (3,))
    done = vernier("diagnose", "float.onnx", "--int8", "--data", "net.npz", *limit.split(), folder=tmp_path, codes=(3,))
    assert "empty in every sample" in done.stderr


def test_top1_of_one_class_beside_another_output_is_told(tmp_path):
    b = Builder(503)
    b.add("MatMul", ["x", b.constant("weight", b.normal(8, CLASSES))], "classes")
    b.add("MatMul", ["x", b.constant("other", b.normal(8, 1))], "score")
    model = b.model([("x", FLOAT, [1, 8])], [("classes", FLOAT, [1, CLASSES]), ("score", FLOAT, [1, 1])])
    files(tmp_path, float=model, typed=model)
    report = verify(tmp_path, "--min-top1-agreement 0.9", (5,))
    assert [note["output"] for note in report["warning_codes"] if note["code"] == "output-without-classes"] == ["score"]
    assert "several classes" in verify(tmp_path, "--min-top1-agreement score:0.9", (3,))


def test_a_cache_that_is_empty_in_every_sample_is_data(tmp_path):
    b = Builder(504)
    b.add("Concat", ["past", "x"], "present", axis=0)
    b.add("MatMul", ["present", b.constant("weight", b.normal(8, 4))], "y")
    files(tmp_path, float=b.model([("x", FLOAT, [1, 8]), ("past", FLOAT, ["steps", 8])], [("y", FLOAT, ["all", 4])]))
    np.savez(tmp_path / "net.npz", x=b.normal(4, 1, 8), past=np.zeros((4, 0, 8), np.float32))
    done = vernier("diagnose", "float.onnx", "--int8", "--data", "net.npz", "--min-sqnr", "20", "--no-latency", "--quick", folder=tmp_path)
    assert "is met" in done.stdout


@pytest.mark.parametrize("high", ["float32", "float16"])
def test_a_gate_is_told_that_nothing_is_in_the_low_format(tmp_path, high):
    """ONNX Runtime's INT8 kernels make so small a product no faster, so INT8 was asked for in vain, whatever the rest is in."""
    files(tmp_path, net=product(1))
    done = vernier("diagnose", "net.onnx", "--int8", "-p", high, "--target", "onnxruntime", "--data", "net.npz", "--min-sqnr", "20", "--json",
                   folder=tmp_path, codes=(5,))
    assert json.loads(done.stdout)["outcome"] == "nothing-left"
