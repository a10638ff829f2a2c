"""in_operators.py FLOAT SAMPLES OUT: the operator form (QLinear...) that ONNX Runtime's own quantizer writes."""
import logging
import sys

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


class Samples(CalibrationDataReader):
    def __init__(self, arrays):
        self.left = iter([{"x": sample} for sample in arrays["x"]])

    def get_next(self):
        return next(self.left, None)


logging.disable(logging.CRITICAL)
quantize_static(sys.argv[1], sys.argv[3], Samples(np.load(sys.argv[2])), quant_format=QuantFormat.QOperator,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)
