"""Figures of `vernier eval` against the reference packages: pycocotools for boxes; NumPy's formulas and, where it is
installed, scikit-learn for the rest.

The networks here give back what they are fed, so that every case is one random set of outputs and labels.
"""
import contextlib
import io
import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

PROGRAM = os.environ["VERNIER_PROGRAM"]


def echo(path, inputs):
    """A network whose outputs are its inputs plus zero; `inputs`: name -> (dtype, shape, is an output)."""
    nodes, ins, outs = [], [], []
    for name, (dtype, shape, output) in inputs.items():
        ins.append(helper.make_tensor_value_info(name, dtype, shape))
        if output:
            nodes.append(helper.make_node("Identity", [name], [name + "_out"]))
            outs.append(helper.make_tensor_value_info(name + "_out", dtype, shape))
    graph = helper.make_graph(nodes, "echo", ins, outs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def evaluate(*arguments, code=0):
    done = subprocess.run([PROGRAM, "eval", *map(str, arguments), "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def figures(report, model=0):
    return {name: float(value) for name, value in report["models"][model]["figures"].items()}


@pytest.mark.parametrize("seed", range(4))
def test_top_1_and_top_5(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n, classes = 40, 11
    scores = rng.normal(size=(n, 1, classes)).astype(np.float32)
    if seed == 1:
        scores = np.round(scores)  # ties: the lower index wins
    labels = rng.integers(0, classes, n)
    echo(tmp_path / "m.onnx", {"scores": (TensorProto.FLOAT, [1, classes], True)})
    np.savez(tmp_path / "d.npz", scores=scores)
    np.save(tmp_path / "l.npy", labels)
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "classification", "--labels", tmp_path / "l.npy", "--data",
                           tmp_path / "d.npz"))
    order = np.argsort(-scores[:, 0], axis=1, kind="stable")
    right = [order[i].tolist().index(labels[i]) for i in range(n)]
    assert got["top-1"] == pytest.approx(np.mean([r < 1 for r in right]))
    assert got["top-5"] == pytest.approx(np.mean([r < 5 for r in right]))


@pytest.mark.parametrize("seed", range(3))
def test_mean_iou(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n, classes, h, w = 5, 6, 9, 7
    scores = rng.normal(size=(n, 1, classes, h, w)).astype(np.float32)
    truth = rng.integers(0, classes - 1, (n, h, w))  # the last class never occurs in truth
    scores[:, 0, 0] += truth == 0
    truth[rng.random(truth.shape) < 0.2] = 255
    echo(tmp_path / "m.onnx", {"scores": (TensorProto.FLOAT, [1, classes, h, w], True)})
    np.savez(tmp_path / "d.npz", scores=scores)
    np.save(tmp_path / "l.npy", truth)
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "segmentation", "--labels", tmp_path / "l.npy", "--data",
                           tmp_path / "d.npz"))
    predicted = scores[:, 0].argmax(axis=1)
    counted = truth != 255
    t, p = truth[counted], predicted[counted]
    ious = [np.sum((t == c) & (p == c)) / np.sum((t == c) | (p == c)) for c in range(classes) if np.any((t == c) | (p == c))]
    assert got["mIoU"] == pytest.approx(np.mean(ious), abs=1e-12)
    assert got["pixel accuracy"] == pytest.approx(np.mean(t == p), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_perplexity(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n, tokens, words = 4, 12, 30
    scores = (10 * rng.normal(size=(n, 1, tokens, words))).astype(np.float32)
    ids = rng.integers(0, words, (n, 1, tokens))
    echo(tmp_path / "m.onnx", {"scores": (TensorProto.FLOAT, [1, tokens, words], True),
                               "ids": (TensorProto.INT64, [1, tokens], False)})
    np.savez(tmp_path / "d.npz", scores=scores, ids=ids)
    x = scores[:, 0].astype(np.float64)
    log_p = x - x.max(-1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(-1, keepdims=True))
    nll = [-log_p[i, t, ids[i, 0, t + 1]] for i in range(n) for t in range(tokens - 1)]
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "language", "--data", tmp_path / "d.npz"))
    assert got["perplexity"] == pytest.approx(np.exp(np.mean(nll)), rel=1e-9)
    targets = rng.integers(-1, words, (n, tokens))
    np.save(tmp_path / "l.npy", targets)
    nll = [-log_p[i, t, targets[i, t]] for i in range(n) for t in range(tokens) if targets[i, t] >= 0]
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "language", "--labels", tmp_path / "l.npy", "--data",
                           tmp_path / "d.npz"))
    assert got["perplexity"] == pytest.approx(np.exp(np.mean(nll)), rel=1e-9)


