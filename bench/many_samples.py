"""Measures 10,000 samples of small networks beside ONNX Runtime's own loop over them, and writes docs/records/many-samples.md.

    python bench/many_samples.py [--before NAME=PROGRAM] [--rounds 5] [--samples 10000] [--batch 32]

`vernier calibrate`, `eval` and `verify` of this checkout's release build, and of an earlier commit's where --before names one, in turns in one
run with ONNX Runtime. Its loop has the samples in memory and runs one at a time, on one thread in each of as many processes as there are
usable cores, or in as many threads of one process: whichever is faster in that turn. Only the loop is timed. Of a command two times count: the
whole of it, and what 10,000 samples take beyond 100, which leaves out what does not grow with samples. VERNIER_SHARED names the shared folder.
"""
import argparse
import concurrent.futures
import datetime
import json
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from networks import ROOT, model_file, samples_of
from paragraph import filled, headed

PROGRAM = ROOT / "build/release/apps/vernier/vernier"
PAGE = ROOT / "docs/records/many-samples.md"
RESULTS = ROOT / "bench/results/many_samples.json"
THREADS = len(os.sched_getaffinity(0))
FEW = 100  # samples of the run that says what does not grow with them
ASKED = {"calibrate": 0.8, "eval": 0.8, "verify": 0.25}
CLASSES = 10


