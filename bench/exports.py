"""Jobs on networks with the shapes of PyTorch's exports: memory, computing time, file sizes and what the files claim.

    python bench/exports.py [--build build/release] [--work FOLDER] [--shapes WORD ...] [--jobs WORD ...] [--at-once N] [--page]

Makes each network of export_shapes.py with random weights in a temporary folder, runs the jobs of JOBS on four short samples, each
as a process of its own, and adds them to bench/results/exports.json; --page only renders docs/records/exports.md from it. Memory is
the largest resident set of the process, mapped files included, divided by the float32 weights. Passes are its CPU seconds divided
by those of ONNX Runtime's float32 inference over the same samples, measured right before each job, its session not counted.
Peers (export_peers.py) run as jobs; one that is not installed is left out. --at-once N: N shapes beside each other.
"""
import argparse
import concurrent.futures
import datetime
import importlib.util
import json
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import onnxruntime

import export_shapes
from paragraph import filled, headed
from processor import processor

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/exports.json"
PAGE = ROOT / "docs/records/exports.md"
LIMIT = 900  # seconds of a job
MEMORY, NOTHING_KEPT, KEPT = 3, 12, 60  # goals: times the weights, passes
EASY = 3  # dB below what everything in INT8 has: nothing is kept; as much above it: some layers are
# By name: words behind the model, and the file that is written. LIMIT_DB stands for a requirement that the first job decides.
JOBS = {
    "calibrate": (["calibrate", "--int8", "-o", "ranges.json"], None),
    "quantize int8": (["quantize", "--quantize-mode", "int8", "-o", "typed.onnx"], "typed.onnx"),
    "diagnose --fp16": (["diagnose", "--fp16", "--min-sqnr", "20", "-o", "out"], "out/model.onnx"),
    "diagnose --int8, nothing kept": (["diagnose", "--int8", "--min-sqnr", "EASY", "-o", "out"], "out/model.onnx"),
    "diagnose --int8 --quick, nothing kept": (["diagnose", "--int8", "--quick", "--min-sqnr", "EASY", "-o", "out"], "out/model.onnx"),
    "diagnose --int8, some kept": (["diagnose", "--int8", "--min-sqnr", "HARD", "-o", "out"], "out/model.onnx"),
    "diagnose --int8, no requirement": (["diagnose", "--int8", "-o", "out"], "out/model.onnx"),
}
PEERS = {"ONNX Runtime, INT8": "onnxruntime-int8", "onnxconverter-common, FP16": "onnxconverter-fp16"}
NEEDS = {"onnxruntime-int8": "onnxruntime.quantization", "onnxconverter-fp16": "onnxconverter_common"}


def session(model, optimized):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def feeds_of(data):
    arrays = np.load(data)
    return [{name: arrays[name][i] for name in arrays.files} for i in range(export_shapes.SAMPLES)]


IN_A_PROCESS = concurrent.futures.ProcessPoolExecutor  # so that no session stays in this one


