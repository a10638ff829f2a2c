"""The other jobs. `_calls.py` has them with all arguments."""
from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core, _options
from ._arrays import sample_from_core
from ._call import call, names_of_inputs
from ._errors import UsageError
from ._model import model_of
from ._progress import Progress
from ._report import Report, VerifyReport


def verify(
    float_model: Any, typed_model: Any, samples: Any = None, *, progress: bool | Progress | None = None, **given: Any
) -> VerifyReport:
    """Measures how far a typed model (Cast, Q/DQ, from any tool) is from its float model, layer by layer.

    Args:
        {arguments}

    Returns a report with ``figures`` (of the outputs), ``layers`` and, with a requirement, ``passed``.
    Other arguments and errors: as ``diagnose``.
    """
    options = _core.VerifyOptions()
    options.float_model = model_of(float_model)
    options.typed_model = model_of(typed_model)
    options.target = _options.choice("target", given["target"])
    options.command = "onnx_vernier.verify"
    _options.measure(options.measure, samples, names_of_inputs(float_model), given)
    wanted = _options.requirement(given)
    if wanted is not None:
        options.measure.requirement = wanted
    return VerifyReport(call(_core.verify, options, progress))


def run(
    model: Any,
    samples: Any = None,
    *,
    simulated: bool = True,
    graph_optimization: str = "ORT_ENABLE_ALL",
    low: str | Iterable[str] = (),
    outputs: Iterable[str] = (),
    progress: bool | Progress | None = None,
    **given: Any,
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
    runner = _core.RunnerOptions()
    runner.model = model_of(model)
    runner.simulate(simulated)
    if low:
        if not simulated:
            raise UsageError("low with simulated=False: ONNX Runtime runs the model unchanged", "quantize it first")
        _options.precision(runner.precision, {**given, "low": low})
    options = _core.RunOptions()
    options.add_runner(runner)
    options.optimization = _options.choice("graph_optimization", graph_optimization)
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    choice = _core.OutputChoice()
    choice.names = _options.names(outputs, "outputs")
    options.onnx_outputs = choice
    return [sample_from_core(iteration) for iteration in call(_core.run_all, options, progress)]


def quantize(model: Any, samples: Any = None, *, progress: bool | Progress | None = None, **given: Any) -> Report:
    """Writes every layer as low as ``low`` allows, without measuring. ``report.model`` is the typed model.

    Arguments and errors: as ``diagnose``.
    """
    options = _core.QuantizeOptions()
    options.model = model_of(model)
    _options.precision(options.precision, given)
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    return Report(call(_core.quantize, options, progress))


def calibrate(
    model: Any,
    samples: Any,
    *,
    output: str | os.PathLike[str] = "",
    progress: bool | Progress | None = None,
    **given: Any,
) -> Report:
    """Calibrates the range of every quantized tensor, and checks whether the samples were enough.

    Args:
        output: a file for the ranges: JSON, or TensorRT's text under ``.cache`` and ``.calib``.
        {arguments}

    Returns a report with ``tensors`` (one row per tensor: min, max, clipped, ...) and ``sufficiency``. Other arguments
    and errors: as ``diagnose``.
    """
    options = _core.CalibrateOptions()
    options.model = model_of(model)
    options.output = os.fspath(output)
    options.command = "onnx_vernier.calibrate"
    _options.precision(options.precision, given)
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    return Report(call(_core.calibrate, options, progress))


def check_data(model: Any, samples: Any, labels: Any = None, *, progress: bool | Progress | None = None, **given: Any) -> Report:
    """Checks whether samples look like those of training, by trying the usual mistakes of image inputs.

    With ``labels``, the correct classes, it also tries mistakes of labels: another first number, another order.

    Args:
        {arguments}

    Other arguments and errors: as ``diagnose``.
    """
    options = _core.CheckDataOptions()
    options.model = model_of(model)
    if labels is not None:
        task = _core.EvalOptions()
        task.labels = _options.label_values(labels)
        task.label_offset = given["label_offset"]
        options.task = task
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    return Report(call(_core.check_data, options, progress))


def explain_quantized(
    float_model: Any, quantized_model: Any, samples: Any, *, progress: bool | Progress | None = None, **given: Any
) -> Report:
    """Finds what is wrong with a quantized model from any tool (ModelOpt, ONNX Runtime, ...).

    It measures the loss of each tensor and each quantizer, and finds mistakes in Q/DQ pairs.

    Returns a report with ``outputs``, ``tensors`` (largest loss first), ``quantizers`` and ``defects``.
    Arguments and errors: as ``diagnose``; UsageError for operators such as QLinearConv.
    """
    options = _core.DebugLossOptions()
    options.float_model = model_of(float_model)
    options.quantized_model = model_of(quantized_model)
    options.command = "onnx_vernier.explain_quantized"
    _options.measure(options.measure, samples, names_of_inputs(float_model), given)
    return Report(call(_core.debug_loss, options, progress))


def inspect(model: Any, *, nodes: bool = False, weights: bool = False) -> Report:
    """Describes a model: inputs, outputs, layers, work. Does not read the values of weights. Raises InputError."""
    return Report(_core.inspect_model(model_of(model), nodes, weights))


class LintReport(Report):
    """The report of lint()."""

    @property
    def passed(self) -> bool:
        """Whether no entry is an error."""
        return all(entry.level != "exception" for entry in self.lint_entries)


def lint(model: Any, *, progress: bool | Progress | None = None) -> LintReport:
    """Finds all defects of a model in one run: ``report.lint_entries``, and ``report.passed``."""
    return LintReport(call(_core.lint, model_of(model), progress))


def check_placement(model: Any, *, progress: bool | Progress | None = None, **given: Any) -> Report:
    """Finds the Q/DQ pairs that an engine cannot fuse, with reasons and fixes: ``report.findings``.

    ``target``: as in ``diagnose``.
    """
    rules = _options.choice("target", given["target"])
    return Report(call(lambda given, listener: _core.check_placement(given, rules, listener), model_of(model), progress))