@pytest.fixture
def sklearn():
    return pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed; with SciPy it is too large to "
                               "come with scripts/bootstrap: pip install scikit-learn")


@pytest.mark.parametrize("seed", range(3))
def test_top_k_as_scikit_learn_has_it(tmp_path, sklearn, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(60, 1, 9)).astype(np.float32)
    labels = rng.integers(0, 9, 60)
    echo(tmp_path / "m.onnx", {"scores": (TensorProto.FLOAT, [1, 9], True)})
    np.savez(tmp_path / "d.npz", scores=scores)
    np.save(tmp_path / "l.npy", labels)
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "classification", "--labels", tmp_path / "l.npy", "--data",
                           tmp_path / "d.npz"))
    for k in (1, 5):
        assert got[f"top-{k}"] == pytest.approx(sklearn.top_k_accuracy_score(labels, scores[:, 0], k=k, labels=range(9)))


@pytest.mark.parametrize("seed", range(3))
def test_mean_iou_as_scikit_learn_has_it(tmp_path, sklearn, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(4, 1, 5, 8, 6)).astype(np.float32)
    truth = rng.integers(0, 5, (4, 8, 6))
    truth[rng.random(truth.shape) < 0.1] = 255
    echo(tmp_path / "m.onnx", {"scores": (TensorProto.FLOAT, [1, 5, 8, 6], True)})
    np.savez(tmp_path / "d.npz", scores=scores)
    np.save(tmp_path / "l.npy", truth)
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "segmentation", "--labels", tmp_path / "l.npy", "--data",
                           tmp_path / "d.npz"))
    counted = truth != 255
    true, predicted = truth[counted], scores[:, 0].argmax(axis=1)[counted]
    assert got["mIoU"] == pytest.approx(sklearn.jaccard_score(true, predicted, average="macro"), abs=1e-12)
    assert got["pixel accuracy"] == pytest.approx(sklearn.accuracy_score(true, predicted), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_perplexity_as_scikit_learn_has_it(tmp_path, sklearn, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(4, 1, 10, 20)).astype(np.float32)
    targets = rng.integers(0, 20, (4, 10))
    echo(tmp_path / "m.onnx", {"scores": (TensorProto.FLOAT, [1, 10, 20], True)})
    np.savez(tmp_path / "d.npz", scores=scores)
    np.save(tmp_path / "l.npy", targets)
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "language", "--labels", tmp_path / "l.npy", "--data",
                           tmp_path / "d.npz"))
    odds = np.exp(scores[:, 0].astype(np.float64)).reshape(-1, 20)
    loss = sklearn.log_loss(targets.reshape(-1), odds / odds.sum(axis=1, keepdims=True), labels=range(20))
    assert got["perplexity"] == pytest.approx(np.exp(loss), rel=1e-9)


def annotations(rng, images, categories, width, height):
    truth = []
    for image in range(images):
        for _ in range(rng.integers(0, 7)):
            w, h = np.exp(rng.uniform(np.log(6), np.log(150), 2))
            x, y = rng.uniform(0, width - 10), rng.uniform(0, height - 10)
            truth.append({"id": len(truth) + 1, "image_id": 100 + image, "category_id": int(rng.choice(categories)),
                          "bbox": [float(x), float(y), float(w), float(h)], "area": float(w * h * rng.uniform(0.5, 1)),
                          "iscrowd": int(rng.random() < 0.15)})
    return {"images": [{"id": 100 + i, "width": width, "height": height} for i in range(images)], "annotations": truth,
            "categories": [{"id": c, "name": str(c)} for c in categories]}


def boxes_near(rng, truth, image, categories, rows):
    """Detections: some near true boxes, some anywhere, with scores that are now and then equal."""
    found = []
    for box in truth["annotations"]:
        if box["image_id"] != 100 + image:
            continue
        for _ in range(rng.integers(0, 3)):
            x, y, w, h = np.array(box["bbox"]) * rng.normal(1, 0.06, 4)
            found.append([x, y, x + abs(w), y + abs(h), rng.integers(1, 20) / 20, categories.index(box["category_id"])])
    while len(found) < rows:
        x, y, w, h = rng.uniform(0, 200, 4)
        found.append([x, y, x + w, y + h, rng.integers(0, 20) / 20, rng.integers(0, len(categories))])
    return np.array(found[:rows], dtype=np.float32)


