"""The main jobs: which layers break, why, what to keep or to repair."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _core, _experiments, _options
from ._call import call, names_of_inputs
from ._errors import UsageError
from ._experiments import Calibration
from ._model import model_of
from ._options import Limits
from ._progress import Progress
from ._report import DiagnoseReport, Record

Causes = Mapping[str, Callable[[Record], Any]] | Iterable[Callable[[Record], Any]]
Repairs = Causes


def _read(options: Any, given: Mapping[str, Any]) -> None:
    """The arguments that both jobs have, into their options."""
    options.model = model_of(given["model"])
    if given["quantized"] is not None:
        options.quantized = model_of(given["quantized"])
    _options.precision(options.precision, **_options.group(_options.precision, given))
    inputs = names_of_inputs(given["model"])
    _options.measure(options.measure, input_names=inputs, **_options.group(_options.measure, given))
    wanted = _options.requirement(**_options.group(_options.requirement, given))
    by_task = _options.task(options.search.task, **_options.group(_options.task, given))
    if wanted is not None:
        if by_task:
            raise UsageError("labels, a metric, a requirement: only one can decide", "leave out the others")
        options.measure.requirement = wanted
    options.search.cost = _options.word("CostUnit", "cost", given["cost"])
    options.search.max_seconds = _options.number(given["max_seconds"], "max_seconds", 0)
    options.search.max_evaluations = _options.count(given["max_evaluations"], "max_evaluations")
    options.search.prove_minimum = given["prove_minimum"]
    options.search.pareto = given["pareto"]
    options.latency = given["latency"]
    options.rank = given["rank"]
    options.causes = _experiments.causes(given["causes"])
    options.pictures = given["pictures"]
    if given["cache"] is not None:
        options.cache_folder = options.measure.partial_folder = os.fspath(given["cache"])
    if given["share_out"]:
        options.share_out()


def diagnose(
    model: Any,
    samples: Any = None,
    *,
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    target: str = "tensorrt",
    min_sqnr: Limits | None = None,
    max_abs: Limits | None = None,
    max_mse: Limits | None = None,
    min_cosine: Limits | None = None,
    min_same_top1: Limits | None = None,
    margin: float = 0,
    labels: Any = None,
    min_top1: float | None = None,
    label_offset: int = 0,
    metric: Callable[..., float] | None = None,
    min_metric: float | None = None,
    max_metric: float | None = None,
    causes: Causes = (),
    alternatives: int = 0,
    cost: str = "layers",
    max_seconds: float = 0,
    max_evaluations: int = 0,
    prove_minimum: bool = False,
    share_out: bool = True,
    cache: Any = None,
    latency: bool = False,
    rank: bool = False,
    pictures: bool = True,
    pareto: bool = False,
    quantized: Any = None,
    calibration: Calibration = "minmax",
    calibration_samples: Any = None,
    calibration_cache: str | os.PathLike[str] = "",
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
    outputs: Iterable[str] = (),
    output_parts: bool = True,
    carry: Mapping[str, str] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> DiagnoseReport:
    """Finds which layers low precision breaks, why, and which must stay high so that a requirement is met.

    Args:
        model: a path, bytes, an ``onnx.ModelProto`` or a ``Model``.
        samples: real inputs: ``{input: array [N, ...]}``, a list or iterator of ``{input: array}`` (one a sample, with
            the network's batch dimension), ``Samples``, or a path as the command's ``--data`` takes it. None: random
            numbers, whose figures say little about real data.
        low: the format that is tried, or several: "int8", "float16", "bfloat16", "float8e4m3fn", "int4", ...; the lowest
            that a layer can take wins.
        high: the format of kept layers.
        target: whose rules place low precision: "tensorrt", "onnxruntime", "openvino".
        min_sqnr: at least so many dB of signal over noise, pooled over samples; a number, or {output: number}. The other
            requirements alike: ``max_abs`` (largest error), ``max_mse``, ``min_cosine``, ``min_same_top1`` (share of
            samples with the float model's class, 0 to 1). One decides.
        margin: dB that are asked for beyond the requirement.
        labels: right classes, one a sample; ``min_top1``: the share that must be right. ``label_offset`` is added.
        metric: ``metric(outputs, references)``, lists of {output: array} over samples, gives a number that must be at
            least ``min_metric`` or at most ``max_metric``; called with all samples where it decides, with a few where
            the search only looks what to try next.
        rank: rank the layers by what each costs the output, even if everything low meets the requirement.
        quantized: a file that was quantized from ``model``: its ranges and the layers that it has in float32 are taken over.
        alternatives: how many other ways to meet the requirement are measured if layers have to be kept: repairs, another target, another
            format. If the repaired network keeps less, the report is about it, and it is written.
        cost: what keeping costs: "layers", "macs", "bytes", "time".
        max_seconds: of the search; 0: no limit.
        max_evaluations: runs of the search over the samples; 0: no limit.
        prove_minimum: also bounds from below what any passing set costs.
        share_out: from 60 samples on a third each calibrates, decides, and judges, by lot.
        cache: a folder in which measurements are kept, at most 256 MiB, and looked up: another call on the same network and samples, with
            another limit or cost, then measures what is new to it. Those of another version are not taken.
        latency: also times the models on ONNX Runtime.
        pictures: also counts how values of the worst layers lie on their grids, for pages and plots: two runs of four
            samples.
        pareto: up to six more sets are tried, so that accuracy against cost is a curve.
        causes: functions of yours, or {name: function}: ``function(layer)`` gives None, a sentence, or {"sentence": ...,
            "figures": {name: value}, "confidence": 0 to 1, "tensor": ..., "repairs": [...]}. ``layer`` is what was
            measured of an examined layer: ``inputs`` and ``outputs`` with their values, noise, events, neighbours.
        calibration: how ranges are chosen: "minmax", "percentile:99.99", "entropy", "mse", "aciq", "auto"; or a function
            of yours: ``function(seen)`` gives (low, high) of a tensor, of which ``seen`` has ``tensor``, ``format``,
            ``min``, ``max``, and ``low``, ``high``, ``count`` of the bins that hold its values.
        calibration_samples: samples that ranges are learned on; None: ``samples``.
        calibration_cache: a file of ranges (TensorRT's cache, ONNX Runtime's JSON, ours): read when it is there, else
            learned and written.
        layer_precisions: formats of single layers by name; shell wildcards are allowed.
        op_types: operators whose layers may take a format with a scale; empty: all. ``excluded_op_types``: that may not.
        nodes: names of layers that may, with shell wildcards or /regular expressions/; ``excluded_nodes``: that may not.
        weights_only: int8 and float8 store weights alone. per_channel: a scale for each output channel of a weight.
        block_size: int4: neighbours that share a scale, 32, 64 or 128.
        reduce_range: int8 weights in 7 bits, whose products no x86 CPU without VNNI saturates.
        even_if_slower: target "onnxruntime": also layers that its kernels run no faster in int8.
        outputs: that are judged, or slices of them ("output0[:,4:]"); empty: every float output that carries no state.
        output_parts: judge parts of different scale, such as boxes and scores, as well.
        carry: {output: input}: fed back with the next sample.
        limit: at most so many samples. split_batch: an array along a dynamic first dimension, and each batch of a list, is
            samples of batch 1.
        threads: 0: all usable cores.
        image: how a folder of images is prepared: {"geometry": "short-crop:256,224", "mean": ..., "scale": ...}.
        progress: True: a bar (tqdm, where it is installed); a function: ``progress(text, done, total)``; None: a bar in a
            terminal, or in a notebook that has ipywidgets.

    Returns:
        The report. ``report.model`` is the typed model; nothing is written until ``report.save(folder)``.

    Raises:
        InputError: the model or the samples cannot be used.
        UsageError: arguments contradict each other.
        BackendError: no ONNX Runtime.
        KeyboardInterrupt: within a second of Ctrl-C; its ``report`` is what was measured by then.

    Examples:
        >>> report = diagnose(digits, {"image": images}, low="int8", min_sqnr=20)
        >>> report.passed
        True
    """
    given = dict(locals())
    options = _core.DiagnoseOptions()
    options.alternatives = _options.count(alternatives, "alternatives")
    options.command = "onnx_vernier.diagnose"
    _read(options, given)
    return DiagnoseReport(call(_core.diagnose, options, progress))


def fix(
    model: Any,
    samples: Any = None,
    *,
    allow: Iterable[str] = (),
    forbid: Iterable[str] = (),
    repairs: Repairs = (),
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    target: str = "tensorrt",
    min_sqnr: Limits | None = None,
    max_abs: Limits | None = None,
    max_mse: Limits | None = None,
    min_cosine: Limits | None = None,
    min_same_top1: Limits | None = None,
    margin: float = 0,
    labels: Any = None,
    min_top1: float | None = None,
    label_offset: int = 0,
    metric: Callable[..., float] | None = None,
    min_metric: float | None = None,
    max_metric: float | None = None,
    causes: Causes = (),
    cost: str = "layers",
    max_seconds: float = 0,
    max_evaluations: int = 0,
    prove_minimum: bool = False,
    share_out: bool = True,
    cache: Any = None,
    latency: bool = False,
    rank: bool = False,
    pictures: bool = True,
    pareto: bool = False,
    quantized: Any = None,
    calibration: Calibration = "minmax",
    calibration_samples: Any = None,
    calibration_cache: str | os.PathLike[str] = "",
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
    outputs: Iterable[str] = (),
    output_parts: bool = True,
    carry: Mapping[str, str] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> DiagnoseReport:
    """Repairs before layers are kept: as ``diagnose``, with the cheapest changes of the network tried first.

    Args:
        allow: ids of the repairs that may be tried ("smooth", "range", ...; an unknown one is told with all of them);
            empty: all.
        forbid: ids of those that may not.
        repairs: functions of yours, or {name: function}, tried beside the others: ``function(network)`` gives a list of
            {"layers": [...], "what": ..., and what changes}: "ranges": {tensor: (low, high)}, "constants": {name: array}
            of the low side, or "model": one that computes the same in exact arithmetic; or "why_not". ``network`` has
            ``model``, ``layers``, ``values``, ``ranges`` and ``channel_absmax``.

    All others, what it returns and what it raises: as ``diagnose``.
    """
    given = dict(locals())
    options = _core.FixOptions()
    options.repair.own = own = _experiments.repairs(given["repairs"])
    known = [*_core.repair_names(), *(repair.id for repair in own)]
    for argument in ("allow", "forbid"):
        ids = _options.names(given[argument], argument)
        for each in ids:
            if each not in known:
                raise UsageError(f"{argument}: no repair {each!r}", "one of " + ", ".join(known))
        setattr(options.repair, argument, ids)
    options.command = "onnx_vernier.fix"
    _read(options, given)
    return DiagnoseReport(call(_core.fix, options, progress))
