"""NVIDIA's compiler on what we write: each typed file builds, or is refused for a reason that is listed here, and the
layers that run in another format than the file says are those listed here. Evidence: compiled, not run. Needs
`scripts/bootstrap --with tensorrt-rtx,openvino`; in CI it must be there."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import onnx
import pytest

from compiler import ENGINES

ROOT = pathlib.Path(__file__).resolve().parents[2]


def module(path):
    """Two files of the project are called networks.py."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.parent.name + "_networks", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


networks = module(ROOT / "tests/traits/networks.py")
trained = module(ROOT / "bench/networks.py")

PROGRAM = os.environ["VERNIER_PROGRAM"]
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT / "../shared"))
FORMATS = ("fp16", "bf16", "int8", "fp8")
CAPABILITIES = ("8.0", "8.9", "12.0")

# What the compiler refuses, by format and compute capability or by network, and the words that it gives.
NO_FP8_BEFORE_ADA = "the model contains HW-specific datatypes"
ASYMMETRIC = "Non-zero zero point is not supported"  # codes off zero are the network's own
REFUSED_NETWORKS = {"grouped_queries": "failed to load GroupQueryAttention plugin",
                    "codes_out": ASYMMETRIC, "quantized_to_bytes": ASYMMETRIC, "relu6_in_the_quantizer": ASYMMETRIC,
                    "codes_of_microsoft": ASYMMETRIC,
                    # Its parser reads Attention of com.microsoft, with one input for all three, as that of ONNX.
                    "operators_of_microsoft": "Q, K, and V inputs must have the same number of dimensions",
                    "sequences": "(SequenceConstruct)"}
# Files that hold nothing in the format: the network is in float16 already.
UNCHANGED = {("half_file", "fp8")}
# Layers that run in another format than the file says. Transposed convolutions run in float32 where the file quantizes
# them, and in bfloat16 where it keeps them in float32 between layers in bfloat16; some convolutions in FP8 run in float32.
DIFFER = {("grouped", "int8"): {"up", "up2"}, ("grouped", "fp8"): {"up", "up2"}, ("grouped", "bf16"): {"up", "up2"},
          ("audio", "fp8"): {"filtered"}, ("log_mel", "fp8"): {"real", "imaginary"}}


def vernier(*arguments, folder):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=600)


def convert(model, form, data, folder):
    done = vernier("convert", model, f"--{form}", "--data", data, "-o", f"{form}.onnx", "-qq", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / f"{form}.onnx"


def compiled(typed, folder, capability="8.9", shapes=None):
    """The report, or the words of the refusal."""
    options = ["--shapes", shapes] if shapes else []
    done = vernier("inspect", "engine", typed, "--python", ENGINES, "--compute-capability", capability, "--json", *options,
                   folder=folder)
    if done.returncode == 4:
        return None, done.stderr.splitlines()[0]
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), ""


@pytest.mark.sampled
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", networks.NETWORKS)
def test_files_of_networks_with_other_traits(name, form, tmp_path):
    model, data, _ = networks.write(name, tmp_path)
    typed = convert(model, form, data, tmp_path)
    for capability in CAPABILITIES:
        report, why = compiled(typed, tmp_path, capability)
        too_old = (form, capability) == ("fp8", "8.0") and (name, form) not in UNCHANGED
        refusal = REFUSED_NETWORKS.get(name) or (NO_FP8_BEFORE_ADA if too_old else "")
        if refusal:
            assert report is None and refusal in why
            continue
        assert report is not None, why
        assert {layer["name"] for layer in report["layers"] if layer["differs"]} == DIFFER.get((name, form), set())
        assert report["kernels"] and all(kernel["kind"] for kernel in report["kernels"])


# Trained networks that cannot be built even in float32.
NOT_BUILT = {"dtln-part1": "MyelinCheckException", "silero-vad-16k": "graphScope"}
# As DIFFER; an AveragePool that bfloat16 asks for is computed in float32, too.
DIFFER_OF_TRAINED = {
    ("mobilenetv2-imagenet", "bf16"): {"MobilenetV2/Logits/AvgPool_prequant"},
    ("resnet8-cifar", "bf16"): {"model/average_pooling2d/AvgPool"},
    ("ppocr-en-rec", "int8"): {"p2o.Conv.4"},
    ("ppocr-en-rec", "fp8"): {"p2o.Conv.4"},
    ("style-candy", "bf16"): {"batchnorm13", "activation8"},
    ("style-candy", "int8"): {"convolution13", "convolution14"},
    ("style-candy", "fp8"): {"convolution", "convolution13", "convolution14", "convolution15"},
    ("vit-cifar", "fp8"): {"/0/projection/Conv"},
}


