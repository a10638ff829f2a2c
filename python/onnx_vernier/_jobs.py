"""The jobs."""
from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _core, _options
from ._arrays import sample_from_core
from ._errors import UsageError
from ._model import inputs_of, model_of
from ._options import Limits
from ._progress import Listener, Progress
from ._report import DiagnoseReport, Report, VerifyReport


def _run(job: Any, options: Any, progress: bool | Progress | None) -> Any:
    listener = Listener(progress)
    try:
        return job(options, listener)
    except KeyboardInterrupt as interrupt:
        if isinstance(told := getattr(interrupt, "report", None), tuple):
            interrupt.report = DiagnoseReport(told)  # type: ignore[attr-defined]
        raise
    finally:
        listener.close()


def _names(model: Any) -> Callable[[], list[str]]:
    return functools.cache(lambda: list(inputs_of(model)))


def _diagnosis(
    options: Any,
    model: Any,
    samples: Any,
    *,
    low: str | Iterable[str],
    high: str,
    target: str,
    min_sqnr: Limits | None,
    max_abs: Limits | None,
    max_mse: Limits | None,
    min_cosine: Limits | None,
    min_same_top1: Limits | None,
    margin: float,
    labels: Any,
    min_top1: float | None,
    label_offset: int,
    metric: Callable[..., float] | None,
    min_metric: float | None,
    max_metric: float | None,
    cost: str,
    max_seconds: float,
    max_evaluations: int,
    prove_minimum: bool,
    share_out: bool,
    latency: bool,
    calibration: str,
    layer_precisions: Mapping[str, str] | None,
    op_types: Iterable[str],
    excluded_op_types: Iterable[str],
    nodes: Iterable[str],
    excluded_nodes: Iterable[str],
    weights_only: bool,
    per_channel: bool,
    block_size: int,
    **measuring: Any,
) -> None:
    options.model = model_of(model)
    _options.precision(
        options.precision,
        low=low,
        high=high,
        target=target,
        calibration=calibration,
        layer_precisions=layer_precisions,
        op_types=op_types,
        excluded_op_types=excluded_op_types,
        nodes=nodes,
        excluded_nodes=excluded_nodes,
        weights_only=weights_only,
        per_channel=per_channel,
        block_size=block_size,
    )
    _options.measure(options.measure, samples=samples, input_names=_names(model), **measuring)
    wanted = _options.requirement(
        min_sqnr=min_sqnr,
        max_abs=max_abs,
        max_mse=max_mse,
        min_cosine=min_cosine,
        min_same_top1=min_same_top1,
        margin=margin,
    )
    by_task = _options.task(
        options.search.task,
        labels=labels,
        min_top1=min_top1,
        label_offset=label_offset,
        metric=metric,
        min_metric=min_metric,
        max_metric=max_metric,
    )
    if wanted is not None:
        if by_task:
            raise UsageError("labels, a metric, a requirement: only one can decide", "leave out the others")
        options.measure.requirement = wanted
    options.search.cost = _options.word("CostUnit", "cost", cost)
    options.search.max_seconds = _options.number(max_seconds, "max_seconds", 0)
    options.search.max_evaluations = _options.count(max_evaluations, "max_evaluations")
    options.search.prove_minimum = prove_minimum
    options.latency = latency
    if share_out:
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
    alternatives: int = 0,
    cost: str = "layers",
    max_seconds: float = 0,
    max_evaluations: int = 0,
    prove_minimum: bool = False,
    share_out: bool = True,
    latency: bool = False,
    calibration: str = "minmax",
    calibration_samples: Any = None,
    layer_precisions: Mapping[str, str] | None = None,
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    weights_only: bool = False,
    per_channel: bool = True,
    block_size: int = 128,
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
        alternatives: how many other ways to meet the requirement are measured where layers have to be kept.
        cost: what keeping costs: "layers", "macs", "bytes", "time".
        max_seconds: of the search; 0: no limit.
        max_evaluations: runs of the search over the samples; 0: no limit.
        prove_minimum: also bounds from below what any passing set costs.
        share_out: from 60 samples on a third each calibrates, decides, and judges, by lot.
        latency: also times the models on ONNX Runtime.
        calibration: how ranges are chosen: "minmax", "percentile:99.99", "entropy", "mse", "aciq", "auto".
        calibration_samples: samples that ranges are learned on; None: ``samples``.
        layer_precisions: formats of single layers by name; shell wildcards are allowed.
        op_types: operators whose layers may take a format with a scale; empty: all. ``excluded_op_types``: that may not.
        nodes: names of layers that may, with shell wildcards or /regular expressions/; ``excluded_nodes``: that may not.
        weights_only: int8 and float8 store weights alone. per_channel: a scale for each output channel of a weight.
        block_size: int4: neighbours that share a scale, 32, 64 or 128.
        outputs: that are judged; empty: every float output that carries no state.
        carry: {output: input}: fed back with the next sample.
        limit: at most so many samples. split_batch: an array along a dynamic first dimension is samples of batch 1.
        threads: 0: all usable cores.
        image: how a folder of images is prepared: {"geometry": "short-crop:256,224", "mean": ..., "scale": ...}.
        progress: True: a bar (tqdm, where it is installed); a function: ``progress(text, done, total)``; None: a bar in a
            terminal or a notebook.

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
    options.alternatives = _options.count(given.pop("alternatives"), "alternatives")
    options.command = "onnx_vernier.diagnose"
    given.pop("progress")
    _diagnosis(options, given.pop("model"), given.pop("samples"), **given)
    return DiagnoseReport(_run(_core.diagnose, options, progress))


