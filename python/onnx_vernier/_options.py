"""Converts arguments to options of the library."""
from __future__ import annotations

import difflib
import json
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _core, _experiments
from ._arrays import as_array, sample_from_core, to_core
from ._errors import UsageError
from ._samples import read_into

Limits = float | Mapping[str, float]
_SHORT = {"trt": "tensorrt", "ort": "onnxruntime", "onnxrt": "onnxruntime", "ov": "openvino"}


class Row(NamedTuple):
    """An option of the table in apps/table that is an argument of this package."""

    options: str  # the class of options
    argument: str
    kind: str  # how its value is read; "": the function does it
    names: str  # of the command line
    off: bool  # there it is a flag that switches this off
    least: float
    most: float
    choices: list[str]


TABLE = [Row(*row) for row in _core.TABLE]


def word(known: Sequence[str], argument: str, given: str) -> str:
    """``given`` if it is one of ``known``."""
    if given in known:
        return given
    near = difflib.get_close_matches(str(given).lower(), known, 1) or [
        each for each in known if str(given).lower() in _SHORT and _SHORT[str(given).lower()] == each
    ]
    raise UsageError(f"{argument}={given!r} is not one of {', '.join(known)}", f"did you mean {near[0]!r}?" if near else "")


def choice(argument: str, given: str, options: str = "") -> str:
    """``given`` if the row of ``argument`` lists it."""
    row = next(row for row in TABLE if row.argument == argument and options in ("", row.options))
    return word(row.choices, argument, given)


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


def flag(given: Any, argument: str) -> bool:
    if not isinstance(given, (bool, np.bool_)):
        raise UsageError(f"{argument}={given!r:.80}: True or False")
    return bool(given)


def count(given: Any, argument: str, *, negative: bool = False) -> int:
    """A whole number that fits the library, from 0 unless ``negative``."""
    try:
        number = operator.index(given)
    except TypeError:
        number = 2**63
    if not (-(2**63) if negative else 0) <= number < 2**63 or isinstance(given, bool):
        raise UsageError(f"{argument}={given!r:.80}: a whole number" + ("" if negative else ", 0 or more"))
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


