"""One network through another program's INT8 or FP16, as a process of its own for bench/exports.py.

    python bench/export_peers.py onnxruntime-int8|onnxconverter-fp16 MODEL.onnx DATA.npz OUT.onnx

ONNX Runtime's quantize_static: Q/DQ pairs, int8 for both, weights per channel, absolute maxima of the same samples.
onnxconverter-common: float16.convert_float_to_float16 with its defaults, inputs and outputs kept.
"""
import sys

import numpy as np
import onnx


def onnxruntime_int8(model, data, out):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            arrays = np.load(data)
            self.feeds = iter([{name: arrays[name][i] for name in arrays.files} for i in range(len(arrays[arrays.files[0]]))])

        def get_next(self):
            return next(self.feeds, None)

    quantize_static(model, out, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8,
                    per_channel=True, use_external_data_format=True)


def onnxconverter_fp16(model, data, out):
    from onnxconverter_common import float16

    onnx.save_model(float16.convert_float_to_float16(onnx.load(model), keep_io_types=True), out, save_as_external_data=True,
                    location=out.rsplit("/", 1)[-1] + ".data")


METHODS = {"onnxruntime-int8": onnxruntime_int8, "onnxconverter-fp16": onnxconverter_fp16}

if __name__ == "__main__":
    METHODS[sys.argv[1]](*sys.argv[2:])
