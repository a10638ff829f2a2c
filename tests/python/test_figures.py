"""evaluate, compare, bench, inspect_engine."""
import json

import numpy as np
import onnx
import onnx_vernier as vernier
import pytest


def test_labels_in_memory_and_in_a_file(digits, tmp_path):
    path, samples, labels = digits
    np.save(tmp_path / "labels.npy", labels)
    one, other = (vernier.evaluate(path, samples, given) for given in (labels, tmp_path / "labels.npy"))
    assert one.models[0].figures == other.models[0].figures
    right = np.mean([np.argmax(outputs[next(iter(outputs))]) == label
                     for outputs, label in zip(vernier.run(path, samples), labels)])
    assert one.models[0].figures["top-1"] == pytest.approx(right)
    assert one.passed is True


def test_two_models_and_a_limit(digits):
    path, samples, labels = digits
    typed = vernier.quantize(path, samples, low="int8").model
    report = vernier.evaluate(typed, samples, labels, against=path, max_loss=0.02)
    assert len(report.models) == 2 and report.passed is (
        report.models[1].figures["top-1"] - report.models[0].figures["top-1"] <= 0.02 + 1e-9
    )
    assert vernier.evaluate(path, samples, labels, min_metric=0.999999).passed in (True, False)
    assert vernier.evaluate(path, samples, (labels + 1) % 10, min_metric=0.9).passed is False


def test_a_metric_of_yours(digits):
    path, samples, labels = digits

    def share_right(outputs, references):
        assert references == [] or len(references) == len(outputs)
        return np.mean([np.argmax(next(iter(each.values()))) == label for each, label in zip(outputs, labels)])

    report = vernier.evaluate(path, samples, task="custom", metric=share_right, min_metric=0.5)
    plain = vernier.evaluate(path, samples, labels)
    assert report.models[0].figures["share_right"] == pytest.approx(plain.models[0].figures["top-1"])
    assert report.passed and "share_right" in str(report)


