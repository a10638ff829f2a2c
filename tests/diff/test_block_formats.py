"""Formats with block scales, 16-bit activations, 4-bit weights and dynamic quantization: what `quantize` writes and how
it is simulated, in every bit, against the published definitions in NumPy. The codes are those of ml_dtypes."""
import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from format_oracle import E2M1, E4M3, blocks_of, evaluate, microscaling, nvfp4
from paired_layers import SATURATES
from typed_files import PROGRAM, run, session, simulate, sqnr_db, vernier

F = onnx.TensorProto.FLOAT
TENSORRT = ("nvfp4", "mxfp8")
rng = np.random.default_rng(52)


def wide(*shape):
    """Values of many magnitudes, some blocks of zeros, and rows of their own size."""
    values = rng.standard_normal(shape) * np.exp(rng.normal(0, 2, (*shape[:-1], 1)))
    values[..., :32] *= rng.integers(0, 2, (*shape[:-1], 1))
    return values.astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A stack of products: MatMul, Gemm with a transposed weight and a bias, and a product that no block divides."""
    path = tmp_path_factory.mktemp("formats")
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="relu"),
        helper.make_node("Gemm", ["b", "w2", "bias"], ["c"], name="second", transB=1),
        helper.make_node("MatMul", ["c", "w3"], ["y"], name="odd"),
    ]
    constants = {"w1": wide(64, 96), "w2": wide(40, 96), "bias": wide(40)[0:40], "w3": wide(40, 10)}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [5, 64])],
                              [helper.make_tensor_value_info("y", F, [5, 10])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path / "float.onnx")
    np.savez(path / "data.npz", x=np.stack([wide(5, 64) for _ in range(6)]))
    return path


def quantized(folder, form, *words):
    target = "tensorrt" if form in TENSORRT else "onnxruntime"
    path = folder / f"{form}{''.join(words)}.onnx"
    run(PROGRAM, "quantize", folder / "float.onnx", "--low", form, "--target", target, "--data", folder / "data.npz",
        *words, "-o", path)
    return path


def with_exact_data(path):
    """The file without what lets a MatMulNBits round its data, which is no part of the format."""
    model = onnx.load(path)
    for node in model.graph.node:
        kept = [attribute for attribute in node.attribute if attribute.name != "accuracy_level"]
        del node.attribute[:]
        node.attribute.extend(kept)
    onnx.save(model, path.with_suffix(".exact.onnx"))
    return path.with_suffix(".exact.onnx")


def constants(path):
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def samples(folder):
    return np.load(folder / "data.npz")["x"]


@pytest.mark.parametrize("form", ["nvfp4", "mxfp8", "mxfp4", "mxfp8e5m2"])
def test_weights_are_stored_as_defined(folder, form):
    stored, real = constants(quantized(folder, form)), constants(folder / "float.onnx")
    for name, along_rows in (("w1", False), ("w2", True)):
        values = real[name] if along_rows else np.ascontiguousarray(real[name].T)
        back = (lambda array: array) if along_rows else np.transpose
        if form == "nvfp4":
            tensor_scale = np.abs(values).max() / np.float32(6 * 448)
            codes, scales = nvfp4(values, tensor_scale)
            assert stored[f"{name}_tensor_scale"] == tensor_scale
        else:
            codes, scales = microscaling(values, {"mxfp8": E4M3, "mxfp4": E2M1}.get(form, ml_dtypes.float8_e5m2))
            scales = scales.astype(ml_dtypes.float8_e8m0fnu)
        kept = stored[f"{name}_scale"]
        np.testing.assert_array_equal(back(kept).view(np.uint8), scales.view(np.uint8))
        assert kept.dtype == (np.uint8 if form == "mxfp8" else scales.dtype)
        np.testing.assert_array_equal(back(stored[f"{name}_quantized"]).astype(np.float32), codes.astype(np.float32))


@pytest.mark.parametrize("form, low", [("nvfp4", ["first", "second"]), ("mxfp8", ["first", "second"]),
                                       ("mxfp4", ["first", "second"]), ("mxfp8e5m2", ["first", "second"]),
                                       ("int4", ["first", "second"]), ("uint4", ["first", "second"]),
                                       ("int16", ["first", "second", "odd"])])
def test_the_simulated_file_computes_what_the_file_says(folder, form, low):
    path = with_exact_data(quantized(folder, form))
    pairs = [(evaluate(path, {"x": x}), simulate(path, {"x": x}, folder)["y"]) for x in samples(folder)]
    # Sums in another order, which now and then give another of 65,536 codes.
    assert sqnr_db(pairs) > (80 if form == "int16" else 110)
    layers = vernier("inspect", "model", path, "--show", "formats")["layers"]
    named = {"int16": "uint16"}.get(form, form)
    assert [layer["name"] for layer in layers if layer["format"] == named] == low


@pytest.mark.parametrize("form", ["nvfp4", "mxfp8", "mxfp4", "uint4", "int16", "dynamic-int8"])
def test_verify_measures_what_the_file_computes(folder, form):
    """The figure of the plan, and that of the file, against NumPy's of the file."""
    path = with_exact_data(quantized(folder, form))
    report = vernier("verify", folder / "float.onnx", path, "--data", folder / "data.npz")
    real = session(folder / "float.onnx")
    made = session(path) if form == "dynamic-int8" else None
    pairs = [(real.run(None, {"x": x})[0], made.run(None, {"x": x})[0] if made else evaluate(path, {"x": x}))
             for x in samples(folder)]
    # On a CPU without VNNI, sums of ONNX Runtime's integer kernels saturate.
    told = report["saturated_pairs"] if made and SATURATES and "saturated_pairs" in report else report
    assert float(told["figures"]["outputs"][0]["sqnr_db"]) == pytest.approx(sqnr_db(pairs), abs=0.05)


