"""Engines: how long models take on them, and what their compilers make of a typed file."""
from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
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
    batches: int | Iterable[int] = (),
    seconds: float = 3,
    iterations: int = 10,
    layers: bool = False,
    providers: Iterable[str] = (),
    limit: int = 0,
    threads: int = 0,
    seed: int = 1,
    input_shapes: Mapping[str, Iterable[int]] | None = None,
    custom_ops: Iterable[str] = (),
    external_data_dir: str | os.PathLike[str] = "",
    image: Mapping[str, Any] | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """How long models take on engines of this machine, side by side: all are timed in turns of a few milliseconds.

    Args:
        models: one, or a list of them: a row each.
        samples: None: random numbers.
        on: "onnxruntime", "tensorrt", "openvino", or several of them.
        batches: sizes of the first dimension, where models leave it open.
        seconds: a row, at least; ``iterations``: at least so many. ``layers``: also times of single layers.
        providers: of ONNX Runtime, best first; empty: the CPU.

    Returns:
        A report with ``rows``: ``latency.median_ms`` with its spread, ``samples_per_second``.

    Others and errors: as ``diagnose``; BackendError for an engine that is not there.
    """
    given = dict(locals())
    listed = list(models) if isinstance(models, (list, tuple)) else [models]
    if not listed:
        raise UsageError("models=[]: no model to time")
    options = _core.BenchOptions()
    for engine in _options.names(on, "on"):
        for model in listed:
            runner = _core.RunnerOptions()
            runner.model = model_of(model)
            runner.run_on(_options.word("MeasureOn", "on", engine))
            options.add_runner(runner)
    if not isinstance(batches, Iterable):
        batches = [batches]
    options.batches = [_options.count(batch, "batches") for batch in batches]
    options.seconds = _options.number(seconds, "seconds", 0)
    options.iterations = _options.count(iterations, "iterations")
    options.layers = layers
    options.providers = _options.names(providers, "providers")
    options.command = "onnx_vernier.bench"
    _options.measure(options.measure, input_names=names_of_inputs(listed[0]), **_options.group(_options.measure, given))
    return Report(call(_core.bench, options, progress))


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
    options = _core.InspectEngineOptions()
    options.compile.engine = _options.word("EngineChoice", "engine", engine)
    options.compile.compute_capability = compute_capability
    options.compile.shapes = {name: list(shape) for name, shape in (shapes or {}).items()}
    options.compile.python = python or sys.executable or "python3"
    options.compile.seconds = _options.number(seconds, "seconds", 0)
    if isinstance(model, (str, os.PathLike)):
        options.file = os.fspath(model)
        return Report(call(_core.inspect_engine, options, progress))
    with tempfile.TemporaryDirectory() as folder:  # an engine is a process of its own, which reads a file
        options.file = os.path.join(folder, "model.onnx")
        Model(model).save(options.file)
        return Report(call(_core.inspect_engine, options, progress))