def plain_pass(model, data):
    """CPU seconds of one pass, two samples side by side: the best of three, as vernier runs them. And the bytes that this took."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    plain, feeds = session(model, True), feeds_of(data)
    times = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            start = time.process_time()
            list(pool.map(lambda feed: plain.run(None, feed), feeds))
            times.append(time.process_time() - start)
    return min(times), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024


def judged_by_onnxruntime(model, typed, data):
    """The lowest SQNR of the outputs that are no caches, without optimizations; text where it does not run."""
    try:
        refs = session(model, False)
        names = [output.name for output in refs.get_outputs() if not output.name.startswith("present")]
        signal, noise = np.zeros(len(names)), np.zeros(len(names))
        wanted = [refs.run(names, feed) for feed in feeds_of(data)]
        del refs
        tested = session(typed, False)
        for ref, feed in zip(wanted, feeds_of(data)):
            for i, (a, b) in enumerate(zip(ref, tested.run(names, feed))):
                a = a.astype(np.float64)
                signal[i] += np.sum(a * a)
                noise[i] += np.sum((a - b) ** 2)
        return float(min(10 * np.log10(signal / noise)))
    except Exception as error:  # pylint: disable=broad-except  # whatever the runtime says is the result
        return str(error).splitlines()[0][:120]


def apart(function, *arguments):
    with IN_A_PROCESS(1) as pool:
        return pool.submit(function, *arguments).result()


def run(command, folder):
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    told = concurrent.futures.ThreadPoolExecutor(1).submit(process.stderr.read)
    stopped = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            break
        if time.perf_counter() - start > LIMIT and not stopped:
            stopped = True
            process.kill()
        time.sleep(0.1)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {"exit": process.returncode, "stopped": stopped, "seconds": time.perf_counter() - start, "peak_bytes": usage.ru_maxrss * 1024,
            "cpu_seconds": usage.ru_utime + usage.ru_stime, "said": told.result().strip().splitlines()[-1:]}


def size_of(file):
    return sum(part.stat().st_size for part in (file, file.with_name(file.name + ".data")) if part.exists())


def lowest(figures):
    values = [output["sqnr_db"] for output in (figures or {}).get("outputs", []) if output.get("sqnr_db") is not None]
    return min(values, default=None)


def claim_of(folder):
    """What the file was verified to, and what everything low has: the lowest of the outputs and their parts."""
    report = json.loads((folder / "out/report.json").read_text())
    return {"claim_db": lowest(report.get("final_figures")), "all_low_db": lowest(report["all_low"]),
            "kept": len((report.get("kept") or {}).get("layers", [])),
            "phases": [[phase["phase"], round(phase["seconds"], 2)] for phase in report["phases"]]}


def measure(program, name, folder, wanted, rows):
    model, data, weights = apart(export_shapes.make, name, folder)  # a child starts with the resident set of this process as its largest
    of_shape = [row for row in rows if row["shape"] == name and "--int8" in row["job"]]
    all_low = next((row["all_low_db"] for row in of_shape if row.get("all_low_db")), None)
    for job, (words, written) in JOBS.items():
        if wanted and not any(word in job for word in wanted):
            continue
        if {"EASY", "HARD"} & set(words) and all_low is None:
            first = run([program, "diagnose", model.name, "--int8", "--quick", "--min-sqnr", "0", "--data", data.name, "-o", "out"], folder)
            all_low = claim_of(folder)["all_low_db"] if first["exit"] in (0, 1, 5) else 0
        limits = {"EASY": f"{(all_low or 0) - EASY:.1f}", "HARD": f"{(all_low or 0) + EASY:.1f}"}
        words = [words[0], model.name, "--data", data.name, *(limits.get(word, word) for word in words[1:])]
        plain, plain_bytes = apart(plain_pass, model, data)
        row = {"shape": name, "job": job, "weights_bytes": weights, "plain_cpu_seconds": plain, "plain_bytes": plain_bytes, **run([program, *words], folder)}
        row["memory"], row["passes"] = row["peak_bytes"] / weights, row["cpu_seconds"] / plain
        if row["exit"] in (0, 1, 5):
            if written == "out/model.onnx":
                row.update(claim_of(folder))
            if written and (folder / written).exists():
                row["file_bytes"] = size_of(folder / written)
                row["onnxruntime_db"] = apart(judged_by_onnxruntime, model, folder / written, data)
        yield row
    for job, method in PEERS.items():
        if (wanted and not any(word in job for word in wanted)) or importlib.util.find_spec(NEEDS[method]) is None:
            continue
        plain, plain_bytes = apart(plain_pass, model, data)
        row = {"shape": name, "job": job, "weights_bytes": weights, "plain_cpu_seconds": plain, "plain_bytes": plain_bytes,
               **run([sys.executable, str(ROOT / "bench/export_peers.py"), method, str(model), str(data), str(folder / f"{method}.onnx")], folder)}
        row["memory"], row["passes"] = row["peak_bytes"] / weights, row["cpu_seconds"] / plain
        if row["exit"] == 0:
            row["file_bytes"] = size_of(folder / f"{method}.onnx")
            row["onnxruntime_db"] = apart(judged_by_onnxruntime, model, folder / f"{method}.onnx", data)
        yield row


def number(value, digits):
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) and math.isfinite(value) else "-"


def shown(value, most, digits=1):
    text = number(value, digits)
    return text if most is None or value <= most else f"{text} (**missed**)"


def page(results):
    rows = results["rows"]
    lines = [*headed("Exports of PyTorch at real size", PAGE),
             filled("For readers with a network of 20 to 500 million weights: memory, computing time and files of each job."), "",
             filled(f"Made by `bench/exports.py` from `bench/results/exports.json`. {results['date']}, {results['machine']}; {results['versions']}. "
                    "Several shapes ran at a time."), "",
             filled(f"Networks with the shapes of PyTorch's exports and random weights, {export_shapes.SAMPLES} samples each, {export_shapes.TOKENS} "
                    "tokens where they read text:"), ""]
    for name in dict.fromkeys(row["shape"] for row in rows):
        weights = next(row["weights_bytes"] for row in rows if row["shape"] == name)
        lines.append(filled(f"- {name}: {weights / 4e6:.0f} M weights. {' '.join((export_shapes.SHAPES[name][0].__doc__ or '').split())}"))
    lines += ["",
              filled(f"- *memory*: the largest resident set, mapped files included, divided by the FP32 weights. The goal is {MEMORY}."),
              filled("- *ONNX Runtime*: the same of a session of ONNX Runtime alone that runs the float model, two samples side by side, without "
                     "the program around it."),
              filled(f"- *passes*: CPU seconds of the whole process divided by those of one FP32 pass over the samples in ONNX Runtime. The goal of "
                     f"`diagnose --int8` is {NOTHING_KEPT} if it keeps nothing and {KEPT} if it keeps layers."),
              filled("- *file*: the output model, as a share of the FP32 weights."),
              filled("- *claim*: SQNR in the report, the lowest of all measured outputs; next to it that of the file in ONNX Runtime without "
                     "optimizations. Vernier also measures parts of an output, so its figure can be the lower one."), ""]
    for job in [*JOBS, *PEERS]:
        of_job = [row for row in rows if row["job"] == job]
        if not of_job:
            continue
        most = NOTHING_KEPT if "nothing" in job else KEPT if "some" in job else None
        title = f"## {job}" if job in PEERS else "## `" + job.replace(",", "`,", 1) if "," in job else f"## `{job}`"
        lines += [title, "",
                  "| network | memory, times | ONNX Runtime, times | passes | layers kept | file, share | claim, dB | ONNX Runtime, dB |", "|---|---:|---:|---:|---:|---:|---:|---:|"]
        for row in of_job:
            alone = number(row["plain_bytes"] / row["weights_bytes"], 1) if "plain_bytes" in row else "-"
            if row["stopped"] or row["exit"] not in (0, 1, 5):
                why = f"not done after {row['seconds']:.0f} s" if row["stopped"] else f"failed: exit code {row['exit']}"
                lines.append(f"| {row['shape']} | {shown(row['memory'], MEMORY)} | {alone} | {why} | - | - | - | - |")
                continue
            share = number(row["file_bytes"] / row["weights_bytes"], 2) if "file_bytes" in row else "-"
            judged = row.get("onnxruntime_db", "-")
            lines.append(f"| {row['shape']} | {shown(row['memory'], MEMORY)} | {alone} | {shown(row['passes'], most, 0)} | {row.get('kept', '-')} | {share} | "
                         f"{number(row.get('claim_db'), 1)} | {'does not run' if isinstance(judged, str) and judged != '-' else number(judged, 1)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def machine():
    cpu = processor()
    return f"{cpu}, {len(os.sched_getaffinity(0))} usable cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--work", help="where the temporary folder is made")
    parser.add_argument("--shapes", nargs="*", default=list(export_shapes.SHAPES))
    parser.add_argument("--jobs", nargs="*", default=[])
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--program", help="in the place of the build's")
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    results = json.loads(options.output.read_text()) if options.output.exists() else {"rows": []}
    if not options.page:
        program = str(pathlib.Path(options.program or ROOT / options.build / "apps/vernier/vernier").resolve())
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        results.update(date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), machine=machine(),
                       versions=f"{re.sub('^vernier', 'Vernier', version)}, ONNX Runtime {onnxruntime.__version__}")
        rows, one_at_a_time = results["rows"], threading.Lock()

        def of_shape(name):
            with tempfile.TemporaryDirectory(dir=options.work) as folder:
                for row in measure(program, name, pathlib.Path(folder), options.jobs, list(rows)):
                    with one_at_a_time:
                        rows[:] = [old for old in rows if (old["shape"], old["job"]) != (name, row["job"])] + [row]
                        print(json.dumps(row), flush=True)
                        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            list(pool.map(of_shape, options.shapes))
    if options.output == RESULTS:
        PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
