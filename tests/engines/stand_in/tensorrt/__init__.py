"""A stand-in for the package `tensorrt`: the calls that our host makes, with answers that can be right or wrong in a way
that STAND_IN names. It compiles any model to one kernel a node."""
import enum
import os
import signal
import sys
import time

MODE = os.environ.get("STAND_IN", "")
__version__ = "11.0.0"


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


class Network:
    def __init__(self):
        self.inputs = []

    num_inputs = property(lambda self: len(self.inputs))

    def get_input(self, index):
        return self.inputs[index]


class Config:
    def set_compute_capability(self, capability, index):
        self.capability = capability


class Serialized:
    nbytes = -5 if MODE == "lie@build" else 1000


class Builder:
    def __init__(self, log):
        self.log = log
        misbehave("start")

    def create_network(self, flags):
        assert flags == 2, "networks are strongly typed"
        return Network()

    def create_builder_config(self):
        return Config()

    def create_optimization_profile(self):
        return None

    def build_serialized_network(self, network, config):
        misbehave("build")
        if MODE == "refuse@build":
            self.log.log(ILogger.Severity.ERROR, "Error Code 10: no kernel for mm In optimize at /src/optimizer.cpp:12)")
            return None
        self.log.log(ILogger.Severity.WARNING, "weights are small")
        lines = ["Name: {0}, LayerType: gemm, Inputs: [ {{ Name: i, Dimensions: [1], Datatype: Float, Format: f }}], "
                 "Outputs: [ {{ Name: o, Dimensions: [1], Datatype: Float, Format: f }}], TacticName: t, StreamId: 0, "
                 "Metadata: [ONNX Layer: {0}]".format(name) for name in network.names]
        self.log.log(ILogger.Severity.VERBOSE, "Layers:\n" + "\n".join(lines))
        return Serialized()


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
        self.network.names = [node.name for node in onnx.load(path).graph.node]
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
