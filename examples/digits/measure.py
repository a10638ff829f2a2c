#!/usr/bin/env python3
"""Measures what digits.onnx loses in INT8 and in FP16, and what keeping the guilty layers wins back.

    python examples/digits/measure.py      # needs numpy, onnx, onnxruntime; a few seconds
"""
import pathlib

import numpy as np
import onnx
from onnx import numpy_helper

import simulate

FOLDER = pathlib.Path(__file__).parent
LARGEST_KEPT_SET = 5
GUILTY_IN_FP16 = ("contrast_add_epsilon", "contrast_sqrt")
CLIPS = (1.0, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1)  # parts of a range to try instead of all of it
LARGER_EPSILON = 1e-6  # representable in float16 and still far below the variance that one count causes
# The two places where a learned tensor is concatenated with a raw and much larger one, and the layer that reads both.
MIXED_INPUTS = (("block3_project_bn_out", "block4_expand_conv"), ("feature_divide_out", "hidden_gemm"))


class Judge:
    """Runs candidates over the test set and scores them against the float32 logits."""

    def __init__(self, model, counts, labels):
        self.counts, self.labels = counts, labels
        self.reference = simulate.run(model, counts)[0]

    def score(self, model) -> dict:
        """A sample whose logits are not all finite counts as wrong."""
        logits = simulate.run(model, self.counts)[0]
        finite = np.isfinite(logits).all(1)
        return {"accuracy": float(((logits.argmax(1) == self.labels) & finite).mean()),
                "sqnr_db": simulate.sqnr(self.reference, logits),
                "samples_not_finite": int((~finite).sum())}


def measure_int8(model, calibration, judge) -> dict:
    """All layers in INT8, each alone, and the worst 1 to 5 (by their effect alone) kept in float32."""
    ranges = simulate.activation_ranges(model, calibration)
    layers = simulate.quantizable(model)

    def score(kept):
        return judge.score(simulate.to_int8(model, ranges, set(layers) - set(kept)))

    alone = {layer: score(set(layers) - {layer}) for layer in layers}
    ranking = sorted(layers, key=lambda layer: alone[layer]["sqnr_db"])
    kept = [{"kept": ranking[:k], **score(ranking[:k])} for k in range(1, LARGEST_KEPT_SET + 1)]
    return {"all": score(()), "alone": alone, "kept": kept, "mixed_inputs": measure_mixed_inputs(model, ranges, judge)}


def measure_mixed_inputs(model, ranges, judge) -> list:
    """Per mixed input: range, int8 step, size of the learned part, and what the best clipped range makes of the layer."""
    inputs = {n.name: n.input[0] for n in model.graph.node}
    result = []
    for learned, layer in MIXED_INPUTS:
        values = simulate.run(model, judge.counts, (learned,))[1]
        whole = ranges[inputs[layer]]
        clipped = {c: judge.score(simulate.to_int8(model, {inputs[layer]: whole * c}, {layer})) for c in CLIPS}
        best = max(CLIPS, key=lambda c: clipped[c]["sqnr_db"])
        result.append({"layer": layer, "range": whole, "step": whole / simulate.LEVELS,
                       "best_clip": best, "clipped": clipped[best],
                       "learned_max": float(np.abs(values).max()),
                       "learned_rms": float(np.sqrt(np.square(values).mean()))})
    return result


def with_contrast_epsilon(model, value: float):
    constants = simulate.initializers_of(model)
    constants["contrast_epsilon"] = np.float32(value)
    return simulate.replace_graph(model, model.graph.node, constants)


def measure_fp16(model, judge) -> dict:
    """All nodes in FP16, the guilty ones kept (each alone and both), and a larger epsilon instead."""
    return {"all": judge.score(simulate.to_fp16(model)),
            **{f"{name} kept": judge.score(simulate.to_fp16(model, {name})) for name in GUILTY_IN_FP16},
            "both kept": judge.score(simulate.to_fp16(model, set(GUILTY_IN_FP16))),
            "larger epsilon": judge.score(simulate.to_fp16(with_contrast_epsilon(model, LARGER_EPSILON)))}


def measure(folder=FOLDER) -> dict:
    """Everything that README.md claims, as plain numbers."""
    original = onnx.load(str(folder / "digits.onnx"))
    model = simulate.fold_batch_norm(original)
    counts = np.load(folder / "test.npz")["counts"]
    judge = Judge(original, counts, np.load(folder / "test_labels.npy"))
    return {"samples": len(counts), "nodes": len(original.graph.node),
            "values": int(sum(numpy_helper.to_array(i).size for i in original.graph.initializer)),
            "float32": judge.score(original), "batch_norm_folded": judge.score(model),
            "int8": measure_int8(model, np.load(folder / "calib.npz")["counts"], judge),
            "fp16": measure_fp16(model, judge)}


def line(label: str, score: dict) -> str:
    lost = f", {score['samples_not_finite']} samples NaN or infinite" if score["samples_not_finite"] else ""
    return f"  {label:44s} {score['sqnr_db']:7.2f} dB  accuracy {score['accuracy']:.3f}{lost}"


def report(m: dict) -> str:
    int8, fp16 = m["int8"], m["fp16"]
    lines = [f"digits.onnx: {m['nodes']} nodes, {m['values']} stored values, {m['samples']} test samples",
             f"  float32 accuracy {m['float32']['accuracy']:.3f}", "",
             "INT8 (symmetric, ranges from calib.npz)", line(f"all {len(int8['alone'])} layers", int8["all"])]
    for kept in int8["kept"]:
        lines.append(line(f"{len(kept['kept'])} kept: " + ("+ " if len(kept["kept"]) > 1 else "") + kept["kept"][-1], kept))
    lines += ["", "why: range and int8 step of what the layer reads, against the learned part of it"]
    for mixed in int8["mixed_inputs"]:
        lines.append(f"  {mixed['layer']:20s} range {mixed['range']:6.1f}, step {mixed['step']:5.2f}; "
                     f"learned part up to {mixed['learned_max']:.2f}, rms {mixed['learned_rms']:.2f}")
    lines += ["", "INT8, the same layer alone, its range clipped in the best place"]
    lines += [line(f"{mixed['layer']}, range times {mixed['best_clip']:g}", mixed["clipped"])
              for mixed in int8["mixed_inputs"]]
    lines += ["", "INT8, one layer alone"] + [line(name, score) for name, score in int8["alone"].items()]
    lines += ["", "FP16", line("all nodes", fp16["all"])]
    lines += [line(f"only {name} kept", fp16[f"{name} kept"]) for name in GUILTY_IN_FP16]
    lines += [line("both kept", fp16["both kept"]),
              line(f"nothing kept, epsilon {LARGER_EPSILON:g} for 1e-08", fp16["larger epsilon"])]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(measure()))
