"""Small networks whose neighbouring products add up, with pairs wherever a test wants them: what kernels for uint8 data and int8 weights do
to their sums on a CPU without VNNI."""
import pathlib
import platform

import numpy as np
import onnx
from onnx import helper, numpy_helper

F = onnx.TensorProto.FLOAT
VNNI = any(flag in pathlib.Path("/proc/cpuinfo").read_text() for flag in ("avx512_vnni", "avx_vnni", "amx_int8"))
SATURATES = platform.machine() == "x86_64" and not VNNI
rng = np.random.default_rng(23)


def weight(*shape, scale=1.0):
    """Of one sign, so that neighbouring products add up."""
    return (np.abs(rng.normal(0.5, 0.1, shape)) * scale).astype(np.float32)


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs, [output], name=output, **attributes)


def model_of(nodes, constants, shape, outputs):
    used = {name for each in nodes for name in each.input}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", F, shape)], [helper.make_tensor_value_info(y, F, None) for y in outputs],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items() if name in used])
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def grid(values, data):
    """Scale and zero point that hold all values."""
    low, high = min(0, values.min()), max(0, values.max())
    if data == "int8":
        return np.float32(max(-low, high) / 127), np.int8(0)
    scale = np.float32((high - low) / 255)
    zero = round(-low / scale)
    return scale, np.uint8(zero) if data == "uint8" else np.int8(zero - 128)


def quantized(nodes, constants, grids, bias="float", per_channel=True, apart=None):
    """The nodes with a pair at each tensor of `grids`, and int8 weights. A second reader of a tensor has its own DequantizeLinear with `apart`
    "dequantizer", its own pair with "pair".
    """
    made, held, read, readers = [], dict(constants), {}, {}

    def pair(tensor, name, stored=None):
        held[tensor + "_s"], held[tensor + "_z"] = grids[tensor]
        codes = stored or name + "_q"
        if not stored:
            made.append(node("QuantizeLinear", [tensor, tensor + "_s", tensor + "_z"], codes))
        made.append(node("DequantizeLinear", [codes, tensor + "_s", tensor + "_z"], name))
        read[tensor] = name

    if "x" in grids:
        pair("x", "x_d")
    for each in nodes:
        inputs = list(each.input)
        if each.op_type in ("Conv", "Gemm", "MatMul") and inputs[1] in constants:
            name, values = inputs[1], constants[inputs[1]]
            by_rows = each.op_type == "Conv" or any(a.name == "transB" and a.i for a in each.attribute)
            axis = 0 if by_rows else values.ndim - 1
            most = values.max(tuple(i for i in range(values.ndim) if i != axis)) if per_channel else values.max()
            steps = np.asarray(most / 127, np.float32)
            spread = steps.reshape([-1 if i == axis else 1 for i in range(values.ndim)]) if per_channel else steps
            held |= {name + "_c": np.rint(values / spread).astype(np.int8), name + "_s": steps, name + "_z": np.zeros(steps.shape, np.int8)}
            if name + "_d" not in {output for other in made for output in other.output}:
                made.append(node("DequantizeLinear", [name + "_c", name + "_s", name + "_z"], name + "_d", **({"axis": axis} if per_channel else {})))
            inputs[1] = name + "_d"
            if bias == "int32" and len(inputs) > 2:
                alpha = next((a.f for a in each.attribute if a.name == "alpha"), 1)
                scale = np.asarray(grids[each.input[0]][0] * steps * alpha, np.float32)
                held |= {"b_c": np.rint(constants[inputs[2]] / scale).astype(np.int32), "b_s": scale}
                made.append(node("DequantizeLinear", ["b_c", "b_s"], "b_d", **({"axis": 0} if per_channel else {})))
                inputs[2] = "b_d"
        for k, name in enumerate(inputs):
            readers[name] = readers.get(name, 0) + 1
            if apart and name in grids and readers[name] > 1:
                pair(name, f"{name}_again", stored=f"{name}_d_q" if apart == "dequantizer" else None)
            inputs[k] = read.get(name, name)
        made.append(helper.make_node(each.op_type, inputs, each.output, name=each.name))
        made[-1].attribute.extend(each.attribute)
        if each.output[0] in grids:
            pair(each.output[0], each.output[0] + "_d")
    return made, held, read
