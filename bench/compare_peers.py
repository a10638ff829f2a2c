"""Comparing all tensors of two networks: vernier run against Polygraphy's save-then-load and ONNX Runtime's qdq_loss_debug.

    python bench/compare_peers.py --vernier build/release/apps/vernier/vernier [--out FILE] [--runs 3]

Each peer runs as a process of its own, in turn with ours, on the same inputs; seconds and peak memory (maximum resident set) are those
of the whole process, Python's start included. Needs polygraphy, onnxruntime and numpy in the Python that runs this, and VERNIER_SHARED.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import networks

QDQ_LOSS = """
import sys
import numpy as np
from onnxruntime.quantization.calibrate import CalibrationDataReader
from onnxruntime.quantization.qdq_loss_debug import (collect_activations, compute_activation_error,
    create_activation_matching, modify_model_output_intermediate_tensors)

class Reader(CalibrationDataReader):
    def __init__(self, name, samples):
        self.feeds = iter([{name: sample} for sample in samples])
    def get_next(self):
        return next(self.feeds, None)

float_model, qdq_model, name, data = sys.argv[1:]
samples = np.load(data)
found = []
for model in (float_model, qdq_model):
    modify_model_output_intermediate_tensors(model, "augmented.onnx")
    found.append(collect_activations("augmented.onnx", Reader(name, samples)))
matching = create_activation_matching(found[1], found[0])
print(len(compute_activation_error(matching)), "tensors")
"""


def measured(command, folder):
    """Seconds, peak bytes and output of a process."""
    start = time.perf_counter()
    with open(folder / "log", "w+", encoding="utf-8") as log:
        process = subprocess.Popen([str(part) for part in command], cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command}: exit {process.returncode}\n{text[-2000:]}")
    return {"seconds": time.perf_counter() - start, "peak_bytes": usage.ru_maxrss * 1024, "text": text}


def total(parts):
    return {"seconds": sum(part["seconds"] for part in parts), "peak_bytes": max(part["peak_bytes"] for part in parts)}


def median_of(runs):
    return {key: statistics.median(run[key] for run in runs) for key in ("seconds", "peak_bytes")} | {
        "seconds_of_all": [round(run["seconds"], 3) for run in runs]}


def case_of(vernier, folder, network, samples):
    networks.make(folder, network, samples)
    data = networks.data_file(folder, network)
    model = networks.model_file(network)
    measured([vernier, "convert", model, "--int8", "--data", data, "-o", "int8.onnx"], folder)
    name = subprocess.run([sys.executable, "-c", "import onnx,sys; m=onnx.load(sys.argv[1]);"
                           "w={i.name for i in m.graph.initializer};"
                           "print([i.name for i in m.graph.input if i.name not in w][0])", str(model)],
                          capture_output=True, text=True, check=True).stdout.strip()
    array = np.load(data)
    shape = array.shape[1:]
    np.savez(folder / "each.npz", array)
    (folder / "loader.py").write_text(f"import numpy as np\n\ndef load_data():\n    for x in np.load({str(data)!r}):\n"
                                      f"        yield {{{name!r}: x.reshape({shape!r})}}\n", encoding="utf-8")
    return model, data, name


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vernier", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    vernier = options.vernier.resolve()
    result = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model, data, name = case_of(vernier, folder, "rfb320-face", 10)
        common = ["--onnxrt", "--onnx-outputs", "mark", "all", "--data-loader-script", "loader.py"]
        polygraphy, ours = [], []
        for _ in range(options.runs):
            run = [sys.executable, "-m", "polygraphy", "run"]
            polygraphy.append(total([measured([*run, model, *common, "--save-outputs", "fp32.json"], folder),
                                     measured([*run, "int8.onnx", *common, "--load-outputs", "fp32.json"], folder)]))
            ours.append(measured([vernier, "run", "int8.onnx", model, "--onnxrt", "--onnxrt", "--onnx-outputs", "mark", "all",
                                  "--data", data], folder))
        result["rfb320-face, 10 inputs, all tensors"] = {"polygraphy save, load": median_of(polygraphy), "vernier run": median_of(ours)}

        model, data, name = case_of(vernier, folder, "mobilenetv2-imagenet", 10)
        (folder / "qdq_loss.py").write_text(QDQ_LOSS, encoding="utf-8")
        loss, ours = [], []
        many = folder / "many.npy"
        np.save(many, np.concatenate([np.load(data)] * 4))
        flat = []
        for _ in range(options.runs):
            loss.append(measured([sys.executable, "qdq_loss.py", model, "int8.onnx", name, data], folder))
            line = [vernier, "run", "int8.onnx", model, "--sim", "--sim", "--onnx-outputs", "mark", "all", "--compare", "sqnr"]
            ours.append(measured([*line, "--data", data], folder))
            flat.append(measured([*line, "--data", many], folder))
        result["mobilenetv2-imagenet, 10 images, all tensors"] = {
            "qdq_loss_debug": median_of(loss), "vernier run --compare sqnr": median_of(ours),
            "vernier run --compare sqnr, 40 images": median_of(flat)}
    for case, rows in result.items():
        print(case)
        for who, row in rows.items():
            print(f"  {who:42} {row['seconds']:8.2f} s {row['peak_bytes'] / 1e6:8.0f} MB")
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
