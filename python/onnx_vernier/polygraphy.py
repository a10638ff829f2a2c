"""For users of Polygraphy: reads and writes its saved inputs and results, and has comparison functions for its Comparator.
Only the Comparator needs Polygraphy itself."""
from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from . import _core, formats
from ._arrays import from_core, to_core

__all__ = ["Verdict", "load_results", "max_abs", "save_inputs", "save_results", "sqnr", "top1_agreement"]


def __dir__() -> list[str]:
    return __all__


Results = dict[str, list[dict[str, np.ndarray]]]


class Verdict:
    """The verdict on one output: true if it passed; ``value`` is the figure."""

    def __init__(self, value: float, passed: bool, unit: str) -> None:
        self.value, self.passed, self.unit = value, passed, unit

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"{self.value:.6g}{self.unit}: {'passed' if self.passed else 'failed'}"


def _comparison(judge: Callable[[str, np.ndarray, np.ndarray], Verdict]) -> Callable[[Any, Any], dict[str, Verdict]]:
    def compare(got: Mapping[str, Any], ref: Mapping[str, Any]) -> dict[str, Verdict]:
        return {name: judge(name, _numpy(value), _numpy(ref[name])) for name, value in got.items() if name in ref}

    return compare


def sqnr(min_db: float | Mapping[str, float] = 20.0) -> Callable[[Any, Any], dict[str, Verdict]]:
    """A ``compare_func`` for ``Comparator.compare_accuracy``, with the second runner as reference.

    An output passes if 10 log10(sum ref^2 / sum (ref - got)^2) is at least ``min_db`` dB: a number, or {output: number},
    with 20 for all others.

    Examples:
        >>> Comparator.compare_accuracy(results, compare_func=onnx_vernier.polygraphy.sqnr(24))
    """

    def judge(name: str, got: np.ndarray, ref: np.ndarray) -> Verdict:
        value = formats.sqnr_db(ref, got)
        return Verdict(value, value >= (min_db.get(name, 20.0) if isinstance(min_db, Mapping) else min_db), " dB")

    return _comparison(judge)


def max_abs(limit: float) -> Callable[[Any, Any], dict[str, Verdict]]:
    """Like ``sqnr``: an output passes if the largest |ref - got| is at most ``limit``."""

    def judge(name: str, got: np.ndarray, ref: np.ndarray) -> Verdict:
        value = formats.max_abs_error(ref, got)
        return Verdict(value, value <= limit, "")

    return _comparison(judge)


def top1_agreement(min_share: float = 1.0, axis: int = -1) -> Callable[[Any, Any], dict[str, Verdict]]:
    """Like ``sqnr``: an output passes if at least this share of rows has its largest element along ``axis`` at the same place."""

    def judge(name: str, got: np.ndarray, ref: np.ndarray) -> Verdict:
        same = np.argmax(got, axis) == np.argmax(ref, axis)
        value = float(np.mean(same))
        return Verdict(value, value >= min_share, "")

    return _comparison(judge)


def same_top1(min_share: float = 1.0, axis: int = -1) -> Callable[[Any, Any], dict[str, Verdict]]:
    """The earlier name of ``top1_agreement``."""
    warnings.warn("same_top1 is now top1_agreement", DeprecationWarning, stacklevel=2)
    return top1_agreement(min_share, axis)


def load_results(path: str | os.PathLike[str]) -> Results:
    """Reads {runner: [{output: array} of each iteration]} from a file of ``--save-outputs``: JSON of Polygraphy or Vernier,
    a folder of JSON, or .npz. Memory: the whole file. Raises InputError with the position."""
    return {
        name: [{output: from_core(array) for output, array in iteration} for iteration in iterations]
        for name, iterations in _core.load_runs(os.fspath(path))
    }


def save_results(path: str | os.PathLike[str], results: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Writes results like ``--save-outputs``. A .npz holds one runner. A folder, or a name without extension, gets one file
    per iteration. Any other name is a JSON file that Polygraphy loads."""
    if not isinstance(results, Mapping):
        raise TypeError("results are {runner: [{output: array} of each iteration]}: put the list into a dict, under a runner's name")
    _core.save_runs(
        os.fspath(path),
        [
            (name, [[(output, to_core(array)) for output, array in iteration.items()] for iteration in iterations])
            for name, iterations in results.items()
        ],
    )


def save_inputs(path: str | os.PathLike[str], samples: Iterable[Mapping[str, Any]]) -> None:
    """Writes feed dictionaries like ``--save-inputs``."""
    if isinstance(samples, Mapping):
        raise TypeError("samples are a list of {input: array}, one per sample")
    _core.save_inputs(os.fspath(path), [[(name, to_core(array)) for name, array in feed.items()] for feed in samples])


def _numpy(value: Any) -> np.ndarray:
    return value.numpy() if hasattr(value, "numpy") and not isinstance(value, np.ndarray) else np.asarray(value)
