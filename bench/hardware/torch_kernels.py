"""Runs a typed ONNX file node by node with PyTorch's kernels on a GPU, each node in the type that the file says.

Only for holding simulated figures against hardware (compare.py beside this file): no fusion, no planning, slow. Convolutions
and products of FP8 or INT8 codes run as real FP8 or INT8 matrix products (im2col, torch._scaled_mm, torch._int_mm), all but
grouped ones, whose codes are exact in the float32 that they are computed in. Operators that only move or make values, and rare
ones, are computed by onnx.reference in float32 and rounded to their type once.
"""
import numpy as np
import onnx
import onnx.numpy_helper
import torch
import torch.nn.functional as F
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

TYPES = {TensorProto.FLOAT: torch.float32, TensorProto.FLOAT16: torch.float16, TensorProto.BFLOAT16: torch.bfloat16,
         TensorProto.INT64: torch.int64, TensorProto.INT32: torch.int32, TensorProto.BOOL: torch.bool,
         TensorProto.INT8: torch.int8, TensorProto.UINT8: torch.uint8, TensorProto.DOUBLE: torch.float64,
         TensorProto.FLOAT8E4M3FN: torch.float8_e4m3fn}
FLOATS = (torch.float32, torch.float16, torch.bfloat16)


class Codes:
    """What a DequantizeLinear stands for, before anyone needs it as numbers."""

    def __init__(self, codes, scale, axis):
        self.codes, self.scale, self.axis = codes, scale, axis

    def values(self):
        scale = self.scale
        if scale.ndim == 1 and scale.numel() > 1:
            scale = scale.reshape([-1 if i == self.axis % self.codes.ndim else 1 for i in range(self.codes.ndim)])
        return self.codes.to(torch.float32).mul(scale.to(torch.float32)).to(self.scale.dtype)

    def matrix_scale(self):
        return self.scale.to(torch.float32).reshape(-1)


