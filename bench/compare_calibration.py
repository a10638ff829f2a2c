"""Calibrating and quantizing: vernier against ONNX Runtime's quantize_static, seconds and memory, then quality of ranges.

    python bench/compare_calibration.py [--build build/release] [--runs 3] [--only speed|quality|latency] [--work FOLDER]
                                        [--methods auto,...] [--targets onnxruntime,...] [--peer-gb 16] [--peer-minutes 20]
                                        [NETWORK ...]

writes bench/results/compare_calibration.json and docs/records/quantizing.md. Let nothing else run. Speed: whole processes in
turn, on the same 100 images. Quality: ranges learned on one half of the samples by each program, put into the same scheme (ours:
the peer's ranges come in through its own JSON, vernier convert --calibration-cache), the written model measured on the other half.
--work keeps samples and the peer's ranges, which take most of the time, for the next run. --methods and --targets measure only some
of ours again; the figures of the others stay as they were recorded, as do those of networks that are not named. A calibrator of the
peer is cut short at --peer-gb of address space or --peer-minutes, and its cell is then a dash with the reason in the record.
Needs GNU time, onnxruntime, onnx and numpy in the Python that runs this, and VERNIER_SHARED.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import foreign_files
import networks
import two_gigabytes
from paragraph import filled, headed, write_pages

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/compare_calibration.json"
PAGE = ROOT / "docs/records/quantizing.md"
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
model, data, method, out, *per_tensor = sys.argv[1:]
quantize_static(model, out, Reader(data), quant_format=QuantFormat.QDQ, calibrate_method=METHODS[method],
                per_channel=not per_tensor)
"""
CALIBRATE = READER + """
model, data, method, symmetric, out = sys.argv[1:]
calibrator = create_calibrator(model, None, "augmented.onnx", METHODS[method],
                               extra_options={"symmetric": symmetric == "1"})
calibrator.collect_data(Reader(data))
save_tensors_data(calibrator.compute_data(), out)
"""


def last_words(text):
    """The last error that a program printed, else its last line; files by their names: a record says nothing of the machine's
    folders."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if line.startswith("error: ")] or lines
    return re.sub(r"(?:/[^\s/:'\"]+)+/(?=[^\s/:'\"])", "", lines[-1]) if lines else ""


def measured(command, folder, seconds=None, gigabytes=None):
    """Seconds, peak bytes and standard output of a process. GNU time starts it: a process that this one forks begins with our own
    resident set, samples included, as its largest. Over its limits it is ended."""
    command = ["/usr/bin/time", "-f", "%M", "-o", folder / "peak", *(["timeout", f"{seconds:.0f}"] if seconds else []), *command]

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 1e9),) * 2)

    start = time.perf_counter()
    with open(folder / "out", "w+", encoding="utf-8") as out, open(folder / "log", "w+", encoding="utf-8") as log:
        code = subprocess.run([str(part) for part in command], cwd=folder, stdout=out, stderr=log, check=False,
                              preexec_fn=limit if gigabytes else None).returncode
        out.seek(0)
        log.seek(0)
        text, said = out.read(), log.read()
    seconds = time.perf_counter() - start
    peak = int((folder / "peak").read_text().split()[-1]) * 1024
    return {"ok": code == 0, "seconds": seconds, "peak_bytes": peak, "text": text, "said": last_words(said)}


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
    files = {part: folder / f"{network}_{part}.npz" for part in ("calibration", "judged")}
    sizes = folder / f"{network}_samples.json"
    if sizes.exists():
        return files, json.loads(sizes.read_text())
    samples = networks.samples_of(network, count)
    cut = len(samples) // 2
    parts = {"calibration": samples[:cut] if network in networks.CARRIES else samples[::2],
             "judged": samples[cut:] if network in networks.CARRIES else samples[1::2]}
    for part, some in parts.items():
        path = files[part]
        if isinstance(some[0], dict):
            np.savez(path, **{name: np.stack([sample[name] for sample in some]) for name in some[0]})
        else:
            np.savez(path, **{f"sample_{i}": sample for i, sample in enumerate(some)})
    sizes.write_text(json.dumps({part: len(some) for part, some in parts.items()}))
    return files, json.loads(sizes.read_text())


def their_ranges(folder, network, target, method, calibration, limits):
    """The ranges that the peer's calibrator learns, as its JSON, or why there are none. `limits`: of seconds and gigabytes."""
    cache = folder / f"{network}_{target}_{method}.json"
    failed = cache.with_suffix(".failed")
    if not cache.exists() and not failed.exists():
        run = measured([sys.executable, "-c", CALIBRATE, networks.model_file(network), calibration, method,
                        int(target == "tensorrt"), cache], folder, *limits)
        if not run["ok"]:
            cache.unlink(missing_ok=True)
            why = (f"cut short after {limits[0] / 60:.0f} minutes" if run["seconds"] >= limits[0] else
                   run["said"] or "ended without a word")
            failed.write_text(f"{why} (most memory {run['peak_bytes'] / 1e9:.1f} GB, {limits[1]:.0f} GB allowed)", encoding="utf-8")
    return cache, failed.read_text(encoding="utf-8") if failed.exists() else None


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


