"""The jobs with all their arguments, written by scripts/update_options: the arguments that jobs share come from the table
of options (apps/table), everything else from the functions behind."""
# ruff: noqa
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict, Unpack

import numpy as np

from . import _diagnosis, _engines, _figures, _jobs
from ._diagnosis import Causes, Repairs
from ._experiments import Calibration
from ._options import Limits
from ._progress import Progress
from ._report import DiagnoseReport, Report, VerifyReport
from ._suggest import suggesting


class VerifyOptions(TypedDict, total=False):
    """Options of ``verify``; its docstring describes them."""

    max_abs: Limits | None
    max_mse: Limits | None
    min_cosine: Limits | None
    margin: float
    output_parts: bool
    carry: Mapping[str, str] | None
    threads: int
    device: str
    gpu_memory: int | str | None
    custom_ops: Iterable[str]
    external_data_dir: str | os.PathLike[str]
    image: Mapping[str, Any] | None
    limit: int
    split_batch: bool
    seed: int
    input_shapes: Mapping[str, Iterable[int]] | None
    batch: int
    outputs: Iterable[str]


class QuantizeOptions(TypedDict, total=False):
    """Options of ``quantize``; its docstring describes them."""

    layer_precisions: Mapping[str, str] | None
    even_if_slower: bool
    calibration_cache: str | os.PathLike[str]
    op_types: Iterable[str]
    excluded_op_types: Iterable[str]
    nodes: Iterable[str]
    weights_only: bool
    per_channel: bool
    reduce_range: bool
    weight_bits: int
    kv_cache: str | None
    block_size: int
    threads: int
    device: str
    gpu_memory: int | str | None
    image: Mapping[str, Any] | None
    limit: int
    split_batch: bool


class EvaluateOptions(TypedDict, total=False):
    """Options of ``evaluate``; its docstring describes them."""

    carry: Mapping[str, str] | None
    threads: int
    device: str
    gpu_memory: int | str | None
    custom_ops: Iterable[str]
    external_data_dir: str | os.PathLike[str]
    image: Mapping[str, Any] | None
    limit: int
    split_batch: bool
    batch: int
    label_offset: int
    ignored_label: int
    boxes: str
    box_order: str | None
    scores: str
    box_units: str
    fit: str
    background_classes: int
    overlap: float
    least_score: float
    max_metric: float | None
    outputs: Iterable[str]


class FixOptions(QuantizeOptions, total=False):
    """Options of ``fix``; its docstring describes them."""

    max_abs: Limits | None
    max_mse: Limits | None
    min_cosine: Limits | None
    margin: float
    label_offset: int
    metric: Callable[..., float] | None
    min_metric: float | None
    max_metric: float | None
    cost: str
    ladder: str | Iterable[str]
    max_evaluations: int
    prove_minimum: bool
    pareto: bool
    cross_fit: bool
    claim_confidence: float | None
    cache: Any
    latency: bool
    rank: bool
    pictures: bool
    causes: Causes
    quantized: Any
    output_parts: bool
    carry: Mapping[str, str] | None
    custom_ops: Iterable[str]
    external_data_dir: str | os.PathLike[str]
    seed: int
    input_shapes: Mapping[str, Iterable[int]] | None
    outputs: Iterable[str]


class DiagnoseOptions(FixOptions, total=False):
    """Options of ``diagnose``; its docstring describes them."""

    alternatives: int