def fix(
    model: Any,
    samples: Any = None,
    *,
    allow: Iterable[str] = (),
    forbid: Iterable[str] = (),
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
    cost: str = "layers",
    max_seconds: float = 0,
    max_evaluations: int = 0,
    prove_minimum: bool = False,
    share_out: bool = True,
    latency: bool = False,
    calibration: str = "minmax",
    calibration_samples: Any = None,
    layer_precisions: Mapping[str, str] | None = None,
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    weights_only: bool = False,
    per_channel: bool = True,
    block_size: int = 128,
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
    progress: bool | Progress | None = None,
) -> DiagnoseReport:
    """Repairs before layers are kept: as ``diagnose``, with the cheapest changes of the network tried first.

    Args:
        allow: ids of the repairs that may be tried ("smooth", "range", ...; an unknown one is told with all of them);
            empty: all.
        forbid: ids of those that may not.

    All others, what it returns and what it raises: as ``diagnose``.
    """
    given = dict(locals())
    options = _core.FixOptions()
    for argument in ("allow", "forbid"):
        ids = _options.names(given.pop(argument), argument)
        for each in ids:
            if each not in _core.repair_names():
                raise UsageError(f"{argument}: no repair {each!r}", "one of " + ", ".join(_core.repair_names()))
        setattr(options.repair, argument, ids)
    options.command = "onnx_vernier.fix"
    given.pop("progress")
    _diagnosis(options, given.pop("model"), given.pop("samples"), **given)
    return DiagnoseReport(_run(_core.fix, options, progress))