def noise_of(model, paths, data, outputs):
    """Squared error of a tensor against the float model's, sample by sample, of each typed file, in ONNX Runtime. `outputs`: its
    name in the float model and in each file."""
    import onnxruntime

    loaded = np.load(data)
    first = input_of(model)
    if loaded.files[0].startswith("sample_"):
        feeds = [{first: loaded[key]} for key in loaded.files]
    else:
        feeds = [{name: np.asarray(loaded[name][i]) for name in loaded.files} for i in range(len(loaded[loaded.files[0]]))]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    float_run, *runs = [onnxruntime.InferenceSession(foreign_files.with_output(path, tensor), options,
                                                     providers=["CPUExecutionProvider"])
                        for path, tensor in zip([model, *paths], outputs)]
    noise = [[] for _ in runs]
    for feed in feeds:
        exact = float_run.run([outputs[0]], feed)[0].astype(np.float64)
        for run, tensor, sums in zip(runs, outputs[1:], noise):
            sums.append(float(np.sum((run.run([tensor], feed)[0] - exact) ** 2)))
    return np.array(noise)


def standard_error_db(ours, theirs):
    """Of 10 log10(sum of theirs / sum of ours): what leaving each sample out in turn changes (the jackknife)."""
    n = len(ours)
    left = 10 * np.log10((theirs.sum() - theirs) / (ours.sum() - ours))
    return float(np.sqrt((n - 1) / n * np.sum((left - left.mean()) ** 2)))


def quality(vernier, folder, names, count, keep, recorded, methods, targets, limits):
    """Measures network by network; `keep` gets the rows of each, so that a run that is stopped has not been for nothing."""
    for network in names:
        model = networks.model_file(network)
        rows = []
        files, sizes = halves(folder, network, min(count, SAMPLES.get(network, count)))
        for target in targets:
            row = {"network": network, "target": target, "samples": sizes, "ours": {}, "theirs": {}}
            before = next((old for old in recorded if old["network"] == network and old["target"] == target), row)
            row["ours"] = dict(before["ours"])
            (folder / "auto.onnx").unlink(missing_ok=True)
            for method in methods if row["ours"] else OURS:
                run = measured([vernier, "convert", model, "--int8", "--target", target, "--calibration-method", method,
                                "--data", files["calibration"], "-o", "typed.onnx", "-qq"], folder)
                row["ours"][method] = figures(vernier, folder, model, "typed.onnx", files["judged"]) if run["ok"] else {
                    "failed": run["said"]}
                row["ours"][method]["seconds"] = round(run["seconds"], 2)
                if method == "auto" and run["ok"]:
                    (folder / "typed.onnx").replace(folder / "auto.onnx")
            row["theirs"] = dict(before["theirs"])
            for method in [] if row["theirs"] else METHODS:
                cache, why = their_ranges(folder, network, target, method, files["calibration"], limits)
                if why is not None:
                    row["theirs"][method] = {"failed": why}
                    continue
                run = measured([vernier, "convert", model, "--int8", "--target", target, "--calibration-cache", cache,
                                "-o", "typed.onnx", "-qq"], folder)
                row["theirs"][method] = figures(vernier, folder, model, "typed.onnx", files["judged"]) if run["ok"] else {
                    "failed": run["said"]}
            measured_again = (folder / "auto.onnx").exists()
            if measured_again:
                row |= compared_with_best(vernier, folder, row, files, limits)
            else:
                row |= {key: before[key] for key in ("standard_error_db", "in_front") if key in before}
            rows.append(row)
            print(network, target, {who: {m: f.get("sqnr_db", "failed") for m, f in row[who].items()}
                                    for who in ("ours", "theirs")}, flush=True)
        keep(rows)


