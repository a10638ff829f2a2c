"""The same command on the CPU and on a GPU: its answer and its time; writes bench/results/gpu.json.

    python bench/gpu.py [--program build/release/apps/vernier/vernier] [--only CASE ...] [--repeat 3] [--samples 100] [--torchvision]
    python bench/gpu.py --ranks 1 2 4 [--mpirun mpirun]

Each case runs `vernier diagnose` with --device cpu and --device cuda, without cached measurements, and compares what both keep, the
figure of the output model, and each layer's local error. --torchvision adds ViT-B/16 and ResNet-50 with random weights, with an open
and with a fixed first dimension (samples run as one, or one by one); they need torch and torchvision.
--ranks runs ViT-B/16 with 256 images under mpirun instead, a GPU for each rank, and adds a row of its own.
VERNIER_ONNXRUNTIME_GPU, and VERNIER_ORT_LIBRARY of the same version, say where ONNX Runtime is.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np

from networks import ROOT, make, model_file

RESULTS = ROOT / "bench/results/gpu.json"
CASES = {
    "mobilenetv2 INT8, 24 dB": ("mobilenetv2-imagenet", ["--int8", "--min-sqnr", "24"]),
    "mobilenetv2 FP16": ("mobilenetv2-imagenet", ["--fp16"]),
    "vit-cifar INT8, 34 dB": ("vit-cifar", ["--int8", "--min-sqnr", "34"]),
    "vit-cifar FP8, 32 dB": ("vit-cifar", ["--fp8", "--min-sqnr", "32"]),
    "yolox-nano INT8, 15 dB": ("yolox-nano", ["--int8", "--min-sqnr", "15"]),
    "resnet8 INT8, 30 dB": ("resnet8-cifar", ["--int8", "--min-sqnr", "30"]),
}


def number(value):
    return float(value) if value is not None else math.nan  # "inf" and "nan" are text in JSON


def phases_of(told):
    """{"search": 5.62} of `-v`: "info: search: 5.62 s"."""
    return {name: float(seconds) for name, seconds in re.findall(r"^info: ([^:]+): ([0-9.]+) s$", told, re.MULTILINE)}


def run(program, model, data, options, device, repeat, launcher=()):
    command = [*launcher, program, "diagnose", model, "--data", data, *options, "--device", device, "--json", "-v", "--no-cache", "--no-latency",
               "--options", "0"]
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds.append(round(time.perf_counter() - start, 2))
        if not done.stdout.startswith("{"):
            return {"error": done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]}
    report = json.loads(done.stdout)
    kept = report.get("kept") or {}
    figures = report.get("final_figures") or report.get("all_low") or {}
    return {"seconds": statistics.median(seconds), "all_seconds": seconds, "onnxruntime": report["onnxruntime_version"],
            "kept": sorted(kept.get("layers", [])), "certified": kept.get("certified"), "evaluations": kept.get("evaluations"),
            "outputs": {output["name"]: output.get("sqnr_db") for output in figures.get("outputs", [])},
            "local": {layer["name"]: layer.get("own_sqnr_db") for layer in report["layers"]},
            "phases": phases_of(done.stderr), "warnings": report.get("warnings")}


def largest_difference(one, other):
    """Of figures in dB under equal names; equal infinities do not differ."""
    differences = [0.0]
    for name in one.keys() & other.keys():
        a, b = number(one[name]), number(other[name])
        if a != b and not (math.isnan(a) and math.isnan(b)):
            differences.append(abs(a - b))
    return max(differences)


def torchvision_cases(folder, images=64):
    """Networks of real size with random weights, and random images: {name: (model, data, options)}."""
    import torch
    import torchvision

    data = folder / "images.npy"
    np.save(data, np.random.default_rng(1).standard_normal((images, 1, 3, 224, 224)).astype(np.float32))
    cases = {}
    for name, build, limit in (("ViT-B/16", torchvision.models.vit_b_16, "30"), ("ResNet-50", torchvision.models.resnet50, "36")):
        torch.manual_seed(1)
        model = build(weights=None).eval()
        if hasattr(model, "heads"):
            torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # zero in a new one
        for axes, dimension in ((None, "fixed"), ({"x": {0: "N"}}, "open")):
            file = folder / f"{build.__name__}-{dimension}.onnx"
            torch.onnx.export(model, torch.zeros(2 if axes else 1, 3, 224, 224), str(file), opset_version=17, input_names=["x"],
                              dynamic_axes=axes, dynamo=False)
            cases[f"{name}, {dimension} batch, INT8, {limit} dB, {images} samples"] = (file, lambda: data, ["--int8", "--min-sqnr", limit])
    return cases


def several_gpus(arguments, results, folder):
    """The same job on one GPU, and with a rank for each of several."""
    name, (model, data, options) = next((name, case) for name, case in torchvision_cases(folder, images=256).items()
                                        if "ViT" in name and "fixed" in name)
    rows = {}
    for ranks in arguments.ranks:
        launcher = [] if ranks == 1 else [*arguments.mpirun.split(), "-n", str(ranks)]
        rows[str(ranks)] = run(arguments.program, model, data(), options, "cuda", arguments.repeat, launcher)
        print(ranks, json.dumps({key: value for key, value in rows[str(ranks)].items() if key != "local"}), flush=True)
    one = rows[str(arguments.ranks[0])]
    for row in rows.values():
        if "error" in row:
            continue
        row["faster"] = round(one["seconds"] / row["seconds"], 2)
        row["same_answer"] = all(row[key] == one[key] for key in ("kept", "certified", "outputs", "local"))
    for row in rows.values():
        row.pop("local", None)
    results[f"{name}, several GPUs"] = {"ranks": rows, "options": options, "cores": os.cpu_count(),
                                        "date": datetime.date.today().isoformat()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/release/apps/vernier/vernier")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--torchvision", action="store_true")
    parser.add_argument("--ranks", type=int, nargs="*", default=[])
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if arguments.ranks:
            several_gpus(arguments, results, folder)
            arguments.results.write_text(json.dumps(results, indent=1) + "\n")
            return
        cases = {name: (model_file(network), lambda network=network: make(folder, network, arguments.samples), options)
                 for name, (network, options) in CASES.items()}
        if arguments.torchvision:
            cases |= torchvision_cases(folder)
        for name, (model, data, options) in cases.items():
            if arguments.only and not any(word in name for word in arguments.only):
                continue
            row = {device: run(arguments.program, model, data(), options, device, arguments.repeat) for device in ("cpu", "cuda")}
            row |= {"options": options, "cores": os.cpu_count(), "cpu_name": platform.processor() or platform.machine(),
                    "date": datetime.date.today().isoformat()}
            if all("error" not in row[device] for device in ("cpu", "cuda")):
                row["same_kept"] = row["cpu"]["kept"] == row["cuda"]["kept"]
                row["output_difference_db"] = round(largest_difference(row["cpu"]["outputs"], row["cuda"]["outputs"]), 4)
                row["local_difference_db"] = round(largest_difference(row["cpu"]["local"], row["cuda"]["local"]), 4)
                row["faster"] = round(row["cpu"]["seconds"] / row["cuda"]["seconds"], 2)
            for device in ("cpu", "cuda"):
                row[device].pop("local", None)
            results[name] = row
            arguments.results.parent.mkdir(parents=True, exist_ok=True)
            arguments.results.write_text(json.dumps(results, indent=1) + "\n")
            print(json.dumps({name: {key: value for key, value in row.items() if key not in ("cpu", "cuda")},
                              "cpu": row["cpu"], "cuda": row["cuda"]}), flush=True)


if __name__ == "__main__":
    main()
