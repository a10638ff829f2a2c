"""Network scripts for tests/cli/habits.test: what scripts do to a network beside setting precisions."""
import tensorrt as trt


def postprocess(network):
    network.mark_output(network.get_layer(0).get_output(0))
    network.get_layer(0).get_output(0).dynamic_range = (-1, 1)
    network.get_layer(1).set_input(0, network.get_input(0))


def half(network):
    postprocess(network)
    for layer in network:
        layer.precision = trt.float16
