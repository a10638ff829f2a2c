"""Scripts in the place of a model, for tests/cli/scripts.test. The model is m.onnx, examples/needs_constraints."""
import pathlib

import tensorrt as trt
from polygraphy import func
from polygraphy.backend.trt import NetworkFromOnnxBytes, NetworkFromOnnxPath, network_from_onnx_path


def keep(network):
    for layer in network:
        if layer.name in ("Add", "Sub"):
            layer.precision = trt.float32


@func.extend(NetworkFromOnnxPath("m.onnx"))
def load_network(builder, network, parser):
    keep(network)


def functional():
    made = network_from_onnx_path("m.onnx")
    keep(made[1])
    return made


@func.extend(NetworkFromOnnxBytes(lambda: pathlib.Path("m.onnx").read_bytes()))
def from_bytes(builder, network, parser):
    keep(network)


def by_hand():
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file("m.onnx"):
        raise RuntimeError(parser.get_error(0))
    keep(network)
    return builder, network


def path():
    return pathlib.Path("m.onnx")


def raw():
    return pathlib.Path("m.onnx").read_bytes()


def proto():
    import onnx
    return onnx.load("m.onnx")


def graph():
    import onnx_graphsurgeon
    return onnx_graphsurgeon.Graph()


def no_file():
    return network_from_onnx_path("none.onnx")


def no_such_path():
    return "none.onnx"


def nothing():
    pass


def empty():
    return trt.Builder(trt.Logger()).create_network()


def broken():
    return b"no model"
