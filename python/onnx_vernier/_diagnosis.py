"""The main jobs: which layers break, why, what to keep or to repair. `_calls.py` gives them all their arguments."""
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
    """The arguments that both jobs have, into their options."""
    options.model = model_of(model)
    if given["quantized"] is not None:
        options.quantized = model_of(given["quantized"])
    _options.precision(options.precision, given)
    _options.measure(options.measure, samples, names_of_inputs(model), given)
    wanted = _options.requirement(given)
    by_task = _options.task(options.search.task, given)
    if wanted is not None:
        if by_task:
            raise UsageError("labels, a metric, a requirement: only one can decide", "leave out the others")
        wanted.confidence = given["claim_confidence"]
        options.measure.requirement = wanted
    _options.fill(options.search, given)
    _options.fill(options, given)
    options.causes = _experiments.causes(given["causes"])
    if given["cache"] is not None:
        options.cache_folder = options.measure.partial_folder = os.fspath(given["cache"])
    if given["cross_fit"]:
        options.cross_fit()


def diagnose(model: Any, samples: Any = None, *, progress: bool | Progress | None = None, **given: Any) -> DiagnoseReport:
    """Finds which layers low precision breaks, why, and which must stay high so that a requirement is met.

    Args:
        model: a path, bytes, an ``onnx.ModelProto`` or a ``Model``.
        samples: real inputs: ``{input: array [N, ...]}``, a list or iterator of ``{input: array}`` (one a sample, with
            the network's batch dimension), ``Samples``, or a path as the command's ``--data`` takes it. None: random
            numbers, whose figures say little about real data.
        {arguments}
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
    progress: bool | Progress | None = None,
    **given: Any,
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
    options = _core.FixOptions()
    options.repair.own = own = _experiments.repairs(repairs)
    known = [*_core.repair_names(), *(repair.id for repair in own)]
    for argument, chosen in (("allow", allow), ("forbid", forbid)):
        ids = _options.names(chosen, argument)
        for each in ids:
            if each not in known:
                raise UsageError(f"{argument}: no repair {each!r}", "one of " + ", ".join(known))
        setattr(options.repair, argument, ids)
    options.command = "onnx_vernier.fix"
    _read(options, model, samples, given)
    return DiagnoseReport(call(_core.fix, options, progress))
