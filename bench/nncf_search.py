"""NNCF's accuracy-aware quantization on one network, as one line of JSON; called by compare_searches.py.

    python bench/nncf_search.py MODEL.onnx SAMPLES.npz|.npy OUTPUT SQNR_DB [LIMIT_SECONDS]

Runs in a Python that has nncf and openvino (pip install nncf openvino onnx). Everything is at NNCF's own defaults; its metric is the
SQNR of OUTPUT against the float model, pooled over the samples, which is what `--min-sqnr OUTPUT:DB` asks for. Kept are the operations
that NNCF says it took back; their multiply-accumulates are those of operations that plain nncf.quantize quantizes and the answer does not.
"""
import json
import logging
import math
import os
import re
import signal
import sys
import time

os.environ.setdefault("OPENVINO_TELEMETRY_OPT_OUT", "1")
import nncf
import numpy as np
import openvino as ov

# NNCF compiles in float32; so must the references be, where a processor has bfloat16 (27 dB on MobileNetV2).
FLOAT32 = {"INFERENCE_PRECISION_HINT": "f32"}
FOLLOWERS = {"Reshape", "Transpose", "Concat", "MaxPool", "Squeeze", "Unsqueeze", "Split", "VariadicSplit", "StridedSlice",
             "Slice", "Gather", "Pad", "Clamp", "Relu", "Interpolate", "Broadcast", "Convert", "ShapeOf", "Result", "DepthToSpace"}
CAP_DB = 200.0  # of the float model against itself


class OutOfTime(Exception):
    pass


def samples_of(path, model):
    loaded = np.load(path)
    if isinstance(loaded, np.ndarray):
        return [{model.input(0).any_name: one} for one in loaded]
    return [{model.input(0).any_name: loaded[f"sample_{i}"]} for i in range(len(loaded.files))]


def db(ref, noise):
    return CAP_DB if noise == 0 else min(CAP_DB, 10 * math.log10(ref / noise)) if math.isfinite(noise) else -CAP_DB


class Metric:
    """Counts what it is asked."""

    def __init__(self, references, output):
        self.references, self.output, self.samples, self.full, self.calls = references, output, 0, 0, 0

    def __call__(self, compiled, data):
        energy = noise = 0.0
        each, count = [], 0
        output = compiled.output(self.output)
        for sample in data:
            index, feed = sample
            got = compiled(feed)[output].astype(np.float64)
            ref = self.references[index]
            own, off = float(np.sum(ref**2)), float(np.sum((got - ref) ** 2))
            energy, noise, count = energy + own, noise + off, count + 1
            each.append(db(own, off))
        self.samples, self.calls, self.full = self.samples + count, self.calls + 1, self.full + (count == len(self.references))
        return db(energy, noise), each


class Reverted(logging.Handler):
    """What NNCF says of the operations that it took back: kept, of how many."""

    kept, of = 0, None

    def emit(self, record):
        if found := re.search(r"(\d+) out of (\d+) were reverted", record.getMessage()):
            self.kept, self.of = int(found[1]), int(found[2])


def reverted_operations():
    handler = Reverted()
    logging.getLogger("nncf").addHandler(handler)
    return handler


def quantized_operations(model):
    """Name -> multiply-accumulates of what reads a quantized activation."""
    found = {}
    for op in model.get_ordered_ops():
        if op.get_type_name() in FOLLOWERS | {"FakeQuantize"}:
            continue
        for value in op.input_values():
            maker = value.get_node()
            constant = maker.get_type_name() == "FakeQuantize" and maker.input_value(0).get_node().get_type_name() in ("Constant", "Convert", "Multiply")
            if maker.get_type_name() == "FakeQuantize" and not constant:
                found[op.get_friendly_name()] = macs_of(op)
    return found


def macs_of(op):
    kind = op.get_type_name()
    shape = op.output(0).get_partial_shape()
    if not shape.is_static or kind not in ("Convolution", "GroupConvolution", "MatMul"):
        return 0
    elements = math.prod(op.output(0).get_shape())
    if kind == "MatMul":
        inner = op.input_value(0).get_partial_shape()
        return elements * inner[len(inner) - 1].get_length() if inner.is_static else 0
    weights = list(op.input_value(1).get_shape())
    return elements * math.prod(weights[1:] if kind == "Convolution" else weights[2:])


def main():
    path, data, output, target = sys.argv[1:5]
    limit = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    model = ov.Core().read_model(path)
    feeds = samples_of(data, model)
    compiled = ov.compile_model(model, "CPU", FLOAT32)
    references = [compiled(feed)[compiled.output(output)].astype(np.float64) for feed in feeds]
    metric = Metric(references, output)
    dataset = nncf.Dataset(feeds)
    # Validation items carry their index; NNCF itself feeds only the part that the model takes.
    validation = nncf.Dataset(list(enumerate(feeds)), lambda item: item[1])
    result = {"nncf": nncf.__version__, "openvino": ov.__version__, "samples": len(feeds), "target_db": float(target)}

    def out_of_time(*_):
        raise OutOfTime

    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(limit)
    start, start_cpu = time.perf_counter(), time.process_time()
    said = reverted_operations()
    answer = None
    try:
        answer = nncf.quantize_with_accuracy_control(model, dataset, validation, validation_fn=metric, max_drop=CAP_DB - float(target),
                                                     drop_type=nncf.DropType.ABSOLUTE)
    except OutOfTime:
        result["cut_short_after"] = limit
    signal.alarm(0)
    result.update(seconds=round(time.perf_counter() - start, 2), cpu_seconds=round(time.process_time() - start_cpu, 2), evaluations=metric.full, calls=metric.calls,
                  sample_inferences=metric.samples)
    if answer is not None:
        plain = quantized_operations(nncf.quantize(ov.Core().read_model(path), dataset))
        left = quantized_operations(answer)
        kept = {name: macs for name, macs in plain.items() if name not in left}
        result.update(kept=said.kept, of=said.of or len(plain), kept_macs=sum(kept.values()), total_macs=sum(plain.values()), layers=sorted(kept),
                      sqnr_db=round(metric(ov.compile_model(answer, "CPU", FLOAT32), enumerate(feeds))[0], 3))
    print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