@suggesting(
    layer_precisions=None,
    even_if_slower=False,
    max_abs=None,
    max_mse=None,
    min_cosine=None,
    margin=0,
    label_offset=0,
    metric=None,
    min_metric=None,
    max_metric=None,
    alternatives=2,
    cost="layers",
    ladder=(),
    max_evaluations=0,
    prove_minimum=False,
    pareto=False,
    cross_fit=True,
    claim_confidence=None,
    cache=None,
    latency=False,
    rank=False,
    pictures=True,
    causes=(),
    quantized=None,
    calibration_cache="",
    op_types=(),
    excluded_op_types=(),
    nodes=(),
    weights_only=False,
    per_channel=True,
    reduce_range=False,
    weight_bits=8,
    kv_cache=None,
    block_size=128,
    output_parts=True,
    carry=None,
    threads=0,
    device="auto",
    gpu_memory=None,
    custom_ops=(),
    external_data_dir="",
    image=None,
    limit=0,
    split_batch=False,
    seed=1,
    input_shapes=None,
    outputs=(),
)
def diagnose(
    model: Any,
    samples: Any = None,
    *,
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    target: str = "tensorrt",
    min_sqnr: Limits | None = None,
    min_top1_agreement: Limits | None = None,
    labels: Any = None,
    min_top1: float | None = None,
    max_seconds: float = 0,
    quick: bool = False,
    calibration: Calibration = "minmax",
    calibration_samples: Any = None,
    excluded_nodes: Iterable[str] = (),
    progress: bool | Progress | None = None,
    **options: Unpack[DiagnoseOptions]
) -> DiagnoseReport:
    """Finds the layers that low precision breaks, explains them, and keeps as few as the requirement needs.

    Args:
        model: a path, bytes, an ``onnx.ModelProto`` or a ``Model``.
        samples: real inputs: ``{input: array [N, ...]}``, a list or iterator of ``{input: array}``, ``Samples``, or a
            path in any form of the command's ``--data``. Each item of a list is one sample, with the network's batch
            dimension. None: random numbers, which say little about real data.
        low: the low format, or several: "int8", "float16", "bfloat16", "float8e4m3fn", "int4", "nvfp4", "int16",
            "dynamic-int8", ... Each layer gets the lowest that it supports.
        high: the format of kept layers.
        target: the engine that the model is for: "tensorrt", "onnxruntime", "openvino". Its rules place low precision.
        min_sqnr: minimum signal-to-noise ratio in dB, pooled over samples: a number, or {output: number}. Use one
            requirement at a time.
        min_top1_agreement: minimum share of samples with the float model's class, 0 to 1.
        labels: correct classes, one per sample.
        min_top1: minimum top-1 accuracy against ``labels``, 0 to 1.
        max_seconds: time limit of the search; 0: no limit.
        quick: stop at the answer and its file: no causes, other options, times or pictures, and no run in ONNX Runtime
            of a file for another engine.
        calibration: how ranges are chosen: "minmax", "percentile:99.99", "entropy", "mse", "aciq", "auto"; or your own
            ``function(seen)``, which returns (low, high). ``seen`` describes a tensor: ``tensor``, ``format``, ``min``,
            ``max``, and its histogram as ``low``, ``high``, ``count`` of each bin.
        calibration_samples: samples to calibrate on; None: ``samples``.
        excluded_nodes: layers to leave in float.
        progress: True: a bar, from tqdm if it is installed. A function: called as ``progress(text, done, total)``. None: a
            bar in a terminal, or in a notebook with ipywidgets.

    Formats:
        - ``layer_precisions=None``: formats of single layers by name or shell wildcard.
        - ``even_if_slower=False``: target "onnxruntime": also quantize layers that run no faster in INT8.

    Scales:
        - ``weights_only=False``: quantize only weights, in INT8 or FP8.
        - ``per_channel=True``: one scale for each output channel of a weight.
        - ``reduce_range=False``: INT8 weights in 7 bits, so that x86 CPUs without VNNI do not saturate their products.
        - ``weight_bits=8``: INT16: weights in 8 bits, or in 4 bits and blocks.
        - ``kv_cache=None``: format of KV caches: "float16", "bfloat16", "float8e4m3fn", "int8".
        - ``block_size=128``: INT4 and UINT4: neighbours that share a scale, 32, 64 or 128.

    Layers:
        - ``op_types=()``: operator types to quantize; empty: all.
        - ``excluded_op_types=()``: operator types to leave in float.
        - ``nodes=()``: layers to quantize: names, shell wildcards or /regular expressions/; empty: all.

    Requirement:
        - ``max_abs=None``: maximum error of an element.
        - ``max_mse=None``: maximum mean squared error.
        - ``min_cosine=None``: minimum cosine similarity, -1 to 1.
        - ``margin=0``: extra margin beyond the requirement, in dB.
        - ``label_offset=0``: number to add to every label.
        - ``metric=None``: ``metric(outputs, references)`` returns a number, limited by ``min_metric`` or
            ``max_metric``. Both are lists of {output: array} over samples: all samples for a verdict, a few for the
            order of the search.
        - ``min_metric=None``: minimum of ``metric``.
        - ``max_metric=None``: maximum of ``metric``.

    Search:
        - ``cost="layers"``: the cost of keeping a layer: "layers", "macs", "bytes", "time".
        - ``ladder=()``: formats that each layer may take, lowest first: ["int8", "int16", "float16"], in place of
            ``low`` and ``high``. ``cost`` then counts bits.
        - ``max_evaluations=0``: maximum number of trials, each a run over the samples; 0: no limit.
        - ``prove_minimum=False``: also prove a lower bound on the cost of any set that passes.
        - ``pareto=False``: try up to six more sets, for a curve of accuracy against cost.

    Report:
        - ``alternatives=2``: how many alternatives to measure if layers have to be kept: repairs, another target,
            another format. If repairs keep fewer layers, the report describes the repaired network.
        - ``cross_fit=True``: from 10 samples on, measure each half on a network that the other half calibrated; the
            output model uses all.
        - ``claim_confidence=None``: confidence that new samples meet the requirement, from 0.5 to below 1; with 0.5 the
            figure itself decides. None: 0.9, with labels 0.5.
        - ``cache=None``: a folder that keeps measurements, at most 256 MiB. Another call with the same network, samples
            and version reuses them, with another limit or cost too.
        - ``latency=False``: also time the models, on ONNX Runtime or the engine of ``confirm_on``.
        - ``rank=False``: rank the layers by the error that each adds to the output, even if none has to be kept.
        - ``pictures=True``: also count how the values of the worst layers use their format, for pages and plots. Costs
            two runs of four samples.
        - ``causes=()``: your own functions, or {name: function}. ``function(layer)`` returns None, a sentence, or
            {"sentence": ..., "figures": {name: value}, "confidence": 0 to 1, "tensor": ..., "repairs": [...]}.
            ``layer`` has the measurements of a layer: ``inputs`` and ``outputs`` with their values, noise, events,
            neighbours.
        - ``quantized=None``: a file that was quantized from ``model``: its ranges and its choice of layers are reused.

    Samples:
        - ``calibration_cache=""``: a file of ranges (TensorRT's cache, ONNX Runtime's JSON or Vernier's): read if it
            exists, otherwise calibrated and written.
        - ``output_parts=True``: also measure parts of different scale, such as boxes and scores.
        - ``carry=None``: {output: input}: outputs to feed back with the next sample.
        - ``threads=0``: threads to compute with; 0: all usable cores.
        - ``device="auto"``: "auto", "cpu", "cuda" or "cuda:N": the device that runs networks.
        - ``gpu_memory=None``: most memory to use on a GPU, in bytes or as "8G"; None: what is free.
        - ``custom_ops=()``: shared libraries with custom operators for ONNX Runtime.
        - ``external_data_dir=""``: folder of weights that are stored outside the model; empty: the model's folder.
        - ``image=None``: how to prepare a folder of images: {"geometry": "short-crop:256,224", "mean": ..., "scale":
            ...}.
        - ``limit=0``: the maximum number of samples.
        - ``split_batch=False``: split arrays along a dynamic first dimension into samples of batch 1; batches in a list
            too.
        - ``seed=1``: the seed of random data.
        - ``input_shapes=None``: {input: shape} of random data; other dynamic dimensions are 1.
        - ``outputs=()``: outputs to measure, or slices of them ("output0[:,4:]"); empty: every float output that
            carries no state.

    Returns:
        The report. ``report.model`` is the typed model; nothing is written until ``report.save(folder)``.

    Raises:
        InputError: the model or the samples cannot be used.
        UsageError: arguments contradict each other.
        BackendError: ONNX Runtime is missing.
        KeyboardInterrupt: within a second of Ctrl-C; its ``report`` has the measurements so far.

    Examples:
        >>> report = diagnose(digits, {"image": images}, low="int8", min_sqnr=20)
        >>> report.passed
        True
    """
    given = locals()
    return _diagnosis.diagnose(**given.pop("options"), **given)


