"""OpenVINO itself, on the CPU: what `verify --on`, `run --openvino`, `inspect engine` and `--compile` say of it. Needs
`scripts/bootstrap --with tensorrt-rtx,openvino`; in CI it must be there."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from compiler import ENGINES

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import networks  # noqa: E402

PROGRAM = os.environ["VERNIER_PROGRAM"]
if not networks.SHARED.exists():
    if os.environ.get("CI"):
        raise RuntimeError("no shared networks")
    pytest.skip("no shared networks: nothing to run on OpenVINO", allow_module_level=True)
NETWORKS = ["dtln-part2", "espcn-superres", "resnet8-cifar", "stories260k", "vit-cifar"]


def vernier(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments), "--python", ENGINES], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("inputs")


def worst(figures):
    return min(float(output["sqnr_db"]) for output in figures["outputs"])


@pytest.mark.parametrize("network", NETWORKS)
def test_the_engine_gives_what_is_simulated(network, data, tmp_path):
    model, samples = networks.model_file(network), networks.make(data, network, 4)
    carries = [word for carry in networks.CARRIES.get(network, []) for word in ("--carry", carry)]
    vernier("convert", model, "--int8", "--target", "openvino", "--data", samples, "-o", tmp_path / "int8.onnx", "-qq")
    on = ["--data", samples, *carries, "--on", "openvino", "--inference-precision", "f32", "--json"]
    plain = json.loads(vernier("verify", model, model, *on).stdout)["engine"]
    assert plain["engine"].startswith("OpenVINO ") and worst(plain["figures"]) > 80
    report = json.loads(vernier("verify", model, tmp_path / "int8.onnx", *on).stdout)
    assert abs(worst(report["engine"]["figures"]) - worst(report["figures"])) < 1.5
    layers = {layer["name"]: layer["propagated_sqnr_db"] for layer in report["layers"]}
    assert len(report["engine"]["layers"]) > 0.8 * len(layers)
    distances = sorted(abs(float(layer["sqnr_db"]) - float(layers[layer["name"]])) for layer in report["engine"]["layers"])
    assert distances[len(distances) // 2] < 0.5, "half of the layers are as simulated"


def test_inspect_engine_lists_its_kernels(data, tmp_path):
    samples, typed = networks.make(data, "resnet8-cifar", 4), tmp_path / "int8.onnx"
    said = json.loads(vernier("convert", networks.model_file("resnet8-cifar"), "--int8", "--target", "openvino", "--data", samples, "-o", typed,
                              "--compile", "--json", "-qq").stdout)
    assert said["compiled"]["engine"]["name"] == "OpenVINO"
    report = json.loads(vernier("inspect", "engine", typed, "--engine", "openvino", "--json").stdout)
    kernels = {kernel["name"]: kernel for kernel in report["kernels"]}
    convolutions = [layer for layer in report["layers"] if layer["operator"] == "Conv"]
    on_codes = [layer for layer in convolutions if "uint8" in layer["reads"]]
    assert len(on_codes) >= len(convolutions) - 2, "its convolutions run on codes, but the first may not"
    assert any(kernel["kind"] == "Convolution" for kernel in kernels.values())
    assert kernels == {kernel["name"]: kernel for kernel in said["compiled"]["kernels"]}


def test_what_it_refuses_is_told_in_its_words(data):
    samples = networks.make(data, "silero-vad-16k", 1)
    done = vernier("run", networks.model_file("silero-vad-16k"), "--openvino", "--data", samples, code=4)
    assert "its reader refuses the file" in done.stderr and "Traceback" not in done.stderr
    done = vernier("run", networks.model_file("resnet8-cifar"), "--openvino", "NPU", "--samples", "1", code=4)
    assert "it has no device 'NPU'" in done.stderr
    done = vernier("run", networks.model_file("resnet8-cifar"), "--openvino", "--pool-limit", "workspace:1G", "--samples", "1", code=4)
    assert "--pool-limit: it is not told that" in done.stderr
