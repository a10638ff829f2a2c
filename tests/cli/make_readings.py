"""make_readings.py FOLDER: networks whose inputs are right, in forms that look wrong: enlarged pictures for a network with a
BatchNormalization behind edges, and a classifier that is surer of larger values, as all are."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE = 32


def pictures(rng, count, enlarged=1):
    """Fields of 2 x 2 pixels, 0..1, grey with a little colour; enlarged, they are larger, with soft ends."""
    side = SIZE // 2 // enlarged + 2
    coarse = rng.uniform(0, 1, (count, 1, side, side)) + rng.normal(0, 0.05, (count, 3, side, side))
    at = (np.arange(SIZE) + 0.5) / (2 * enlarged)
    if enlarged == 1:
        at = np.floor(at)
    low = np.floor(at).astype(int)
    part = at - low
    rows = coarse[:, :, low] * (1 - part)[:, None] + coarse[:, :, low + 1] * part[:, None]
    return np.clip(rows[..., low] * (1 - part) + rows[..., low + 1] * part, 0, 1).astype(np.float32)


def save(path, nodes, tensors, kind, shape, out):
    graph = helper.make_graph(nodes, "readings", [helper.make_tensor_value_info("x", kind, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
                              [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in tensors.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def convolved(x, weight):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return np.einsum("ncyxij,ocij->noyx", windows, weight, optimize=True)


def edges(folder, rng, scale):
    """Trained on 0..1 or, with `scale` 255, on 0..255, divided by the network itself."""
    weight = rng.normal(0, 0.4, (8, 3, 3, 3))
    weight -= weight.mean((2, 3), keepdims=True)  # edges: a mean of the picture makes nothing
    seen = convolved(pictures(rng, 40), weight)
    nodes = [helper.make_node("Conv", ["d" if scale > 1 else "x", "w"], ["c"], "conv"),
             helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"], "norm"), helper.make_node("Relu", ["n"], ["y"], "relu")]
    if scale > 1:
        nodes.insert(0, helper.make_node("Div", ["x", "scale"], ["d"], "scaled"))
    tensors = {"w": weight, "s": np.ones(8), "b": np.zeros(8), "m": seen.mean((0, 2, 3)), "v": seen.var((0, 2, 3))}
    if scale > 1:
        tensors["scale"] = scale
    save(folder / f"edges_{scale}.onnx", nodes, tensors, TensorProto.FLOAT, ["n", 3, "h", "w"], ["n", 8, None, None])


def classifier(folder, rng, kind):
    nodes = [helper.make_node("Conv", ["f", "w", "b"], ["c"], "conv"), helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"), helper.make_node("Flatten", ["p"], ["q"], "flat"),
             helper.make_node("MatMul", ["q", "classes"], ["l"], "classify"), helper.make_node("Softmax", ["l"], ["y"], "softmax", axis=1)]
    nodes.insert(0, helper.make_node("Cast", ["x"], ["f"], "cast", to=TensorProto.FLOAT))
    tensors = {"w": rng.normal(0, 0.3, (16, 3, 3, 3)), "b": rng.normal(0, 0.05, 16), "classes": rng.normal(0, 1.5, (16, 10))}
    save(folder / f"classes_{'bytes' if kind == TensorProto.UINT8 else 'floats'}.onnx", nodes, tensors, kind, ["n", 3, "h", "w"], ["n", 10])


def main():
    folder, rng = pathlib.Path(sys.argv[1]), np.random.default_rng(11)
    for scale in (1, 255):
        edges(folder, rng, scale)
    for kind in (TensorProto.FLOAT, TensorProto.UINT8):
        classifier(folder, rng, kind)
    save(folder / "vector.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], {"w": rng.normal(0, 1, (64, 8))},
         TensorProto.FLOAT, [1, 64], [1, 8])
    unit = pictures(rng, 12)
    samples = {"unit": unit, "large": pictures(rng, 12, 4), "pixels": np.round(255 * unit), "large_pixels": np.round(255 * pictures(rng, 12, 4)),
               "bytes": np.round(255 * unit).astype(np.uint8), "zeros": 0 * unit, "zero_bytes": (0 * unit).astype(np.uint8)}
    for name, value in samples.items():
        np.savez(folder / f"{name}.npz", x=value[:, None])
    np.savez(folder / "zero_vectors.npz", x=np.zeros((8, 1, 64), np.float32))


if __name__ == "__main__":
    main()
