"""Formats with block scales by their published definitions, in NumPy; the codes are those of ml_dtypes. And TensorRT's operators
on them for ONNX's reference, so that it runs what is written with them."""
import ml_dtypes
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

F = onnx.TensorProto.FLOAT
E4M3, E2M1 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
LARGEST = {E4M3: 448, ml_dtypes.float8_e5m2: 57344, E2M1: 6}


def blocks_of(values, size):
    return values.reshape(*values.shape[:-1], -1, size)


def to_codes(values, dtype):
    """Nearest, ties to even, saturating."""
    return np.clip(values, -LARGEST[dtype], LARGEST[dtype]).astype(dtype)


def microscaling(values, dtype, size=32):
    """OCP MX 1.0, section 6.3, along the last dimension: codes and scales."""
    parts = blocks_of(values, size)
    absmax = np.abs(parts).max(-1, keepdims=True)
    largest = int(np.floor(np.log2(LARGEST[dtype])))
    with np.errstate(divide="ignore"):
        powers = np.clip(np.floor(np.log2(absmax.astype(np.float64))) - largest, -127, 127)
    scales = np.where(absmax > 0, np.exp2(powers), 1).astype(np.float32)
    return to_codes(parts / scales, dtype).reshape(values.shape), scales[..., 0]


def nvfp4(values, tensor_scale, size=16):
    """NVIDIA's: E4M3 scales of blocks in units of the scale of the tensor; codes and these scales."""
    parts = blocks_of(values, size)
    absmax = np.abs(parts).max(-1, keepdims=True)
    wanted = np.where(absmax > 0, absmax / (np.float32(6) * tensor_scale), np.float32(1))
    scales = np.maximum(to_codes(wanted, E4M3).astype(np.float32), np.float32(2.0**-9))
    return to_codes(parts / (scales * tensor_scale), E2M1).reshape(values.shape), scales[..., 0].astype(E4M3)


class TRT_FP4DynamicQuantize(OpRun):
    op_domain = "trt"

    def _run(self, x, scale, axis=None, block_size=None, scale_type=None):
        assert axis == -1 and block_size == 16 and scale_type == onnx.TensorProto.FLOAT8E4M3FN
        return nvfp4(x, scale)


class TRT_MXFP8DynamicQuantize(OpRun):
    op_domain = "trt"

    def _run(self, x, axis=None, block_size=None, output_dtype=None):
        assert axis == -1 and block_size == 32 and output_dtype == onnx.TensorProto.FLOAT8E4M3FN
        codes, scales = microscaling(x, E4M3)
        return codes, scales.astype(ml_dtypes.float8_e8m0fnu)


class TRT_MXFP8DequantizeLinear(OpRun):
    op_domain = "trt"

    def _run(self, codes, scales, axis=None, block_size=None, output_dtype=None):
        assert block_size == 32 and output_dtype == F
        if scales.dtype == np.uint8:
            scales = scales.view(ml_dtypes.float8_e8m0fnu)
        return (codes.astype(np.float32) * np.repeat(scales.astype(np.float32), block_size, axis),)


class MatMulNBits(OpRun):
    """ONNX Runtime's, of 4 bits: rows of outputs, blocks of inputs, two codes in a byte, the low half first."""
    op_domain = "com.microsoft"

    def _run(self, x, codes, scales, zeros=None, order=None, bias=None, K=None, N=None, bits=None, block_size=None):
        assert bits == 4 and order is None and codes.shape == (N, K // block_size, block_size // 2)
        halves = lambda packed: np.stack([packed & 15, packed >> 4], -1).reshape(N, -1).astype(np.float32)  # noqa: E731
        zero = 8 if zeros is None else halves(zeros)[:, :K // block_size, None]
        weight = ((blocks_of(halves(codes), block_size) - zero) * scales[..., None]).reshape(N, K)
        return (x @ weight.T + (0 if bias is None else bias),)


def reference(path):
    """A file as ONNX's reference runs it."""
    return ReferenceEvaluator(str(path), new_ops=[TRT_FP4DynamicQuantize, TRT_MXFP8DynamicQuantize, TRT_MXFP8DequantizeLinear,
                                                  MatMulNBits])


def evaluate(path, feed):
    """Its first output."""
    return reference(path).run(None, feed)[0]
