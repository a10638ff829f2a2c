"""Keeps the layers in float32 that the comparison blames. TensorRT runs this script unchanged."""
import tensorrt as trt

KEEP = ("block4_expand_conv", "hidden_gemm")


def postprocess(network):
    for layer in network:
        if layer.name in KEEP:
            layer.precision = trt.float32
            layer.set_output_type(0, trt.float32)