def compared_with_best(vernier, folder, row, files, limits):
    """The standard error of the difference between auto and the best of the peer's methods; of an output that a Softmax makes also
    the difference in front of it, and its error. Nothing where either has no figure."""
    auto = row["ours"].get("auto", {})
    methods = {method: figure for method, figure in row["theirs"].items() if "sqnr_db" in figure}
    if "sqnr_db" not in auto or not methods:
        return {}
    best = max(methods, key=lambda method: methods[method]["sqnr_db"])
    model = networks.model_file(row["network"])
    cache, why = their_ranges(folder, row["network"], row["target"], best, files["calibration"], limits)
    if why is not None:
        return {}
    run = measured([vernier, "convert", model, "--int8", "--target", row["target"], "--calibration-cache", cache, "-o", "best.onnx",
                    "-qq"], folder)
    if not run["ok"] or not loads(folder / "auto.onnx") or not loads(folder / "best.onnx"):
        return {}
    paths = [folder / "auto.onnx", folder / "best.onnx"]
    told = {"standard_error_db": standard_error_db(*noise_of(model, paths, files["judged"], [auto["output"]] * 3))}
    inside = [foreign_files.softmax_input(path, auto["output"]) for path in [model, *paths]]
    if all(inside):
        ours, theirs = noise_of(model, paths, files["judged"], inside)
        told["in_front"] = {"gain_db": float(10 * np.log10(theirs.sum() / ours.sum())), "error_db": standard_error_db(ours, theirs)}
    return told


def milliseconds(paths, feed, rounds):
    """Medians of the files' inferences in ONNX Runtime, by turns, with all optimizations and two threads."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 2
    sessions = [onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]) for path in paths]
    seconds = [[] for _ in sessions]
    for _ in range(rounds):
        for session, taken in zip(sessions, seconds):
            start = time.perf_counter()
            session.run(None, feed)
            taken.append(time.perf_counter() - start)
    return [1e3 * statistics.median(taken[rounds // 5:]) for taken in seconds]


def latency(vernier, folder, names, count):
    """Both quantizers' files of a network, on the same samples, minmax, per channel, and the float file."""
    rows = []
    for network in names:
        model = networks.model_file(network)
        files, _ = halves(folder, network, min(count, SAMPLES.get(network, count)))
        sample = networks.samples_of(network, 1)[0]
        feed = sample if isinstance(sample, dict) else {input_of(model): sample}
        row = {"network": network}
        quantize = [sys.executable, "-c", QUANTIZE, model, files["calibration"], "minmax", "theirs.onnx"]
        theirs = measured(quantize, folder)
        if not theirs["ok"] or not loads(folder / "theirs.onnx"):
            row["per_tensor"] = True  # of files below opset 13 it writes per-channel ones that ONNX Runtime refuses
            theirs = measured([*quantize, "per_tensor"], folder)
        must([vernier, "convert", model, "--int8", "--target", "onnxruntime", "--data", files["calibration"], "-o", "ours.onnx",
              "-qq"], folder)
        if theirs["ok"] and loads(folder / "theirs.onnx"):
            paths = [model, folder / "theirs.onnx", folder / "ours.onnx"]
            once = milliseconds(paths[2:], feed, 5)[0]
            row["milliseconds"] = dict(zip(["float", "theirs", "ours"], milliseconds(paths, feed, int(min(200, max(10, 3000 / once))))))
        else:
            row["failed"] = theirs["said"] or "ONNX Runtime refuses its file"
        rows.append(row)
        print(row, flush=True)
    return rows