def perceptron(path):
    """Three layers of 64, the first dimension open."""
    random = np.random.default_rng(7)
    nodes, weights, source, width = [], [], "x", 64
    for i, wide in enumerate([64, 64, CLASSES]):
        weights.append(numpy_helper.from_array(random.normal(0, width ** -0.5, (width, wide)).astype(np.float32), f"w{i}"))
        weights.append(numpy_helper.from_array(random.normal(0, 0.1, wide).astype(np.float32), f"b{i}"))
        nodes.append(helper.make_node("Gemm", [source, f"w{i}", f"b{i}"], [f"g{i}"], name=f"g{i}"))
        source, width = f"g{i}", wide
        if i < 2:
            nodes.append(helper.make_node("Relu", [source], [f"r{i}"], name=f"r{i}"))
            source = f"r{i}"
    graph = helper.make_graph(nodes, "perceptron", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
                              [helper.make_tensor_value_info(source, TensorProto.FLOAT, ["batch", CLASSES])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def samples_like(network, count):
    """Images of the shared data again and again, with noise, so that no two samples are the same."""
    random = np.random.default_rng(3)
    if network == "perceptron":
        return random.normal(0, 1, (count, 1, 64)).astype(np.float32)
    few = np.stack(samples_of(network, 130)).astype(np.float32)
    many = few[np.arange(count) % len(few)]
    return many + random.normal(0, 0.01 * few.std(), many.shape).astype(np.float32)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def loop(session, samples):
    name = session.get_inputs()[0].name
    for sample in samples:
        session.run(None, {name: sample})


def worker(model, file, part, ready, told, times):
    samples = np.ascontiguousarray(np.load(file, mmap_mode="r")[part::THREADS])
    session = session_of(model)
    loop(session, samples[:100])
    ready.release()
    while told.recv():
        loop(session, samples)
        times.put(time.perf_counter())


class Runtime:
    """ONNX Runtime's loop over the samples of `file`, ready to be timed."""

    def __init__(self, model, file):
        context = multiprocessing.get_context("spawn")
        ready, self.times = context.Semaphore(0), context.Queue()
        pipes = [context.Pipe(duplex=False) for _ in range(THREADS)]
        self.tell = [send for _, send in pipes]
        self.processes = [context.Process(target=worker, args=(model, file, part, ready, receive, self.times))
                          for part, (receive, _) in enumerate(pipes)]
        for process in self.processes:
            process.start()
        for _ in self.processes:
            ready.acquire()
        self.samples = np.load(file)
        self.session = session_of(model)

    def seconds(self):
        start = time.perf_counter()
        for pipe in self.tell:
            pipe.send(True)
        apart = max(self.times.get() for _ in self.processes) - start
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            start = time.perf_counter()
            list(pool.map(lambda part: loop(self.session, self.samples[part::THREADS]), range(THREADS)))
            together = time.perf_counter() - start
        return min(apart, together)

    def end(self):
        for pipe in self.tell:
            pipe.send(False)
        for process in self.processes:
            process.join()


# A process's peak counts what it was before it became the command: this one, which holds the samples. So another one starts it.
LAUNCH = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss / 1000, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def timed(command):
    """(seconds, peak MB, report) of a command that prints JSON."""
    done = subprocess.run([sys.executable, "-S", "-c", LAUNCH, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    seconds, peak = map(float, done.stderr.split("\n")[-2].split())
    return seconds, peak, json.loads(done.stdout)


def answer(report):
    """What a report says, without times and words of the run."""
    return {key: value for key, value in report.items() if key not in ("seconds", "phases", "command", "notes", "machine")}


def largest_difference(a, b):
    """Between two answers: the largest relative one of two numbers, or infinity where they say different things."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return max((largest_difference(a[key], b[key]) for key in a), default=0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((largest_difference(x, y) for x, y in zip(a, b)), default=0)
    if a == b:
        return 0
    if isinstance(a, float) and isinstance(b, (int, float)) or isinstance(b, float) and isinstance(a, int):
        return abs(a - b) / max(abs(a), abs(b))
    return float("inf")


def commands_of(program, network, model, typed, file, labels):
    return {"calibrate": [program, "calibrate", model, "--data", file, "--json", "-q"],
            "eval": [program, "eval", model, "--task", "classification", "--labels", labels, "--data", file, "--json", "-q"],
            "verify": [program, "verify", model, typed, "--data", file, "--json", "-q"]}


def measure(network, programs, count, rounds, batch, folder):
    model = perceptron(folder / "perceptron.onnx") if network == "perceptron" else model_file(network)
    file, few, typed = folder / f"{network}.npy", folder / f"{network}.few.npy", folder / f"{network}.int8.onnx"
    samples = samples_like(network, count)
    np.save(file, samples)
    np.save(few, samples[:FEW])
    for name, length in (("labels", count), ("few-labels", FEW)):
        np.save(folder / f"{name}.npy", np.random.default_rng(1).integers(0, CLASSES, count)[:length])
    subprocess.run([PROGRAM, "quantize", model, "--int8", "--data", few, "-o", typed, "-q"], check=True, stdout=subprocess.DEVNULL)
    runtime = Runtime(str(model), str(file))
    ways = {(name, command, size): [] for name in programs for command in ASKED for size in ([1, batch] if name == "this commit" and batch > 1 else [1])}
    plain, answers = [], {}
    for _ in range(rounds):
        for (name, command, size), rows in ways.items():
            more = ["--batch", str(size)] if size > 1 else []
            plain.append(runtime.seconds())
            whole, peak, report = timed(commands_of(programs[name], network, model, typed, file, folder / "labels.npy")[command] + more)
            fixed, few_peak, _ = timed(commands_of(programs[name], network, model, typed, few, folder / "few-labels.npy")[command] + more)
            rows.append({"onnxruntime_s": plain[-1], "whole_s": whole, "few_s": fixed, "peak_mb": peak, "few_peak_mb": few_peak})
            answers[name, command, size] = answer(report)
            print(network, name, command, size, {key: round(value, 3) for key, value in rows[-1].items()}, flush=True)
    runtime.end()
    rows = []
    for (name, command, size), turns in ways.items():
        middle = lambda value: statistics.median(value(turn) for turn in turns)
        rows.append({"network": network, "program": name, "command": command, "batch": size,
                     "onnxruntime_s": middle(lambda turn: turn["onnxruntime_s"]), "whole_s": middle(lambda turn: turn["whole_s"]),
                     "whole_ratio": middle(lambda turn: turn["onnxruntime_s"] / turn["whole_s"]),
                     "ratio": middle(lambda turn: turn["onnxruntime_s"] * (1 - FEW / count) / (turn["whole_s"] - turn["few_s"])),
                     "fixed_s": middle(lambda turn: turn["few_s"]), "peak_mb": middle(lambda turn: turn["peak_mb"]),
                     "few_peak_mb": middle(lambda turn: turn["few_peak_mb"]),
                     "differs": largest_difference(answers["this commit", command, 1], answers[name, command, size])})
    return rows


def megabytes(row):
    return f"{row['few_peak_mb']:.0f}, {row['peak_mb']:.0f}"


def difference(row):
    if row["differs"] == float("inf"):
        return "other fields"
    return "none" if row["differs"] == 0 else f"{row['differs']:.1g}"


def page(record):
    few, many = record["few"], record["samples"]
    missed = {size: [f"`{row['command']}` of {row['network']} ({row['ratio']:.2f} of {ASKED[row['command']]})" for row in record["rows"]
                     if row["program"] == "this commit" and row["batch"] == size and row["ratio"] < ASKED[row["command"]]]
              for size in sorted({row["batch"] for row in record["rows"]})}
    asked = ", ".join(f"`{name}` {ratio}" for name, ratio in ASKED.items())
    head = [
        *headed("Many samples of a small network", PAGE),
        filled("For readers with thousands of samples: the throughput of `calibrate`, `eval` and `verify` compared with ONNX Runtime."), "",
        filled("Made by `bench/many_samples.py` from [bench/results/many_samples.json](../../bench/results/many_samples.json). "
               f"{record['date']}, {record['machine']}; ONNX Runtime {record['onnxruntime']}. Commits: {record['commits']}. "
               f"Load average at the start {record['load'][0]}, at the end {record['load'][1]}. {many:,} samples in a `.npy`, in turns in one run, "
               f"medians of {record['rounds']}."), "",
        filled("- **ONNX Runtime** has throughput 1. It runs one sample at a time, with the samples in memory, and only its loop is timed. It uses one "
               f"thread in each of {record['threads']} processes, or {record['threads']} threads of one, whichever is faster in that turn."),
        filled(f"- *beyond {few}*: the command's throughput for the samples beyond the first {few}."),
        filled(f"- *whole* counts everything from start to end; *fixed* is the time of {few} samples."),
        filled("- `verify` compares an INT8 file with its float network, so two networks run."),
        filled("- *answers*: the largest relative difference of two numbers of the reports, against this commit without `--batch`; *other fields*: an "
               "earlier commit's report has other fields."),
        filled(f"- *peaks* are for {few} and for {many:,} samples."), "",
        filled(f"Goals, beyond {few}: {asked}. Missed:"), "",
        *(filled(f"- with `--batch {size}`: {', '.join(rows) or 'none'}") for size, rows in missed.items()), ""]
    lines = ["\n".join(head) + f"""
| network | command | commit | `--batch` | ONNX Runtime, s | whole, s | fixed, s | beyond {few} | whole | peaks, MB | answers |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"""]
    for row in sorted(record["rows"], key=lambda row: (record["networks"].index(row["network"]), row["command"])):
        lines.append(f"""| {row["network"]} | `{row["command"]}` | {row["program"]} | {row["batch"]} | {row["onnxruntime_s"]:.2f} | {row["whole_s"]:.2f} | {row["fixed_s"]:.2f} | {row["ratio"]:.2f} | {row["whole_ratio"]:.2f} | {megabytes(row)} | {difference(row)} |""")
    tail = filled(f"The perceptron has three layers of 64 and takes a few microseconds: the fixed part is most of a command, and `--batch` decides. "
                  "`calibrate` observes every tensor between layers, so ONNX Runtime cannot keep them in its blocked layout. In a profile of "
                  "resnet8-cifar it took a tenth longer than in `eval`, which observes none. "
                  f"The peaks with {few} samples and {many:,} alike are those of the runtime and of the samples in progress.")
    return "\n".join(lines) + f"\n\n{tail}\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", help="NAME=PROGRAM of an earlier commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--networks", nargs="+", default=["resnet8-cifar", "vit-cifar", "perceptron"])
    arguments = parser.parse_args()
    programs = {"this commit": str(PROGRAM)}
    if arguments.before:
        programs = {"before": arguments.before.split("=", 1)[1], **programs}
    load = ["%.2f" % os.getloadavg()[0]]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for network in arguments.networks:
            rows += measure(network, programs, arguments.samples, arguments.rounds, arguments.batch, pathlib.Path(folder))
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    wide = "with" if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text() else "without"
    commits = [f"*this commit* {os.popen(f'git -C {ROOT} rev-parse --short=8 HEAD').read().strip()}"]
    if arguments.before:
        commits.insert(0, f"*before* {arguments.before.split('=', 1)[0]}")
    record = {"date": datetime.date.today().isoformat(), "machine": f"{cpu} {wide} AVX-512, {THREADS} usable cores",
              "onnxruntime": onnxruntime.__version__, "commits": ", ".join(commits), "load": [*load, "%.2f" % os.getloadavg()[0]],
              "rounds": arguments.rounds, "samples": arguments.samples, "few": FEW, "threads": THREADS, "networks": arguments.networks,
              "rows": rows}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
