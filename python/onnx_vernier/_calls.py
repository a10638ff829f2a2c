"""The jobs with all their arguments, written by scripts/update_options: the arguments that jobs share come from the table
of options (apps/table), everything else from the functions behind."""
# ruff: noqa
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _diagnosis, _engines, _figures, _jobs
from ._diagnosis import Causes, Repairs
from ._experiments import Calibration
from ._options import Limits
from ._progress import Progress
from ._report import DiagnoseReport, Report, VerifyReport


def diagnose(
    model: Any,
    samples: Any = None,
    *,
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    layer_precisions: Mapping[str, str] | None = None,
    target: str = "tensorrt",
    even_if_slower: bool = False,
    min_sqnr: Limits | None = None,
    max_abs: Limits | None = None,
    max_mse: Limits | None = None,
    min_cosine: Limits | None = None,
    min_same_top1: Limits | None = None,
    margin: float = 0,
    labels: Any = None,
    label_offset: int = 0,
    min_top1: float | None = None,
    metric: Callable[..., float] | None = None,
    min_metric: float | None = None,
    max_metric: float | None = None,
    alternatives: int = 0,
    cost: str = "layers",
    max_seconds: float = 0,
    max_evaluations: int = 0,
    prove_minimum: bool = False,
    pareto: bool = False,
    cross_fit: bool = True,
    claim_confidence: float = 0.9,
    cache: Any = None,
    latency: bool = False,
    rank: bool = False,
    quick: bool = False,
    pictures: bool = True,
    causes: Causes = (),
    quantized: Any = None,
    calibration: Calibration = "minmax",
    calibration_samples: Any = None,
    calibration_cache: str | os.PathLike[str] = "",
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    weights_only: bool = False,
    per_channel: bool = True,
    reduce_range: bool = False,
    block_size: int = 128,
    output_parts: bool = True,
    carry: Mapping[str, str] | None = None,
    threads: int = 0,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    outputs: Iterable[str] = (),
    progress: bool | Progress | None = None,
) -> DiagnoseReport:
    """Finds which layers low precision breaks, why, and which must stay high so that a requirement is met.

    Args:
        model: a path, bytes, an ``onnx.ModelProto`` or a ``Model``.
        samples: real inputs: ``{input: array [N, ...]}``, a list or iterator of ``{input: array}`` (one a sample, with
            the network's batch dimension), ``Samples``, or a path as the command's ``--data`` takes it. None: random
            numbers, whose figures say little about real data.
        low: the format that is tried, or several: "int8", "float16", "bfloat16", "float8e4m3fn", "int4", ...; the
            lowest that a layer can take wins.
        high: the format of kept layers.
        layer_precisions: formats of single layers by name; shell wildcards are allowed.
        target: whose rules place low precision: "tensorrt", "onnxruntime", "openvino".
        even_if_slower: target "onnxruntime": also layers that its kernels run no faster in int8.
        min_sqnr: at least so many dB of signal over noise, pooled over samples; a number, or {output: number}. The
            other requirements alike. One decides.
        max_abs: no error is larger.
        max_mse: mean squared error.
        min_cosine: cosine similarity, -1 to 1.
        min_same_top1: share of samples with the float model's class, 0 to 1.
        margin: dB that are asked for beyond the requirement.
        labels: right classes, one a sample.
        label_offset: added to every label.
        min_top1: the share of ``labels`` that must be right, 0 to 1.
        metric: ``metric(outputs, references)``, lists of {output: array} over samples, gives a number that must be at
            least ``min_metric`` or at most ``max_metric``; called with all samples where it decides, with a few where
            the search only looks what to try next.
        min_metric: of ``metric``, at least.
        max_metric: of ``metric``, at most.
        alternatives: how many other ways to meet the requirement are measured if layers have to be kept: repairs,
            another target, another format. If the repaired network keeps less, the report is about it, and it is
            written.
        cost: what keeping costs: "layers", "macs", "bytes", "time".
        max_seconds: of the search; 0: no limit.
        max_evaluations: runs of the search over the samples; 0: no limit.
        prove_minimum: also bounds from below what any passing set costs.
        pareto: up to six more sets are tried, so that accuracy against cost is a curve.
        cross_fit: from 10 samples on, judge each half of them by what the other half taught; the written model learns
            from all.
        claim_confidence: how sure the requirement has to be met on new samples, from 0.5 to below 1; with 0.5 the
            figure itself decides.
        cache: a folder in which measurements are kept, at most 256 MiB, and looked up: another call on the same network
            and samples, with another limit or cost, then measures what is new to it. Those of another version are not
            taken.
        latency: also times the models on ONNX Runtime.
        rank: rank the layers by what each costs the output, even if everything low meets the requirement.
        quick: stop at the answer and its file: no causes, other options, times or pictures.
        pictures: also counts how values of the worst layers lie on their grids, for pages and plots: two runs of four
            samples.
        causes: functions of yours, or {name: function}: ``function(layer)`` gives None, a sentence, or {"sentence":
            ..., "figures": {name: value}, "confidence": 0 to 1, "tensor": ..., "repairs": [...]}. ``layer`` is what was
            measured of an examined layer: ``inputs`` and ``outputs`` with their values, noise, events, neighbours.
        quantized: a file that was quantized from ``model``: its ranges and the layers that it has in float32 are taken
            over.
        calibration: how ranges are chosen: "minmax", "percentile:99.99", "entropy", "mse", "aciq", "auto"; or a
            function of yours: ``function(seen)`` gives (low, high) of a tensor, of which ``seen`` has ``tensor``,
            ``format``, ``min``, ``max``, and ``low``, ``high``, ``count`` of the bins that hold its values.
        calibration_samples: samples that ranges are learned on; None: ``samples``.
        calibration_cache: a file of ranges (TensorRT's cache, ONNX Runtime's JSON, ours): read when it is there, else
            learned and written.
        op_types: operators whose layers may take a format with a scale; empty: all.
        excluded_op_types: operators whose layers may not.
        nodes: names of layers that may, with shell wildcards or /regular expressions/.
        excluded_nodes: names of layers that may not.
        weights_only: int8 and float8 store weights alone.
        per_channel: a scale for each output channel of a weight.
        reduce_range: int8 weights in 7 bits, whose products no x86 CPU without VNNI saturates.
        block_size: int4: neighbours that share a scale, 32, 64 or 128.
        output_parts: judge parts of different scale, such as boxes and scores, as well.
        carry: {output: input}: fed back with the next sample.
        threads: 0: all usable cores.
        custom_ops: shared libraries of custom operators for ONNX Runtime.
        external_data_dir: where the weights lie that models keep in files of their own; empty: beside each model.
        image: how a folder of images is prepared: {"geometry": "short-crop:256,224", "mean": ..., "scale": ...}.
        limit: at most so many samples.
        split_batch: an array along a dynamic first dimension, and each batch of a list, is samples of batch 1.
        seed: of random data.
        input_shapes: {input: shape} of random data; open dimensions of others are 1.
        outputs: that are judged, or slices of them ("output0[:,4:]"); empty: every float output that carries no state.
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
    return _diagnosis.diagnose(**locals())


def fix(
    model: Any,
    samples: Any = None,
    *,
    allow: Iterable[str] = (),
    forbid: Iterable[str] = (),
    repairs: Repairs = (),
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    layer_precisions: Mapping[str, str] | None = None,
    target: str = "tensorrt",
    even_if_slower: bool = False,
    min_sqnr: Limits | None = None,
    max_abs: Limits | None = None,
    max_mse: Limits | None = None,
    min_cosine: Limits | None = None,
    min_same_top1: Limits | None = None,
    margin: float = 0,
    labels: Any = None,
    label_offset: int = 0,
    min_top1: float | None = None,
    metric: Callable[..., float] | None = None,
    min_metric: float | None = None,
    max_metric: float | None = None,
    cost: str = "layers",
    max_seconds: float = 0,
    max_evaluations: int = 0,
    prove_minimum: bool = False,
    pareto: bool = False,
    cross_fit: bool = True,
    claim_confidence: float = 0.9,
    cache: Any = None,
    latency: bool = False,
    rank: bool = False,
    quick: bool = False,
    pictures: bool = True,
    causes: Causes = (),
    quantized: Any = None,
    calibration: Calibration = "minmax",
    calibration_samples: Any = None,
    calibration_cache: str | os.PathLike[str] = "",
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    weights_only: bool = False,
    per_channel: bool = True,
    reduce_range: bool = False,
    block_size: int = 128,
    output_parts: bool = True,
    carry: Mapping[str, str] | None = None,
    threads: int = 0,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    outputs: Iterable[str] = (),
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
    return _diagnosis.fix(**locals())


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
    output_parts: bool = True,
    carry: Mapping[str, str] | None = None,
    threads: int = 0,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    batch: int = 1,
    outputs: Iterable[str] = (),
    progress: bool | Progress | None = None,
) -> VerifyReport:
    """Measures, layer by layer, how far a typed model (Cast, Q/DQ; anyone's) is from its float model.

    Args:
        batch: so many samples run as one where the network allows it and the answers are those of single samples; a
            warning of the report says where not.

    Returns a report with ``figures`` (of the outputs), ``layers`` and, with a requirement, ``passed``.
    Other arguments and errors: as ``diagnose``.
    """
    return _jobs.verify(**locals())


def run(
    model: Any,
    samples: Any = None,
    *,
    simulated: bool = True,
    graph_optimization: str = "ORT_ENABLE_ALL",
    low: str | Iterable[str] = (),
    outputs: Iterable[str] = (),
    high: str = "float32",
    layer_precisions: Mapping[str, str] | None = None,
    target: str = "tensorrt",
    calibration: Calibration = "minmax",
    calibration_samples: Any = None,
    carry: Mapping[str, str] | None = None,
    threads: int = 0,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, np.ndarray]]:
    """What a model gives for each sample: [{output: array}].

    Args:
        simulated: True: as a target would round it: a typed model as its file says, a float one in the formats of
            ``low`` (empty: float32). False: by ONNX Runtime as it is, with its optimizations and integer kernels.
        graph_optimization: of ONNX Runtime: "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED",
            "ORT_ENABLE_ALL".
        outputs: names, or wildcards, of any tensors of the model, in the place of its outputs; ["*"]: all of them.

    Others and errors: as ``diagnose``. Memory: the outputs of all samples. Arrays are read-only.
    """
    return _jobs.run(**locals())


def quantize(
    model: Any,
    samples: Any = None,
    *,
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    layer_precisions: Mapping[str, str] | None = None,
    target: str = "tensorrt",
    even_if_slower: bool = False,
    calibration: Calibration = "minmax",
    calibration_cache: str | os.PathLike[str] = "",
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    weights_only: bool = False,
    per_channel: bool = True,
    reduce_range: bool = False,
    block_size: int = 128,
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    progress: bool | Progress | None = None,
) -> Report:
    """A typed model with every layer as low as ``low`` allows; nothing is measured. ``report.model`` is the model.

    Arguments and errors: as ``diagnose``.
    """
    return _jobs.quantize(**locals())


def calibrate(
    model: Any,
    samples: Any,
    *,
    output: str | os.PathLike[str] = "",
    low: str | Iterable[str] = "int8",
    target: str = "tensorrt",
    calibration: Calibration = "minmax",
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    batch: int = 1,
    progress: bool | Progress | None = None,
) -> Report:
    """The range of every tensor that low precision quantizes, and whether the samples were enough to know it.

    Args:
        output: a file of ranges; TensorRT's form under ``.cache`` and ``.calib``.
        batch: so many samples run as one where the network allows it and the answers are those of single samples; a
            warning of the report says where not.

    Returns a report with ``tensors`` (one row a tensor: min, max, clipped, ...) and ``sufficiency``. Other arguments and
    errors: as ``diagnose``.
    """
    return _jobs.calibrate(**locals())


def check_data(
    model: Any,
    samples: Any,
    labels: Any = None,
    *,
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    label_offset: int = 0,
    progress: bool | Progress | None = None,
) -> Report:
    """Do the samples look like what the network was trained on? Tries the usual mistakes of image inputs; with ``labels``,
    right classes, one a sample, also those of labels: counted from another number, in another order.

    Args:
        label_offset: is added to each label.

    Other arguments and errors: as ``diagnose``.
    """
    return _jobs.check_data(**locals())


def explain_quantized(
    float_model: Any,
    quantized_model: Any,
    samples: Any,
    *,
    threads: int = 0,
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    progress: bool | Progress | None = None,
) -> Report:
    """What is wrong with a quantized model of any tool's (ModelOpt, ONNX Runtime, ...): what each tensor and each
    quantizer loses, and mistakes in its Q/DQ pairs.

    Returns a report with ``outputs``, ``tensors`` (largest loss first), ``quantizers`` and ``defects``.
    Arguments and errors: as ``diagnose``; UsageError for operators that are quantized themselves (QLinearConv).
    """
    return _jobs.explain_quantized(**locals())


def check_placement(
    model: Any,
    *,
    target: str = "tensorrt",
    progress: bool | Progress | None = None,
) -> Report:
    """Which Q/DQ pairs of a model an engine cannot fuse, why, and what would let it: ``report.findings``.

    ``target``: as of ``diagnose``.
    """
    return _jobs.check_placement(**locals())


def bench(
    models: Any,
    samples: Any = None,
    *,
    on: str | Iterable[str] = "onnxruntime",
    threads: int = 0,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    batches: int | Iterable[int] = (),
    iterations: int = 10,
    seconds: float = 3,
    layers: bool = False,
    providers: Iterable[str] = (),
    progress: bool | Progress | None = None,
) -> Report:
    """How long models take on engines of this machine, side by side: all are timed in turns of a few milliseconds.

    Args:
        models: one, or a list of them: a row each.
        samples: None: random numbers.
        on: "onnxruntime", "tensorrt", "openvino", or several of them.
        batches: sizes of the first dimension, where models leave it open.
        iterations: runs of each row, at least.
        seconds: of each row, at least.
        layers: also times of single layers.
        providers: of ONNX Runtime, best first; empty: the CPU.

    Returns:
        A report with ``rows``: ``latency.median_ms`` with its spread, ``samples_per_second``.

    Others and errors: as ``diagnose``; BackendError for an engine that is not there.
    """
    return _engines.bench(**locals())


def inspect_engine(
    model: Any,
    *,
    engine: str = "any",
    compute_capability: str = "",
    shapes: Mapping[str, Iterable[int]] | None = None,
    python: str = "",
    seconds: float = 600,
    progress: bool | Progress | None = None,
) -> Report:
    """What an engine's own compiler makes of a typed model: which kernel computes which layer, in which type.

    Args:
        model: a typed model; or a file of layer information, as trtexec and TensorRT's engine inspector write it.
        engine: "tensorrt", "tensorrt-rtx", "openvino"; "any": the first of TensorRT's that is there.
        compute_capability: "8.9"; empty: of the GPU that is here.
        shapes: {input: shape}; open dimensions of others are 1.
        python: the program that has the engine's packages; empty: this one.
        seconds: that the engine may take.

    Raises:
        BackendError: no engine, or it refuses the model, in its own words.
    """
    return _engines.inspect_engine(**locals())


def evaluate(
    model: Any,
    samples: Any,
    labels: Any = None,
    *,
    against: Any = None,
    metric: Callable[..., float] | None = None,
    carry: Mapping[str, str] | None = None,
    threads: int = 0,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    batch: int = 1,
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
    min_metric: float | None = None,
    max_metric: float | None = None,
    max_loss: float | None = None,
    on: str | None = None,
    outputs: Iterable[str] = (),
    progress: bool | Progress | None = None,
) -> Report:
    """What a network is worth for its task, against labels: a float model, a typed one, or both side by side.

    Args:
        labels: what is right, one a sample. Classification: whole numbers [N]. Segmentation: [N, height, width].
            Language: the next tokens, [N, tokens]; None: those of the input itself. Detection: COCO's annotations, a dict
            or a file, whose images are in the order of the samples. A path is read as the command's ``--labels``.
        against: a second model on the same samples.
        metric: of task "custom": ``metric(outputs, references)``, lists over the samples of {output: array}; references are
            empty without ``against``.
        batch: so many samples run as one where the network allows it and the answers are those of single samples; a
            warning of the report says where not.
        task: "classification" (top-1, top-5), "detection" (mAP), "segmentation" (mIoU), "language" (perplexity),
            "custom".
        label_offset: is added to each label.
        ignored_label: of segmentation: pixels that count for nothing.
        boxes: of detection, how they come out: "yolox", "yolov5", "yolov8", "plain", "rows".
        box_order: "xyxy", "yxyx", "cxcywh", "xywh".
        scores: what the network left out: "none", "sigmoid", "softmax".
        box_units: "input", "unit", "image".
        fit: "letterbox", "letterbox-center", "stretch".
        background_classes: of boxes "plain": the first classes that are none.
        overlap: boxes of a class that overlap by more are one, 0 to 1.
        least_score: boxes below are left out.
        min_metric: of the first figure, at least.
        max_metric: at most. A metric of yours is better when larger, unless ``max_metric`` alone is given.
        max_loss: it may be worse than that of ``against`` by so much.
        on: the engine that runs the models: "onnxruntime", "tensorrt", "openvino"; None: float32 kernels with our
            rounding behind them.

    Returns:
        A report with ``models``: for each its ``figures``, {name: value}, shares from 0 to 1 but for perplexity; and
        ``passed``: no limit is missed.

    Others and errors: as ``diagnose``.

    Examples:
        >>> evaluate(report.model, images, labels, against=digits, max_loss=0.01).passed
        True
    """
    return _figures.evaluate(**locals())
