"""A stand-in for the package `tensorrt`: the calls that our host makes, with answers that can be right or wrong in a way
that STAND_IN names. It compiles any model to one kernel a node, and runs it in ONNX Runtime, in memory of stand_in/cuda_driver.c.
What it was told goes to the file that RECORD names, as JSON. It is like release 11, or 10 where STAND_IN_RELEASE says so."""
import ctypes
import enum
import json
import os
import signal
import sys
import time

MODE = os.environ.get("STAND_IN", "")
TEN = os.environ.get("STAND_IN_RELEASE") == "10"
__version__ = "10.0.0" if TEN else "11.0.0"


def misbehave(where):
    mode, _, place = MODE.partition("@")
    if place != where:
        return
    if mode == "crash":
        sys.stderr.write("terminate called: out of GPU memory\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == "hang":
        time.sleep(3600)
    elif mode == "exit":
        os._exit(5)
    elif mode == "raise":
        raise RuntimeError("cuda says 719")
    elif mode == "rubbish":
        for descriptor in range(3, 20):  # wherever the host keeps what it answers on
            try:
                os.write(descriptor, b"no answer at all\n")
            except OSError:
                pass
    elif mode == "chat":
        print("a library that talks")
        os.write(1, b"and one that writes past Python\n")


class Registry:
    """Of plugins. Libraries that announce theirs while they are loaded are known to it without being asked."""
    libraries, own = [], False

    def load_library(self, path):
        if MODE == "refuse@plugins":
            return None
        self.libraries.append(path)
        return len(self.libraries)


def get_plugin_registry():
    return Registry()


def init_libnvinfer_plugins(logger, namespace):
    Registry.own = True
    return True


class ILogger:
    class Severity(enum.IntEnum):
        INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)

    def __init__(self):
        pass


class ComputeCapability(enum.IntEnum):
    SM89 = 89
    SM120 = 120


class NetworkDefinitionCreationFlag(enum.IntEnum):
    STRONGLY_TYPED = 1


class ProfilingVerbosity(enum.IntEnum):
    DETAILED = 2


class BuilderFlag(enum.IntEnum):
    TF32, VERSION_COMPATIBLE = 3, 19


class MemoryPoolType(enum.IntEnum):
    WORKSPACE = 0


class TacticSource(enum.IntEnum):
    CUBLAS, CUDNN = 0, 2


class TensorIOMode(enum.IntEnum):
    INPUT, OUTPUT = 1, 2


class TensorLocation(enum.IntEnum):
    DEVICE, HOST = 0, 1


class LayerInformationFormat(enum.IntEnum):
    JSON = 1


class DataType(enum.Enum):
    FLOAT, HALF, INT8, INT32, BOOL, UINT8, FP8, BF16, INT64 = range(9)


TYPES = {"tensor(float)": DataType.FLOAT, "tensor(float16)": DataType.HALF, "tensor(int64)": DataType.INT64,
         "tensor(bool)": DataType.BOOL, "tensor(int32)": DataType.INT32}


class Tensor:
    dtype = DataType.FLOAT

    def __init__(self, port):
        self.name = port.name
        self.shape = tuple(size.dim_value if size.HasField("dim_value") else -1 for size in port.type.tensor_type.shape.dim)


class Network:
    def __init__(self, weakly_typed=False):
        self.inputs, self.outputs, self.names, self.data, self.layers = [], [], [], b"", []
        self.weakly_typed = weakly_typed

    num_inputs = property(lambda self: len(self.inputs))
    num_outputs = property(lambda self: len(self.outputs))
    num_layers = property(lambda self: len(self.layers))

    def get_layer(self, index):
        return self.layers[index]

    def get_input(self, index):
        return self.inputs[index]

    def get_output(self, index):
        return self.outputs[index]


class Profile(dict):
    def set_shape(self, name, least, usual, most):
        self[name] = [list(least), list(usual), list(most)]


class Cache:
    def serialize(self):
        return b"times of kernels"


class Config:
    """What it does not have, such as max_aux_streams, is not there."""
    builder_optimization_level = 3
    if TEN:
        algorithm_selector = int8_calibrator = None

    def __init__(self):
        self.told = {"flags": [], "cleared": [], "pools": {}, "profile": {}}

    def set_compute_capability(self, capability, index):
        self.capability = capability

    def set_flag(self, flag):
        self.told["flags"].append(flag.name)

    def clear_flag(self, flag):
        self.told["cleared"].append(flag.name)

    def set_memory_pool_limit(self, pool, size):
        self.told["pools"][pool.name] = size

    def set_tactic_sources(self, sources):
        self.told["tactics"] = sources

    def create_timing_cache(self, data):
        self.told["cache"] = data.decode()
        return Cache()

    def set_timing_cache(self, cache, ignore):
        return True

    def get_timing_cache(self):
        return Cache()

    num_optimization_profiles = property(lambda self: int(bool(self.told["profile"])))

    def add_optimization_profile(self, profile):
        self.told["profile"] = profile


