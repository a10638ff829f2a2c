# The network that a script sees: the layers of a model as TensorRT would list them, with the two things that can be set.
# What else scripts do to a network is taken, and said to have no effect (_without_effect). It knows no file: the program that started this one reads models and describes them, in JSON:
#
#   {"name": ..., "inputs": [tensor, ...], "outputs": [tensor, ...], "tensors": {tensor: [dtype, shape | null]},
#    "layers": [{"name": ..., "op": ..., "inputs": [...], "outputs": [...], "path": on the float data path,
#                "precision": format | null, "types": {output: format}}]}
import enum


class Named(enum.Enum):
    def __int__(self):
        return self.value

    def __index__(self):
        return self.value

    def __str__(self):
        return "{}.{}".format(type(self).__name__, self.name)


DataType = Named("DataType", {"FLOAT": 0, "HALF": 1, "INT8": 2, "INT32": 3, "BOOL": 4, "UINT8": 5, "FP8": 6, "BF16": 7,
                              "INT64": 8, "INT4": 9, "FP4": 10, "E8M0": 11})

# Names of ours and of ONNX, of TensorRT.
DTYPES = {"float32": "FLOAT", "float16": "HALF", "bfloat16": "BF16", "int8": "INT8", "uint8": "UINT8",
          "float8e4m3fn": "FP8", "int32": "INT32", "int64": "INT64", "bool": "BOOL", "int4": "INT4"}
FORMATS = {"FLOAT": "float32", "HALF": "float16", "BF16": "bfloat16", "INT8": "int8", "UINT8": "uint8",
           "FP8": "float8e4m3fn"}

TYPES = {
    "CONVOLUTION": "Conv",
    "DECONVOLUTION": "ConvTranspose",
    "MATRIX_MULTIPLY": "MatMul Gemm",
    "EINSUM": "Einsum",
    "ELEMENTWISE": "Add Sub Mul Div Pow Mod Min Max Sum Mean And Or Xor Equal Greater Less GreaterOrEqual LessOrEqual",
    "ACTIVATION": "Relu LeakyRelu Sigmoid Tanh Elu Selu Celu Softplus Softsign Clip HardSigmoid HardSwish "
                  "ThresholdedRelu Gelu Mish Swish",
    "PARAMETRIC_RELU": "PRelu",
    "SOFTMAX": "Softmax LogSoftmax Hardmax",
    "NORMALIZATION": "LayerNormalization InstanceNormalization GroupNormalization RMSNormalization",
    "SCALE": "BatchNormalization",
    "LRN": "LRN",
    "POOLING": "MaxPool AveragePool LpPool",
    "REDUCE": "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
              "ReduceSumSquare GlobalAveragePool GlobalMaxPool GlobalLpPool",
    "UNARY": "Exp Log Sqrt Reciprocal Abs Neg Sin Cos Tan Sinh Cosh Asin Acos Atan Asinh Acosh Atanh Ceil Floor Round "
             "Erf Not Sign IsNaN IsInf",
    "SHUFFLE": "Reshape Transpose Flatten Squeeze Unsqueeze DepthToSpace SpaceToDepth",
    "CONCATENATION": "Concat",
    "SLICE": "Slice Split Pad Tile Expand",
    "GATHER": "Gather GatherElements GatherND",
    "SCATTER": "Scatter ScatterElements ScatterND",
    "RESIZE": "Resize Upsample",
    "GRID_SAMPLE": "GridSample",
    "TOPK": "TopK ArgMax ArgMin",
    "SELECT": "Where",
    "IDENTITY": "Identity Dropout",
    "CAST": "Cast CastLike",
    "CONSTANT": "Constant",
    "FILL": "ConstantOfShape Range RandomNormal RandomUniform EyeLike",
    "SHAPE": "Shape Size",
    "QUANTIZE": "QuantizeLinear",
    "DEQUANTIZE": "DequantizeLinear",
    "DYNAMIC_QUANTIZE": "DynamicQuantizeLinear",
    "ONE_HOT": "OneHot",
    "NON_ZERO": "NonZero",
    "NMS": "NonMaxSuppression",
    "CUMULATIVE": "CumSum",
    "REVERSE_SEQUENCE": "ReverseSequence",
    "RECURRENCE": "LSTM GRU RNN",
    "CONDITION": "If",
    "TRIP_LIMIT": "Loop Scan",
}
TYPE_OF = {operator: name for name, operators in TYPES.items() for operator in operators.split()}
LayerType = Named("LayerType", list(TYPES) + ["ITERATOR", "LOOP_OUTPUT", "PLUGIN", "PLUGIN_V2", "PLUGIN_V3",
                                              "UNKNOWN"], start=0)


def member(kind, name):
    """Of the TensorRT that the script compares with: the installed one where there is one."""
    there = getattr(sys.modules.get("tensorrt"), kind.__name__, kind)
    return getattr(there, name, None) or kind[name]


def listed(what, names):
    return "the stand-in for {} that vernier gives to scripts has: {}".format(what, ", ".join(names))


class StandIn:
    """Says of what it lacks what it has."""
    WHAT = ""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError("'{}' is not there: {}".format(name, listed(self.WHAT, sorted(
            each for each in dir(type(self)) if not each.startswith("_") and each != "WHAT"))))

    def __setattr__(self, name, value):
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        elif isinstance(getattr(type(self), name, None), property) and getattr(type(self), name).fset:
            getattr(type(self), name).fset(self, value)
        else:
            raise AttributeError("'{}' cannot be set: of a network, scripts can set layer.precision and "
                                 "layer.set_output_type(index, dtype)".format(name))

    def __repr__(self):
        return "<{} {!r}>".format(self.WHAT, getattr(self, "_name", ""))