@suggesting(
    layer_precisions=None,
    even_if_slower=False,
    max_abs=None,
    max_mse=None,
    min_cosine=None,
    margin=0,
    label_offset=0,
    metric=None,
    min_metric=None,
    max_metric=None,
    cost="layers",
    ladder=(),
    max_evaluations=0,
    prove_minimum=False,
    pareto=False,
    cross_fit=True,
    claim_confidence=None,
    cache=None,
    latency=False,
    rank=False,
    pictures=True,
    causes=(),
    quantized=None,
    calibration_cache="",
    op_types=(),
    excluded_op_types=(),
    nodes=(),
    weights_only=False,
    per_channel=True,
    reduce_range=False,
    weight_bits=8,
    kv_cache=None,
    block_size=128,
    output_parts=True,
    carry=None,
    threads=0,
    device="auto",
    gpu_memory=None,
    custom_ops=(),
    external_data_dir="",
    image=None,
    limit=0,
    split_batch=False,
    seed=1,
    input_shapes=None,
    outputs=(),
)
def fix(
    model: Any,
    samples: Any = None,
    *,
    allow: Iterable[str] = (),
    forbid: Iterable[str] = (),
    repairs: Repairs = (),
    qat: str | os.PathLike[str] | None = None,
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    target: str = "tensorrt",
    min_sqnr: Limits | None = None,
    min_top1_agreement: Limits | None = None,
    labels: Any = None,
    min_top1: float | None = None,
    max_seconds: float = 0,
    quick: bool = False,
    calibration: Calibration = "minmax",
    calibration_samples: Any = None,
    excluded_nodes: Iterable[str] = (),
    progress: bool | Progress | None = None,
    **options: Unpack[FixOptions]
) -> DiagnoseReport:
    """Like ``diagnose``, but tries repairs of the network first, and keeps layers only if repairs are not enough.

    Args:
        allow: ids of repairs to try ("smooth", "range", ...); empty: all. The error for an unknown id lists all.
        forbid: ids of repairs not to try.
        repairs: your own functions, or {name: function}, tried in addition. ``function(network)`` returns a list of dicts
            with "layers", "what" and one change. Changes are "ranges": {tensor: (low, high)}, "constants": {name: array}
            of the low side, or "model": a model that computes the same in exact arithmetic. A proposal that does not
            work has "why_not" instead. ``network`` has ``model``, ``layers``, ``values``, ``ranges`` and
            ``channel_absmax``.
        qat: a folder for qat.py, which ModelOpt's ``quantize`` takes for training: formats, ranges and excluded layers by
            torch module. None: it is not written.

    Other arguments, the result and the errors: as ``diagnose``.
    """
    given = locals()
    return _diagnosis.fix(**given.pop("options"), **given)