def loads(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:  # of whatever kind: it is the peer's file
        return False
    return True


def input_of(model):
    import onnx

    graph = onnx.load(model, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    return next(value.name for value in graph.input if value.name not in weights)


def db(figure):
    return "-" if "sqnr_db" not in figure else f"{figure['sqnr_db']:.2f}"


def page(results):
    about = results["about"]
    lines = [*headed("Benchmarks of quantizing", PAGE),
             filled("For users of ONNX Runtime's quantizer, ModelOpt and NNCF: time and memory to calibrate and quantize, speed and accuracy of the result."), "",
             filled(f"Made by `bench/compare_calibration.py` from `bench/results/compare_calibration.json`. {about['date']}, {about['machine']}; {about['versions']}."), ""]
    lines += [*map(filled, about.get("notes", [])), ""] if about.get("notes") else []
    if "speed" in results:
        lines += ["## Calibrating and quantizing 100 images", "",
                  filled(f"{'One run' if about['runs'] == 1 else 'Median of ' + str(about['runs']) + ' runs'} of whole processes in turn, Python's start included; memory is "
                         "the largest resident set. ONNX Runtime: `quantize_static`, Q/DQ, per channel. Ours: `vernier convert --int8 --target onnxruntime "
                         "--calibration-method METHOD`, from the float model to the Q/DQ model."), "",
                  "| network | method | ONNX Runtime s | ours s | times faster | ONNX Runtime MB | ours MB | ours, 25 images, MB |",
                  "|---|---|---:|---:|---:|---:|---:|---:|"]
        for row in results["speed"]:
            lines.append(f"| {row['network']} | {row['method']} | {row['theirs']['seconds']:.2f} | {row['ours']['seconds']:.2f} | "
                         f"{row['theirs']['seconds'] / row['ours']['seconds']:.1f} | {row['theirs']['peak_bytes'] / 1e6:.0f} | "
                         f"{row['ours']['peak_bytes'] / 1e6:.0f} | {row['ours_25']['peak_bytes'] / 1e6:.0f} |")
        lines.append("")
    if "latency" in results:
        lines += ["## Speed of the result in ONNX Runtime", "",
                  filled("Milliseconds of one inference, medians by turns in one process, two threads, all optimizations. Both files were calibrated by smallest and "
                         "largest value on the same samples, per channel, UINT8 activations. Rows with * are per tensor, because ONNX Runtime refuses its quantizer's file "
                         "per channel, as for all networks below opset 13."), "",
                  "| network | float | ONNX Runtime's quantizer | vernier --target onnxruntime | times as fast as its quantizer's |",
                  "|---|---:|---:|---:|---:|"]
        for row in results["latency"]:
            if "failed" in row:
                lines.append(f"| {row['network']} | - | its quantizer failed | - | - |")
                continue
            ms = row["milliseconds"]
            lines.append(f"| {row['network']}{' *' if row.get('per_tensor') else ''} | {ms['float']:.2f} | {ms['theirs']:.2f} | {ms['ours']:.2f} | {ms['theirs'] / ms['ours']:.2f} |")
        lines.append("")
    if "quality" in results:
        missing = sorted(set(networks.NETWORKS) - {row["network"] for row in results["quality"]})
        lines += ["## Quality of the ranges", ""]
        if missing:
            lines += [f"Not measured yet: {', '.join(missing)}.", ""]
        lines += [
                  filled("SQNR in dB of the worst output, all layers of the scheme in INT8. Half of the samples calibrate, the output model is measured on the other half. Only the "
                         "ranges differ between columns: those of ONNX Runtime's calibrators (symmetric under tensorrt) come in through its JSON."), "",
                  filled("- A dash: that calibrator, or the conversion with its ranges, failed; the record has the reason."),
                  filled("- ±: standard error of the difference over the held-out set (the jackknife, both files in ONNX Runtime). It is large behind a Softmax, because a few "
                         "undecided samples hold most of the error."),
                  filled("- auto chooses by the error in front of that Softmax: the difference in front is in parentheses."), ""]
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
                error = row.get("standard_error_db")
                sure = "-" if gain is None else f"{gain:+.2f}" + ("" if error is None else f" ± {error:.2f}")
                if row.get("in_front"):
                    sure += f" ({row['in_front']['gain_db']:+.2f} ± {row['in_front']['error_db']:.2f})"
                top = f"{100 * auto['top1']:.1f} %, {100 * best['top1']:.1f} %" if best and auto.get("top1") is not None and best.get("top1") is not None else "-"
                lines.append(f"| {row['network']} | {row['samples']['calibration']} + {row['samples']['judged']} | " +
                             " | ".join(db(row["ours"][method]) for method in OURS) + " | " +
                             " | ".join(db(row["theirs"][method]) for method in METHODS) +
                             f" | {sure} | {top} |")
            lines += ["", filled(f"`auto` compared with the best of ONNX Runtime's three: above on {wins}, within 0.05 dB on {ties}, below on {losses} "
                                 f"of {wins + ties + losses}."), ""]
    if foreign_files.RESULTS.exists():
        lines += foreign_files.page(json.loads(foreign_files.RESULTS.read_text())["rows"])
    if two_gigabytes.RESULTS.exists():
        lines += two_gigabytes.section(json.loads(two_gigabytes.RESULTS.read_text()))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--work", help="a folder that is kept: samples and the peer's ranges are made once")
    parser.add_argument("--only", choices=["speed", "quality", "latency", "page"])
    parser.add_argument("--methods", default=",".join(OURS))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--peer-gb", type=float, default=16)
    parser.add_argument("--peer-minutes", type=float, default=20)
    parser.add_argument("names", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    vernier = (ROOT / options.build / "apps/vernier/vernier").resolve()
    import onnxruntime

    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    about = {"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
             "machine": f"{cpu}, {len(os.sched_getaffinity(0))} usable cores",
             "versions": f"onnxruntime {onnxruntime.__version__}, numpy {np.__version__}", "build": options.build}
    about = {**results.get("about", {"runs": options.runs}), **about}
    if options.only in (None, "speed"):
        about["runs"] = options.runs
    if options.only != "page":
        results["about"] = about

    def write():
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        write_pages(PAGE, page(results), {"## Q/DQ files of other tools": (
            "foreign-files.md", "Files of other tools, and a large model",
            "For readers who ask if Vernier reads Q/DQ files of other tools right, and models of more than 2 GB. [Quantizing](quantizing.md) has speed and "
            "accuracy.")})

    def keep(new):
        done = {(row["network"], row["target"]) for row in new}
        old = [row for row in results.get("quality", []) if (row["network"], row["target"]) not in done]
        results["quality"] = sorted(old + new, key=lambda row: (row["target"], row["network"]))
        write()

    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.work or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if options.only in (None, "speed"):
            results["speed"] = speed(vernier, folder, options.runs)
        if options.only in (None, "latency"):
            new = latency(vernier, folder, options.names or networks.NETWORKS, options.samples)
            done = {row["network"] for row in new}
            old = [row for row in results.get("latency", []) if row["network"] not in done]
            results["latency"] = sorted(old + new, key=lambda row: row["network"])
        if options.only in (None, "quality"):
            quality(vernier, folder, options.names or networks.NETWORKS, options.samples, keep, results.get("quality", []),
                    options.methods.split(","), options.targets.split(","), (60 * options.peer_minutes, options.peer_gb))
    write()


if __name__ == "__main__":
    main()