class Serialized(bytes):
    nbytes = property(lambda self: -5 if MODE == "lie@build" else len(self))


class Builder:
    def __init__(self, log):
        self.log = log
        misbehave("start")

    def create_network(self, flags):
        assert flags == 2 or TEN and flags == 0, "networks are strongly typed"
        return Network(weakly_typed=flags == 0)

    def create_builder_config(self):
        return Config()

    def create_optimization_profile(self):
        return Profile()

    def build_serialized_network(self, network, config):
        misbehave("build")
        if MODE == "refuse@build":
            self.log.log(ILogger.Severity.ERROR, "Error Code 10: no kernel for mm In optimize at /src/optimizer.cpp:12)")
            return None
        tactics = release_10.choose(config, network.names) if TEN else []
        if tactics is None:
            self.log.log(ILogger.Severity.ERROR, "Error Code 9: no algorithm is left")
            return None
        self.log.log(ILogger.Severity.WARNING, "weights are small")
        lines = ["Name: {0}, LayerType: gemm, Inputs: [ {{ Name: i, Dimensions: [1], Datatype: Float, Format: f }}], "
                 "Outputs: [ {{ Name: o, Dimensions: [1], Datatype: Float, Format: f }}], TacticName: t, StreamId: 0, "
                 "Metadata: [ONNX Layer: {1}]".format(name, inside) for name, inside in kernels(network)]
        self.log.log(ILogger.Severity.VERBOSE, "Layers:\n" + "\n".join(lines))
        if "RECORD" in os.environ:
            import onnx
            told = dict(config.told, plugins=Registry.libraries, own_plugins=Registry.own,
                        announced=hasattr(ctypes.CDLL(None), "announced"), level=int(config.builder_optimization_level),
                        operators=[node.op_type for node in onnx.load_from_string(network.data).graph.node],
                        weakly_typed=network.weakly_typed, chosen=tactics, **(release_10.told(config, network) if TEN else {}))
            with open(os.environ["RECORD"], "w") as file:
                json.dump(told, file)
        return Serialized(b"ftrt" + network.data)


def kernels(network):
    """One a node; "fuses": one for all, unless inner tensors are outputs."""
    if MODE == "fuses" and len(network.outputs) == 1:
        return [(network.names[0], "][ONNX Layer: ".join(network.names))]
    return [(name, name) for name in network.names]


def times_by_type(data):
    """A MatMul takes 4 ms in float32, 2 in float16 and 1 behind a DequantizeLinear, any other node half of one."""
    import onnx
    model = onnx.shape_inference.infer_shapes(onnx.load_from_string(data))
    halves = {value.name for value in [*model.graph.value_info, *model.graph.output] if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16}
    codes = {node.output[0] for node in model.graph.node if node.op_type == "DequantizeLinear"}
    return {node.name: 0.5 if node.op_type != "MatMul" else 1 if node.input[0] in codes else 2 if node.output[0] in halves else 4
            for node in model.graph.node}


class IProfiler:
    def __init__(self):
        pass


class IOutputAllocator:
    def __init__(self):
        pass


class Runtime:
    def __init__(self, log):
        pass

    def deserialize_cuda_engine(self, data):
        data = bytes(data)
        return Engine(data[4:]) if data.startswith(b"ftrt") else None


class Inspector:
    def __init__(self, model):
        import onnx
        graph = onnx.load_from_string(model).graph
        self.names, self.outputs = [node.name for node in graph.node], graph.output

    def get_engine_information(self, form):
        return json.dumps({"Layers": [{"Name": name, "LayerType": "gemm", "Inputs": [], "Outputs": [], "TacticName": "t",
                                       "Metadata": "[ONNX Layer: {}]".format(inside)} for name, inside in kernels(self)]})


class Engine:
    def __init__(self, model):
        import onnxruntime
        self.model = model
        options = onnxruntime.SessionOptions()
        # Its integer kernels saturate on CPUs without VNNI.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.unknown = b"NonZero" in model  # sizes that are known when they were computed
        self.inputs = {port.name: port for port in self.session.get_inputs()}
        self.outputs = {port.name: port for port in self.session.get_outputs()}
        self.names = [*self.inputs, *self.outputs]

    num_io_tensors = property(lambda self: len(self.names))

    def get_tensor_name(self, index):
        return self.names[index]

    def get_tensor_mode(self, name):
        return TensorIOMode.INPUT if name in self.inputs else TensorIOMode.OUTPUT

    def get_tensor_dtype(self, name):
        return TYPES[(self.inputs.get(name) or self.outputs[name]).type]

    def get_tensor_shape(self, name):
        shape = (self.inputs.get(name) or self.outputs[name]).shape
        return tuple(size if isinstance(size, int) else -1 for size in shape)

    def get_tensor_location(self, name):
        return TensorLocation.DEVICE

    def create_execution_context(self):
        return Context(self)

    def create_engine_inspector(self):
        return Inspector(self.model)


