"""Measures what Python adds to diagnose(), and writes docs/records/python.md.

    python bench/python_overhead.py [--pairs 5] [--samples 100]

MobileNetV2, INT8, samples in memory, against the command with the same samples in a .npz, in turns. Each run is a process of its own. Of the
command its whole time counts, starting and reading included; of Python the call alone, and the whole process beside it. Peak memory is the
kernel's of each process. Run with the package on the path: PYTHONPATH=build/release/python. VERNIER_SHARED names the shared folder.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx_vernier

from networks import ROOT, model_file, samples_of
from paragraph import filled, headed

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

PAGE = ROOT / "docs/records/python.md"
RESULTS = ROOT / "bench/results/python_overhead.json"
NETWORK = "mobilenetv2-imagenet"
INSIDE = """
import json, resource, sys, time
import numpy as np, onnx_vernier as vernier
with np.load(sys.argv[2]) as arrays:
    samples = {name: arrays[name] for name in arrays}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
report = vernier.diagnose(sys.argv[1], samples, low="int8", min_sqnr=MIN, alternatives=0, progress=False)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "kept": report.kept_layers, "db": report.final_figures.outputs[0].sqnr_db,
                  "sample_mb": sum(a.nbytes for a in samples.values()) / 1e6, "before_kb": before}))
"""


def timed(command):
    """(seconds, peak MB, stdout) of a process."""
    with tempfile.TemporaryFile("w+") as printed:
        start = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=printed, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode in (0, 1), command
        printed.seek(0)
        return seconds, usage.ru_maxrss / 1000, printed.read()


def measure(pairs, count, limit):
    program = ROOT / "build/release/apps/vernier/vernier"
    model = model_file(NETWORK)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "samples.npz")
        np.savez(file, **{onnx_vernier.Model(model)._core.inputs[0]: np.stack(list(samples_of(NETWORK, count)))})
        for _ in range(pairs):
            seconds, peak, printed = timed([program, "diagnose", model, "--data", file, "--int8", "--min-sqnr", limit,
                                            "--no-options", "--no-latency", "--json"])
            told = json.loads(printed)
            whole, python_peak, printed = timed([sys.executable, "-c", INSIDE.replace("MIN", str(limit)), model, file])
            inside = json.loads(printed)
            assert inside["kept"] == told["kept"]["layers"], "the two do not say the same"
            assert inside["db"] == told["final_figures"]["outputs"][0]["sqnr_db"]
            rows.append({"command_s": seconds, "call_s": inside["seconds"], "python_s": whole, "command_mb": peak,
                         "python_mb": python_peak, "sample_mb": inside["sample_mb"], "loaded_mb": inside["before_kb"] / 1000})
            print(rows[-1], flush=True)
    return rows


def middle(rows, value):
    return statistics.median(value(row) for row in rows)


def page(record):
    rows = record["rows"]
    ratio = middle(rows, lambda row: row["call_s"] / row["command_s"])
    whole = middle(rows, lambda row: row["python_s"] / row["command_s"])
    head = "\n".join([
        *headed("Python compared with the command", PAGE),
        filled("For Python programmers who ask what the package costs compared with the command line."), "",
        filled("Made by `bench/python_overhead.py` from [bench/results/python_overhead.json](../../bench/results/python_overhead.json). "
               f"{record['date']}, {record['machine']}; Python {record['python']}. MobileNetV2, {record['samples']} photographs, INT8, "
               f"{record['limit']} dB, in {len(rows)} turns. The command reads the samples from a .npz, `onnx_vernier.diagnose` the same arrays "
               "in memory. Both keep the same layers and return the same figure, to the last bit. Medians; ratios are of each turn.")])
    tail = filled(f"{middle(rows, lambda r: r['sample_mb']):.0f} MB of Python's memory are the samples, which the command reads one at a time. "
                  f"{middle(rows, lambda r: r['loaded_mb']):.0f} MB were in use before the call. The job does not copy the samples.")
    return f"""{head}

| | command | Python | ratio |
|---|---:|---:|---:|
| the call, against the command's whole time | {middle(rows, lambda r: r["command_s"]):.2f} s | {middle(rows, lambda r: r["call_s"]):.2f} s | {ratio:.3f} |
| the whole process, with NumPy imported and the samples loaded | {middle(rows, lambda r: r["command_s"]):.2f} s | {middle(rows, lambda r: r["python_s"]):.2f} s | {whole:.3f} |
| peak memory | {middle(rows, lambda r: r["command_mb"]):.0f} MB | {middle(rows, lambda r: r["python_mb"]):.0f} MB | |

{tail}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--min-sqnr", type=float, default=20)
    arguments = parser.parse_args()
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    record = {"date": datetime.date.today().isoformat(), "machine": f"{cpu}, {len(os.sched_getaffinity(0))} usable cores",
              "python": platform.python_version(), "samples": arguments.samples, "limit": arguments.min_sqnr,
              "rows": measure(arguments.pairs, arguments.samples, arguments.min_sqnr)}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