@suggesting(
    max_abs=None,
    max_mse=None,
    min_cosine=None,
    margin=0,
    output_parts=True,
    carry=None,
    threads=0,
    device="auto",
    gpu_memory=None,
    custom_ops=(),
    external_data_dir="",
    image=None,
    limit=0,
    split_batch=False,
    seed=1,
    input_shapes=None,
    batch=1,
    outputs=(),
)
def verify(
    float_model: Any,
    typed_model: Any,
    samples: Any = None,
    *,
    target: str = "tensorrt",
    min_sqnr: Limits | None = None,
    min_top1_agreement: Limits | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[VerifyOptions]
) -> VerifyReport:
    """Measures how far a typed model (Cast, Q/DQ, from any tool) is from its float model, layer by layer.

    Samples:
        - ``batch=1``: run up to so many samples as one batch. If the network does not allow it, samples run one by one,
            and the report has a warning.

    Returns a report with ``figures`` (of the outputs), ``layers`` and, with a requirement, ``passed``.
    Other arguments and errors: as ``diagnose``.
    """
    given = locals()
    return _jobs.verify(**given.pop("options"), **given)


@suggesting()
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
    device: str = "auto",
    gpu_memory: int | str | None = None,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    progress: bool | Progress | None = None,
) -> list[dict[str, np.ndarray]]:
    """Runs a model, and returns its outputs for each sample: [{output: array}].

    Args:
        simulated: True: with the target's rounding. A typed model runs in the formats of its file, a float model in
            those of ``low`` (empty: float32). False: on ONNX Runtime, with its optimizations and integer kernels.
        graph_optimization: of ONNX Runtime: "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED",
            "ORT_ENABLE_ALL".
        outputs: tensors to return instead of the model's outputs: names, wildcards, or ["*"] for all.

    Other arguments and errors: as ``diagnose``. Memory: the outputs of all samples. Arrays are read-only.
    """
    return _jobs.run(**locals())


