"""Calibrating and quantizing: vernier against ONNX Runtime's quantize_static, seconds and memory, then quality of ranges.

    python bench/compare_calibration.py [--build build/release] [--runs 3] [--only speed|quality] [NETWORK ...]

writes bench/results/compare_calibration.json and docs/benchmarks-quantizing.md. Let nothing else run. Speed: whole processes in
turn, on the same 100 images. Quality: ranges learned on one half of the samples by each program, put into the same scheme (ours:
the peer's ranges come in through its own JSON, vernier convert --calibration-cache), the written model measured on the other half.
Needs GNU time, onnxruntime, onnx and numpy in the Python that runs this, and VERNIER_SHARED.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import networks

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/compare_calibration.json"
PAGE = ROOT / "docs/benchmarks-quantizing.md"
METHODS = ["minmax", "entropy", "percentile"]
OURS = ["minmax", "percentile", "entropy", "mse", "aciq", "auto"]
TARGETS = ["tensorrt", "onnxruntime"]

READER = """
import sys
import numpy as np
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, quantize_static
from onnxruntime.quantization.calibrate import create_calibrator, save_tensors_data

METHODS = {"minmax": CalibrationMethod.MinMax, "entropy": CalibrationMethod.Entropy,
           "percentile": CalibrationMethod.Percentile}

class Reader(CalibrationDataReader):
    def __init__(self, data):
        import onnx
        loaded = np.load(data)
        model = onnx.load(sys.argv[1], load_external_data=False)
        weights = {i.name for i in model.graph.initializer}
        name = [i.name for i in model.graph.input if i.name not in weights][0]
        if isinstance(loaded, np.ndarray):
            feeds = [{name: sample} for sample in loaded]
        elif loaded.files[0].startswith("sample_"):
            feeds = [{name: loaded[key]} for key in loaded.files]
        else:
            feeds = [{name: np.asarray(loaded[name][i]) for name in loaded.files} for i in range(len(loaded[loaded.files[0]]))]
        self.feeds = iter(feeds)
    def get_next(self):
        return next(self.feeds, None)
"""
QUANTIZE = READER + """
model, data, method, out = sys.argv[1:]
quantize_static(model, out, Reader(data), quant_format=QuantFormat.QDQ, calibrate_method=METHODS[method], per_channel=True)
"""
CALIBRATE = READER + """
model, data, method, symmetric, out = sys.argv[1:]
calibrator = create_calibrator(model, None, "augmented.onnx", METHODS[method],
                               extra_options={"symmetric": symmetric == "1"})