class Context:
    def __init__(self, engine):
        self.engine, self.shapes, self.places, self.allocators, self.results = engine, {}, {}, {}, {}
        self.profiler = None

    def set_input_shape(self, name, shape):
        self.shapes[name] = tuple(shape)
        return -7 not in shape

    def set_tensor_address(self, name, place):
        self.places[name] = place

    def set_output_allocator(self, name, allocator):
        self.allocators[name] = allocator

    def infer_shapes(self):
        self.results = self.compute(lambda name, type: numpy_zeros(self.shapes[name], type))

    def get_tensor_shape(self, name):
        if name in self.shapes:
            return self.shapes[name]
        shape = self.results[name].shape
        return (-1,) * len(shape) if self.engine.unknown else shape

    def compute(self, value):
        names = list(self.engine.outputs)
        feeds = {name: value(name, port.type) for name, port in self.engine.inputs.items()}
        return dict(zip(names, self.engine.session.run(names, feeds)))

    def read(self, name, type):
        zeros = numpy_zeros(self.shapes[name], type)
        ctypes.memmove(zeros.ctypes.data, self.places[name], zeros.nbytes)
        return zeros

    def execute_async_v3(self, stream):
        misbehave("run")
        if MODE == "refuse@run":
            return False
        self.results = self.compute(self.read)
        for name, result in self.results.items():
            if MODE == "noisy@run" or MODE == "fuses" and len(self.results) == 1:
                result *= result.dtype.type(1.02)
            if name in self.allocators:
                self.places[name] = self.allocators[name].reallocate_output_async(name, 0, result.nbytes, 1, stream)
                self.allocators[name].notify_shape(name, result.shape)
            ctypes.memmove(self.places[name], result.ctypes.data, result.nbytes)
        if self.profiler:
            misbehave("profile")
            times = times_by_type(self.engine.model) if MODE == "types@profile" else {}
            for index, (name, _) in enumerate(kernels(Inspector(self.engine.model)) if MODE != "silent@profile" else ()):
                self.profiler.report_layer_time(name, {"negative@profile": -1, "types@profile": times.get(name)}.get(MODE, index + 1))
        if MODE == "few@time":
            sys._getframe(1).f_globals["repeated"] = lambda once, **how: [once()]
        if MODE == "words@time":
            sys._getframe(1).f_globals["repeated"] = lambda once, **how: ["soon"] * 20
        if MODE.startswith("lie@run"):
            place = {"name": "y", "type": "float32", "shape": [1, 4], "offset": 0, "bytes": 16}
            place.update(json.loads(MODE[7:]))
            sys._getframe(1).f_globals["write_arrays"] = lambda path, arrays: [open(path, "w").close(), place][1:]
        return True


def numpy_zeros(shape, type):
    import numpy
    kinds = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64,
             "tensor(bool)": numpy.bool_, "tensor(int32)": numpy.int32}
    return numpy.zeros(shape, kinds[type])


class Error:
    def __init__(self, text):
        self.text = text

    def node(self):
        return 0

    def node_name(self):
        return "first"

    def node_operator(self):
        return "MatMul"

    def desc(self):
        return self.text


class OnnxParser:
    def __init__(self, network, log):
        self.network, self.errors, self.parts = network, [], []

    num_errors = property(lambda self: len(self.errors))
    num_subgraphs = property(lambda self: len(self.parts))

    def get_error(self, index):
        return self.errors[index]

    def parse_from_file(self, path):
        import onnx
        misbehave("parse")
        if MODE == "refuse@parse":
            self.errors = [Error("no importer for it")]
            return False
        model = onnx.load(path)
        self.network.names = [node.name for node in model.graph.node]
        self.network.layers = [release_10.Layer(name) for name in self.network.names] if TEN else []
        self.network.data = model.SerializeToString()
        self.network.inputs = [Tensor(port) for port in model.graph.input]
        self.network.outputs = [Tensor(port) for port in model.graph.output]
        if MODE == "misread@parse":
            self.network.outputs[0].shape = (*self.network.outputs[0].shape[:-1], 717)
        return True

    def supports_model_v2(self, data, path):
        import onnx
        count = len(onnx.load(path).graph.node)
        if MODE != "refuse@parse":
            self.parts = [(True, list(range(count)))]
            return True
        self.parts = [(False, list(range(1, count)))]  # what is refused is in no part
        self.errors = [Error("no importer for it")]
        return False

    def is_subgraph_supported(self, index):
        return self.parts[index][0]

    def get_subgraph_nodes(self, index):
        return self.parts[index][1]


if TEN:
    from . import release_10
    from .release_10 import BuilderFlag, IAlgorithmSelector, IInt8EntropyCalibrator2, IInt8MinMaxCalibrator