def test_annotations_of_boxes(tmp_path):
    """A detector that gives one box in rows, right on the first image and nowhere near on the second."""
    network = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
      boxes (float[1, 3, 100, 100] image, float[1, 1, 6] rows) => (float[1, 1, 6] out)
      <float[1] nothing = {0}> { mean = ReduceMean <keepdims = 0> (image)  zero = Mul (mean, nothing)  out = Add (rows, zero) }""")
    samples = {"image": np.ones((2, 1, 3, 100, 100), np.float32)}
    samples["rows"] = np.array([[[[0, 0, 10, 10, 0.9, 0]]], [[[50, 50, 60, 60, 0.9, 0]]]], np.float32)
    truth = {
        "images": [{"id": i, "width": 100, "height": 100, "file_name": f"{i}.png"} for i in range(2)],
        "categories": [{"id": 1, "name": "thing"}],
        "annotations": [
            {"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100, "iscrowd": 0} for i in range(2)
        ],
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    arguments = {"task": "detection", "boxes": "rows", "box_units": "image"}
    one = vernier.evaluate(network, samples, truth, **arguments)
    other = vernier.evaluate(network, samples, tmp_path / "truth.json", **arguments)
    assert one.models[0].figures == other.models[0].figures
    assert 0 < next(iter(one.models[0].figures.values())) < 1
    with pytest.raises(vernier.UsageError, match="annotations, not numbers"):
        vernier.evaluate(network, samples, np.zeros(2, np.int64), **arguments)


@pytest.mark.parametrize(
    ("labels", "arguments", "why"),
    [
        (None, {}, "needs labels"),
        (np.zeros(3), {}, "whole numbers"),
        ([1, 2], {}, "2 labels for"),
        ([0] * 3, {"task": "classify"}, "task='classify'"),
        (None, {"task": "custom"}, "metric"),
        ([0], {"metric": lambda outputs, references: 1.0}, "custom"),
        ([0], {"min_metric": "much"}, "min_metric='much'"),
    ],
)
def test_arguments_that_mean_nothing(digits, labels, arguments, why):
    path, samples, _ = digits
    with pytest.raises(vernier.Error, match=why):
        vernier.evaluate(path, samples, labels, **arguments)


def test_outputs_beside_each_other(model, images, tmp_path):
    reference, low = vernier.run(model, images), vernier.run(model, images, low="int8")
    report = vernier.compare(reference, low, metric="sqnr", threshold=60)
    (row,) = report.rows
    assert (row.name, report.passed, report.iterations) == ("scores", False, len(images))
    ref, got = (np.concatenate([each["scores"] for each in run]).astype(float) for run in (reference, low))
    assert row.sqnr_db == pytest.approx(10 * np.log10((ref**2).sum() / ((ref - got) ** 2).sum()))
    assert vernier.compare(reference, reference, threshold=60).passed
    vernier.polygraphy.save_results(tmp_path / "reference.json", {"float": reference})
    assert vernier.compare(tmp_path / "reference.json", low).rows[0].sqnr_db == row.sqnr_db
    assert vernier.compare(reference[0], low[0]).iterations == 1
    with pytest.raises(vernier.UsageError, match="tested"):
        vernier.compare(reference, [])
    with pytest.raises(vernier.InputError):
        vernier.compare(reference, [{"other": np.zeros(3, np.float32)}] * len(reference))


def test_times_side_by_side(model, images):
    typed = vernier.quantize(model, images, target="onnxruntime").model
    report = vernier.bench([model, typed], images, seconds=0.05, iterations=2, threads=1)
    assert len(report.rows) == 2 and all(row.latency.median_ms > 0 for row in report.rows)
    with pytest.raises(vernier.UsageError, match="no model"):
        vernier.bench([])


def test_a_metric_that_is_no_number_is_refused(model, images):
    with pytest.raises(vernier.InputError, match="NaN"):
        vernier.diagnose(model, images, metric=lambda outputs, references: float("nan"), max_metric=1)


def test_an_engine_that_is_not_there(model):
    with pytest.raises(vernier.BackendError):
        vernier.inspect_engine(model, engine="tensorrt", python="/bin/false")


def test_a_metric_is_better_when_larger_unless_it_has_a_largest(model, images):
    low = vernier.quantize(model, images).model

    def error(outputs, references):
        return max(np.abs(o["scores"] - r["scores"]).max() for o, r in zip(outputs, references)) if references else 0.0

    arguments = {"task": "custom", "metric": error, "against": model, "max_loss": 0.01}
    assert vernier.evaluate(low, images, max_metric=1e9, **arguments).passed is False
    assert vernier.evaluate(low, images, **arguments).passed is True, "more of it is no loss"


def test_outputs_of_other_shapes_fail():
    one = np.arange(6, dtype=np.float32).reshape(2, 3)
    both, other = [{"a": one, "b": one}], [{"a": one, "b": one.T.copy()}]
    with pytest.warns(vernier.VernierWarning, match="not compared: b"):
        assert vernier.compare(both, other, threshold=30).passed is False
    with pytest.warns(vernier.VernierWarning, match="not compared: b"):
        assert vernier.compare(both, [{"a": one}], threshold=30).passed is True
    assert vernier.compare(both, both).passed is None
    with pytest.raises(vernier.InputError, match="other shapes"):
        vernier.compare([{"b": one}], other)


def test_figures_are_numbers(model, images):
    report = vernier.evaluate(model, images, task="custom", metric=lambda outputs, references: float("inf"))
    assert list(report.models[0].figures.values()) == [float("inf")]


def test_labels_look_at_what_is_behind_the_network(digits):
    path, samples, labels = digits
    shifted = vernier.check_data(path, samples, (labels + 1) % 10)
    assert "label" in str(shifted) and "--" not in str(shifted)


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (lambda path, samples, labels: vernier.evaluate(path, samples, {"labels": labels}), "COCO"),
        (lambda path, samples, labels: vernier.evaluate(path, samples, []), "empty"),
        (lambda path, samples, labels: vernier.evaluate(path, samples, labels + 0.5), "astype"),
        (lambda path, samples, labels: vernier.evaluate(path, samples, task="custom", metric="accuracy"), "metric='accuracy'"),
        (lambda path, samples, labels: vernier.evaluate(path, samples, task="custom", metric=lambda o, r: o), "metric=a function returned"),
        (lambda path, samples, labels: vernier.diagnose(path, samples, metric=lambda o, r: None, max_metric=1), "metric=a function returned None"),
        (lambda path, samples, labels: vernier.compare(vernier.Model(path), []), "reference: expected a list"),
        (lambda path, samples, labels: vernier.Samples(-1, print), "Samples\\(-1"),
        (lambda path, samples, labels: vernier.Samples(3, [1]), "expected a function"),
        (lambda path, samples, labels: vernier.search(3.5, print), "n=3.5"),
        (lambda path, samples, labels: vernier.search(-1, print), "n=-1"),
    ],
)
def test_mistakes_name_the_argument(digits, job, why):
    with pytest.raises(vernier.UsageError, match=why):
        job(*digits)
