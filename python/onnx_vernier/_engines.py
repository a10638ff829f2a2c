"""Engines: times models on them, and compiles typed files. `_calls.py` has these functions with all arguments."""
from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

from . import _core, _options
from ._call import call, names_of_inputs
from ._errors import UsageError
from ._model import Model, model_of
from ._progress import Progress
from ._report import Report


def bench(
    models: Any,
    samples: Any = None,
    *,
    on: str | Iterable[str] = "onnxruntime",
    progress: bool | Progress | None = None,
    **given: Any,
) -> Report:
    """Times models on this machine's engines, side by side, in turns of a few milliseconds.

    Args:
        models: one or a list; each gets a row.
        samples: as in ``diagnose``. None: random numbers.
        on: "onnxruntime", "tensorrt", "openvino", or several of them.
        {arguments}

    Returns:
        A report with ``rows``: ``latency.median_ms`` with its spread, ``samples_per_second``.

    Other arguments and errors: as ``diagnose``; BackendError for a missing engine.
    """
    listed = list(models) if isinstance(models, (list, tuple)) else [models]
    if not listed:
        raise UsageError("models=[]: no model to time")
    options = _core.BenchOptions()
    for engine in _options.names(on, "on"):
        for model in listed:
            runner = _core.RunnerOptions()
            runner.model = model_of(model)
            runner.run_on(_options.choice("on", engine))
            options.add_runner(runner)
    _options.fill(options, given)
    batches = given["batches"] if isinstance(given["batches"], Iterable) else [given["batches"]]
    options.batches = [_options.count(batch, "batches") for batch in batches]
    options.command = "onnx_vernier.bench"
    _options.measure(options.measure, samples, names_of_inputs(listed[0]), given)
    return Report(call(_core.bench, options, progress))


def inspect_engine(model: Any, *, progress: bool | Progress | None = None, **given: Any) -> Report:
    """Compiles a typed model with an engine's own compiler: the kernel of each layer, and its type.

    Args:
        model: a typed model, or a file of layer information from trtexec or TensorRT's engine inspector.
        {arguments}

    Raises:
        BackendError: the engine is missing, or refuses the model, with the engine's message.
    """
    options = _core.InspectEngineOptions()
    _options.fill(options.compile, given)
    options.compile.python = given["python"] or sys.executable or "python3"
    if isinstance(model, (str, os.PathLike)):
        options.file = os.fspath(model)
        return Report(call(_core.inspect_engine, options, progress))
    with tempfile.TemporaryDirectory() as folder:  # an engine is a process of its own, which reads a file
        options.file = os.path.join(folder, "model.onnx")
        Model(model).save(options.file)
        return Report(call(_core.inspect_engine, options, progress))