@pytest.mark.skipif(not SHARED.joinpath("models").is_dir(), reason=f"no models under {SHARED}: set VERNIER_SHARED")
@pytest.mark.sampled
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", sorted(path.parent.name for path in SHARED.glob("models/*/model.onnx")))
def test_files_of_trained_networks(name, form, tmp_path):
    model = trained.model_file(name)
    typed = convert(model, form, trained.make(tmp_path, name, 2), tmp_path)
    report, why = compiled(typed, tmp_path, shapes=trained.COMPILED_SHAPES.get(name))
    if name in NOT_BUILT:
        assert NOT_BUILT[name] in why
        assert NOT_BUILT[name] in compiled(model, tmp_path, shapes=trained.COMPILED_SHAPES.get(name))[1], "the float network is refused for it, too"
        return
    assert report is not None, why
    assert {layer["name"] for layer in report["layers"] if layer["differs"]} == DIFFER_OF_TRAINED.get((name, form), set())


def test_capability_is_what_the_parser_says(tmp_path):
    model, _, _ = networks.write("sequence", tmp_path)
    report = json.loads(vernier("inspect", "capability", model, "--python", ENGINES, "--json", folder=tmp_path).stdout)
    assert report["engine"].startswith("TensorRT-RTX") and report["taken"] == report["nodes"]
    model, data, _ = networks.write("codes_out", tmp_path)
    report = json.loads(vernier("inspect", "capability", model, "--python", ENGINES, "--json", folder=tmp_path).stdout)
    assert [group["nodes"] for group in report["not_taken"]] == [["codes"]] and ASYMMETRIC in report["not_taken"][0]["why"]


def test_an_engine_is_written(tmp_path):
    model, _, _ = networks.write("sequence", tmp_path)
    done = vernier("convert", model, "--fp16", "-o", "model.engine", "--compile", "--python", ENGINES, "--compute-capability", "8.9", folder=tmp_path)
    assert done.returncode == 0 and "an engine of TensorRT-RTX" in done.stdout, done.stderr
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(tmp_path / "model.engine")
    model, data, _ = networks.write("codes_out", tmp_path)
    done = vernier("convert", model, "--fp16", "-o", "refused.engine", "--compile", "--python", ENGINES, folder=tmp_path)
    assert done.returncode == 4 and ASYMMETRIC in done.stderr and not tmp_path.joinpath("refused.engine").exists()
    done = vernier("convert", model, "--fp16", "--target", "openvino", "-o", "other.engine", "--compile", "--python", ENGINES, folder=tmp_path)
    assert done.returncode == 2 and "--target openvino" in done.stderr


def test_the_verdict_on_a_file_has_what_the_compiler_made_of_it(tmp_path):
    model, data, _ = networks.write("grouped", tmp_path)
    verdict = ["verify", model, "typed.onnx", "--data", data, "--compile", "--python", ENGINES, "--compute-capability", "8.9"]
    convert(model, "int8", data, tmp_path).rename(tmp_path / "typed.onnx")
    done = vernier(*verdict, "--json", folder=tmp_path)
    compiled = json.loads(done.stdout)["compiled"]
    assert done.returncode == 0, done.stderr
    assert compiled["engine"]["name"] == "TensorRT-RTX" and compiled["kernels"] and "refused" not in compiled
    assert {layer["name"] for layer in compiled["layers"] if layer["differs"]} == DIFFER[("grouped", "int8")]
    text = " ".join(vernier(*verdict, folder=tmp_path).stdout.split())
    assert "TensorRT-RTX" in text and "compiled for compute capability 8.9, not run" in text
    done = vernier("convert", model, "--int8", "--target", "onnxruntime", "--even-if-slower", "--data", data, "-o", "typed.onnx", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    done = vernier(*verdict, "--min-sqnr", "1", folder=tmp_path)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1 and "TensorRT-RTX refuses this file: its message is below" in text and ASYMMETRIC in text


def test_one_name_for_dimensions_of_two_sizes_is_named(tmp_path):
    graph = onnx.parser.parse_graph("g (float[1, 3, d, d] x) => (float[1, 3, d, d] y) { y = Relu(x) }")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "model.onnx")
    engine = ["--python", ENGINES, "--compute-capability", "8.9", "--shapes"]
    assert vernier("inspect", "engine", "model.onnx", *engine, "x:[1,3,8,8]", folder=tmp_path).returncode == 0
    done = vernier("inspect", "engine", "model.onnx", *engine, "x:[1,3,8,16]", folder=tmp_path)
    assert done.returncode == 4 and "the name 'd' stands for 8 at axis 2 of input 'x' and for 16 at axis 3" in done.stderr
    # What it advises helps.
    vernier("surgeon", "sanitize", "model.onnx", "--override-input-shapes", "x:[1,3,8,16]", "-o", "fixed.onnx", folder=tmp_path)
    assert vernier("inspect", "engine", "fixed.onnx", *engine[:-1], folder=tmp_path).returncode == 0