@suggesting(
    layer_precisions=None,
    even_if_slower=False,
    calibration_cache="",
    op_types=(),
    excluded_op_types=(),
    nodes=(),
    weights_only=False,
    per_channel=True,
    reduce_range=False,
    weight_bits=8,
    kv_cache=None,
    block_size=128,
    threads=0,
    device="auto",
    gpu_memory=None,
    image=None,
    limit=0,
    split_batch=False,
)
def quantize(
    model: Any,
    samples: Any = None,
    *,
    low: str | Iterable[str] = "int8",
    high: str = "float32",
    target: str = "tensorrt",
    calibration: Calibration = "minmax",
    excluded_nodes: Iterable[str] = (),
    progress: bool | Progress | None = None,
    **options: Unpack[QuantizeOptions]
) -> Report:
    """Writes every layer as low as ``low`` allows, without measuring. ``report.model`` is the typed model.

    Arguments and errors: as ``diagnose``.
    """
    given = locals()
    return _jobs.quantize(**given.pop("options"), **given)


@suggesting()
def calibrate(
    model: Any,
    samples: Any,
    *,
    output: str | os.PathLike[str] = "",
    low: str | Iterable[str] = "int8",
    target: str = "tensorrt",
    calibration: Calibration = "minmax",
    threads: int = 0,
    device: str = "auto",
    gpu_memory: int | str | None = None,
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    batch: int = 1,
    progress: bool | Progress | None = None,
) -> Report:
    """Calibrates the range of every quantized tensor, and checks whether the samples were enough.

    Args:
        output: a file for the ranges: JSON, or TensorRT's text under ``.cache`` and ``.calib``.
        batch: run up to so many samples as one batch. If the network does not allow it, samples run one by one, and the
            report has a warning.

    Returns a report with ``tensors`` (one row per tensor: min, max, clipped, ...) and ``sufficiency``. Other arguments
    and errors: as ``diagnose``.
    """
    return _jobs.calibrate(**locals())


@suggesting()
def check_data(
    model: Any,
    samples: Any,
    labels: Any = None,
    *,
    threads: int = 0,
    device: str = "auto",
    gpu_memory: int | str | None = None,
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    label_offset: int = 0,
    progress: bool | Progress | None = None,
) -> Report:
    """Checks whether samples look like those of training, by trying the usual mistakes of image inputs.

    With ``labels``, the correct classes, it also tries mistakes of labels: another first number, another order.

    Args:
        label_offset: number to add to each label.

    Other arguments and errors: as ``diagnose``.
    """
    return _jobs.check_data(**locals())


@suggesting()
def explain_quantized(
    float_model: Any,
    quantized_model: Any,
    samples: Any,
    *,
    threads: int = 0,
    device: str = "auto",
    gpu_memory: int | str | None = None,
    image: Mapping[str, Any] | None = None,
    limit: int = 0,
    split_batch: bool = False,
    progress: bool | Progress | None = None,
) -> Report:
    """Finds what is wrong with a quantized model from any tool (ModelOpt, ONNX Runtime, ...).

    It measures the loss of each tensor and each quantizer, and finds mistakes in Q/DQ pairs.

    Returns a report with ``outputs``, ``tensors`` (largest loss first), ``quantizers`` and ``defects``.
    Arguments and errors: as ``diagnose``; UsageError for operators such as QLinearConv.
    """
    return _jobs.explain_quantized(**locals())


@suggesting()
def check_placement(
    model: Any,
    *,
    target: str = "tensorrt",
    progress: bool | Progress | None = None,
) -> Report:
    """Finds the Q/DQ pairs that an engine cannot fuse, with reasons and fixes: ``report.findings``.

    ``target``: as in ``diagnose``.
    """
    return _jobs.check_placement(**locals())


