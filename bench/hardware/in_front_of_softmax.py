"""How far engines differ on one network's INT8 files in front of its last Softmax, and behind it:

    python bench/hardware/in_front_of_softmax.py VERNIER FLOAT OUTPUT CALIBRATION.npy JUDGED.npy

writes the network for each target and prints SQNR in dB against the float file: ONNX Runtime without and with optimizations, and
OpenVINO. Needs onnxruntime, openvino, onnx and numpy.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
import openvino

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import foreign_files


def by_onnxruntime(path, tensor, samples, level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.graph_optimization_level = 4, level
    run = onnxruntime.InferenceSession(foreign_files.with_output(path, tensor), options, providers=["CPUExecutionProvider"])
    return np.concatenate([run.run([tensor], {run.get_inputs()[0].name: sample})[0] for sample in samples]).astype(float)


def by_openvino(path, tensor, samples, folder):
    (folder / "tapped.onnx").write_bytes(foreign_files.with_output(path, tensor))
    core = openvino.Core()
    model = core.compile_model(core.read_model(folder / "tapped.onnx"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    port = next(port for port in model.outputs if tensor in port.get_names())
    return np.concatenate([np.array(model([sample])[port]) for sample in samples]).astype(float)


def main():
    vernier, float_file, output, calibration, judged = sys.argv[1:]
    samples, levels = np.load(judged), onnxruntime.GraphOptimizationLevel
    print("| target | tensor | ONNX Runtime, optimizations off | ONNX Runtime | OpenVINO |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for target in ("tensorrt", "onnxruntime", "openvino"):
            typed = folder / f"{target}.onnx"
            subprocess.run([vernier, "convert", float_file, "--int8", "--target", target, "--data", calibration, "-o", typed, "-qq"],
                           check=True, stdout=subprocess.DEVNULL)
            for place, exact, low in (("in front of Softmax", foreign_files.softmax_input(float_file, output),
                                       foreign_files.softmax_input(typed, output)), ("output", output, output)):
                ref = by_onnxruntime(float_file, exact, samples, levels.ORT_DISABLE_ALL)
                got = [by_onnxruntime(typed, low, samples, levels.ORT_DISABLE_ALL),
                       by_onnxruntime(typed, low, samples, levels.ORT_ENABLE_ALL), by_openvino(typed, low, samples, folder)]
                figures = [10 * np.log10(np.sum(ref**2) / np.sum((ref - values)**2)) for values in got]
                print(f"| {target} | {place} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |")


if __name__ == "__main__":
    main()
