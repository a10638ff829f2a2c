"""Figures of tasks, and of outputs beside each other."""
from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _core, _options
from ._arrays import to_core
from ._call import call, names_of_inputs
from ._errors import UsageError
from ._model import model_of
from ._progress import Progress, VernierWarning
from ._report import Report


def evaluate(
    model: Any,
    samples: Any,
    labels: Any = None,
    *,
    against: Any = None,
    task: str = "classification",
    label_offset: int = 0,
    ignored_label: int = 255,
    boxes: str = "yolox",
    box_order: str | None = None,
    scores: str = "none",
    box_units: str = "input",
    fit: str = "letterbox",
    background_classes: int = 0,
    overlap: float = 0.65,
    least_score: float = 0.01,
    metric: Callable[..., float] | None = None,
    on: str | None = None,
    min_metric: float | None = None,
    max_metric: float | None = None,
    max_loss: float | None = None,
    outputs: Iterable[str] = (),
    carry: Mapping[str, str] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    batch: int = 1,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """What a network is worth for its task, against labels: a float model, a typed one, or both side by side.

    Args:
        labels: what is right, one a sample. Classification: whole numbers [N]. Segmentation: [N, height, width].
            Language: the next tokens, [N, tokens]; None: those of the input itself. Detection: COCO's annotations, a dict
            or a file, whose images are in the order of the samples. A path is read as the command's ``--labels``.
        against: a second model on the same samples.
        task: "classification" (top-1, top-5), "detection" (mAP), "segmentation" (mIoU), "language" (perplexity), "custom".
        metric: of task "custom": ``metric(outputs, references)``, lists over the samples of {output: array}; references are
            empty without ``against``.
        label_offset: is added to each label. ignored_label: of segmentation: pixels that count for nothing.
        boxes: of detection, how they come out: "yolox", "yolov5", "plain", "rows". ``box_order``: "xyxy", "yxyx",
            "cxcywh", "xywh". ``scores``: what the network left out: "none", "sigmoid", "softmax". ``box_units``: "input",
            "unit", "image". ``fit``: "letterbox", "letterbox-center", "stretch".
        on: the engine that runs the models: "onnxruntime", "tensorrt", "openvino"; None: float32 kernels with our
            rounding behind them.
        min_metric: of the first figure, at least; ``max_metric``: at most. ``max_loss``: it may be worse than that of
            ``against`` by so much. A metric of yours is better when larger, unless ``max_metric`` alone is given.
        batch: as of ``verify``.

    Returns:
        A report with ``models``: for each its ``figures``, {name: value}, shares from 0 to 1 but for perplexity; and
        ``passed``: no limit is missed.

    Others and errors: as ``diagnose``.

    Examples:
        >>> evaluate(report.model, images, labels, against=digits, max_loss=0.01).passed
        True
    """
    given = dict(locals())
    options = _core.EvalOptions()
    options.model = model_of(model)
    if against is not None:
        options.against = model_of(against)
    options.task = _options.word("Task", "task", task)
    if labels is not None:
        options.labels = _options.label_values(labels)
    elif options.task not in ("language", "custom"):
        raise UsageError(f"task={task!r} needs labels", "what is right, one a sample")
    if (metric is not None) != (options.task == "custom"):
        raise UsageError("metric and task='custom' go together")
    if metric is not None:
        options.function = _options.metric_function(metric)
    options.label_offset, options.ignored_label = label_offset, ignored_label
    options.boxes = _options.word("BoxForm", "boxes", boxes)
    if box_order is not None:
        options.box_order = _options.word("BoxOrder", "box_order", box_order)
    options.scores = _options.word("ScoreFunction", "scores", scores)
    options.box_units = _options.word("BoxUnits", "box_units", box_units)
    options.fit = _options.word("ImageFit", "fit", fit)
    options.background_classes = _options.count(background_classes, "background_classes")
    options.overlap = _options.number(overlap, "overlap", 0, 1)
    options.least_score = _options.number(least_score, "least_score")
    if on is not None:
        options.on = _options.word("MeasureOn", "on", on)
    for name, limit_of in (("min_metric", min_metric), ("max_metric", max_metric), ("max_loss", max_loss)):
        if limit_of is not None:
            setattr(options, name.removesuffix("_metric"), _options.number(limit_of, name))
    options.command = "onnx_vernier.evaluate"
    _options.measure(options.measure, input_names=names_of_inputs(model), **_options.group(_options.measure, given))
    return Report(call(_core.evaluate, options, progress))


def compare(
    reference: Any,
    tested: Any,
    *,
    metric: str | None = None,
    threshold: float | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """Two runs, output by output (layer by layer where there are all tensors), worst first.

    Args:
        reference: what ``run`` gave, a list over the samples of {output: array}; {output: array} of one sample; or a file
            of saved results. ``tested``: the same.
        metric: that ranks, and that ``threshold`` is of: "sqnr" (dB), "max_abs", "mean_abs", "max_rel", "cosine", "mse".

    Returns:
        A report with ``rows``; ``passed`` where there is a threshold: none is worse, and none has another shape. Outputs
        that only one has are in ``not_compared``, and a warning.

    Raises:
        InputError: no output has the same name in both, or the numbers of samples differ.
    """
    options = _core.DiffOptions()
    options.metric = _options.word("DiffMetric", "metric", metric or "sqnr")
    options.metric_chosen = metric is not None
    if threshold is not None:
        options.threshold = _options.number(threshold, "threshold")
    options.command = "onnx_vernier.compare"
    for side, given in (("reference", reference), ("tested", tested)):
        if isinstance(given, (str, os.PathLike)):
            setattr(options, side, os.fspath(given))
        else:
            getattr(options, f"set_{side}")(_iterations(given, side))
    report = Report(call(_core.compare, options, progress))
    if left := report.get("not_compared"):
        warnings.warn("not compared: " + "; ".join(left[:8]), VernierWarning, stacklevel=2)
    return report


def _iterations(given: Any, side: str) -> list[list[tuple[str, Any]]]:
    listed = [given] if isinstance(given, Mapping) else list(given) if isinstance(given, Iterable) else []
    if not listed or not all(isinstance(each, Mapping) for each in listed):
        raise UsageError(f"{side}: a list over the samples of {{output: array}} is wanted", "as run() gives it")
    return [[(name, to_core(value)) for name, value in outputs.items()] for outputs in listed]