def pairs(given: Any, argument: str, meaning: str) -> dict[str, Any]:
    """A dict of names; None: an empty one."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise UsageError(f"{argument}={given!r:.80}: expected {{{meaning}}}")
    return dict(given)


def path(given: Any, argument: str) -> str:
    try:
        return os.fsdecode(given)
    except TypeError:
        raise UsageError(f"{argument}={given!r:.80}: expected a path") from None


def shapes(given: Any, argument: str) -> dict[str, list[int]]:
    listed = pairs(given, argument, "input: shape")
    if not all(isinstance(shape, Iterable) and not isinstance(shape, str) for shape in listed.values()):
        raise UsageError(f"{argument}={given!r:.80}: a shape is a list of whole numbers")
    return {name: [count(size, argument) for size in shape] for name, shape in listed.items()}


def set_format(options: Any, field: str, value: Any, argument: str) -> None:
    try:
        setattr(options, field, value)
    except TypeError:
        known = [*_core.WORDS["Format"], "fp16", "bf16", "fp8"]
        each = [] if isinstance(value, str) or not isinstance(value, Iterable) else [entry[-1] if isinstance(entry, tuple) else entry for entry in value]
        given = next((one for one in each if one not in known), value)
        near = difflib.get_close_matches(str(given).lower(), known, 1)
        raise UsageError(
            f"{argument}={given!r}: a format, or several, of {', '.join(known)}",
            f"did you mean {near[0]!r}?" if near else "",
        ) from None


def set_device(options: Any, argument: str, value: Any) -> None:
    try:
        setattr(options, argument, value)
    except TypeError:
        raise UsageError(f"{argument}={value!r}: a device", "auto, cpu, cuda or cuda:N, N from 0") from None


def set_size(options: Any, argument: str, value: Any) -> None:
    try:
        setattr(options, argument, value)
    except TypeError:
        raise UsageError(f"{argument}={value!r}: a size", 'bytes from 1 on, or a text such as "8G" or "512M"') from None


def fill(options: Any, given: Mapping[str, Any]) -> None:
    """The arguments that the table has for this class of options, into its members."""
    classes = {each.__name__ for each in type(options).__mro__}
    for row in TABLE:
        argument = row.argument
        if row.options not in classes or not row.kind or argument not in given:
            continue
        value = given[argument]
        if row.kind.endswith("?") and value is None:
            continue
        match row.kind.rstrip("?"):
            case "word":
                value = word(row.choices, argument, value)
            case "count":
                value = count(value, argument)
            case "number":
                value = number(value, argument, row.least, row.most)
            case "names":
                value = names(value, argument)
            case "flag":
                value = flag(value, argument)
            case "whole":
                value = count(value, argument, negative=True)
            case "text":
                if not isinstance(value, str):
                    raise UsageError(f"{argument}={value!r:.80}: expected a text")
            case "path":
                value = path(value, argument)
            case "formats":
                value = names(value, argument)
            case "pairs":
                value = list(pairs(value, argument, "output: input").items())
                if not all(isinstance(name, str) for _, name in value):
                    raise UsageError(f"{argument}={given[argument]!r:.80}: expected {{output: input}}")
            case "formats_of":
                value = list(pairs(value, argument, "layer: format").items())
            case "shapes":
                value = shapes(value, argument)
        if row.kind == "device":
            set_device(options, argument, value)
        elif row.kind == "size?":
            set_size(options, argument, value)
        elif row.kind.startswith("format"):
            set_format(options, argument, value, argument)
        else:
            setattr(options, argument, value)


def precision(options: _core.PrecisionOptions, given: Mapping[str, Any]) -> None:
    fill(options, given)
    fill(options.rules, given)
    fill(options.selection, given)
    if "calibration" in given:
        options.calibration = _experiments.calibration(given["calibration"])
    if options.rules.block_size not in (32, 64, 128):
        raise UsageError(f"block_size={options.rules.block_size!r}: 32, 64 or 128")


def measure(
    options: _core.MeasureOptions, samples: Any, input_names: Callable[[], list[str]], given: Mapping[str, Any]
) -> None:
    options.data = source(samples, input_names, given)
    if (calibration := given.get("calibration_samples")) is not None:
        options.calibration_data = source(calibration, input_names, {**given, "limit": 0})
    fill(options, given)


def source(samples: Any, input_names: Callable[[], list[str]], given: Mapping[str, Any]) -> _core.SourceOptions:
    options = _core.SourceOptions()
    read_into(options, samples, input_names, given.get("split_batch", False))
    fill(options, given)
    options.random_samples = options.limit or 1
    options.python = sys.executable or "python3"  # of data loader scripts
    shapes = options.input_shapes
    if unknown := set(shapes) - set(input_names() if shapes else ()):
        raise UsageError(f"input_shapes: {sorted(unknown)[0]!r} is not an input of the network", ", ".join(input_names()))
    for name, value in pairs(given["image"], "image", '"geometry": ..., "mean": ...').items():
        if name not in ("geometry", "mean", "scale", "color", "layout"):
            raise UsageError(f"image={{{name!r}: ...}}: {name!r} is not one of geometry, mean, scale, color, layout")
        try:
            setattr(options.image, name, np.atleast_1d(value).astype(float).tolist() if name in ("mean", "scale") else value)
        except (TypeError, ValueError):
            raise UsageError(f"image={{{name!r}: {value!r:.80}}}: not a value of {name}") from None
    return options


def requirement(given: Mapping[str, Any]) -> _core.Requirement | None:
    rows = [row for row in TABLE if row.options == "Requirement" and row.argument != "margin"]
    wanted = [row for row in rows if given[row.argument] is not None]
    if not wanted:
        if given["margin"]:
            raise UsageError("margin without a requirement", "give min_sqnr, max_abs, max_mse or min_cosine")
        return None
    if len(wanted) > 1:
        raise UsageError(f"{' and '.join(row.argument for row in wanted)}: one requirement decides", "leave out the others")
    (row,) = wanted
    limits = given[row.argument]
    each = list(pairs(limits, row.argument, "output: number").items()) if isinstance(limits, Mapping) else [("", limits)]
    if not each:
        raise UsageError(f"{row.argument}={{}}: no output has a limit", "a number, or {output: number}")
    made = _core.Requirement(
        row.names.removeprefix("--").split(" ")[0],
        [_core.Limit(number(value, row.argument, row.least, row.most), output) for output, value in each],
    )
    margin = given["margin"]
    return _core.with_margin(made, number(margin, "margin", 0)) if margin else made


def metric_function(
    metric: Any, min_metric: float | None = None, max_metric: float | None = None
) -> _core.MetricFunction:
    """``metric(outputs, references)`` for the library."""
    if not callable(metric):
        raise UsageError(f"metric={metric!r}: expected a function")
    name = _experiments.name_of(metric)

    def called(outputs: Any, references: Any) -> float:
        value = metric([sample_from_core(o) for o in outputs], [sample_from_core(r) for r in references])
        return _experiments.as_number(f"metric={name}", value)

    return _core.MetricFunction.of(called, name, min_metric, max_metric)


def label_values(labels: Any) -> _core.Labels:
    """Labels from a file, from an array with samples along the first axis, or from COCO annotations as a dict."""
    if isinstance(labels, (str, os.PathLike)):
        return _core.Labels.of_file(os.fspath(labels))
    if isinstance(labels, Mapping):
        try:
            return _core.Labels.of_annotations(json.dumps(labels), "labels in memory")
        except TypeError as error:
            raise UsageError(f"labels as a dict are COCO's annotations: {error}", "an array of whole numbers") from None
    array = np.asarray(as_array(labels))
    if array.size == 0:
        raise UsageError("labels are empty: expected one per sample")
    if not np.issubdtype(array.dtype, np.integer):
        raise UsageError(f"labels are {array.dtype}: expected whole numbers, one per sample", "labels.astype(int)")
    return _core.Labels.of_values(to_core(array), "labels in memory")


def task(options: _core.TaskRequirement, given: Mapping[str, Any]) -> bool:
    """Reads labels and metrics, and returns whether they decide."""
    labels, min_top1, metric = given["labels"], given["min_top1"], given["metric"]
    min_metric, max_metric = given["min_metric"], given["max_metric"]
    offset = count(given["label_offset"], "label_offset", negative=True)
    if labels is not None:
        wanted = _core.LabelRequirement()
        wanted.labels = label_values(labels if isinstance(labels, (str, os.PathLike)) else np.asarray(labels).reshape(-1))
        if min_top1 is None:
            raise UsageError("labels need min_top1, the share that must be correct", "min_top1=0.7")
        wanted.offset = offset
        wanted.min_share = number(min_top1, "min_top1", 0, 1)
        options.labels = wanted
    elif min_top1 is not None:
        raise UsageError("min_top1 needs labels", "min_top1_agreement asks for agreement with the float model")
    if metric is None and (min_metric is not None or max_metric is not None):
        raise UsageError("min_metric and max_metric are limits of metric", "metric=function")
    if metric is not None:
        if min_metric is None and max_metric is None:
            raise UsageError("metric needs a limit", "pass min_metric or max_metric")
        options.function = metric_function(metric, min_metric, max_metric)
    return labels is not None or metric is not None