def reference(truth, detections, tmp_path):
    try:
        from pycocotools import coco
        from pycocotools.cocoeval import COCOeval
    except ImportError:
        if os.environ.get("CI"):
            raise
        pytest.skip("pycocotools is not installed: scripts/bootstrap installs what scripts/requirements.in pins")
    with contextlib.redirect_stdout(io.StringIO()):
        loaded = coco.COCO(str(tmp_path / "truth.json"))
        evaluation = COCOeval(loaded, loaded.loadRes(detections), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


@pytest.mark.parametrize("seed", range(6))
def test_coco_map(tmp_path, seed):
    rng = np.random.default_rng(seed)
    images, categories, rows = 12, [3, 7, 9, 44], 25 if seed else 140
    truth = annotations(rng, images, categories, 320, 240)
    if seed == 5:
        truth["annotations"] = [a for a in truth["annotations"] if a["category_id"] != 9]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    outputs = np.stack([boxes_near(rng, truth, i, categories, rows) for i in range(images)])[:, None]
    echo(tmp_path / "m.onnx", {"image": (TensorProto.FLOAT, [1, 3, 8, 8], False),
                               "rows": (TensorProto.FLOAT, [1, rows, 6], True)})
    np.savez(tmp_path / "d.npz", image=np.zeros((images, 1, 3, 8, 8), np.float32), rows=outputs)
    got = figures(evaluate(tmp_path / "m.onnx", "--task", "detection", "--labels", tmp_path / "truth.json", "--data",
                           tmp_path / "d.npz", "--boxes", "rows", "--box-units", "image", "--nms", 1, "--min-score", 0))
    detections = []
    for image in range(images):
        # Equal scores go by the order of the file on both sides.
        order = np.argsort(-outputs[image, 0, :, 4].astype(np.float64), kind="stable")
        for x1, y1, x2, y2, score, category in outputs[image, 0][order].astype(np.float64).tolist():
            detections.append({"image_id": 100 + image, "category_id": categories[int(category)], "score": score,
                               "bbox": [x1, y1, x2 - x1, y2 - y1]})
    expected = reference(truth, detections, tmp_path)
    names = ["mAP", "AP50", "AP75", "AP small", "AP medium", "AP large", "AR 1", "AR 10", "AR 100"]
    for name, value in zip(names, expected):
        assert got[name] == pytest.approx(value, abs=1e-9), name


def test_yolox_boxes_are_decoded_suppressed_and_taken_back_to_the_image(tmp_path):
    """One object, laid into a grid cell by the inverse of the formula, and a weaker copy that overlaps it."""
    size, width, height = 64, 128, 96
    scale = min(size / width, size / height)
    box = np.array([20.0, 30.0, 80.0, 70.0])
    cells = [(stride, y, x) for stride in (8, 16, 32) for y in range(size // stride) for x in range(size // stride)]
    rows = np.zeros((len(cells), 7), np.float32)
    x1, y1, x2, y2 = box * scale
    for index, objectness in ((20, 0.9), (21, 0.6)):
        stride, y, x = cells[index]
        rows[index] = [(x1 + x2) / 2 / stride - x, (y1 + y2) / 2 / stride - y, np.log((x2 - x1) / stride),
                       np.log((y2 - y1) / stride), objectness, 0.1, 0.95]
    truth = {"images": [{"id": 1, "width": width, "height": height}], "categories": [{"id": 5}, {"id": 8}],
             "annotations": [{"id": 1, "image_id": 1, "category_id": 8, "bbox": [20, 30, 60, 40], "area": 2400, "iscrowd": 0}]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    echo(tmp_path / "m.onnx", {"image": (TensorProto.FLOAT, [1, 3, size, size], False),
                               "cells": (TensorProto.FLOAT, [1, len(cells), 7], True)})
    np.savez(tmp_path / "d.npz", image=np.zeros((1, 1, 3, size, size), np.float32), cells=rows[None, None])
    report = evaluate(tmp_path / "m.onnx", "--task", "detection", "--labels", tmp_path / "truth.json", "--data",
                      tmp_path / "d.npz", "--min", 0.99)
    assert figures(report)["mAP"] == pytest.approx(1)
    missed = evaluate(tmp_path / "m.onnx", "--task", "detection", "--labels", tmp_path / "truth.json", "--data",
                      tmp_path / "d.npz", "--fit", "stretch", "--min", 0.99, code=1)
    assert figures(missed)["mAP"] < 0.99 and missed["missed"]
