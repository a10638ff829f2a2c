"""Arguments to the options of the library."""
from __future__ import annotations

import difflib
import json
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _core, _experiments
from ._arrays import as_array, sample_from_core, to_core
from ._errors import UsageError
from ._experiments import Calibration
from ._samples import read_into

Limits = float | Mapping[str, float]
_SHORT = {"trt": "tensorrt", "ort": "onnxruntime", "onnxrt": "onnxruntime", "ov": "openvino"}
# What a requirement may ask for.
_RANGES = {
    "min_sqnr": (-math.inf, math.inf),
    "max_abs": (0, math.inf),
    "max_mse": (0, math.inf),
    "min_cosine": (-1, 1),
    "min_same_top1": (0, 1),
}


def word(kind: str, argument: str, given: str) -> str:
    """``given`` if it is one of the words of ``kind``."""
    known = _core.WORDS[kind]
    if given in known:
        return given
    near = difflib.get_close_matches(str(given).lower(), known, 1) or [
        each for each in known if str(given).lower() in _SHORT and _SHORT[str(given).lower()] == each
    ]
    raise UsageError(f"{argument}={given!r}: none of {', '.join(known)}", f"did you mean {near[0]!r}?" if near else "")


def formats(low: str | Iterable[str]) -> list[str]:
    return names(low, "low")


def names(given: str | Iterable[str], argument: str) -> list[str]:
    """One name, or several."""
    if isinstance(given, str):
        return [given]
    try:
        listed = list(given)
    except TypeError:
        listed = [None]
    if not all(isinstance(name, str) for name in listed):
        raise UsageError(f"{argument}={given!r}: a name, or a list of names")
    return listed


def count(given: Any, argument: str) -> int:
    """A whole number from 0."""
    try:
        number = operator.index(given)
    except TypeError:
        number = -1
    if number < 0 or isinstance(given, bool):
        raise UsageError(f"{argument}={given!r}: a whole number, 0 or more")
    return number


def number(given: Any, argument: str, low: float = -math.inf, high: float = math.inf) -> float:
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not low <= value <= high or isinstance(given, (bool, str)):
        within = "" if low == -math.inf and high == math.inf else f" from {low:g} to {high:g}"
        raise UsageError(f"{argument}={given!r}: a number{within.replace(' to inf', ' on')}")
    return value


def set_format(options: Any, field: str, value: Any, argument: str) -> None:
    try:
        setattr(options, field, value)
    except TypeError:
        known = [*_core.WORDS["Format"], "fp16", "bf16", "fp8"]
        given = value if isinstance(value, str) else next((each for each in value if each not in known), value)
        near = difflib.get_close_matches(str(given).lower(), known, 1)
        raise UsageError(
            f"{argument}={given!r}: a format, or several, of {', '.join(known)}",
            f"did you mean {near[0]!r}?" if near else "",
        ) from None


def group(take: Callable[..., Any], arguments: Mapping[str, Any], leave: str = "") -> dict[str, Any]:
    """Those of a job's arguments that ``take`` has under the same name: groups of arguments are alike in all jobs."""
    names_taken = [name for name in take.__annotations__ if name in arguments and name != leave]
    return {name: arguments[name] for name in names_taken}


def precision(
    options: _core.PrecisionOptions,
    *,
    low: str | Iterable[str],
    high: str = "float32",
    target: str = "tensorrt",
    calibration: Calibration = "minmax",
    layer_precisions: Mapping[str, str] | None = None,
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    weights_only: bool = False,
    per_channel: bool = True,
    block_size: int = 128,
    reduce_range: bool = False,
    even_if_slower: bool = False,
) -> None:
    set_format(options, "low", formats(low), "low")
    set_format(options, "high", high, "high")
    options.target = word("Target", "target", target)
    options.calibration = _experiments.calibration(calibration)
    set_format(options, "layer_precisions", list((layer_precisions or {}).items()), "layer_precisions")
    options.even_if_slower = even_if_slower
    options.rules.weights_only = weights_only
    options.rules.weights_per_channel = per_channel
    options.rules.reduce_range = reduce_range
    if block_size not in (32, 64, 128):
        raise UsageError(f"block_size={block_size!r}: 32, 64 or 128")
    options.rules.block_size = block_size
    options.selection.op_types = names(op_types, "op_types")
    options.selection.excluded_op_types = names(excluded_op_types, "excluded_op_types")
    options.selection.nodes = names(nodes, "nodes")
    options.selection.excluded_nodes = names(excluded_nodes, "excluded_nodes")


