"""The main jobs: which layers break, why, what to keep or to repair. `_calls.py` has them with all arguments."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _core, _experiments, _options
from ._call import call, names_of_inputs
from ._errors import UsageError
from ._model import model_of
from ._progress import Progress
from ._report import DiagnoseReport, Record

Causes = Mapping[str, Callable[[Record], Any]] | Iterable[Callable[[Record], Any]]
Repairs = Causes


def _read(options: Any, model: Any, samples: Any, given: Mapping[str, Any]) -> None:
    """Copies the arguments of both jobs into their options."""
    options.model = model_of(model)
    if given["quantized"] is not None:
        options.quantized = model_of(given["quantized"])
    _options.precision(options.precision, given)
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    wanted = _options.requirement(given)
    confidence = given["claim_confidence"]
    if confidence is not None:
        confidence = _options.number(confidence, "claim_confidence", 0.5, 1)
    by_task = _options.task(options.search.task, given)
    if confidence is not None and options.search.task.labels is not None:
        labels = options.search.task.labels
        labels.confidence = confidence
        options.search.task.labels = labels
    if wanted is not None:
        if by_task:
            raise UsageError("labels, a metric, a requirement: only one can decide", "leave out the others")
        wanted.confidence = _core.CLAIM_CONFIDENCE if confidence is None else confidence
        options.measure.requirement = wanted
    _options.fill(options.search, given)
    _options.fill(options, given)
    options.causes = _experiments.causes(given["causes"])
    if given["cache"] is not None:
        options.cache_folder = options.measure.partial_folder = _options.path(given["cache"], "cache")
    if _options.flag(given["cross_fit"], "cross_fit"):
        options.cross_fit()


def diagnose(model: Any, samples: Any = None, *, progress: bool | Progress | None = None, **given: Any) -> DiagnoseReport:
    """Finds the layers that low precision breaks, explains them, and keeps as few as the requirement needs.

    Args:
        model: a path, bytes, an ``onnx.ModelProto`` or a ``Model``.
        samples: real inputs: ``{input: array [N, ...]}``, a list or iterator of ``{input: array}``, ``Samples``, or a
            path in any form of the command's ``--data``. Each item of a list is one sample, with the network's batch
            dimension. None: random numbers, which say little about real data.
        {arguments}
        progress: True: a bar, from tqdm if it is installed. A function: called as ``progress(text, done, total)``. None: a
            bar in a terminal, or in a notebook with ipywidgets.

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
    options = _core.DiagnoseOptions()
    options.command = "onnx_vernier.diagnose"
    _read(options, model, samples, given)
    return DiagnoseReport(call(_core.diagnose, options, progress))


def fix(
    model: Any,
    samples: Any = None,
    *,
    allow: Iterable[str] = (),
    forbid: Iterable[str] = (),
    repairs: Repairs = (),
    qat: str | os.PathLike[str] | None = None,
    progress: bool | Progress | None = None,
    **given: Any,
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
    options = _core.FixOptions()
    options.repair.own = own = _experiments.repairs(repairs)
    known = [*_core.repair_names(), *(repair.id for repair in own)]
    for argument, chosen in (("allow", allow), ("forbid", forbid)):
        ids = _options.names(chosen, argument)
        for each in ids:
            if each not in known:
                raise UsageError(f"{argument}: {each!r} is not a repair", "one of " + ", ".join(known))
        setattr(options.repair, argument, ids)
    options.command = "onnx_vernier.fix"
    if qat is not None:
        options.repair.qat = os.fspath(qat)
    _read(options, model, samples, given)
    return DiagnoseReport(call(_core.fix, options, progress))