def verify(
    float_model: Any,
    typed_model: Any,
    samples: Any = None,
    *,
    target: str = "tensorrt",
    min_sqnr: Limits | None = None,
    max_abs: Limits | None = None,
    max_mse: Limits | None = None,
    min_cosine: Limits | None = None,
    min_same_top1: Limits | None = None,
    margin: float = 0,
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
    progress: bool | Progress | None = None,
) -> VerifyReport:
    """Measures, layer by layer, how far a typed model (Cast, Q/DQ; anyone's) is from its float model.

    Returns a report with ``figures`` (of the outputs), ``layers`` and, with a requirement, ``passed``.
    Arguments and errors: as ``diagnose``.
    """
    options = _core.VerifyOptions()
    options.float_model = model_of(float_model)
    options.typed_model = model_of(typed_model)
    options.target = _options.word("Target", "target", target)
    options.command = "onnx_vernier.verify"
    _options.measure(
        options.measure,
        samples=samples,
        input_names=_names(float_model),
        outputs=outputs,
        carry=carry,
        limit=limit,
        split_batch=split_batch,
        threads=threads,
        seed=seed,
        input_shapes=input_shapes,
        custom_ops=custom_ops,
        external_data_dir=external_data_dir,
        image=image,
    )
    wanted = _options.requirement(
        min_sqnr=min_sqnr,
        max_abs=max_abs,
        max_mse=max_mse,
        min_cosine=min_cosine,
        min_same_top1=min_same_top1,
        margin=margin,
    )
    if wanted is not None:
        options.measure.requirement = wanted
    return VerifyReport(_run(_core.verify, options, progress))


def run(
    model: Any,
    samples: Any = None,
    *,
    simulated: bool = True,
    low: str | Iterable[str] = (),
    high: str = "float32",
    target: str = "tensorrt",
    calibration: str = "minmax",
    calibration_samples: Any = None,
    layer_precisions: Mapping[str, str] | None = None,
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
    progress: bool | Progress | None = None,
) -> list[dict[str, np.ndarray]]:
    """What a model gives for each sample: [{output: array}].

    Args:
        simulated: True: as a target would round it: a typed model as its file says, a float one in the formats of
            ``low`` (empty: float32). False: by ONNX Runtime as it is, with its optimizations and integer kernels.
        outputs: names, or wildcards, of any tensors of the model, in the place of its outputs; ["*"]: all of them.

    Others and errors: as ``diagnose``. Memory: the outputs of all samples. Arrays are read-only.
    """
    runner = _core.RunnerOptions()
    runner.model = model_of(model)
    runner.simulate(simulated)
    if low:
        if not simulated:
            raise UsageError("low with simulated=False: ONNX Runtime runs a model as it is", "quantize it first")
        _options.set_format(runner.precision, "low", _options.formats(low), "low")
        _options.set_format(runner.precision, "high", high, "high")
        runner.precision.target = _options.word("Target", "target", target)
        runner.precision.calibration = _core.CalibrationChoice(calibration)
        _options.set_format(
            runner.precision, "layer_precisions", list((layer_precisions or {}).items()), "layer_precisions"
        )
    options = _core.RunOptions()
    options.add_runner(runner)
    _options.measure(
        options.measure,
        samples=samples,
        input_names=_names(model),
        calibration_samples=calibration_samples,
        carry=carry,
        limit=limit,
        split_batch=split_batch,
        threads=threads,
        seed=seed,
        input_shapes=input_shapes,
        custom_ops=custom_ops,
        external_data_dir=external_data_dir,
        image=image,
    )
    choice = _core.OutputChoice()
    choice.names = _options.names(outputs, "outputs")
    options.onnx_outputs = choice
    return [sample_from_core(iteration) for iteration in _run(_core.run_all, options, progress)]


