"""Formats on arrays, against ml_dtypes, NumPy and ONNX's own reference."""
import ml_dtypes
import numpy as np
import onnx_vernier as vernier
import pytest
from onnx_vernier import formats

VALUES = np.concatenate([
    np.random.default_rng(1).normal(0, 1, 5000) * 10.0 ** np.random.default_rng(2).integers(-9, 6, 5000),
    [0.0, -0.0, 65504, 65519.99, 65520, -65520, 1e-8, 448, 464, 465, 6e-8]]).astype(np.float32)


@pytest.mark.parametrize("name, dtype", [("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)])
def test_casts(name, dtype):
    with np.errstate(over="ignore"):
        expected = VALUES.astype(dtype).astype(np.float32)
    assert formats.round(VALUES, name).tobytes() == expected.tobytes()


def test_float8_saturates():
    clipped = np.clip(VALUES, -448, 448)
    expected = clipped.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    assert formats.round(VALUES, "float8e4m3fn", scale=1).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name, low, high, zero", [("int8", -128, 127, 0), ("uint8", 0, 255, 128), ("int8", -128, 127, 5),
                                                   ("int16", -32768, 32767, 0), ("uint16", 0, 65535, 32768),
                                                   ("uint4", 0, 15, 7)])
def test_integers(name, low, high, zero):
    scale = np.float32(0.0371)
    codes = np.clip(np.rint(VALUES / scale) + zero, low, high)
    expected = ((codes - zero).astype(np.float32) * scale).astype(np.float32)
    np.testing.assert_array_equal(formats.round(VALUES, name, scale=scale, zero_point=zero), expected)


def blocks_by_hand(values, dtype, size, scale_of_block):
    """Nearest codes of ml_dtypes in blocks of the last dimension, saturating, and what they stand for."""
    parts = values.reshape(-1, size)
    scales = scale_of_block(np.abs(parts).max(-1, keepdims=True)).astype(np.float32)
    largest = np.float32(ml_dtypes.finfo(dtype).max)
    codes = np.clip(parts / scales, -largest, largest).astype(dtype)
    return (codes.astype(np.float32) * scales).reshape(values.shape)


BLOCKS = VALUES[:4992].reshape(-1, 96)


@pytest.mark.parametrize("name, dtype, largest", [("mxfp8", ml_dtypes.float8_e4m3fn, 8), ("mxfp8e5m2", ml_dtypes.float8_e5m2, 15),
                                                  ("mxfp4", ml_dtypes.float4_e2m1fn, 2)])
def test_microscaling_is_that_of_the_open_compute_project(name, dtype, largest):
    def power(absmax):
        return np.exp2(np.clip(np.floor(np.log2(absmax.astype(np.float64))) - largest, -127, 127))

    expected = blocks_by_hand(BLOCKS, dtype, 32, power)
    assert formats.round(BLOCKS, name).tobytes() == expected.tobytes()


@pytest.mark.parametrize("scale", [None, 0.125, 3e-5])
def test_nvfp4_has_scales_in_e4m3_and_one_for_the_tensor(scale):
    tensor = np.float32(np.abs(BLOCKS).max() / np.float32(2688) if scale is None else scale)

    def in_e4m3(absmax):
        wanted = np.minimum(absmax / (np.float32(6) * tensor), np.float32(448)).astype(ml_dtypes.float8_e4m3fn)
        return np.maximum(wanted.astype(np.float32), np.float32(2.0**-9)) * tensor

    expected = blocks_by_hand(BLOCKS, ml_dtypes.float4_e2m1fn, 16, in_e4m3)
    assert formats.round(BLOCKS, "nvfp4", scale=scale).tobytes() == expected.tobytes()
    assert formats.scale_of(BLOCKS, "nvfp4") == np.float32(np.abs(BLOCKS).max() / np.float32(2688))


def test_dynamic_int8_is_dynamic_quantize_linear():
    from onnx.reference.ops.op_dynamic_quantize_linear import DynamicQuantizeLinear
    values = np.random.default_rng(8).normal(1, 2, 500).astype(np.float32)
    codes, scale, zero = DynamicQuantizeLinear._run(None, values)
    expected = (codes.astype(np.float32) - np.float32(zero)) * scale
    np.testing.assert_array_equal(formats.round(values, "dynamic-int8"), expected)


@pytest.mark.parametrize("name, arguments", [("mxfp8", {"scale": 2}), ("dynamic-int8", {"scale": 2}), ("nvfp4", {"scale": -1})])
def test_scales_of_values_cannot_be_given(name, arguments):
    with pytest.raises(vernier.UsageError):
        formats.round(VALUES, name, **arguments)


def test_per_channel():
    weights = np.random.default_rng(3).normal(0, 1, (4, 6, 3, 3)).astype(np.float32)
    for axis in range(4):
        scale = formats.scale_of(weights, "int8", axis=axis)
        assert scale.shape == (weights.shape[axis],)
        rounded = formats.round(weights, "int8", scale=scale, axis=axis, narrow=True)
        for index in range(weights.shape[axis]):
            np.testing.assert_array_equal(
                rounded.take(index, axis), formats.round(weights.take(index, axis), "int8", scale=scale[index], narrow=True))


def test_events_and_figures():
    assert formats.events([1, 1000, np.nan], "int8", scale=1)["saturated"] == 1
    assert formats.events([1e6], "float16")["overflowed"] == 1
    ref, got = np.array([3.0, 4.0]), np.array([3.0, 3.5])
    assert formats.sqnr_db(ref, got) == pytest.approx(20)
    assert formats.mse(ref, got) == 0.125 and formats.max_abs_error(ref, got) == 0.5
    assert formats.cosine(ref, ref) == pytest.approx(1) and formats.sqnr_db(ref, ref) == np.inf


def test_what_is_refused():
    for call in (
        lambda: formats.round([1], "int9"),
        lambda: formats.round([1], "float16", scale=1),
        lambda: formats.round([1], "int8", scale=0),
        lambda: formats.round([1, 2, 3], "int8", scale=[1, 2]),
        lambda: formats.scale_of([1], "float16"),
        lambda: formats.sqnr_db([1], [1, 2]),
    ):
        with pytest.raises(vernier.UsageError):
            call()
    assert formats.round(np.float32(1.26), "int8", scale=0.5) == np.float32(1.5)
    assert formats.round(np.empty((0, 3)), "int8", scale=1).shape == (0, 3)


@pytest.mark.parametrize("function", [formats.round, formats.events])
@pytest.mark.parametrize("wrong", [
    {"scale": []}, {"scale": "x"}, {"scale": [0.1, 0.2], "axis": "x"}, {"scale": [0.1, 0.2], "axis": 0.5},
    {"scale": 0.1, "zero_point": float("inf")}, {"scale": 0.1, "zero_point": "x"}, {"scale": 0.1, "zero_point": 1.5},
    {"scale": 0.1, "zero_point": [1, 2]}, {"scale": 0.1, "zero_point": 1000}, {"scale": 0.1, "zero_point": []},
])
def test_wrong_arguments_are_usage_errors(function, wrong):
    with pytest.raises(vernier.UsageError):
        function(np.ones((2, 3), np.float32), "int8", **wrong)


def test_wrong_values_and_scales_of_blocks_are_usage_errors():
    for scale in ("x", [], [0.1, 0.2], -1):
        with pytest.raises(vernier.UsageError):
            formats.round(np.ones((2, 32), np.float32), "nvfp4", scale=scale)
    for values in ("x", object(), ["a", 1]):
        with pytest.raises(vernier.UsageError):
            formats.round(values, "float16")
        with pytest.raises(vernier.UsageError):
            formats.sqnr_db(values, 1)
    with pytest.raises(vernier.UsageError):
        formats.scale_of([1.0], "int8", axis="x")
    with pytest.raises(vernier.UsageError):
        formats.round(1.0, "float8e4m3fn", scale=1, zero_point=1)


def test_a_scalar_stays_a_scalar():
    assert formats.round(np.float32(1.3), "float16").shape == ()
    assert formats.round(1.3, "int8", scale=0.1).shape == ()
    assert formats.round(np.array(1.3), "dynamic-int8").shape == ()
    with pytest.raises(vernier.UsageError):
        formats.round(1.3, "mxfp8")