def measure(
    options: _core.MeasureOptions,
    *,
    samples: Any,
    input_names: Callable[[], list[str]],
    calibration_samples: Any = None,
    calibration_cache: str | os.PathLike[str] = "",
    outputs: Iterable[str] = (),
    output_parts: bool = True,
    carry: Mapping[str, str] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    batch: int = 1,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
) -> None:
    options.data = source(samples, input_names, limit, split_batch, seed, input_shapes, image)
    if calibration_samples is not None:
        options.calibration_data = source(calibration_samples, input_names, 0, split_batch, seed, input_shapes, image)
    options.calibration_cache = os.fspath(calibration_cache)
    options.outputs = names(outputs, "outputs")
    options.output_parts = output_parts
    options.carries = list((carry or {}).items())
    options.threads = count(threads, "threads")
    options.batch = count(batch, "batch")
    options.custom_operators = names(custom_ops, "custom_ops")
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
    read_into(options, samples, input_names, split_batch)
    options.limit = count(limit, "limit")
    options.random_samples = options.limit or 1
    options.split_batch = split_batch
    options.seed = count(seed, "seed")
    options.python = sys.executable or "python3"  # of data loader scripts
    options.shapes = {name: list(shape) for name, shape in (input_shapes or {}).items()}
    if unknown := set(options.shapes) - set(input_names() if options.shapes else ()):
        raise UsageError(f"input_shapes: {sorted(unknown)[0]!r} is no input of the network", ", ".join(input_names()))
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
        if margin:
            raise UsageError("margin without a requirement", "give min_sqnr, max_abs, max_mse or min_cosine")
        return None
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: one requirement decides", "leave out the others")
    (name, limits), = given.items()
    metric = _core.WORDS["Metric"][["min_sqnr", "max_abs", "max_mse", "min_cosine", "min_same_top1"].index(name)]
    each = list(limits.items()) if isinstance(limits, Mapping) else [("", limits)]
    if not each:
        raise UsageError(f"{name}={{}}: no output has a limit", "a number, or {output: number}")
    low, high = _RANGES[name]
    made = _core.Requirement(metric, [_core.Limit(number(value, name, low, high), output) for output, value in each])
    return _core.with_margin(made, number(margin, "margin", 0)) if margin else made


def metric_function(
    metric: Any, min_metric: float | None = None, max_metric: float | None = None
) -> _core.MetricFunction:
    """``metric(outputs, references)`` for the library."""
    if not callable(metric):
        raise UsageError(f"metric={metric!r}: a function is wanted")
    name = _experiments.name_of(metric)

    def called(outputs: Any, references: Any) -> float:
        value = metric([sample_from_core(o) for o in outputs], [sample_from_core(r) for r in references])
        return _experiments.as_number(f"metric={name}", value)

    return _core.MetricFunction.of(called, name, min_metric, max_metric)


def label_values(labels: Any) -> _core.Labels:
    """Of a file, of an array whose first axis counts the samples, or COCO's annotations as a dict."""
    if isinstance(labels, (str, os.PathLike)):
        return _core.Labels.of_file(os.fspath(labels))
    if isinstance(labels, Mapping):
        try:
            return _core.Labels.of_annotations(json.dumps(labels), "labels in memory")
        except TypeError as error:
            raise UsageError(f"labels as a dict are COCO's annotations: {error}", "an array of whole numbers") from None
    array = np.asarray(as_array(labels))
    if array.size == 0:
        raise UsageError("labels are empty: one a sample is wanted")
    if not np.issubdtype(array.dtype, np.integer):
        raise UsageError(f"labels are {array.dtype}: whole numbers are wanted, one a sample", "labels.astype(int)")
    return _core.Labels.of_values(to_core(array), "labels in memory")


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
        wanted.labels = label_values(labels if isinstance(labels, (str, os.PathLike)) else np.asarray(labels).reshape(-1))
        if min_top1 is None:
            raise UsageError("labels without min_top1: what share of them must be right?", "min_top1=0.7")
        wanted.offset = label_offset
        wanted.min_share = number(min_top1, "min_top1", 0, 1)
        options.labels = wanted
    elif min_top1 is not None:
        raise UsageError("min_top1 needs labels", "min_same_top1 asks for agreement with the float model")
    if metric is None and (min_metric is not None or max_metric is not None):
        raise UsageError("min_metric and max_metric are limits of metric", "metric=function")
    if metric is not None:
        if min_metric is None and max_metric is None:
            raise UsageError("metric without a limit", "give min_metric or max_metric")
        options.function = metric_function(metric, min_metric, max_metric)
    return labels is not None or metric is not None
