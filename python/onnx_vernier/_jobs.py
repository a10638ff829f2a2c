"""The other jobs. `_calls.py` gives them all their arguments."""
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
    """Measures, layer by layer, how far a typed model (Cast, Q/DQ; anyone's) is from its float model.

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
    """What a model gives for each sample: [{output: array}].

    Args:
        simulated: True: as a target would round it: a typed model as its file says, a float one in the formats of
            ``low`` (empty: float32). False: by ONNX Runtime as it is, with its optimizations and integer kernels.
        graph_optimization: of ONNX Runtime: "ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED",
            "ORT_ENABLE_ALL".
        outputs: names, or wildcards, of any tensors of the model, in the place of its outputs; ["*"]: all of them.

    Others and errors: as ``diagnose``. Memory: the outputs of all samples. Arrays are read-only.
    """
    runner = _core.RunnerOptions()
    runner.model = model_of(model)
    runner.simulate(simulated)
    if low:
        if not simulated:
            raise UsageError("low with simulated=False: ONNX Runtime runs a model as it is", "quantize it first")
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
    """A typed model with every layer as low as ``low`` allows; nothing is measured. ``report.model`` is the model.

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
    """The range of every tensor that low precision quantizes, and whether the samples were enough to know it.

    Args:
        output: a file of ranges; TensorRT's form under ``.cache`` and ``.calib``.
        {arguments}

    Returns a report with ``tensors`` (one row a tensor: min, max, clipped, ...) and ``sufficiency``. Other arguments and
    errors: as ``diagnose``.
    """
    options = _core.CalibrateOptions()
    options.model = model_of(model)
    options.output = os.fspath(output)
    options.command = "onnx_vernier.calibrate"
    _options.precision(options.precision, given)
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    return Report(call(_core.calibrate, options, progress))


def check_data(model: Any, samples: Any, labels: Any = None, *, progress: bool | Progress | None = None, **given: Any) -> Report:
    """Do the samples look like what the network was trained on? Tries the usual mistakes of image inputs; with ``labels``,
    right classes, one a sample, also those of labels: counted from another number, in another order.

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
    """What is wrong with a quantized model of any tool's (ModelOpt, ONNX Runtime, ...): what each tensor and each
    quantizer loses, and mistakes in its Q/DQ pairs.

    Returns a report with ``outputs``, ``tensors`` (largest loss first), ``quantizers`` and ``defects``.
    Arguments and errors: as ``diagnose``; UsageError for operators that are quantized themselves (QLinearConv).
    """
    options = _core.DebugLossOptions()
    options.float_model = model_of(float_model)
    options.quantized_model = model_of(quantized_model)
    options.command = "onnx_vernier.explain_quantized"
    _options.measure(options.measure, samples, names_of_inputs(float_model), given)
    return Report(call(_core.debug_loss, options, progress))


def inspect(model: Any, *, nodes: bool = False, weights: bool = False) -> Report:
    """What is in a model: inputs, outputs, layers, work. Values of weights are not read. Raises InputError."""
    return Report(_core.inspect_model(model_of(model), nodes, weights))


class LintReport(Report):
    """What lint() found."""

    @property
    def passed(self) -> bool:
        """No entry is an error."""
        return all(entry.level != "exception" for entry in self.lint_entries)


def lint(model: Any, *, progress: bool | Progress | None = None) -> LintReport:
    """Everything that is wrong with a model, in one run: ``report.lint_entries``, and ``report.passed``."""
    return LintReport(call(_core.lint, model_of(model), progress))


def check_placement(model: Any, *, progress: bool | Progress | None = None, **given: Any) -> Report:
    """Which Q/DQ pairs of a model an engine cannot fuse, why, and what would let it: ``report.findings``.

    ``target``: as of ``diagnose``.
    """
    rules = _options.choice("target", given["target"])
    return Report(call(lambda given, listener: _core.check_placement(given, rules, listener), model_of(model), progress))
