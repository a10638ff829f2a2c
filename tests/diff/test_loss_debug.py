"""ONNX Runtime's own qdq_loss_debug finds the pairs of the files that we write, by their names."""
import logging
import pathlib

import numpy as np
import pytest
from onnxruntime.quantization import CalibrationDataReader
from onnxruntime.quantization.qdq_loss_debug import (collect_activations, create_activation_matching, create_weight_matching,
                                                     modify_model_output_intermediate_tensors)

from typed_files import vernier

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"


class Reader(CalibrationDataReader):
    def __init__(self):
        with np.load(DIGITS / "calib.npz") as arrays:
            name, values = next(iter(arrays.items()))
        self.left = [{name: value if value.ndim == 4 else value[None]} for value in values[:2]]

    def get_next(self):
        return self.left.pop(0) if self.left else None


@pytest.fixture
def quantized(tmp_path):
    path = tmp_path / "int8.onnx"
    vernier("convert", DIGITS / "digits.onnx", "--int8", "--data", DIGITS / "calib.npz", "--samples", "2", "-o", path)
    return path


def test_weights_are_matched(quantized, caplog):
    with caplog.at_level(logging.ERROR):
        matched = create_weight_matching(str(DIGITS / "digits.onnx"), str(quantized))
    assert matched and not caplog.records
    assert all(pair["float"].shape == pair["dequantized"].shape for pair in matched.values())
    plain = {name: pair for name, pair in matched.items() if "gemm" in name}  # no BatchNormalization is folded into these
    assert len(plain) == 2
    for pair in plain.values():
        assert np.abs(pair["float"] - pair["dequantized"]).max() <= np.abs(pair["float"]).max() / 127


def activations(model, folder, name):
    augmented = folder / name
    modify_model_output_intermediate_tensors(str(model), str(augmented))
    return collect_activations(str(augmented), Reader())


def test_activations_are_matched(quantized, tmp_path):
    pairs = create_activation_matching(activations(quantized, tmp_path, "q.onnx"),
                                       activations(DIGITS / "digits.onnx", tmp_path, "f.onnx"))
    assert pairs
    for pair in pairs.values():
        assert len(pair["pre_qdq"]) == len(pair["post_qdq"]) == 2
