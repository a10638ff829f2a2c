"""Networks that the tests make themselves, and the digits network of examples/."""
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "build/release/python"))  # where PYTHONPATH names no other

DIGITS = ROOT / "examples/digits"


def network(seed=0, spread=1000.0):
    """Two convolutions and a Gemm; one channel of the second is `spread` times the others, which int8 cannot hold."""
    random = np.random.default_rng(seed)
    first = random.normal(0, 0.4, (8, 3, 3, 3)).astype(np.float32)
    first[3] *= spread
    second = random.normal(0, 0.2, (8, 8, 3, 3)).astype(np.float32)
    second[:, 3] /= spread
    last = random.normal(0, 0.1, (10, 8 * 8 * 8)).astype(np.float32)
    weights = {"w1": first, "w2": second, "w3": last, "b3": np.zeros(10, np.float32)}
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["image", "w1"], ["c1"], name="first", pads=[1] * 4),
            helper.make_node("Relu", ["c1"], ["r1"], name="relu"),
            helper.make_node("Conv", ["r1", "w2"], ["c2"], name="second", pads=[1] * 4),
            helper.make_node("Flatten", ["c2"], ["f"], name="flat"),
            helper.make_node("Gemm", ["f", "w3", "b3"], ["scores"], name="last", transB=1),
        ],
        "made",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="session")
def model():
    return network()


@pytest.fixture(scope="session")
def images():
    return np.random.default_rng(7).normal(0, 1, (12, 1, 3, 8, 8)).astype(np.float32)


@pytest.fixture(scope="session")
def digits():
    with np.load(DIGITS / "test.npz") as arrays:
        samples = {name: arrays[name] for name in arrays}
    return str(DIGITS / "digits.onnx"), samples, np.load(DIGITS / "test_labels.npy")


@pytest.fixture
def written(tmp_path, model, images):
    onnx.save(model, tmp_path / "made.onnx")
    np.savez(tmp_path / "samples.npz", image=images)
    return tmp_path / "made.onnx", tmp_path / "samples.npz"
