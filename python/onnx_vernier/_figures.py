"""Figures of tasks, and comparisons of outputs. `_calls.py` has evaluate() with all arguments."""
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
    metric: Callable[..., float] | None = None,
    progress: bool | Progress | None = None,
    **given: Any,
) -> Report:
    """Measures a network's accuracy on its task, against labels: one model, or two side by side.

    Args:
        labels: the correct answers, one per sample. Classification: whole numbers [N]. Segmentation: [N, height, width].
            Language: the next tokens, [N, tokens]; None: those of the input. Detection: COCO annotations, a dict or a
            file, with images in the order of the samples. A path: any form of the command's ``--labels``.
        against: a second model on the same samples.
        metric: of task "custom": ``metric(outputs, references)``; both are lists over the samples of {output: array}.
            Without ``against``, references are empty.
        {arguments}

    Returns:
        A report with ``models``, each with ``figures``, {name: value}. Figures are shares from 0 to 1, except perplexity.
        ``passed``: whether all limits are met.

    Other arguments and errors: as ``diagnose``.

    Examples:
        >>> evaluate(report.model, images, labels, against=digits, max_loss=0.01).passed
        True
    """
    options = _core.EvalOptions()
    options.model = model_of(model)
    if against is not None:
        options.against = model_of(against)
    _options.fill(options, given)
    task = options.task
    if labels is not None:
        options.labels = _options.label_values(labels)
    elif task not in ("language", "custom"):
        raise UsageError(f"task={task!r} needs labels", "pass the correct answers, one per sample")
    if (metric is not None) != (task == "custom"):
        raise UsageError("metric and task='custom' go together")
    if metric is not None:
        options.function = _options.metric_function(metric)
    options.command = "onnx_vernier.evaluate"
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    return Report(call(_core.evaluate, options, progress))


def compare(
    reference: Any,
    tested: Any,
    *,
    metric: str | None = None,
    threshold: float | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """Compares two runs output by output, worst first; layer by layer, if they hold all tensors.

    Args:
        reference: the result of ``run``, a list over the samples of {output: array}; {output: array} of one sample; or a
            file of saved results.
        tested: the same, of the run to compare.
        metric: ranks the outputs: "sqnr" (dB), "max_abs", "mean_abs", "max_rel", "cosine", "mse".
        threshold: a limit, in the unit of ``metric``.

    Returns:
        A report with ``rows``. With a threshold, ``passed`` is true if no output is worse or has another shape. Outputs
        of one run only are in ``not_compared``, and in a warning.

    Raises:
        InputError: no output has the same name in both, or the numbers of samples differ.
    """
    options = _core.DiffOptions()
    options.metric = _options.word(_core.WORDS["DiffMetric"], "metric", metric or "sqnr")
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
        raise UsageError(f"{side}: expected a list over the samples of {{output: array}}", "pass the result of run()")
    return [[(name, to_core(value)) for name, value in outputs.items()] for outputs in listed]
