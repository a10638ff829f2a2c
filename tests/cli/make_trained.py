"""make_trained.py FOLDER: a network with a BatchNormalization whose statistics were taken on images, and its inputs as
they should be and in the usual wrong ways."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MEAN = np.array([0.485, 0.456, 0.406]).reshape(3, 1, 1)
DEVIATION = np.array([0.229, 0.224, 0.225]).reshape(3, 1, 1)


def images(rng, n):
    """Smooth pictures, 0..1, with more red than blue, as photographs have."""
    coarse = rng.uniform(0, 1, (n, 3, 4, 4)) * np.array([1.0, 0.8, 0.5]).reshape(3, 1, 1)
    return np.clip(coarse.repeat(6, 2).repeat(6, 3) + rng.normal(0, 0.02, (n, 3, 24, 24)), 0, 1)


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(7)
    weight = rng.normal(0, 0.4, (8, 3, 3, 3)).astype(np.float32)

    def conv(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        return np.einsum("ncyxij,ocij->noyx", windows, weight, optimize=True)

    seen = conv((images(rng, 40) - MEAN) / DEVIATION)
    tensors = {"w": weight, "s": np.ones(8, np.float32), "b": np.zeros(8, np.float32),
               "m": seen.mean((0, 2, 3)).astype(np.float32), "v": seen.var((0, 2, 3)).astype(np.float32)}
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["c"], "conv"),
         helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm"),
         helper.make_node("Relu", ["n"], ["y"], "relu")],
        "trained", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 24, 24])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 22, 22])],
        [numpy_helper.from_array(value, name) for name, value in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "norm.onnx")
    # As some exporters write it: no initializers, every weight a node.
    nodes = [helper.make_node("Constant", [], [name], f"Constant_{name}", value=numpy_helper.from_array(value, name))
             for name, value in tensors.items()]
    graph = helper.make_graph([*nodes, *graph.node], "constants", graph.input, graph.output)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "constants.onnx")

    unit = images(rng, 12)
    right = (unit - MEAN) / DEVIATION
    wrong = {"right": right, "unit": unit, "bytes_bgr": 255 * unit[:, ::-1],
             "other_layout": right.transpose(0, 2, 3, 1).reshape(right.shape),
             "mixed": np.concatenate([right[:6], right[6:, ::-1]]),
             "noise": rng.normal(0, 40, right.shape)}
    for name, value in wrong.items():
        np.savez(folder / f"{name}.npz", x=value[:, None].astype(np.float32))


if __name__ == "__main__":
    main()
