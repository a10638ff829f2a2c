"""Prepares the 13 shared networks for several formats and compares them with what they were, in ONNX Runtime without
optimizations: bit for bit where nothing but constants moved, within 1e-5 of the output's energy (100 dB) where
BatchNormalization was folded or the opset raised. Layer names survive, and the ONNX checker passes.

VERNIER_PREPARE names the program built from tests/unit/model/prepare_model.cpp, VERNIER_SHARED the folder with models/.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared"))
PROGRAM = os.environ.get("VERNIER_PREPARE", str(ROOT / "build/release/tests/diff/prepare_model"))
EVALUATE = str(pathlib.Path(__file__).with_name("evaluate.py"))

# layers of the prepared model for int8: (all, those of the INT8 scheme)
NETWORKS = {
    "dtln-part1": (36, 1),
    "dtln-part2": (78, 7),
    "espcn-superres": (8, 4),
    "mobilenetv2-imagenet": (101, 53),
    "ppocr-en-rec": (187, 54),
    "resnet8-cifar": (25, 10),
    "rfb320-face": (128, 52),
    "silero-vad-16k": (66, 6),
    "squeezenet-imagenet": (68, 26),
    "stories260k": (353, 46),
    "style-candy": (59, 16),
    "vit-cifar": (74, 18),
    "yolox-nano": (369, 113),
}
OPSETS = {"float32": 0, "float16": 7, "int8": 13, "float8e4m3fn": 19, "int4": 21}
DYNAMIC = {"ppocr-en-rec": [1, 3, 32, 96], "silero-vad-16k": {"input": [1, 576], "state": [2, 1, 128]},
           "stories260k": [1, 24], "style-candy": [1, 3, 720, 720]}

missing = not SHARED.joinpath("models").is_dir()
if missing and os.environ.get("CI"):
    pytest.fail(f"no models under {SHARED}", pytrace=False)
pytestmark = pytest.mark.skipif(missing, reason=f"no models under {SHARED}: set VERNIER_SHARED")


def path_of(network):
    return str(SHARED / "models" / network / "model.onnx")


@functools.lru_cache
def sample(network):
    """Smooth images rather than noise: closer to what networks see, and without files."""
    random = np.random.default_rng(7)
    model = onnx.load(path_of(network))
    initializers = {tensor.name for tensor in model.graph.initializer}
    feed = {}
    for value in model.graph.input:
        if value.name in initializers:
            continue
        given = DYNAMIC.get(network)
        dims = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
        if isinstance(given, dict):
            dims = given.get(value.name, dims)
        elif given:
            dims = given
        if value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            feed[value.name] = np.array(16000) if value.name == "sr" else random.integers(1, 500, dims)
        else:
            noise = random.normal(size=dims)
            smooth = np.cumsum(noise, axis=-1) / 8 if len(dims) > 1 else noise
            scale = {"style-candy": 60.0, "yolox-nano": 60.0, "resnet8-cifar": 60.0}.get(network, 1.0)
            feed[value.name] = (smooth * scale).astype(np.float32)
        feed[value.name] = feed[value.name].astype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    return feed


def run(path, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    # Weights that were computed and are constants now would take the packed kernel, which sums in another order.
    options.add_session_config_entry("session.disable_prepacking", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return {output.name: value for output, value in zip(session.get_outputs(), session.run(None, feed))}


@functools.lru_cache
def reference(network):
    return run(path_of(network), sample(network))


def prepare(network, folder, *words):
    out = folder / "prepared.onnx"
    command = [PROGRAM, path_of(network), str(out), str(folder), sys.executable, EVALUATE, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(out), json.loads(done.stdout)


def sqnr_db(ref, got):
    ref, got = ref.astype(np.float64), got.astype(np.float64)
    noise = np.sum((ref - got) ** 2)
    return np.inf if noise == 0 else 10 * np.log10(np.sum(ref**2) / noise)


def compare(network, path):
    got = run(path, sample(network))
    ref = reference(network)
    assert list(got) == list(ref)
    assert all(got[name].shape == ref[name].shape for name in ref)
    assert all(np.isfinite(value).all() for value in ref.values())
    return min(sqnr_db(ref[name], got[name]) for name in ref)


def compute(layers):
    return [layer["name"] for layer in layers if not layer["follows"]]


@pytest.mark.sampled
@pytest.mark.parametrize("words", [["float32"], ["float16"], ["int8"], ["float8e4m3fn"], ["int4"], ["bfloat16"]],
                         ids=lambda words: "+".join(words))
@pytest.mark.parametrize("network", NETWORKS)
def test_prepared_network_computes_the_same(network, words, tmp_path, record_property):
    path, report = prepare(network, tmp_path, *words)
    db = compare(network, path)
    record_property("sqnr_db", db)
    print(f"{network} {words}: {db:.1f} dB, {report['notes']}")
    assert db == np.inf if report["unchanged"] else db > 100, report["notes"]
    before, after = report["before"], report["after"]
    if words == ["bfloat16"]:
        assert after["opset"] == (13 if network == "stories260k" else 22)
    else:
        assert after["opset"] == max(before["opset"], OPSETS[words[0]])
    if words != ["float32"]:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    # Names were given before anything was rewritten: what is left bears its old name, and new names start with the old
    # node's. BatchNormalization goes, nothing that computes comes.
    names = {name for name, _ in before["nodes"]}
    for name, _ in after["nodes"]:
        assert name in names or name.rsplit("/", 1)[0] in names, name
    gone = set(compute(before["layers"])) - set(compute(after["layers"]))
    assert gone <= {name for name, op in before["nodes"] if op == "BatchNormalization"}
    assert len({name for name, _ in after["nodes"]}) == len(after["nodes"])


@pytest.mark.parametrize("network", NETWORKS)
def test_layers_are_the_float_data_path(network, tmp_path):
    _, report = prepare(network, tmp_path, "int8")
    layers = report["after"]["layers"]
    assert (len(layers), sum(layer["weighted"] for layer in layers)) == NETWORKS[network]
    ops = {layer["op"] for layer in layers}
    assert not ops & {"Shape", "Cast", "Constant", "ConstantOfShape", "Range", "If", "Loop"}


def test_silero_without_ifs_computes_the_same(tmp_path):
    network = "silero-vad-16k"
    words = []
    for i in range(2):
        tensors = onnx.GraphProto()
        for name, value in sample(network).items():
            scaled = value * np.float32(0.5 + i) if value.dtype == np.float32 else value
            tensors.initializer.append(numpy_helper.from_array(scaled, name))
        file = tmp_path / f"sample{i}.pb"
        file.write_bytes(tensors.SerializeToString())
        words.append(f"sample={file}")
    path, report = prepare(network, tmp_path, "float32", *words)
    assert compare(network, path) == np.inf
    assert all(op != "If" for _, op in report["after"]["nodes"]), report["notes"]
    assert all(layer["graph"] == "" for layer in report["after"]["layers"])
    assert sum(layer["op"] == "LSTM" for layer in report["after"]["layers"]) == 1
