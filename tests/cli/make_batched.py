"""Networks whose stored weights ask for care: a MatMul weight of three dimensions, and a bias that does not fit into int32."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(41)


def save(name, nodes, inputs, outputs, constants):
    def infos(rows):
        return [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, shape) for tensor, shape in rows]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, name)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], name=output, **attributes)


# Two products in a row: the first result goes to codes.
w, v = rng.normal(0, 0.3, (2, 16, 16)).astype(np.float32), rng.normal(0, 0.3, (16, 8)).astype(np.float32)
X, Y = [("x", [2, 5, 16])], [("y", [2, 5, 8])]
save("batched.onnx", [node("MatMul", ["x", "w"], "m"), node("MatMul", ["m", "v"], "y")], X, Y, {"w": w, "v": v})
np.savez("batched.npz", x=rng.normal(0, 1, (8, 2, 5, 16)).astype(np.float32))

# The form that ONNX Runtime loads and refuses to run.
scale = (np.abs(w).max((0, 1)) / 127).astype(np.float32)
codes = np.round(w / scale).astype(np.int8)
save("refused.onnx", [node("QuantizeLinear", ["x", "s", "z"], "q"), node("DequantizeLinear", ["q", "s", "z"], "d"),
                      node("DequantizeLinear", ["c", "ws", "wz"], "wd", axis=2), node("MatMul", ["d", "wd"], "y")], X, [("y", [2, 5, 16])],
     {"c": codes, "ws": scale, "wz": np.zeros(16, np.int8), "s": np.float32(0.03), "z": np.int8(0)})

# Channel 1 has weights near zero, hence a scale that its bias is 2.3e13 steps of.
w = rng.normal(0, 0.3, (4, 3, 3, 3)).astype(np.float32)
w[1] *= 1e-9
b = np.array([0.1, 5, -0.2, 0.3], np.float32)
X, Y = [("x", [1, 3, 8, 8])], [("y", [1, 4, 8, 8])]
save("bias.onnx", [node("Conv", ["x", "w", "b"], "y", pads=[1] * 4)], X, Y, {"w": w, "b": b})
np.savez("bias.npz", x=rng.normal(0, 1, (8, 1, 3, 8, 8)).astype(np.float32))
s, ws = np.float32(0.03), np.array([0.007, 3.333333e-12, 0.007, 0.007], np.float32)
bs = s * ws
stored = np.clip(np.round(b.astype(np.float64) / bs), -2**31, 2**31 - 1).astype(np.int32)
save("clipped.onnx", [node("QuantizeLinear", ["x", "s", "z"], "q"), node("DequantizeLinear", ["q", "s", "z"], "d"),
                      node("DequantizeLinear", ["wq", "ws", "wz"], "wd", axis=0), node("DequantizeLinear", ["bq", "bs"], "bias", axis=0),
                      node("Conv", ["d", "wd", "bias"], "y", pads=[1] * 4)], X, Y,
     {"s": s, "z": np.int8(0), "wq": np.clip(np.round(w / ws.reshape(-1, 1, 1, 1)), -127, 127).astype(np.int8), "ws": ws, "wz": np.zeros(4, np.int8),
      "bq": stored, "bs": bs})