def quantize(
    model: Any,
    samples: Any = None,
    *,
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    target: str = "tensorrt",
    calibration: str = "minmax",
    layer_precisions: Mapping[str, str] | None = None,
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    weights_only: bool = False,
    per_channel: bool = True,
    block_size: int = 128,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """A typed model with every layer as low as ``low`` allows; nothing is measured. ``report.model`` is the model.

    Arguments and errors: as ``diagnose``.
    """
    options = _core.ConvertOptions()
    options.model = model_of(model)
    _options.precision(
        options.precision,
        low=low,
        high=high,
        target=target,
        calibration=calibration,
        layer_precisions=layer_precisions,
        op_types=op_types,
        excluded_op_types=excluded_op_types,
        nodes=nodes,
        excluded_nodes=excluded_nodes,
        weights_only=weights_only,
        per_channel=per_channel,
        block_size=block_size,
    )
    _options.measure(
        options.measure,
        samples=samples,
        input_names=_names(model),
        limit=limit,
        split_batch=split_batch,
        threads=threads,
        image=image,
    )
    return Report(_run(_core.convert, options, progress))


def calibrate(
    model: Any,
    samples: Any,
    *,
    low: str | Iterable[str] = "int8",
    target: str = "tensorrt",
    calibration: str = "minmax",
    output: str | os.PathLike[str] = "",
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """The range of every tensor that low precision quantizes, and whether the samples were enough to know it.

    Returns a report with ``tensors`` (one row a tensor: min, max, clipped, ...) and ``sufficiency``. ``output``: a file
    of ranges; TensorRT's form under ``.cache`` and ``.calib``. Other arguments and errors: as ``diagnose``.
    """
    options = _core.CalibrateOptions()
    options.model = model_of(model)
    options.output = os.fspath(output)
    options.command = "onnx_vernier.calibrate"
    _options.set_format(options.precision, "low", _options.formats(low), "low")
    options.precision.target = _options.word("Target", "target", target)
    options.precision.calibration = _core.CalibrationChoice(calibration)
    _options.measure(
        options.measure,
        samples=samples,
        input_names=_names(model),
        limit=limit,
        split_batch=split_batch,
        threads=threads,
        image=image,
    )
    return Report(_run(_core.calibrate, options, progress))


def check_data(
    model: Any,
    samples: Any,
    *,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """Do the samples look like what the network was trained on? Tries the usual mistakes of image inputs.

    Arguments and errors: as ``diagnose``.
    """
    options = _core.CheckDataOptions()
    options.model = model_of(model)
    _options.measure(
        options.measure,
        samples=samples,
        input_names=_names(model),
        limit=limit,
        split_batch=split_batch,
        threads=threads,
        image=image,
    )
    return Report(_run(_core.check_data, options, progress))


def explain_quantized(
    float_model: Any,
    quantized_model: Any,
    samples: Any,
    *,
    limit: int = 0,
    split_batch: bool = False,
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """What is wrong with a quantized model of any tool's (ModelOpt, ONNX Runtime, ...): what each tensor and each
    quantizer loses, and mistakes in its Q/DQ pairs.

    Returns a report with ``outputs``, ``tensors`` (largest loss first), ``quantizers`` and ``defects``.
    Arguments and errors: as ``diagnose``; UsageError for operators that are quantized themselves (QLinearConv).
    """
    options = _core.DebugLossOptions()
    options.float_model = model_of(float_model)
    options.quantized_model = model_of(quantized_model)
    options.command = "onnx_vernier.explain_quantized"
    _options.measure(
        options.measure,
        samples=samples,
        input_names=_names(float_model),
        limit=limit,
        split_batch=split_batch,
        threads=threads,
        image=image,
    )
    return Report(_run(_core.debug_loss, options, progress))


def inspect(model: Any, *, nodes: bool = False, weights: bool = False) -> Report:
    """What is in a model: inputs, outputs, layers, work. Values of weights are not read. Raises InputError."""
    return Report(_core.inspect_model(model_of(model), nodes, weights))


def lint(model: Any, *, progress: bool | Progress | None = None) -> Report:
    """Everything that is wrong with a model, in one run: ``report.lint_entries``."""
    listener = Listener(progress)
    return Report(_core.lint(model_of(model), listener))


def check_placement(model: Any, *, target: str = "tensorrt", progress: bool | Progress | None = None) -> Report:
    """Which Q/DQ pairs of a model an engine cannot fuse, why, and what would let it: ``report.findings``."""
    listener = Listener(progress)
    return Report(_core.check_placement(model_of(model), _options.word("Target", "target", target), listener))