@suggesting()
def bench(
    models: Any,
    samples: Any = None,
    *,
    on: str | Iterable[str] = "onnxruntime",
    threads: int = 0,
    device: str = "auto",
    gpu_memory: int | str | None = None,
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
    """Times models on this machine's engines, side by side, in turns of a few milliseconds.

    Args:
        models: one or a list; each gets a row.
        samples: as in ``diagnose``. None: random numbers.
        on: "onnxruntime", "tensorrt", "openvino", or several of them.
        batches: batch sizes, if the first dimension is dynamic.
        iterations: minimum number of runs per row.
        seconds: minimum seconds per row.
        layers: also time single layers.
        providers: execution providers of ONNX Runtime, preferred first; empty: the CPU.

    Returns:
        A report with ``rows``: ``latency.median_ms`` with its spread, ``samples_per_second``.

    Other arguments and errors: as ``diagnose``; BackendError for a missing engine.
    """
    return _engines.bench(**locals())


@suggesting()
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
    """Compiles a typed model with an engine's own compiler: the kernel of each layer, and its type.

    Args:
        model: a typed model, or a file of layer information from trtexec or TensorRT's engine inspector.
        engine: "tensorrt", "tensorrt-rtx", "openvino"; "any": the first of TensorRT and TensorRT-RTX that is installed.
        compute_capability: such as "8.9"; empty: that of this machine's GPU.
        shapes: {input: shape}; other dynamic dimensions are 1.
        python: the Python with the engine's packages; empty: this one.
        seconds: time limit in seconds for an answer of the engine.

    Raises:
        BackendError: the engine is missing, or refuses the model, with the engine's message.
    """
    return _engines.inspect_engine(**locals())


@suggesting(
    carry=None,
    threads=0,
    device="auto",
    gpu_memory=None,
    custom_ops=(),
    external_data_dir="",
    image=None,
    limit=0,
    split_batch=False,
    batch=1,
    label_offset=0,
    ignored_label=255,
    boxes="yolox",
    box_order=None,
    scores="none",
    box_units="input",
    fit="letterbox",
    background_classes=0,
    overlap=0.65,
    least_score=0.01,
    max_metric=None,
    outputs=(),
)
def evaluate(
    model: Any,
    samples: Any,
    labels: Any = None,
    *,
    against: Any = None,
    metric: Callable[..., float] | None = None,
    task: str = "classification",
    min_metric: float | None = None,
    max_loss: float | None = None,
    on: str | None = None,
    progress: bool | Progress | None = None,
    **options: Unpack[EvaluateOptions]
) -> Report:
    """Measures a network's accuracy on its task, against labels: one model, or two side by side.

    Args:
        labels: the correct answers, one per sample. Classification: whole numbers [N]. Segmentation: [N, height, width].
            Language: the next tokens, [N, tokens]; None: those of the input. Detection: COCO annotations, a dict or a
            file, with images in the order of the samples. A path: any form of the command's ``--labels``.
        against: a second model on the same samples.
        metric: of task "custom": ``metric(outputs, references)``; both are lists over the samples of {output: array}.
            Without ``against``, references are empty.
        task: "classification" (top-1, top-5), "detection" (mAP), "segmentation" (mIoU), "language" (perplexity),
            "custom".
        min_metric: minimum of the first figure.
        max_loss: largest accepted loss against ``against``.
        on: the engine that runs the models: "onnxruntime", "tensorrt", "openvino"; None: simulation.

    Samples:
        - ``batch=1``: run up to so many samples as one batch. If the network does not allow it, samples run one by one,
            and the report has a warning.

    Task:
        - ``label_offset=0``: number to add to each label.
        - ``ignored_label=255``: segmentation: the label of pixels to ignore.
        - ``boxes="yolox"``: detection: the form of the outputs: "yolox", "yolov5", "yolov8", "plain", "rows".
        - ``box_order=None``: "xyxy", "yxyx", "cxcywh", "xywh".
        - ``scores="none"``: activation that the scores still need: "none", "sigmoid", "softmax".
        - ``box_units="input"``: "input", "unit", "image".
        - ``fit="letterbox"``: "letterbox", "letterbox-center", "stretch".
        - ``background_classes=0``: boxes "plain": how many of the first classes to ignore.
        - ``overlap=0.65``: merge boxes of a class that overlap by more, 0 to 1.
        - ``least_score=0.01``: ignore boxes with a lower score.
        - ``max_metric=None``: maximum. A larger value of your own metric is better, unless you pass only
            ``max_metric``.

    Returns:
        A report with ``models``, each with ``figures``, {name: value}. Figures are shares from 0 to 1, except perplexity.
        ``passed``: whether all limits are met.

    Other arguments and errors: as ``diagnose``.

    Examples:
        >>> evaluate(report.model, images, labels, against=digits, max_loss=0.01).passed
        True
    """
    given = locals()
    return _figures.evaluate(**given.pop("options"), **given)