def format_of(dtype, what):
    name = getattr(dtype, "name", None)
    if name in FORMATS:
        return FORMATS[name]
    if name in DataType.__members__:
        raise TypeError("{}: {} is no format that layers run in here: {}".format(
            what, name, ", ".join("trt." + each for each in FORMATS)))
    raise TypeError("{}: {!r} is no trt.DataType: trt.float32, for example".format(what, dtype))


class Tensor(StandIn):
    WHAT = "a tensor of a TensorRT network"

    def __init__(self, network, name):
        dtype, shape = network._tensors.get(name, ("float32", None))
        self._network, self._name, self._dtype, self._shape = network, name, dtype, shape

    name = property(lambda self: self._name)
    dtype = property(lambda self: member(DataType, DTYPES.get(self._dtype, "FLOAT")))
    shape = property(lambda self: tuple(self._shape or ()))
    is_network_input = property(lambda self: self._name in self._network._inputs)
    is_network_output = property(lambda self: self._name in self._network._outputs)
    is_shape_tensor = property(lambda self: False)
    is_execution_tensor = property(lambda self: True)

    def _get_dynamic_range(self):
        return None  # as TensorRT says of a tensor without one

    def _set_dynamic_range(self, _):
        self._network._without_effect("dynamic_range")

    dynamic_range = property(_get_dynamic_range, _set_dynamic_range)

    def set_dynamic_range(self, least, most):
        self._network._without_effect("set_dynamic_range")
        return True

    def reset_dynamic_range(self):
        self._network._without_effect("reset_dynamic_range")

    def __eq__(self, other):
        return isinstance(other, Tensor) and self._name == other._name

    def __hash__(self):
        return hash(self._name)


class Layer(StandIn):
    WHAT = "a layer of a TensorRT network"

    def __init__(self, network, said):
        self._network, self._name, self._op = network, said["name"], said["op"]
        self._inputs, self._outputs, self._path = said["inputs"], said["outputs"], said["path"]
        self._precision = said["precision"]
        self._types = {int(key): value for key, value in said["types"].items()}

    name = property(lambda self: self._name)
    type = property(lambda self: member(LayerType, TYPE_OF.get(self._op, "UNKNOWN")))
    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))
    precision_is_set = property(lambda self: self._precision is not None)

    def _formatted(self, dtype, what):
        if self._path or getattr(dtype, "name", None) not in DataType.__members__:
            return format_of(dtype, "layer '{}': {}".format(self._name, what))
        return FORMATS.get(dtype.name)  # of what computes shapes and indices: there is nothing to set

    def _get_precision(self):
        return member(DataType, DTYPES[self._precision or "float32"])

    def _set_precision(self, dtype):
        self._precision = self._formatted(dtype, "precision")

    precision = property(_get_precision, _set_precision)

    def reset_precision(self):
        self._precision = None

    def _index(self, index, names, what):
        if not isinstance(index, int) or not 0 <= index < len(names):
            raise IndexError("layer '{}' has {} {}, there is none with index {!r}".format(
                self._name, len(names), what, index))
        return index

    def _tensor(self, name):
        return Tensor(self._network, name) if name else None

    def get_input(self, index):
        # As TensorRT answers.
        return self._tensor(self._inputs[index]) if 0 <= index < len(self._inputs) else None

    def get_output(self, index):
        return self._tensor(self._outputs[index]) if 0 <= index < len(self._outputs) else None

    def set_input(self, index, tensor):
        self._network._without_effect("set_input")

    def set_output_type(self, index, dtype):
        index = self._index(index, self._outputs, "outputs")
        self._types[index] = self._formatted(dtype, "type of output {}".format(index))

    def get_output_type(self, index):
        index = self._index(index, self._outputs, "outputs")
        if self._types.get(index):
            return member(DataType, DTYPES[self._types[index]])
        return self.get_output(index).dtype

    def output_type_is_set(self, index):
        return self._types.get(self._index(index, self._outputs, "outputs")) is not None

    def reset_output_type(self, index):
        self._types.pop(self._index(index, self._outputs, "outputs"), None)


class Network(StandIn):
    WHAT = "a TensorRT network"

    def __init__(self):
        self._source, self._name = None, ""
        self._layers, self._inputs, self._outputs, self._tensors = [], [], [], {}
        self._ignored = []

    def _without_effect(self, what):
        if what not in self._ignored:
            self._ignored.append(what)

    def _describe(self, said, source):
        self._source, self._name = source, said["name"]
        self._inputs, self._outputs, self._tensors = said["inputs"], said["outputs"], said["tensors"]
        self._layers = [Layer(self, layer) for layer in said["layers"]]
        return self

    name = property(lambda self: self._name)
    num_layers = property(lambda self: len(self._layers))
    num_inputs = property(lambda self: len(self._inputs))
    num_outputs = property(lambda self: len(self._outputs))

    def get_layer(self, index):
        return self._layers[index]

    def get_input(self, index):
        return Tensor(self, self._inputs[index])

    def get_output(self, index):
        return Tensor(self, self._outputs[index])

    def mark_output(self, tensor):
        self._without_effect("mark_output")

    def unmark_output(self, tensor):
        self._without_effect("unmark_output")

    def mark_debug(self, tensor):
        self._without_effect("mark_debug")
        return True

    def unmark_debug(self, tensor):
        self._without_effect("unmark_debug")
        return True

    def __len__(self):
        return len(self._layers)

    def __getitem__(self, index):
        return self._layers[index]

    def __iter__(self):
        return iter(self._layers)

    def __bool__(self):
        return True

    def _settings(self):
        """Of the layers with any: [index, precision | null, {output: format}]."""
        return [[i, layer._precision, {str(k): v for k, v in layer._types.items() if v}]
                for i, layer in enumerate(self._layers) if layer._precision or any(layer._types.values())]


