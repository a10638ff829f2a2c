"""Vernier finds, explains and fixes the layers that break a neural network in low precision.

Examples:
    >>> import onnx_vernier as vernier
    >>> report = vernier.diagnose("model.onnx", {"image": images}, low="int8", min_sqnr=20)
    >>> print(report)
    >>> report.model.save("typed.onnx")

Jobs: ``diagnose``, ``fix``, ``verify``, ``run``, ``quantize``, ``calibrate``, ``check_data``, ``explain_quantized``,
``inspect``, ``lint``, ``check_placement``, ``evaluate``, ``compare``, ``bench``, ``inspect_engine``. Also: ``search`` on any
oracle, and ``formats`` for arrays. Jobs work in memory and write files only when you ask for them.
"""
from __future__ import annotations

import glob as _glob
import importlib.util as _util
import os as _os

from . import _core, formats, polygraphy
from ._calls import (
    bench,
    calibrate,
    check_data,
    check_placement,
    diagnose,
    evaluate,
    explain_quantized,
    fix,
    inspect_engine,
    quantize,
    run,
    verify,
)
from ._errors import BackendError, Error, InputError, InternalError, Interrupted, UsageError
from ._figures import compare
from ._jobs import inspect, lint
from ._model import Model
from ._progress import VernierWarning
from ._report import DiagnoseReport, Record, Report, Table, VerifyReport
from ._samples import Samples
from ._search import search

__version__: str = _core.__version__
__all__ = [
    "BackendError", "DiagnoseReport", "Error", "InputError", "InternalError", "Interrupted", "Model", "Record", "Report",
    "Samples", "Table", "UsageError", "VerifyReport", "VernierWarning", "bench", "calibrate", "check_data", "check_placement",
    "compare", "diagnose", "evaluate", "explain_quantized", "fix", "formats", "inspect", "inspect_engine", "lint", "polygraphy",
    "quantize", "run", "search", "verify",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _find_onnxruntime() -> None:
    """Finds the library of the package onnxruntime without importing the package."""
    found = _util.find_spec("onnxruntime")
    if found is None or not found.submodule_search_locations:
        return  # the library searches for one itself, and reports where
    for folder in found.submodule_search_locations:
        for library in sorted(_glob.glob(_os.path.join(folder, "capi", "libonnxruntime.so.*"))):
            _core.use_onnxruntime(library)


_find_onnxruntime()
