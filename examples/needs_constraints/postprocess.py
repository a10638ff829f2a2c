"""For --trt-network-postprocess-script: keeps what FP16 breaks in this network in float32."""
import tensorrt as trt


def postprocess(network):
    for layer in network:
        # 65504 and x do not fit into one float16: neither what adds them nor what takes them apart may be lowered, ...
        if layer.name in ("Add", "Sub"):
            layer.precision = trt.float32
        # ... and neither may the sum, on its way from the one to the other.
        if layer.name == "Add":
            layer.set_output_type(0, trt.float32)
