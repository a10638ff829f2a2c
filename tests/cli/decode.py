"""Two steps of a decoder of make_decoder.py, and of a file made of it, in ONNX Runtime; each goes on with its own caches.

    decode.py FLOAT.onnx FILE.onnx    prints the types of the caches, and the SQNR of the logits in dB
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

import make_decoder

SEQUENCES, STEPS = 20, 2


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def scale_of(model, cache):
    present = cache.replace("past_key_values", "present")
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    (scale,) = [constants[node.input[1]] for node in model.graph.node if node.op_type == "DequantizeLinear" and node.input[0] == present]
    return scale


def in_type_of(session, model, feed):
    """The float feed as the file takes it."""
    types = {i.name: i.type for i in session.get_inputs()}
    fitted = dict(feed)
    for name in feed:
        if types[name] == "tensor(float16)":
            fitted[name] = feed[name].astype(np.float16)
        elif types[name] == "tensor(int8)":
            fitted[name] = np.clip(np.rint(feed[name] / scale_of(model, name)), -128, 127).astype(np.int8)
    return fitted


def main(float_path, path):
    kind = pathlib.Path(float_path).stem
    exact, tested, model = session_of(float_path), session_of(path), onnx.load(path)
    signal = noise = 0
    for seed in range(100, 100 + SEQUENCES):
        draw = np.random.default_rng(seed)
        feed = make_decoder.steps(float_path, kind, seed, 1)[0]
        fitted = in_type_of(tested, model, feed)
        for at in range(make_decoder.PAST + 1, make_decoder.PAST + 1 + STEPS):
            outputs, results = exact.run(None, feed), tested.run(None, fitted)
            signal += np.square(outputs[0]).sum()
            noise += np.square(outputs[0] - results[0]).sum()
            step = make_decoder.step_of(kind, at, draw)
            feed = {**make_decoder.carried(exact, outputs), **step}
            fitted = {**make_decoder.carried(tested, results), **step}
    print("caches:", *sorted({f"{i.name.rsplit('.', 2)[1]}.{i.name.rsplit('.', 1)[1]}={i.type[7:-1]}" for i in tested.get_inputs() if i.name.startswith("past")}))
    print(f"SQNR {10 * np.log10(signal / noise):.1f} dB")


if __name__ == "__main__":
    main(*sys.argv[1:])
