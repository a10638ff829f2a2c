"""Number formats on arrays, bit by bit as in the program, and error figures."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_array
from ._errors import UsageError

__all__ = ["NAMES", "cosine", "events", "max_abs_error", "mse", "round", "scale_of", "sqnr_db"]


def __dir__() -> list[str]:
    return __all__


#: Names of the formats that layers can run in.
NAMES: tuple[str, ...] = tuple(_core.WORDS["Format"])


def _floats(values: Any, what: str = "values") -> np.ndarray:
    try:
        return np.asarray(as_array(values), dtype=np.float32, order="C")
    except (TypeError, ValueError):
        raise UsageError(f"{what} must be numbers, not {values!r:.80}") from None


def _scales(scale: Any) -> np.ndarray:
    scales = _floats(scale, "a scale").reshape(-1)
    if scales.size == 0:
        raise UsageError("a scale is empty", "leave it out to use that of scale_of()")
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise UsageError("a scale must be positive and finite")
    return scales


def _zero_points(zero_point: Any, name: str, count: int) -> list[int]:
    try:
        zeros = np.asarray(zero_point)
    except ValueError:
        zeros = np.empty(0)
    if zeros.dtype.kind not in "iu":
        raise UsageError(f"a zero point must be an integer, not {zero_point!r:.80}")
    if zeros.size not in (1, count):
        raise UsageError(f"{zeros.size} zero points for {count} scale{'s' if count > 1 else ''}")
    low, high = _core.code_range(name)
    outside = [int(zero) for zero in zeros.reshape(-1) if zero and not low <= zero <= high]
    if outside:
        raise UsageError(f"zero point {outside[0]} is outside the range of {name}, {low} to {high}" if low < high else
                         f"{name} has no zero point")
    return [int(zero) for zero in np.broadcast_to(zeros.reshape(-1), count)] if zeros.any() else []


def _axis_of(array: np.ndarray, axis: Any) -> int:
    try:
        found = operator.index(axis)
    except TypeError:
        raise UsageError(f"axis {axis!r} is not an integer") from None
    if not -array.ndim <= found < array.ndim:
        raise UsageError(f"axis {found} of an array of {array.ndim} dimensions")
    return found


def _name(format: str) -> str:
    try:
        return _core.format_name(format)
    except TypeError:
        raise UsageError(f"{format!r} is not a format", "one of " + ", ".join(NAMES)) from None


def scale_of(values: Any, format: str, *, symmetric: bool | None = None, axis: int | None = None) -> Any:
    """The smallest scale, or (scale, zero point), that represents ``values`` without clipping.

    Formula, symmetric: s = absmax / largest value (127 for int8, 32767 for int16, 7 for int4, 448 and 57344 for float8).
    Asymmetric, the default of uint8, uint16 and uint4: s = (max(hi, 0) - min(lo, 0)) / h, z = clamp(rne(-lo / s), 0, h),
    with the largest value h. nvfp4: the scale of the tensor, absmax / (6 * 448).
    Shapes: with ``axis``, one scale per index of it (symmetric only). Edges: for zeros, s = 1 / largest value.
    Raises UsageError for formats without a scale, for formats that take all scales from the values, and if a value is
    not finite.
    """
    name = _name(format)
    if not _core.needs_scale(name):
        raise UsageError(f"{name} has no scale")
    array = _floats(values)
    if not np.isfinite(array).all():
        raise UsageError("values that are not finite have no scale")
    if _core.has_scales_of_values(name):
        if name != "nvfp4" or axis is not None or symmetric is False:
            raise UsageError(f"{name} has the scales of its values", "leave the scale out")
        return np.float32(_core.tensor_scale(name, array.reshape(-1)))
    unsigned = _core.code_range(name)[0] == 0 and _core.code_range(name)[1] > 0
    if symmetric is None:
        symmetric = not unsigned
    if axis is not None:
        axis = _axis_of(array, axis)
    if not symmetric:
        if axis is not None:
            raise UsageError("an asymmetric format has one scale", "leave axis out")
        scale, zero, _ = _core.asymmetric_scale(
            name if unsigned else "uint8", float(array.min(initial=0)), float(array.max(initial=0)))
        return np.float32(scale), int(zero)
    if axis is None:
        return np.float32(_core.symmetric_scale(name, float(np.abs(array).max(initial=0)))[0])
    rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    return np.array([_core.symmetric_scale(name, float(np.abs(row).max(initial=0)))[0] for row in rows], np.float32)


def round(
    values: Any, format: str, *, scale: Any = None, zero_point: Any = 0, axis: int = 0, narrow: bool = False
) -> np.ndarray:
    """Rounds ``values`` to ``format`` and back to float32, as two Casts do, or QuantizeLinear and DequantizeLinear.

    Formula of float16 and bfloat16: nearest, ties to even, overflow to infinity. Of float8: s * sat(rne(x / s)). Of
    integers: s * (clamp(rne(x / s) + z, low, high) - z). Of nvfp4, mxfp8, mxfp8e5m2 and mxfp4: as float8, in blocks of 16
    or 32 neighbours along the last dimension. Each block has a scale from its values; ``scale`` is that of the tensor
    (nvfp4). Of dynamic-int8: as uint8, with the scale of the values.
    Shapes: any; the result has the shape of ``values``. ``scale`` [C] with ``axis``: one per index of that axis.
    Edges: without ``scale``, that of ``scale_of()``. ``narrow``: symmetric int8 weights use [-127, 127], int4 [-7, 7].
    Raises UsageError for a scale of a format without one, a scale that is not positive, or a zero point that is not an
    integer. Cost: one pass.
    Source: IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats 1.0; ONNX
    QuantizeLinear-21, DynamicQuantizeLinear-11.

    Examples:
        >>> round([0.1, 1.26, -300], "int8", scale=0.5)
        array([   0. ,    1.5,  -64. ], dtype=float32)
    """
    return _rounded(values, format, scale, zero_point, axis, narrow)[0]


def events(
    values: Any, format: str, *, scale: Any = None, zero_point: Any = 0, axis: int = 0, narrow: bool = False
) -> dict[str, int]:
    """Counts the events of rounding ``values``: ``saturated`` (finite values), ``overflowed``, ``subnormal``, ``flushed`` (to
    zero), ``nan``, and ``count``, the number of values. Arguments: as ``round``."""
    return _rounded(values, format, scale, zero_point, axis, narrow)[1]


def _rounded(
    values: Any, format: str, scale: Any, zero_point: Any, axis: int, narrow: bool
) -> tuple[np.ndarray, dict[str, int]]:
    name = _name(format)
    array = _floats(values)
    if _core.has_scales_of_values(name):
        return _rounded_by_values(array, name, scale)
    if not _core.needs_scale(name):
        if scale is not None:
            raise UsageError(f"{name} has no scale", "leave it out")
        scales, zeros = np.empty(0, np.float32), []
    else:
        if scale is None:
            scale = scale_of(array, name)
            if isinstance(scale, tuple):
                scale, zero_point = scale
        scales = _scales(scale)
        zeros = _zero_points(zero_point, name, len(scales))
    moved = array
    if len(scales) > 1:
        axis = _axis_of(array, axis)
        if array.shape[axis] != len(scales):
            raise UsageError(f"{len(scales)} scales for an axis of {array.shape[axis]}")
        moved = np.ascontiguousarray(np.moveaxis(array, axis, 0))
    low, high = _core.code_range(name)
    lowest = -high if narrow and low < 0 else 0
    out = np.empty(moved.size, np.float32)
    inner = moved.size // len(scales) if len(scales) > 1 and moved.size else 1
    counted = _core.round_into(name, scales.tolist(), zeros, lowest, inner, moved.reshape(-1), out)
    out = out.reshape(moved.shape)
    return (np.ascontiguousarray(np.moveaxis(out, 0, axis)) if len(scales) > 1 else out), counted


def _rounded_by_values(array: np.ndarray, name: str, scale: Any) -> tuple[np.ndarray, dict[str, int]]:
    if scale is not None and name != "nvfp4":
        raise UsageError(f"{name} takes no scale {scale!r}", "leave it out")
    if scale is not None:
        scales = _scales(scale)
        if len(scales) > 1:
            raise UsageError(f"nvfp4 has one scale of the tensor, not {len(scales)}")
        scale = scales[0]
    if array.ndim == 0 and name != "dynamic-int8":
        raise UsageError("blocks need a dimension: a scalar is not enough")
    out = np.empty(array.size, np.float32)
    counted = _core.round_by_values_into(name, float(scale or 0), list(array.shape), array.reshape(-1), out)
    return out.reshape(array.shape), counted


def _stats(ref: Any, got: Any) -> _core.ErrorStats:
    one, other = _floats(ref), _floats(got)
    if one.shape != other.shape:
        raise UsageError(f"shapes differ: {one.shape} and {other.shape}")
    stats = _core.ErrorStats()
    stats.add(one.reshape(-1), other.reshape(-1))
    return stats


def sqnr_db(ref: Any, got: Any) -> float:
    """10 log10(sum ref^2 / sum (ref - got)^2), in dB; +inf if equal, -inf if ``got`` is not finite where ``ref`` is.
    Raises UsageError if the shapes differ. Cost: one pass."""
    return _stats(ref, got).sqnr_db


def cosine(ref: Any, got: Any) -> float:
    """dot / (|ref| |got|), -1 to 1; 1 if both are zero, 0 if one is."""
    return _stats(ref, got).cosine


def mse(ref: Any, got: Any) -> float:
    """Mean of (ref - got)^2; +inf if ``got`` is not finite where ``ref`` is."""
    return _stats(ref, got).mse


def max_abs_error(ref: Any, got: Any) -> float:
    """Largest |ref - got|; +inf if ``got`` is not finite where ``ref`` is."""
    return _stats(ref, got).max_abs_error
