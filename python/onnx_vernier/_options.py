"""Arguments to the options of the library."""
from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _core
from ._arrays import sample_from_core
from ._errors import UsageError
from ._samples import read_into

Limits = float | Mapping[str, float]


def word(kind: str, argument: str, given: str) -> str:
    """``given`` if it is one of the words of ``kind``."""
    known = _core.WORDS[kind]
    if given in known:
        return given
    near = difflib.get_close_matches(str(given), known, 1)
    raise UsageError(f"{argument}={given!r}: none of {', '.join(known)}", f"did you mean {near[0]!r}?" if near else "")


def formats(low: str | Iterable[str]) -> list[str]:
    return [low] if isinstance(low, str) else list(low)


def set_format(options: Any, field: str, value: Any, argument: str) -> None:
    try:
        setattr(options, field, value)
    except TypeError:
        known = ", ".join(_core.WORDS["Format"])
        raise UsageError(f"{argument}={value!r}: a format, or several, of {known}") from None


def precision(
    options: _core.PrecisionOptions,
    *,
    low: str | Iterable[str],
    high: str,
    target: str,
    calibration: str,
    layer_precisions: Mapping[str, str] | None,
    op_types: Iterable[str],
    excluded_op_types: Iterable[str],
    nodes: Iterable[str],
    excluded_nodes: Iterable[str],
    weights_only: bool,
    per_channel: bool,
    block_size: int,
) -> None:
    set_format(options, "low", formats(low), "low")
    set_format(options, "high", high, "high")
    options.target = word("Target", "target", target)
    options.calibration = _core.CalibrationChoice(calibration)
    set_format(options, "layer_precisions", list((layer_precisions or {}).items()), "layer_precisions")
    options.rules.weights_only = weights_only
    options.rules.weights_per_channel = per_channel
    options.rules.block_size = block_size
    options.selection.op_types = list(op_types)
    options.selection.excluded_op_types = list(excluded_op_types)
    options.selection.nodes = list(nodes)
    options.selection.excluded_nodes = list(excluded_nodes)


def measure(
    options: _core.MeasureOptions,
    *,
    samples: Any,
    input_names: Callable[[], list[str]],
    calibration_samples: Any = None,
    outputs: Iterable[str] = (),
    carry: Mapping[str, str] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
) -> None:
    options.data = source(samples, input_names, limit, split_batch, seed, input_shapes, image)
    if calibration_samples is not None:
        options.calibration_data = source(calibration_samples, input_names, 0, split_batch, seed, input_shapes, image)
    options.outputs = list(outputs)
    options.carries = list((carry or {}).items())
    options.threads = threads
    options.custom_operators = [os.fspath(each) for each in custom_ops]
    options.external_data_dir = os.fspath(external_data_dir)


def source(
    samples: Any,
    input_names: Callable[[], list[str]],
    limit: int,
    split_batch: bool,
    seed: int,
    input_shapes: Mapping[str, Iterable[int]] | None,
    image: Mapping[str, Any] | None,
) -> _core.SourceOptions:
    options = _core.SourceOptions()
    read_into(options, samples, input_names)
    options.limit = limit
    options.random_samples = limit or 1
    options.split_batch = split_batch
    options.seed = seed
    options.shapes = {name: list(shape) for name, shape in (input_shapes or {}).items()}
    for name, value in (image or {}).items():
        if name in ("mean", "scale"):
            value = [float(each) for each in np.atleast_1d(value)]
        if name not in ("geometry", "mean", "scale", "color", "layout"):
            raise UsageError(f"image={{{name!r}: ...}}: none of geometry, mean, scale, color, layout")
        setattr(options.image, name, value)
    return options


def requirement(
    *,
    min_sqnr: Limits | None,
    max_abs: Limits | None,
    max_mse: Limits | None,
    min_cosine: Limits | None,
    min_same_top1: Limits | None,
    margin: float = 0,
) -> _core.Requirement | None:
    given = {
        name: limits
        for name, limits in {
            "min_sqnr": min_sqnr,
            "max_abs": max_abs,
            "max_mse": max_mse,
            "min_cosine": min_cosine,
            "min_same_top1": min_same_top1,
        }.items()
        if limits is not None
    }
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: one requirement decides", "leave out the others")
    (name, limits), = given.items()
    metric = _core.WORDS["Metric"][["min_sqnr", "max_abs", "max_mse", "min_cosine", "min_same_top1"].index(name)]
    each = limits.items() if isinstance(limits, Mapping) else [("", limits)]
    made = _core.Requirement(metric, [_core.Limit(float(value), output) for output, value in each])
    return _core.with_margin(made, margin) if margin else made


def task(
    options: _core.TaskRequirement,
    *,
    labels: Any,
    min_top1: float | None,
    label_offset: int,
    metric: Callable[..., float] | None,
    min_metric: float | None,
    max_metric: float | None,
) -> bool:
    """Whether the task decides."""
    if labels is not None:
        wanted = _core.LabelRequirement()
        if isinstance(labels, (str, os.PathLike)):
            wanted.file = os.fspath(labels)
        else:
            wanted.labels = [int(label) for label in np.asarray(labels).reshape(-1)]
        if min_top1 is None:
            raise UsageError("labels without min_top1: what share of them must be right?", "min_top1=0.7")
        wanted.offset = label_offset
        wanted.min_share = min_top1
        options.labels = wanted
    elif min_top1 is not None:
        raise UsageError("min_top1 needs labels", "min_same_top1 asks for agreement with the float model")
    if metric is not None:
        if min_metric is None and max_metric is None:
            raise UsageError("metric without a limit", "give min_metric or max_metric")

        def called(outputs: Any, references: Any) -> float:
            return float(metric([sample_from_core(o) for o in outputs], [sample_from_core(r) for r in references]))

        name = getattr(metric, "__name__", "a function")
        options.function = _core.MetricFunction.of(called, name, min_metric, max_metric)
    return labels is not None or metric is not None
