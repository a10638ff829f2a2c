"""One activation range that is four times too wide among ranges that fit: it is named with its factor, and no range of another
calibrator, of other samples or of an operator's fixed range is."""
import json
import logging
import re

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

from networks import FLOAT, Builder
from test_traits import vernier

METHODS = [CalibrationMethod.MinMax, CalibrationMethod.Entropy, CalibrationMethod.Percentile]
BLOCKS = 4


def convolutions(b):
    source = b.add("Relu", [b.conv("x", "stem", 3, 16)], "stem.relu")
    for i in range(BLOCKS):
        inner = b.add("Relu", [b.conv(source, f"inner{i}", 16, 16)], f"inner{i}.relu")
        b.add("Add", [b.conv(inner, f"outer{i}", 16, 16), source], f"sum{i}")
        source = b.add("Relu", [f"sum{i}"], f"block{i}")
    b.conv(source, "y", 16, 10, size=1)
    return "block1"


def gated(b):
    """Sigmoids, whose range is fixed, and operands of a Concat that share one scale."""
    b.conv("x", "stem", 3, 16)
    b.add("Mul", ["stem", b.add("Sigmoid", ["stem"], "gate")], "swish")
    b.conv("swish", "large", 16, 8)
    b.add("Mul", [b.conv("swish", "little", 16, 8), b.constant("tenth", np.float32(0.1))], "small")
    b.add("Concat", ["large", "small"], "joined", axis=1)
    b.add("Relu", [b.conv("joined", "tail", 16, 16)], "tail.relu")
    b.conv("tail.relu", "y", 16, 10, size=1)
    return "tail.relu"


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self.left = iter([{"x": sample} for sample in samples])

    def get_next(self):
        return next(self.left, None)


def samples(seed, count, heavy):
    """`heavy`: samples of very different size, as the largest values of real activations are."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((count, 1, 3, 16, 16)).astype(np.float32)
    return x * random.lognormal(0, 0.7 if heavy else 0.1, (count, 1, 1, 1, 1)).astype(np.float32)


def quantize(folder, method, calibration, ranges, per_channel=True):
    logging.disable()
    quantize_static(folder / "float.onnx", folder / "quantized.onnx", Reader(calibration), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, calibrate_method=method,
                    extra_options={"TensorQuantOverrides": ranges})


def write(folder, network, method, calibration, given, times=None):
    """With `times`, the range of one tensor is so much wider than what `method` finds."""
    b = Builder(921)
    tensor = network(b)
    onnx.save(b.model([("x", FLOAT, [1, 3, 16, 16])], [("y", FLOAT, [1, 10, 16, 16])]), folder / "float.onnx")
    np.savez(folder / "net.npz", x=given)
    quantize(folder, method, calibration, {})
    if times is not None:
        constants = {t.name: numpy_helper.to_array(t) for t in onnx.load(folder / "quantized.onnx").graph.initializer}
        step, zero = float(constants[f"{tensor}_scale"]), float(constants[f"{tensor}_zero_point"])
        quantize(folder, method, calibration, {tensor: [{"rmin": np.float32(-zero * step * times), "rmax": np.float32((255 - zero) * step * times)}]})
    return tensor


def defects(folder):
    done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "net.npz", "--json", folder=folder)
    report = json.loads(done.stdout)
    return report.get("defects", []), report["figures"]["outputs"][0]["sqnr_db"]


@pytest.mark.parametrize("times", [4, 6])
@pytest.mark.parametrize("network", [convolutions, gated])
def test_a_range_that_is_too_wide_is_named_with_its_factor(network, times, tmp_path):
    given = samples(922, 32, heavy=False)
    tensor = write(tmp_path, network, CalibrationMethod.MinMax, given, given, times)
    found, db = defects(tmp_path)
    assert [defect["kind"] for defect in found] == ["lost-pair"] and tensor in found[0]["node"], (found, db)
    factor = float(re.search(r"([\d.]+) times as wide", found[0]["text"])[1])
    assert factor == pytest.approx(times, rel=0.1)


@pytest.mark.parametrize("network,weight", [(convolutions, "outer2.weight"), (gated, "tail.weight"), (gated, "y.weight")])
def test_a_weight_whose_scale_is_too_large_is_named_with_its_factor(network, weight, tmp_path):
    given = samples(922, 32, heavy=False)
    write(tmp_path, network, CalibrationMethod.MinMax, given, given)
    values = next(numpy_helper.to_array(t) for t in onnx.load(tmp_path / "float.onnx").graph.initializer if t.name == weight)
    for times, named in ((1, 0), (4, 1)):
        end = np.float32(times * np.abs(values).max())
        quantize(tmp_path, CalibrationMethod.MinMax, given, {weight: [{"rmin": -end, "rmax": end}]}, per_channel=False)
        found, db = defects(tmp_path)
        assert len(found) == named and all(weight in defect["text"] and "times as large" in defect["text"] for defect in found), (found, db)


@pytest.mark.parametrize("network,weight,times", [(convolutions, "y.weight", 30), (gated, "tail.weight", 30), (gated, "y.weight", 8)])
def test_one_channel_whose_scale_is_too_large_is_named_with_its_factor(network, weight, times, tmp_path):
    given = samples(922, 32, heavy=False)
    write(tmp_path, network, CalibrationMethod.MinMax, given, given)
    values = next(numpy_helper.to_array(t) for t in onnx.load(tmp_path / "float.onnx").graph.initializer if t.name == weight)
    model = onnx.load(tmp_path / "quantized.onnx")
    stored = {t.name: t for t in model.graph.initializer}
    step = numpy_helper.to_array(stored[f"{weight}_scale"]).copy()
    step[3] *= times
    codes = np.clip(np.rint(values / step.reshape(-1, 1, 1, 1)), -127, 127).astype(np.int8)
    stored[f"{weight}_scale"].CopyFrom(numpy_helper.from_array(step, f"{weight}_scale"))
    stored[f"{weight}_quantized"].CopyFrom(numpy_helper.from_array(codes, f"{weight}_quantized"))
    bias = weight.replace("weight", "bias")
    wide = np.where(np.arange(len(step)) == 3, np.float32(times), np.float32(1))
    for name, factor in ((f"{bias}_quantized_scale", wide), (f"{bias}_quantized", 1 / wide)):
        old = numpy_helper.to_array(stored[name])
        stored[name].CopyFrom(numpy_helper.from_array(np.rint(old * factor).astype(old.dtype) if old.dtype == np.int32 else old * factor, name))
    onnx.save(model, tmp_path / "quantized.onnx")
    found, db = defects(tmp_path)
    assert [defect["kind"] for defect in found] == ["lost-pair"] and weight in found[0]["text"], (found, db)
    assert float(re.search(r"the scale of channel 3 is ([\d.]+) times as large", found[0]["text"])[1]) == pytest.approx(times, rel=0.1)


@pytest.mark.sampled
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("network", [convolutions, gated])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_ranges_of_calibrators_and_of_other_samples_are_not_named(method, network, heavy, tmp_path):
    write(tmp_path, network, method, samples(923, 128, heavy), samples(922, 16, heavy))
    found, db = defects(tmp_path)
    assert found == [], (found, db)