def from_proto(tensor, device):
    array = onnx.numpy_helper.to_array(tensor)
    if tensor.data_type == TensorProto.BFLOAT16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16).to(device)
    if tensor.data_type == TensorProto.FLOAT8E4M3FN:
        return torch.from_numpy(array.view(np.uint8).copy()).view(torch.float8_e4m3fn).to(device)
    return torch.from_numpy(np.array(array)).to(device)


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def pads_of(at, shape, kernel, strides, dilations):
    rank = len(kernel)
    auto = at.get("auto_pad", b"NOTSET").decode()
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = [0] * (2 * rank)
        for i in range(rank):
            size = max((-(-shape[i] // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - shape[i], 0)
            small, large = size // 2, size - size // 2
            pads[i], pads[rank + i] = (small, large) if auto == "SAME_UPPER" else (large, small)
        return pads
    return list(at.get("pads", [0] * (2 * rank)))


def padded(x, pads, value=0.0):
    rank = len(pads) // 2
    flat = []
    for i in reversed(range(rank)):
        flat += [pads[i], pads[rank + i]]
    return F.pad(x, flat, value=value) if any(flat) else x


def grown(matrix, rows, columns):
    return F.pad(matrix.view(torch.int8), (0, -matrix.shape[1] % columns, 0, -matrix.shape[0] % rows)).view(matrix.dtype)


def product(a, b):
    """Codes [M,K] times codes [N,K] transposed, in float32: a real FP8 or INT8 matrix product."""
    m, n = a.shape[0], b.shape[0]
    a, b = grown(a.contiguous(), 32, 16), grown(b.contiguous(), 16, 16)
    if a.dtype == torch.int8:
        return torch._int_mm(a, b.t())[:m, :n].to(torch.float32)
    one = torch.ones((), device=a.device)
    return torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.float32)[:m, :n]


class Kernels:
    """`rounded`: each node in float32, its result rounded to the type of its inputs once, as the simulation defines it."""

    def __init__(self, model, device, rounded=False):
        self.model, self.device, self.rounded = model, device, rounded
        self.opset = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
        self.constants = {t.name: from_proto(t, device) for t in model.graph.initializer}
        self.matrix_products = {"float8": 0, "int8": 0}

    def run(self, feeds):
        values = dict(self.constants)
        values[""] = None
        for name, array in feeds.items():
            values[name] = torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
        for info in self.model.graph.input:
            if info.name in values and info.type.tensor_type.elem_type in TYPES:
                values[info.name] = values[info.name].to(TYPES[info.type.tensor_type.elem_type])
        for node in self.model.graph.node:
            self.step(node, values)
        return {o.name: number(values[o.name]).to(torch.float64).cpu().numpy() for o in self.model.graph.output}

    def step(self, node, values):
        given = [values[name] for name in node.input]
        at = attributes(node)
        if node.op_type in ("Conv", "Gemm", "MatMul") and len(given) > 1 and all(isinstance(g, Codes) for g in given[:2]):
            result = self.low_product(node.op_type, given, at)
            if result is not None:
                values[node.output[0]] = result
                return
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            values[node.output[0]] = getattr(self, node.op_type)(at, *given)
            return
        given = [number(g) for g in given]
        kernel = getattr(self, node.op_type, None)
        first = next((g for g in given if g is not None), None)
        if kernel is not None and first is not None and first.dtype in FLOATS:
            results = self.computed(kernel, node.op_type, at, given, first.dtype)
        else:
            results = self.by_reference(node, given)
        for name, result in zip(node.output, results if isinstance(results, (tuple, list)) else [results]):
            values[name] = result

    def computed(self, kernel, op_type, at, given, kind):
        if not self.rounded or op_type == "Cast":
            return kernel(at, *given)
        wide = [g.to(torch.float32) if g is not None and g.dtype in FLOATS else g for g in given]
        return kernel(at, *wide).to(kind)

    # Codes

    def QuantizeLinear(self, at, x, scale, zero=None):
        kind = zero.dtype if zero is not None else TYPES[at["output_dtype"]]
        x = number(x).to(torch.float32)
        scale = scale.to(torch.float32)
        if scale.ndim == 1 and scale.numel() > 1:
            scale = scale.reshape([-1 if i == at.get("axis", 1) % x.ndim else 1 for i in range(x.ndim)])
        scaled = x / scale
        if kind == torch.float8_e4m3fn:
            return scaled.clamp(-448, 448).to(kind)
        limits = torch.iinfo(kind)
        return (torch.round(scaled) + zero.to(torch.float32)).clamp(limits.min, limits.max).to(kind)

    def DequantizeLinear(self, at, codes, scale, zero=None):
        if zero is not None and zero.dtype in (torch.int8, torch.uint8) and bool((zero != 0).any()):
            codes, zero = codes.to(torch.int32), zero.to(torch.int32)
            if zero.numel() > 1:
                zero = zero.reshape([-1 if i == at.get("axis", 1) % codes.ndim else 1 for i in range(codes.ndim)])
            codes = codes - zero
        return Codes(codes, scale, at.get("axis", 1))

    def low_product(self, op, given, at):
        x, w = given[:2]
        kinds = {x.codes.dtype, w.codes.dtype}
        if kinds not in ({torch.float8_e4m3fn}, {torch.int8}) or x.scale.numel() != 1:
            return None
        bias = number(given[2]) if len(given) > 2 and given[2] is not None else None
        if op == "Conv":
            if at.get("group", 1) != 1 or x.codes.ndim != 4:
                return None
            kernel = list(w.codes.shape[2:])
            strides, dilations = at.get("strides", [1, 1]), at.get("dilations", [1, 1])
            pads = pads_of(at, x.codes.shape[2:], kernel, strides, dilations)
            # Codes of either kind are exact in float16, so that unfold can move them.
            image = padded(x.codes.to(torch.float16), pads)
            columns = F.unfold(image, kernel, dilation=tuple(dilations), stride=tuple(strides))
            batch, _, places = columns.shape
            size = [(image.shape[2 + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(2)]
            left = columns.transpose(1, 2).reshape(batch * places, -1).to(x.codes.dtype)
            result = product(left, w.codes.reshape(w.codes.shape[0], -1))
            result = result * x.scale.to(torch.float32) * w.matrix_scale()
            if bias is not None:
                result = result + bias.to(torch.float32)
            result = result.reshape(batch, places, -1).transpose(1, 2).reshape(batch, -1, *size)
        else:
            right = w.codes if op == "Gemm" and at.get("transB", 0) else w.codes.transpose(-1, -2)
            if right.ndim != 2 or at.get("transA", 0) or at.get("alpha", 1.0) != 1.0:
                return None
            left = x.codes.reshape(-1, x.codes.shape[-1])
            result = product(left, right) * x.scale.to(torch.float32) * w.matrix_scale()
            result = result.reshape(*x.codes.shape[:-1], -1)
            if bias is not None:
                result = result + bias.to(torch.float32) * at.get("beta", 1.0)
        self.matrix_products["int8" if x.codes.dtype == torch.int8 else "float8"] += 1
        return result.to(x.scale.dtype)

    # Arithmetic, in the type of the inputs

    def Conv(self, at, x, w, b=None):
        rank = x.ndim - 2
        strides, dilations = at.get("strides", [1] * rank), at.get("dilations", [1] * rank)
        x = padded(x, pads_of(at, x.shape[2:], list(w.shape[2:]), strides, dilations))
        convolve = F.conv1d if rank == 1 else F.conv2d
        return convolve(x, w, b, stride=tuple(strides), dilation=tuple(dilations), groups=at.get("group", 1))

    def ConvTranspose(self, at, x, w, b=None):
        pads, strides = at.get("pads", [0, 0, 0, 0]), at.get("strides", [1, 1])
        more = at.get("output_padding", [0, 0])
        if "output_shape" in at:
            more = [at["output_shape"][i] - strides[i] * (x.shape[2 + i] - 1) - w.shape[2 + i] for i in range(2)]
        y = F.conv_transpose2d(x, w, b, stride=tuple(strides), groups=at.get("group", 1), output_padding=tuple(more),
                               dilation=tuple(at.get("dilations", [1, 1])))
        return y[:, :, pads[0]:y.shape[2] - pads[2], pads[1]:y.shape[3] - pads[3]]

    def Gemm(self, at, a, b, c=None):
        a = a.t() if at.get("transA", 0) else a
        b = b.t() if at.get("transB", 0) else b
        y = torch.matmul(a, b) * at.get("alpha", 1.0)
        return y if c is None else y + c * at.get("beta", 1.0)

    def MatMul(self, at, a, b):
        return torch.matmul(a, b)

    def BatchNormalization(self, at, x, scale, bias, mean, var):
        return F.batch_norm(x, mean, var, scale, bias, False, 0.0, at.get("epsilon", 1e-5))

    def InstanceNormalization(self, at, x, scale, bias):
        return F.instance_norm(x, weight=scale, bias=bias, eps=at.get("epsilon", 1e-5))

    def Add(self, at, a, b): return a + b
    def Sub(self, at, a, b): return a - b
    def Mul(self, at, a, b): return a * b
    def Div(self, at, a, b): return a / b
    def Pow(self, at, a, b): return torch.pow(a, b.to(a.dtype))
    def Relu(self, at, x): return torch.relu(x)
    def Sigmoid(self, at, x): return torch.sigmoid(x)
    def Tanh(self, at, x): return torch.tanh(x)
    def Sqrt(self, at, x): return torch.sqrt(x)
    def Exp(self, at, x): return torch.exp(x)
    def Erf(self, at, x): return torch.erf(x)
    def Identity(self, at, x): return x
    def Dropout(self, at, x, *_): return x
    def Softmax(self, at, x): return torch.softmax(x, at.get("axis", -1 if self.opset >= 13 else 1))
    def Cast(self, at, x): return x.to(TYPES[at["to"]])

    def Clip(self, at, x, low=None, high=None):
        low = at.get("min") if low is None else low.to(x.dtype)
        high = at.get("max") if high is None else high.to(x.dtype)
        return torch.clamp(x, low, high)

    def HardSigmoid(self, at, x):
        return torch.clamp(x * at.get("alpha", 0.2) + at.get("beta", 0.5), 0, 1)

    def ReduceMean(self, at, x, axes=None):
        axes = at.get("axes") if axes is None else axes.cpu().tolist()
        return x.mean(dim=axes, keepdim=bool(at.get("keepdims", 1)))

    def GlobalAveragePool(self, at, x):
        return x.mean(dim=list(range(2, x.ndim)), keepdim=True)

    def AveragePool(self, at, x):
        pads = at.get("pads", [0, 0, 0, 0])
        if at.get("auto_pad", b"NOTSET") != b"NOTSET" or pads[:2] != pads[2:]:
            raise NotImplementedError("AveragePool with uneven padding")
        return F.avg_pool2d(x, at["kernel_shape"], at.get("strides", [1, 1]), pads[:2], bool(at.get("ceil_mode", 0)),
                            bool(at.get("count_include_pad", 0)))

    def by_reference(self, node, given):
        """In float32 on the CPU, by onnx.reference; floats come back in the type of the first float input."""
        kind = next((g.dtype for g in given if g is not None and g.dtype in FLOATS), torch.float32)
        arrays = {}
        for name, value in zip(node.input, given):
            if value is not None:
                arrays[name] = (value.to(torch.float32) if value.dtype in FLOATS else value).cpu().numpy()
        infos = [onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in arrays.items()]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "one", infos, outputs)
        one = onnx.helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)
        results = []
        for array in ReferenceEvaluator(one).run(None, arrays):
            tensor = torch.from_numpy(np.array(array)).to(self.device)
            is_float = node.input and tensor.dtype in FLOATS + (torch.float64,)
            results.append(tensor.to(kind) if is_float else tensor)
        return results


def number(value):
    return value.values() if isinstance(value, Codes) else value
