"""All layers in float32: outputs bit-identical to the original, in ONNX Runtime without optimizations, for ONNX's own
backend node tests and for the shared networks.

VERNIER_FLOAT32 names the program built from float32_cli.cpp, VERNIER_SHARED the folder with models/. Which node tests are
not covered, and why, is written to build/backend_nodes.json. Each change (VERNIER_SAMPLE) runs another quarter of the node
tests.
"""
import collections
import ctypes
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # ONNX Runtime: the node tests are stamped with the newest opset

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared"))
PROGRAM = os.environ.get("VERNIER_FLOAT32", str(ROOT / "build/release/tests/diff/float32_cli"))
REPORT = ROOT / "build/backend_nodes.json"

# Tests that ONNX Runtime runs and whose converted model is refused or differs. Each line says why.
ROUNDED = ("ONNX Runtime's CPU kernels compute float16 nodes in float32 and do not round between them; a constant that was "
           "folded is stored in float16, which rounds where the types of the file say so: the last bit of float16 differs")
KNOWN = {
    "test_attention_4d_causal_fp16_expanded": ROUNDED,
    "test_attention_4d_fp16_expanded": ROUNDED,
    "test_attention_4d_gqa_with_past_and_present_fp16_expanded": ROUNDED,
}
# The reasons a test may have, beyond KNOWN, for not being covered. Everything else is a failure of ours.
OUTSIDE = ("ONNX Runtime cannot load the original", "ONNX Runtime cannot run the original", "not a tensor",
           "random by definition")
RANDOM = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}
NETWORKS = ["dtln-part1", "dtln-part2", "espcn-superres", "mobilenetv2-imagenet", "ppocr-en-rec", "resnet8-cifar",
            "rfb320-face", "silero-vad-16k", "squeezenet-imagenet", "stories260k", "style-candy", "vit-cifar", "yolox-nano"]
DYNAMIC = {"ppocr-en-rec": {"x": [1, 3, 32, 96]}, "silero-vad-16k": {"input": [1, 576], "state": [2, 1, 128]},
           "stories260k": {"": [1, 24]}, "style-candy": {"": [1, 3, 224, 224]}}


class Converter:
    """One process for all models."""

    def __init__(self):
        self.start()

    def start(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, model, output):
        self.process.stdin.write(f"{model}\n{output}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:  # it died: the next model gets a new one
            code = self.process.wait()
            self.start()
            return f"error: the process ended with {code}"
        return answer

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


@pytest.fixture(scope="module")
def convert():
    converter = Converter()
    yield converter
    converter.close()


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    # A weight that was computed and is a constant now would take the packed kernel, which sums in another order.
    options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(any_session, feed):
    """Outputs in graph order; element types that NumPy only knows from ml_dtypes go in and out as bytes."""
    if all(value.dtype.isbuiltin != 2 for value in feed.values()):
        return any_session.run(None, feed)
    values = {}
    for name, value in feed.items():
        if value.dtype.isbuiltin != 2:
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(value))
        else:
            raw = value.view(np.uint16 if value.dtype.itemsize == 2 else np.uint8)
            kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
            values[name] = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, kind)
    names = [output.name for output in any_session.get_outputs()]
    got = any_session.run_with_ort_values(names, values)
    return [(value.data_type(), value.shape(), ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()))
            for value in got]


def bits(value):
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tolist() if value.dtype == object else value.tobytes())
    if isinstance(value, (list, tuple)):
        return [bits(item) for item in value]
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    return value


def inputs(case, model):
    """The test's own first data set by input name; None when an input is no tensor."""
    feed = {}
    for value, given in zip(model.graph.input, case.data_sets[0][0]):
        if value.type.WhichOneof("value") != "tensor_type":
            return None
        feed[value.name] = numpy_helper.to_array(given) if isinstance(given, onnx.TensorProto) else np.asarray(given)
    return feed


def words(failure, folder):
    """What an exception says, without paths and source lines."""
    text = str(failure).replace(str(folder), "").replace("\n", " ")
    return re.sub(r"/onnxruntime_src/\S+|onnxruntime::Model::Model\(.*?\) ", "", text)[:300]


