"""Converts samples of all kinds for jobs."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_array, sample_to_core, to_core
from ._errors import InputError, UsageError


class Samples:
    """Samples that are made on demand: memory does not grow with their number.

    Args:
        count: the number of samples.
        at: ``at(i)`` returns sample i, a dict {input: array} with the network's batch dimension. It is called on the job's
            threads, several times per sample, and must return the same values each time.
        name: their name in reports.
    """

    def __init__(self, count: int, at: Any, name: str = "samples of a function") -> None:
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise UsageError(f"Samples({count!r}, ...): a whole number of samples, 1 or more")
        if not callable(at):
            raise UsageError(f"Samples(..., {at!r:.80}): expected a function that returns sample i")

        def made(index: int) -> dict[str, Any]:
            sample = at(index)
            if not isinstance(sample, Mapping):
                raise TypeError(f"at({index}) returned {type(sample).__name__}, expected {{input: array}}")
            return sample_to_core(sample)

        self._core = _core.CalledSamples(count, made, name)

    def __len__(self) -> int:
        return len(self._core)


def read_into(options: _core.SourceOptions, samples: Any, input_names: Any, split_batch: bool = False) -> None:
    """Reads ``samples``: None (random numbers), one or more paths (as for the command's --data), {input: array}, an array for
    the only input, Samples, or any iterable of such dicts or arrays."""
    if samples is None:
        return
    if isinstance(samples, Samples):
        options.source = samples._core
    elif isinstance(samples, (str, os.PathLike)):
        options.location = os.fspath(samples)
    elif isinstance(samples, Mapping):
        if not samples:
            raise InputError("samples={}: no array for any input", "pass None for random numbers")
        if strange := [name for name in samples if not isinstance(name, str)]:
            raise InputError(f"samples: {strange[0]!r} is not the name of an input", "pass {input: array}")
        options.set_arrays({name: to_core(_stacked(name, value)) for name, value in samples.items()})
    elif isinstance(samples, np.ndarray) or hasattr(samples, "__dlpack__"):
        options.set_arrays({_only(input_names): to_core(samples)})
    elif isinstance(samples, Iterable):
        listed = list(samples)
        if listed and all(isinstance(each, (str, os.PathLike)) for each in listed):
            options.location, *options.further = [os.fspath(each) for each in listed]
        else:
            told = [_sample(each, input_names, place) for place, each in enumerate(listed)]
            if split_batch:
                told = [one for batch in told for one in _split(batch)]
            options.source = _core.listed_samples(told, "samples in memory")
    else:
        raise TypeError(
            "samples are {input: array}, a list or iterator of such dicts, a path, or onnx_vernier.Samples, not "
            + type(samples).__name__
        )


def _sample(given: Any, input_names: Any, place: int) -> dict[str, Any]:
    """One sample of a list: a dict, an array for the only input, or a tuple of arrays in the order of the inputs. A label of
    a DataLoader after them is ignored."""
    if isinstance(given, Mapping):
        return sample_to_core(given)
    if isinstance(given, (tuple, list)):
        names: Sequence[str] = input_names()
        if len(given) not in (len(names), len(names) + 1):
            raise InputError(
                f"sample {place} of the list has {len(given)} arrays, the network has {len(names)} inputs: {', '.join(names)}",
                "pass one array per input, in this order, with or without a label after them; or {input: array}",
            )
        return {name: to_core(as_array(value)) for name, value in zip(names, given)}
    if given is None or isinstance(given, (str, os.PathLike)):
        raise InputError(f"sample {place} of the list is {given!r}", "pass {input: array}, one per sample; or only paths")
    return {_only(input_names): to_core(given)}


def _split(batch: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Splits a batch into samples with a batch dimension of 1. Without a common first dimension, it is one sample."""
    sizes = {shape[0] if shape else 0 for _, shape, _ in batch.values()}
    count = sizes.pop() if len(sizes) == 1 else 0
    if count < 2:
        return [batch]
    parts = {name: (np.split(data, count), [1, *shape[1:]], dtype) for name, (data, shape, dtype) in batch.items()}
    return [{name: (rows[place], shape, dtype) for name, (rows, shape, dtype) in parts.items()} for place in range(count)]


def _stacked(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return value
    arrays = [as_array(each) for each in value]
    try:
        return np.asarray(arrays)
    except ValueError:
        raise InputError(
            f"the samples of input {name!r} have different shapes, and cannot be stacked",
            "pass a list of {input: array}, one per sample",
        ) from None


def _only(input_names: Any) -> str:
    names = input_names()
    if len(names) != 1:
        raise InputError(f"one array for the {len(names)} inputs {', '.join(names)}", "pass {input: array}")
    return names[0]
