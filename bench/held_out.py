"""What a file gives on samples that nobody fitted it to, in ONNX Runtime without optimizations."""
import numpy as np


def session(model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def outputs_of(model, samples):
    """Of each sample: all float outputs, flat."""
    run = session(model)
    name = run.get_inputs()[0].name
    names = [o.name for o in run.get_outputs() if o.type == "tensor(float)"]
    return [[np.asarray(o, np.float64).ravel() for o in run.run(names, {name: sample})] for sample in samples]


def judged(reference, got):
    """Decibels of the worst output, pooled; and noise over signal of each sample, in decibels, over all outputs."""
    signal = np.array([[(r ** 2).sum() for r in sample] for sample in reference])
    noise = np.array([[((r - g) ** 2).sum() for r, g in zip(one, other)] for one, other in zip(reference, got)])
    pooled = 10 * np.log10(signal.sum(0) / np.maximum(noise.sum(0), 1e-30))
    each = (10 * np.log10(np.maximum(noise, 1e-30) / np.maximum(signal, 1e-30))).mean(1)
    top1 = None
    if len(reference[0]) == 1 and 2 < reference[0][0].size <= 1001:
        top1 = sum(int(r[0].argmax() == g[0].argmax()) for r, g in zip(reference, got)) / len(reference)
    return {"db": round(float(pooled.min()), 3), "each": each, "top1": top1}


def certain_loss(entry):
    return entry.get("gain", 0) + 2 * entry.get("error", 0) < 0
