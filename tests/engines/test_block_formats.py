"""NVIDIA's compiler on files with block scales, for capability 12.0: products in NVFP4 become kernels that read its codes,
those in MXFP8 are dequantized first, and what it refuses is quoted. Evidence: compiled, not run."""
import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from compiler import ENGINES

PROGRAM = os.environ["VERNIER_PROGRAM"]
F = onnx.TensorProto.FLOAT
WIDE = "Failed to import initializer"  # of codes in int16, and of scales in E8M0


def vernier(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks")
    rng = np.random.default_rng(3)
    constants = {"w1": rng.normal(size=(64, 128)), "w2": rng.normal(size=(32, 128)), "bias": rng.normal(size=32)}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["a"], name="first"),
             helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("Gemm", ["b", "w2", "bias"], ["y"], name="second", transB=1)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, [16, 64])],
                              [helper.make_tensor_value_info("y", F, [16, 32])],
                              [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path / "float.onnx")
    np.savez(path / "data.npz", x=rng.normal(size=(4, 16, 64)).astype(np.float32))
    return path


def compiled(folder, form, *words, capability="12.0", target="tensorrt"):
    """What the compiler made of the file, or the words of its refusal."""
    typed = folder / f"{form}.onnx"
    done = vernier("quantize", folder / "float.onnx", "--low", form, "--target", target, *words, "--data", folder / "data.npz",
                   "-o", typed, "-qq")
    assert done.returncode == 0, done.stderr
    done = vernier("inspect", "engine", typed, "--python", ENGINES, "--compute-capability", capability, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.splitlines()[0]


def low_layers(report, form):
    return {layer["name"]: layer for layer in report["layers"] if layer["asked"] == form}


def test_nvfp4_products_read_codes(folder):
    report = compiled(folder, "nvfp4")
    assert isinstance(report, dict), report
    low = low_layers(report, "nvfp4")
    assert set(low) == {"first", "second"}
    assert all(layer["reads"] == ["float4", "float8"] and not layer["differs"] for layer in low.values())


def test_mxfp8_files_build_and_multiply_in_float32(folder):
    report = compiled(folder, "mxfp8")
    assert isinstance(report, dict), report
    low = low_layers(report, "mxfp8")
    assert set(low) == {"first", "second"}
    assert all(layer["reads"] == ["float32"] and layer["differs"] for layer in low.values())


@pytest.mark.parametrize("form", ["mxfp4", "mxfp8e5m2"])
def test_scales_in_e8m0_are_refused(folder, form):
    assert WIDE in compiled(folder, form)


def test_activations_in_16_bits_are_refused(folder):
    assert WIDE in compiled(folder, "int16", target="onnxruntime")


def test_before_blackwell_there_is_no_such_kernel(folder):
    assert isinstance(compiled(folder, "nvfp4", capability="8.9"), str)