def test_int4_weights_lie_under_16_bit_activations(folder):
    path = quantized(folder, "int16", "--weight-bits", "4", "--block-size", "32")
    stored = constants(path)
    # In MatMulNBits, because ONNX Runtime fuses no product of quantized data with such a weight.
    assert stored["w1_quantized"].shape == (96, 2, 16) and stored["w1_scale"].shape == (96, 2)
    assert stored["x_zero_point"].dtype == np.uint16
    pairs = [(evaluate(path, {"x": x}), session(path).run(None, {"x": x})[0]) for x in samples(folder)]
    assert sqnr_db(pairs) > 110


def test_uint4_weights_have_the_smallest_range_of_each_block(folder):
    stored, real = constants(quantized(folder, "uint4", "--block-size", "32")), constants(folder / "float.onnx")["w2"]
    parts = blocks_of(real, 32)
    low, high = np.minimum(parts.min(-1), 0), np.maximum(parts.max(-1), 0)
    step = ((high.astype(np.float64) - low) / 15).astype(np.float32)
    scale = np.where(step >= np.finfo(np.float32).tiny, step, np.float32(1 / 15)).astype(np.float32)
    # A Gemm's transposed weight is stored as ONNX Runtime fuses it.
    np.testing.assert_array_equal(stored["w2_scale"].T, scale)
    zero = np.clip(np.rint(-low / scale), 0, 15)
    np.testing.assert_array_equal(stored["w2_zero_point"].T.astype(np.float32), zero)
    codes = np.clip(np.rint(parts / scale[..., None]) + zero[..., None], 0, 15).reshape(real.shape)
    np.testing.assert_array_equal(stored["w2_quantized"].T.astype(np.float32), codes)


def test_dynamic_files_run_on_integers(folder):
    path = quantized(folder, "dynamic-int8", "--reduce-range")  # which no CPU saturates
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    assert kinds.count("MatMulInteger") == 3 and kinds.count("DynamicQuantizeLinear") == 3
    pairs = [(evaluate(path, {"x": x}), session(path).run(None, {"x": x})[0]) for x in samples(folder)]
    assert sqnr_db(pairs) > 110
    # The rounding of the plan is that of the file.
    report = vernier("diagnose", folder / "float.onnx", "--low", "dynamic-int8", "--target", "onnxruntime", "--data",
                     folder / "data.npz", "--no-split", "--no-cache", "--reduce-range")
    real = session(folder / "float.onnx")
    measured = sqnr_db([(real.run(None, {"x": x})[0], got) for x, (_, got) in zip(samples(folder), pairs)])
    assert float(report["all_low"]["outputs"][0]["sqnr_db"]) == pytest.approx(measured, abs=0.05)
