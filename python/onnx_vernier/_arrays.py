"""Arrays to tensors and back, without copies where the layout allows."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._errors import InputError

# What NumPy calls otherwise than ONNX.
_NAMES = {"float8_e4m3fn": "float8e4m3fn", "float8_e5m2": "float8e5m2"}
_DTYPES = {"bfloat16": "bfloat16", "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2"}


def as_array(value: Any) -> np.ndarray:
    """``value`` as a NumPy array: of torch and whatever else speaks DLPack without a copy, where it is on the CPU."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise InputError(f"a masked array of shape {value.shape}: networks cannot read masked values", "pass array.filled(value)")
        return value.data
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # torch
        value = value.detach().cpu()
        if str(getattr(value, "dtype", "")) == "torch.bfloat16":
            value = value.float()
        return value.numpy()
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def to_core(value: Any) -> tuple[np.ndarray, list[int], str]:
    """Bytes, shape and type. Arrays that are not in C order are copied."""
    array = as_array(value)
    if array.dtype == object:
        raise TypeError(f"an array of Python objects is not a tensor: {value!r:.80}")
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    array = np.ascontiguousarray(array).reshape(array.shape)
    name = _NAMES.get(array.dtype.name, array.dtype.name)
    return array.reshape(-1).view(np.uint8), list(array.shape), name


def sample_to_core(sample: Mapping[str, Any]) -> dict[str, tuple[np.ndarray, list[int], str]]:
    return {name: to_core(value) for name, value in sample.items()}


def from_core(told: tuple[np.ndarray, Iterable[int], str]) -> np.ndarray:
    """A read-only view of a tensor's bytes."""
    data, shape, name = told
    if name in _DTYPES:
        import ml_dtypes

        dtype = np.dtype(getattr(ml_dtypes, _DTYPES[name]))
    else:
        dtype = np.dtype(name)
    return np.asarray(data).view(dtype).reshape(tuple(shape))


def sample_from_core(sample: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {name: from_core(told) for name, told in sample.items()}