def outcome(case, folder, convert):
    """ "covered", or the reason why not."""
    model = case.model
    operators = {node.op_type for node in model.graph.node}
    if operators & RANDOM or any(node.op_type == "Dropout" and "training" in case.name for node in model.graph.node):
        return "random by definition: two runs differ"
    original = folder / "original.onnx"
    converted = folder / "converted.onnx"
    onnx.save(model, original)
    converted.unlink(missing_ok=True)
    try:
        before = session(original)
    except Exception as failure:  # ONNX Runtime's exceptions share no base of their own
        return f"ONNX Runtime cannot load the original: {words(failure, folder)}"
    feed = inputs(case, model)
    if feed is None:
        return "not a tensor: an input is a sequence or an optional"
    try:
        expected = run(before, feed)
    except Exception as failure:
        return f"ONNX Runtime cannot run the original: {words(failure, folder)}"
    answer = convert(original, converted)
    if answer != "ok":
        return "our failure: refused: " + answer[:300]
    try:
        after = session(converted)
    except Exception as failure:
        return f"our failure: ONNX Runtime refuses the converted model: {words(failure, folder)}"
    names = [value.name for value in before.get_outputs()]
    if [value.name for value in after.get_outputs()] != names:
        return f"our failure: outputs {[value.name for value in after.get_outputs()]} instead of {names}"
    try:
        got = run(after, feed)
    except Exception as failure:
        return f"our failure: ONNX Runtime cannot run the converted model: {words(failure, folder)}"
    for name, a, b in zip(names, expected, got):
        if bits(a) != bits(b):
            return f"our failure: output '{name}' differs"
    return "covered"


def node_tests():
    cases, change = load_model_tests(kind="node"), os.environ.get("VERNIER_SAMPLE")
    return cases[hashlib.sha256(change.encode()).digest()[0] % 4::4] if change else cases


def test_node_tests_compute_the_same_bits(convert, tmp_path):
    results = {case.name: outcome(case, tmp_path, convert) for case in node_tests()}
    covered = sorted(name for name, result in results.items() if result == "covered")
    missed = {name: result for name, result in sorted(results.items()) if result != "covered"}
    kinds = collections.Counter(result.split(":")[0] for result in missed.values())
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps({"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__, "tests": len(results),
                                  "covered": len(covered), "not_covered_by_reason": kinds, "not_covered": missed}, indent=1))
    print(f"{len(covered)} of {len(results)} covered; {dict(kinds)}")
    ours = {name: result for name, result in missed.items()
            if name not in KNOWN and not result.startswith(OUTSIDE)}
    assert not ours, json.dumps(ours, indent=1)
    stale = [name for name in KNOWN if results.get(name) == "covered"]
    assert not stale, f"covered by now: {stale}"
    assert len(covered) > 0.75 * len(results), "far fewer than the node tests that ONNX Runtime can run"


def network_feed(network, model):
    sys.path.insert(0, str(SHARED / "tools"))
    import inputs as shared_inputs

    random = np.random.default_rng(5)
    initializers = {tensor.name for tensor in model.graph.initializer}
    values = [value for value in model.graph.input if value.name not in initializers]
    made = shared_inputs.load(network, 1)[0] if network in shared_inputs.MAKE else None
    feed = {}
    for value in values:
        tensor = value.type.tensor_type
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        given = DYNAMIC.get(network, {})
        shape = given.get(value.name) or given.get("") or [dim.dim_value or 1 for dim in tensor.shape.dim]
        if made is not None and len(values) == 1:
            feed[value.name] = made.astype(dtype)
        elif np.issubdtype(dtype, np.integer):
            feed[value.name] = np.full([dim.dim_value for dim in tensor.shape.dim], 16000, dtype)
        elif "state" in value.name or "_h" in value.name or "_c" in value.name:
            feed[value.name] = np.zeros(shape, dtype)
        else:
            feed[value.name] = random.normal(size=shape).astype(dtype)
    return feed


@pytest.mark.sampled
@pytest.mark.parametrize("network", NETWORKS)
def test_network_computes_the_same_bits(network, convert, tmp_path):
    path = SHARED / "models" / network / "model.onnx"
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"no {path}")
        pytest.skip(f"no {path}: set VERNIER_SHARED")
    converted = tmp_path / "converted.onnx"
    answer = convert(path, converted)
    assert answer == "ok"
    feed = network_feed(network, onnx.load(path))
    expected = session(path).run(None, feed)
    got = session(converted).run(None, feed)
    assert [bits(value) for value in got] == [bits(value) for value in expected]
