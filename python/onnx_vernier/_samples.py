"""Samples of all kinds to what jobs take."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_array, sample_to_core, to_core
from ._errors import InputError


class Samples:
    """Samples that are made when they are asked for: memory does not grow with their number.

    Args:
        count: how many there are.
        at: ``at(i)`` gives sample i, a dict {input: array} with the batch dimension that the network has. It is called on
            the job's threads, more than once for a sample, and must give the same each time.
        name: stands for them in reports.
    """

    def __init__(self, count: int, at: Any, name: str = "samples of a function") -> None:
        def made(index: int) -> dict[str, Any]:
            sample = at(index)
            if not isinstance(sample, Mapping):
                raise TypeError(f"at({index}) gave {type(sample).__name__}, {{input: array}} is wanted")
            return sample_to_core(sample)

        self._core = _core.CalledSamples(count, made, name)

    def __len__(self) -> int:
        return len(self._core)


def read_into(options: _core.SourceOptions, samples: Any, input_names: Any) -> None:
    """``samples`` as one of: None (random numbers), a path or several (as the command's --data), {input: array},
    an array for the one input, a list or any iterable of such dicts or arrays, Samples."""
    if samples is None:
        return
    if isinstance(samples, Samples):
        options.source = samples._core
    elif isinstance(samples, (str, os.PathLike)):
        options.location = os.fspath(samples)
    elif isinstance(samples, Mapping):
        if not samples:
            raise InputError("samples={}: no array for any input", "None stands for random numbers")
        options.set_arrays({name: to_core(_stacked(name, value)) for name, value in samples.items()})
    elif isinstance(samples, np.ndarray) or hasattr(samples, "__dlpack__"):
        options.set_arrays({_only(input_names): to_core(samples)})
    elif isinstance(samples, Iterable):
        listed = list(samples)
        if listed and all(isinstance(each, (str, os.PathLike)) for each in listed):
            options.location, *options.further = [os.fspath(each) for each in listed]
        else:
            options.source = _core.listed_samples([_sample(each, input_names) for each in listed], "samples in memory")
    else:
        raise TypeError(
            "samples are {input: array}, a list or iterator of such dicts, a path, or onnx_vernier.Samples, not "
            + type(samples).__name__
        )


def _sample(given: Any, input_names: Any) -> dict[str, Any]:
    """One sample of a list: a dict; an array for the one input; a tuple of arrays in the order of the inputs, of which a
    DataLoader's label behind them is left out."""
    if isinstance(given, Mapping):
        return sample_to_core(given)
    if isinstance(given, (tuple, list)):
        names: Sequence[str] = input_names()
        if len(given) not in (len(names), len(names) + 1):
            raise ValueError(f"a sample of {len(given)} arrays, for {len(names)} inputs: {', '.join(names)}")
        return {name: to_core(as_array(value)) for name, value in zip(names, given)}
    return {_only(input_names): to_core(given)}


def _stacked(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    try:
        return np.asarray([as_array(each) for each in value])
    except ValueError:
        raise InputError(
            f"the samples of input {name!r} have different shapes, and cannot be stacked",
            "give a list of {input: array}, one a sample",
        ) from None


def _only(input_names: Any) -> str:
    names = input_names()
    if len(names) != 1:
        raise ValueError(f"the network has {len(names)} inputs ({', '.join(names)}): give {{input: array}}")
    return names[0]
