"""Comparing all tensors of two networks: vernier run against Polygraphy's save-then-load and ONNX Runtime's qdq_loss_debug.

    python bench/compare_peers.py [--build build/release] [--runs 3]

writes bench/results/compare_peers.json and docs/records/comparing.md. Let nothing else run. Each peer runs as a process of its own, in turn with ours, on the same inputs; seconds and peak memory (maximum resident set) are those
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
from paragraph import filled, headed

PAGE = networks.ROOT / "docs/records/comparing.md"
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
    # 1 is an answer only where the program came to one: Python ends with it too.
    answered = process.returncode == 0 or (process.returncode == 1 and ("FAILED" in text or "missed" in text))
    if not answered or "Traceback" in text:
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
    shape = np.load(data).shape[1:]
    (folder / "loader.py").write_text(f"import numpy as np\n\ndef load_data():\n    for x in np.load({str(data)!r}):\n"
                                      f"        yield {{{name!r}: x.reshape({shape!r})}}\n", encoding="utf-8")
    return model, data, name


def rfb320(vernier, folder, runs):
    """Polygraphy's way: save all tensors of one model, run the other and load. Ours: the same words, and verify."""
    model, data, _ = case_of(vernier, folder, "rfb320-face", 10)
    script = ["--onnxrt", "--onnx-outputs", "mark", "all", "--data-loader-script", "loader.py"]
    both = [model, "int8.onnx", "--onnxrt", "--onnxrt", "--onnx-outputs", "mark", "all", "--data", data]
    rows = {"Polygraphy: run --save-outputs, run --load-outputs": [], "vernier run, the same metric and statistics": [],
            "vernier run --compare sqnr": [], "vernier verify, figures of each layer": []}
    for _ in range(runs):
        polygraphy = [pathlib.Path(sys.executable).parent / "polygraphy", "run"]
        parts = [measured([*polygraphy, model, *script, "--save-outputs", "fp32.json"], folder),
                 measured([*polygraphy, "int8.onnx", *script, "--load-outputs", "fp32.json"], folder)]
        for name, row in zip(rows, [total(parts), measured([vernier, "run", *both], folder),
                                    measured([vernier, "run", *both, "--compare", "sqnr"], folder),
                                    measured([vernier, "verify", model, "int8.onnx", "--data", data], folder)]):
            rows[name].append(row)
    return {name: median_of(list_) for name, list_ in rows.items()}


def mobilenetv2(vernier, folder, runs):
    model, data, name = case_of(vernier, folder, "mobilenetv2-imagenet", 10)
    (folder / "qdq_loss.py").write_text(QDQ_LOSS, encoding="utf-8")
    many = folder / "many.npy"
    np.save(many, np.concatenate([np.load(data)] * 4))
    line = [vernier, "run", "int8.onnx", model, "--sim", "--sim", "--onnx-outputs", "mark", "all", "--compare", "sqnr"]
    rows = {"ONNX Runtime: qdq_loss_debug": [], "vernier run --compare sqnr": [], "vernier verify, figures of each layer": [],
            "vernier verify, 40 images": []}
    for _ in range(runs):
        for row, found in zip(rows, [measured([sys.executable, "qdq_loss.py", model, "int8.onnx", name, data], folder),
                                     measured([*line, "--data", data], folder),
                                     measured([vernier, "verify", model, "int8.onnx", "--data", data], folder),
                                     measured([vernier, "verify", model, "int8.onnx", "--data", many], folder)]):
            rows[row].append(found)
    return {name: median_of(list_) for name, list_ in rows.items()}


def saved_runs(program):
    """What bench/saved_runs_bench prints."""
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def document(result):
    lines = [*headed("Benchmarks of comparing", PAGE),
             filled("For users of Polygraphy and ONNX Runtime: time and memory to compare all tensors of two models."), "",
             filled("Made by `bench/compare_peers.py` from `bench/results/compare_peers.json`. "
                    f"{result['when']}, {result['machine']}; {result['versions']}."), "",
             filled("Each row is the median of whole processes, Python's start included, run in turn. Memory is the largest resident set."), ""]
    for case, rows in result["cases"].items():
        first = next(iter(rows.values()))
        lines += [f"## {case}", "", "| | seconds | MB | times faster | share of its memory |", "|---|---:|---:|---:|---:|"]
        for who, row in rows.items():
            lines.append(f"| {who} | {row['seconds']:.2f} | {row['peak_bytes'] / 1e6:.0f} | {first['seconds'] / row['seconds']:.1f} | "
                         f"{row['peak_bytes'] / first['peak_bytes']:.2f} |")
        lines.append("")
    lines += ["## Saved runs of 350 MB", "", "```", result["saved_runs"], "```", ""]
    return "\n".join(lines)


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.split(":", 1)[1].strip() for line in info.splitlines() if line.startswith("model name")), "unknown CPU")
    return f"{model}, {len(os.sched_getaffinity(0))} usable cores"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=networks.ROOT / "build/release")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    vernier = options.build.resolve() / "apps/vernier/vernier"
    from importlib.metadata import version
    result = {"when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "machine": machine(),
              "versions": ", ".join(f"{name} {version(name)}" for name in ("polygraphy", "onnxruntime", "numpy")),
              "load": os.getloadavg(), "cases": {}}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        result["cases"]["rfb320-face, 10 inputs, all tensors of FP32 and INT8"] = rfb320(vernier, folder, options.runs)
        result["cases"]["mobilenetv2-imagenet, 10 images, all tensors of FP32 and INT8"] = mobilenetv2(vernier, folder, options.runs)
    result["saved_runs"] = saved_runs(options.build.resolve() / "bench/saved_runs_bench")
    record = networks.ROOT / "bench/results/compare_peers.json"
    record.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(document(result), encoding="utf-8")
    print(document(result))


if __name__ == "__main__":
    main()