calibrator.collect_data(Reader(data))
save_tensors_data(calibrator.compute_data(), out)
"""


def measured(command, folder):
    """Seconds, peak bytes and standard output of a process. GNU time starts it: a process that this one forks begins with our own
    resident set, samples included, as its largest."""
    command = ["/usr/bin/time", "-f", "%M", "-o", folder / "peak", *command]
    start = time.perf_counter()
    with open(folder / "out", "w+", encoding="utf-8") as out, open(folder / "log", "w+", encoding="utf-8") as log:
        code = subprocess.run([str(part) for part in command], cwd=folder, stdout=out, stderr=log, check=False).returncode
        out.seek(0)
        log.seek(0)
        text, said = out.read(), log.read()
    seconds = time.perf_counter() - start
    peak = int((folder / "peak").read_text().split()[-1]) * 1024
    return {"ok": code == 0, "seconds": seconds, "peak_bytes": peak, "text": text, "said": said[-400:]}


def must(command, folder):
    run = measured(command, folder)
    if not run["ok"]:
        raise SystemExit(f"{command}: {run['said']}")
    return run


def speed(vernier, folder, runs):
    rows = []
    for network in ["mobilenetv2-imagenet", "rfb320-face"]:
        model = networks.model_file(network)
        data = {count: folder / f"{network}_{count}.npy" for count in (25, 100)}
        samples = np.stack(networks.samples_of(network, 100))
        for count, file in data.items():
            np.save(file, samples[:count])
        for method in METHODS:
            def ours(count):
                return [vernier, "convert", model, "--int8", "--target", "onnxruntime", "--calibration-method", method,
                        "--data", data[count], "-o", "ours.onnx", "-qq"]
            theirs = [sys.executable, "-c", QUANTIZE, model, data[100], method, "theirs.onnx"]
            row = {"network": network, "method": method}
            measurements = {"theirs": [], "ours": [], "ours_25": []}
            for _ in range(runs):
                measurements["theirs"].append(must(theirs, folder))
                measurements["ours"].append(must(ours(100), folder))
                measurements["ours_25"].append(must(ours(25), folder))
            for who, all_runs in measurements.items():
                row[who] = {key: statistics.median(run[key] for run in all_runs) for key in ("seconds", "peak_bytes")}
                row[who]["seconds_of_all"] = [round(run["seconds"], 3) for run in all_runs]
            rows.append(row)
            print(network, method, {who: (round(row[who]["seconds"], 2), row[who]["peak_bytes"] // 10**6) for who in measurements},
                  flush=True)
    return rows


def halves(folder, network, count):
    """Every second sample calibrates, the others judge; a sequence is cut in the middle."""
    samples = networks.samples_of(network, count)
    cut = len(samples) // 2
    parts = {"calibration": samples[:cut] if network in networks.CARRIES else samples[::2],
             "judged": samples[cut:] if network in networks.CARRIES else samples[1::2]}
    files = {}
    for part, some in parts.items():
        path = folder / f"{network}_{part}.npz"
        if isinstance(some[0], dict):
            np.savez(path, **{name: np.stack([sample[name] for sample in some]) for name in some[0]})
        else:
            np.savez(path, **{f"sample_{i}": sample for i, sample in enumerate(some)})
        files[part] = path
    return files, {part: len(some) for part, some in parts.items()}


def figures(vernier, folder, model, typed, data):
    run = measured([vernier, "verify", model, typed, "--data", data, "--json", "-qq"], folder)
    if not run["ok"]:
        return {"failed": run["said"]}
    outputs = json.loads(run["text"])["figures"]["outputs"]
    worst = min(outputs, key=lambda output: float(output["sqnr_db"]))
    return {"sqnr_db": float(worst["sqnr_db"]), "output": worst["name"], "top1": worst.get("top1_agreement")}


# Of networks that take long, fewer; of the others as many as the shared data have, up to --samples.
SAMPLES = {"yolox-nano": 20, "style-candy": 8, "rfb320-face": 40, "mobilenetv2-imagenet": 40, "squeezenet-imagenet": 40,
           "espcn-superres": 40}


def quality(vernier, folder, names, count, keep):
    """Measures network by network; `keep` gets the rows of each, so that a run that is stopped has not been for nothing."""
    for network in names:
        model = networks.model_file(network)
        rows = []
        files, sizes = halves(folder, network, min(count, SAMPLES.get(network, count)))
        for target in TARGETS:
            row = {"network": network, "target": target, "samples": sizes, "ours": {}, "theirs": {}}
            for method in OURS:
                run = measured([vernier, "convert", model, "--int8", "--target", target, "--calibration-method", method,
                                "--data", files["calibration"], "-o", "typed.onnx", "-qq"], folder)
                row["ours"][method] = figures(vernier, folder, model, "typed.onnx", files["judged"]) if run["ok"] else {
                    "failed": run["said"]}
                row["ours"][method]["seconds"] = round(run["seconds"], 2)
            for method in METHODS:
                cache = folder / f"{network}_{target}_{method}.json"
                run = measured([sys.executable, "-c", CALIBRATE, model, files["calibration"], method,
                                int(target == "tensorrt"), cache], folder)
                if run["ok"]:
                    run = measured([vernier, "convert", model, "--int8", "--target", target, "--calibration-cache", cache,
                                    "-o", "typed.onnx", "-qq"], folder)
                row["theirs"][method] = figures(vernier, folder, model, "typed.onnx", files["judged"]) if run["ok"] else {
                    "failed": run["said"]}
            rows.append(row)
            print(network, target, {who: {m: f.get("sqnr_db", "failed") for m, f in row[who].items()}
                                    for who in ("ours", "theirs")}, flush=True)
        keep(rows)


def db(figure):
    return "-" if "sqnr_db" not in figure else f"{figure['sqnr_db']:.2f}"


def page(results):
    about = results["about"]
    lines = ["# Benchmarks of quantizing", "",
             "Made by `bench/compare_calibration.py` from `bench/results/compare_calibration.json`; not edited by hand. "
             f"{about['date']}, {about['machine']}; {about['versions']}.", ""]
    if about.get("note"):
        lines += [about["note"], ""]
    if "speed" in results:
        lines += ["## Calibrating and quantizing 100 images", "",
                  f"{'One run' if about['runs'] == 1 else 'Median of ' + str(about['runs']) + ' runs'} of whole processes in turn, Python's start included; memory is the largest resident set. "
                  "ONNX Runtime: `quantize_static`, Q/DQ, per channel. Ours: `vernier convert --int8 --target onnxruntime "
                  "--calibration-method METHOD`, float model to written Q/DQ model.", "",
                  "| network | method | ONNX Runtime s | ours s | times faster | ONNX Runtime MB | ours MB | ours, 25 images, MB |",
                  "|---|---|---:|---:|---:|---:|---:|---:|"]
        for row in results["speed"]:
            lines.append(f"| {row['network']} | {row['method']} | {row['theirs']['seconds']:.2f} | {row['ours']['seconds']:.2f} | "
                         f"{row['theirs']['seconds'] / row['ours']['seconds']:.1f} | {row['theirs']['peak_bytes'] / 1e6:.0f} | "
                         f"{row['ours']['peak_bytes'] / 1e6:.0f} | {row['ours_25']['peak_bytes'] / 1e6:.0f} |")
        lines.append("")
    if "quality" in results:
        missing = sorted(set(networks.NETWORKS) - {row["network"] for row in results["quality"]})
        lines += ["## Quality of the ranges", ""]
        if missing:
            lines += [f"Not measured yet: {', '.join(missing)}.", ""]
        lines += [
                  "SQNR in dB of the worst output, all layers of the scheme in INT8. Ranges are learned on one half of the samples, the "
                  "written model is measured on the other half. The scheme is the same for all columns, only the ranges differ: those of "
                  "ONNX Runtime's calibrators (symmetric under tensorrt) come in through its JSON. A dash: that calibrator, or the "
                  "conversion with its ranges, failed; the reason is in the record.", ""]
        for target in TARGETS:
            rows = [row for row in results["quality"] if row["target"] == target]
            wins = losses = ties = 0
            lines += [f"### --target {target}", "",
                      "| network | samples | " + " | ".join(f"ours: {method}" for method in OURS) + " | " +
                      " | ".join(f"ORT: {method}" for method in METHODS) + " | auto less best of ORT | top-1 auto, ORT's best |",
                      "|---|---:|" + "---:|" * (len(OURS) + len(METHODS) + 2)]
            for row in rows:
                theirs = [f for f in row["theirs"].values() if "sqnr_db" in f]
                best = max(theirs, key=lambda f: f["sqnr_db"]) if theirs else None
                auto = row["ours"]["auto"]
                gain = auto["sqnr_db"] - best["sqnr_db"] if best and "sqnr_db" in auto else None
                if gain is not None:
                    wins += gain > 0.05
                    losses += gain < -0.05
                    ties += abs(gain) <= 0.05
                top = f"{100 * auto['top1']:.1f} %, {100 * best['top1']:.1f} %" if best and auto.get("top1") is not None and best.get("top1") is not None else "-"
                lines.append(f"| {row['network']} | {row['samples']['calibration']} + {row['samples']['judged']} | " +
                             " | ".join(db(row["ours"][method]) for method in OURS) + " | " +
                             " | ".join(db(row["theirs"][method]) for method in METHODS) +
                             f" | {'-' if gain is None else f'{gain:+.2f}'} | {top} |")
            lines += ["", f"`auto` against the best of ONNX Runtime's three: above on {wins}, within 0.05 dB on {ties}, below on {losses} "
                          f"of {wins + ties + losses}.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--only", choices=["speed", "quality", "page"])
    parser.add_argument("names", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    vernier = (ROOT / options.build / "apps/vernier/vernier").resolve()
    import onnxruntime

    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    about = {"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
             "machine": f"{cpu}, {len(os.sched_getaffinity(0))} usable cores",
             "versions": f"onnxruntime {onnxruntime.__version__}, numpy {np.__version__}", "runs": options.runs,
             "build": options.build}
    if options.only != "page":
        results["about"] = about

    def write():
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(results), encoding="utf-8")

    def keep(new):
        done = {(row["network"], row["target"]) for row in new}
        old = [row for row in results.get("quality", []) if (row["network"], row["target"]) not in done]
        results["quality"] = sorted(old + new, key=lambda row: (row["target"], row["network"]))
        write()

    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "speed"):
            results["speed"] = speed(vernier, pathlib.Path(folder), options.runs)
        if options.only in (None, "quality"):
            quality(vernier, pathlib.Path(folder), options.names or networks.NETWORKS, options.samples, keep)
    write()


if __name__ == "__main__":
    main()
