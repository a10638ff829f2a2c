"""Scripts for tests/cli/scripts.test, as users of TensorRT have them. They change examples/needs_constraints."""
import sys
import time

import tensorrt as trt
from polygraphy.logger import G_LOGGER

KEPT = ["Add", "Sub"]


def postprocess(network):
    """As the classic example does."""
    for layer in network:
        if layer.name in KEPT:
            G_LOGGER.info(f"keeping {layer.name}")
            layer.precision = trt.float32
            layer.set_output_type(0, trt.DataType.FLOAT)


def by_type(network):
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.type == trt.LayerType.ELEMENTWISE:
            layer.precision = trt.float32


def all_half(network):
    for layer in network:
        layer.precision = trt.float16


def back(network):
    """Runs behind postprocess: sees what that one has set, and takes half of it back."""
    assert [layer.name for layer in network if layer.precision_is_set] == KEPT
    network[1].reset_precision()
    network[1].reset_output_type(0)


def look(network):
    """Everything that a network answers."""
    assert len(network) == network.num_layers == 4 and network.name == "needs_constraints"
    assert network.num_inputs == network.num_outputs == 1 and network.get_input(0).is_network_input
    assert network.get_output(0).name == "matmul_out_3" and network.get_output(0).is_network_output
    first, add = network[0], network.get_layer(1)
    assert [layer.type for layer in network] == [
        trt.LayerType.MATRIX_MULTIPLY, trt.LayerType.ELEMENTWISE, trt.LayerType.ELEMENTWISE,
        trt.LayerType.MATRIX_MULTIPLY]
    assert first.num_inputs == 2 and first.num_outputs == 1
    x = first.get_input(0)
    assert x.name == "x" and x.dtype == trt.float32 and tuple(x.shape) == (1, 1, 256, 256) and not x.is_shape_tensor
    assert first.get_output(0) == add.get_input(0) and first.get_output(1) is None
    assert not add.precision_is_set and add.precision == trt.DataType.FLOAT and not add.output_type_is_set(0)
    add.precision = trt.float16
    add.set_output_type(0, trt.float16)
    assert add.precision == trt.float16 and add.precision_is_set and add.get_output_type(0) == trt.DataType.HALF
    add.reset_precision()
    add.reset_output_type(0)
    assert not add.precision_is_set and add.get_output_type(0) == trt.float32
    print("looked at all of it")


def only_output_type(network):
    network[1].set_output_type(0, trt.float32)


def marks(network):
    network.add_cast(network[1].get_output(0), trt.float16)


def integers(network):
    network[1].precision = trt.int32


def text(network):
    network[1].precision = "float32"


def eight_bits(network):
    for layer in network:
        layer.precision = trt.int8


def no_such_layer(network):
    wanted = {layer.name: layer for layer in network}
    wanted["conv_1"].precision = trt.float32


def other_name(net):
    pass


def hangs(network):
    print("waiting in the script", file=sys.stderr)
    time.sleep(300)


def not_there(network):
    trt.create_infer_runtime(None)
