"""Inlines functions of a model and compares it with ONNX Runtime, which runs the functions as they are: attributes that a
call leaves out, defaults of functions inside functions, and defaults of operators."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("VERNIER_PREPARE", str(ROOT / "build/release/tests/diff/prepare_model"))
EVALUATE = str(pathlib.Path(__file__).with_name("evaluate.py"))

# Slopes of the negative side: 0.5 and 0.3 by functions, 0.01 by the operator.
FUNCTIONS = """
<domain: "local", opset_import: ["" : 17]> half <alpha: float = 0.5> (u) => (v) { v = LeakyRelu<alpha: float = @alpha>(u) }
<domain: "local", opset_import: ["" : 17]> third <alpha: float = 0.3> (u) => (v) { v = LeakyRelu<alpha: float = @alpha>(u) }
<domain: "local", opset_import: ["" : 17]> plain <alpha> (u) => (v) { v = LeakyRelu<alpha: float = @alpha>(u) }
<domain: "local", opset_import: ["" : 17, "local" : 1]> three <alpha> (u) => (a, b, c) {
  a = local.half<alpha: float = @alpha>(u) b = local.third<alpha: float = @alpha>(u) c = LeakyRelu<alpha: float = @alpha>(u) }
<domain: "local", opset_import: ["" : 17, "local" : 1]> two <a, b> (u) => (v, w) {
  v = local.half<alpha: float = @a>(u) w = local.plain<alpha: float = @b>(u) }
<domain: "local", opset_import: ["" : 17, "local" : 1]> deep <alpha, beta: float = 0.2> (u) => (a, b, c, v, w) {
  a, b, c = local.three<alpha: float = @alpha>(u) v, w = local.two<a: float = @alpha, b: float = @beta>(u) }
"""
CALLS = {
    "nothing": ("three(x)", "three<alpha = 0.75>(x)", 3),
    "one of two": ("two<a = 0.75>(x)", "two<b = 0.75>(x)", 2),
    "two levels": ("deep(x)", "deep<alpha = 0.75>(x)", 5),
    "the default one": ("deep<beta = 0.9>(x)", "deep<alpha = 0.75, beta = 0.9>(x)", 5),
}


def run(model, x):
    return onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(None, {"x": x})


@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
def test_attributes_that_a_call_leaves_out(calls, tmp_path):
    first, second, outputs = calls
    names = [[f"{side}{i}" for i in range(outputs)] for side in "yz"]
    listed = ", ".join(f"float[4] {name}" for name in sum(names, []))
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17, "local" : 1]> g (float[4] x) => ({listed}) {{'
        f' {", ".join(names[0])} = local.{first} {", ".join(names[1])} = local.{second} }}' + FUNCTIONS)
    file, prepared = tmp_path / "model.onnx", tmp_path / "prepared.onnx"
    onnx.save(model, file)
    done = subprocess.run([PROGRAM, file, prepared, tmp_path, sys.executable, EVALUATE, "float32"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not onnx.load(prepared).functions
    x = np.array([-1, -2, 3, -4], np.float32)
    before, after = run(file, x), run(prepared, x)
    assert len({float(value[0]) for value in before}) > 2  # slopes differ
    for name, ref, got in zip(sum(names, []), before, after):
        np.testing.assert_array_equal(got, ref, err_msg=name)
