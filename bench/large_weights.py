"""Weights that fill a third of a machine's memory through inspect, calibrate, quantize and diagnose: seconds and memory.

    python bench/large_weights.py [--build build/release] [--gigabytes 8] [--work FOLDER] [--only WORD]

Makes a network of residual blocks (LayerNormalization, MatMul, Relu, MatMul, Add) with random float32 weights beside the file,
134 MB a block, written block by block, and runs each job on a few short samples as a process of its own. Memory is looked at every
20 ms: what the job holds beside mapped files (RssAnon and RssShmem of /proc), and the largest resident set, in which mapped pages
count. Writes bench/results/large_weights.json and docs/records/large.md; with --only, which runs the steps that contain WORD,
neither. Takes the weights twice on the disk, and some minutes.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

from paragraph import filled, headed

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/large_weights.json"
PAGE = ROOT / "docs/records/large.md"
WIDTH, INNER, TOKENS, SAMPLES = 2048, 8192, 8, 4
MOST = 1.3  # times the weights


def write_model(path, blocks):
    """A chain of residual blocks; the second weight of each is small, so that values keep their size. Bytes of the weights."""
    rng = np.random.default_rng(0)
    initializers, nodes, value, offset = [], [], "x", 0

    def beside(file, name, shape, scale):
        nonlocal offset
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        weight = rng.standard_normal(shape, np.float32) * np.float32(scale)
        for key, number in (("location", path.name + ".data"), ("offset", offset), ("length", weight.nbytes)):
            tensor.external_data.add(key=key, value=str(number))
        initializers.append(tensor)
        weight.tofile(file)
        offset += weight.nbytes

    with open(path.with_name(path.name + ".data"), "wb") as file:
        for name in ("scale", "shift"):
            beside(file, name, [WIDTH], 0.1)
        for i in range(blocks):
            beside(file, f"up{i}", [WIDTH, INNER], (2 / WIDTH) ** 0.5)
            beside(file, f"down{i}", [INNER, WIDTH], (0.1 / INNER) ** 0.5)
            nodes += [helper.make_node("LayerNormalization", [value, "scale", "shift"], [f"n{i}"], name=f"block{i}/norm"),
                      helper.make_node("MatMul", [f"n{i}", f"up{i}"], [f"u{i}"], name=f"block{i}/up"),
                      helper.make_node("Relu", [f"u{i}"], [f"r{i}"], name=f"block{i}/relu"),
                      helper.make_node("MatMul", [f"r{i}", f"down{i}"], [f"d{i}"], name=f"block{i}/down"),
                      helper.make_node("Add", [value, f"d{i}"], [f"x{i}"], name=f"block{i}/add")]
            value = f"x{i}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "large_weights", [info("x", TensorProto.FLOAT, [1, TOKENS, WIDTH])],
                              [info(value, TensorProto.FLOAT, [1, TOKENS, WIDTH])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return offset


def resident(pid):
    """Bytes that are no pages of a file; 0 once the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return sum(int(kilobytes) * 1024 for kilobytes in re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", status, re.MULTILINE))


def measured(command, folder):
    said = []
    start = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "XDG_CACHE_HOME": os.devnull})  # every run measures all anew
    listener = threading.Thread(target=lambda: said.extend(
        (round(time.perf_counter() - start, 1), line.strip()) for line in process.stderr), daemon=True)
    listener.start()
    peak, during, silent, silence = 0, "", 0.0, ""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            break
        if (now := resident(process.pid)) > peak:
            peak, during = now, said[-1][1] if said else ""
        quiet = time.perf_counter() - start - (said[-1][0] if said else 0)
        if quiet > silent:
            silent, silence = quiet, said[-1][1] if said else ""
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    listener.join()
    return {"exit": process.returncode, "seconds": round(time.perf_counter() - start, 1), "own_bytes": peak, "during": during,
            "resident_bytes": usage.ru_maxrss * 1024, "silent_seconds": round(silent, 1), "silent_behind": silence, "said": said}


def page(results):
    weights = results["weights_bytes"]
    lines = [*headed("Weights of many gigabytes", PAGE),
             filled("For readers with models larger than their memory: what each job needs in memory and time."), "",
             filled(f"Made by `bench/large_weights.py`. {results['date']}, {results['cores']} cores, {results['memory_gib']:.1f} GiB of memory. "
                    f"Load average at the start {results['load'][0]:.2f}, at the end {results['load'][1]:.2f}."), "",
             filled(f"A network of {results['blocks']} residual blocks with {weights / 1e9:.2f} GB of FP32 weights in a file of their own, "
                    f"{SAMPLES} samples of {TOKENS} tokens. The weights are mapped: the system reads their pages from the file and may drop them "
                    "again."), "",
             filled(f"- *own*: memory of a job without mapped files; with the weights it may be {MOST} times them."),
             filled("- *resident*: the largest resident set. It includes every mapped page that was read."), "",
             "| job | s | own, times the weights | with the weights | resident | longest silence, s |", "|---|---:|---:|---:|---:|---:|"]
    for row in results["rows"]:
        if row["exit"] != 0:
            lines.append(f"| {row['step']} | failed: exit code {row['exit']} | - | - | - | - |")
            continue
        total = 1 + row["own_bytes"] / weights
        shown = f"{total:.2f}" if total <= MOST else f"**{total:.2f} (missed)**"
        lines.append(f"| `{row['step']}` | {row['seconds']:.0f} | {row['own_bytes'] / weights:.2f} | {shown} | "
                     f"{row['resident_bytes'] / weights:.2f} | {row['silent_seconds']:.0f} |")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--work", help="where the temporary folder is made")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    vernier = (ROOT / options.build / "apps/vernier/vernier").resolve()
    load = [os.getloadavg()[0]]
    blocks = max(1, round(options.gigabytes * 1e9 / (8 * WIDTH * INNER)))
    with tempfile.TemporaryDirectory(dir=options.work) as scratch:
        folder = pathlib.Path(scratch)
        model = folder / "model.onnx"
        weights = write_model(model, blocks)
        np.save(folder / "data.npy", np.random.default_rng(1).standard_normal((SAMPLES, 1, TOKENS, WIDTH), np.float32))
        data = ["--data", folder / "data.npy"]
        steps = {
            "inspect model": [],
            "calibrate --int8": [*data, "-o", "ranges.json"],
            "quantize --quantize-mode int8": [*data, "-o", "typed.onnx"],
            "quantize --quantize-mode int4": ["-o", "typed.onnx"],
            "diagnose --int8 --no-latency --no-options": data,
            "diagnose --int8 --no-latency --no-options -o out": [*data, "-o", "out"],
        }
        rows = []
        for step, more in steps.items():
            if options.only not in step:
                continue
            verb, *flags = step.removesuffix(" -o out").split()
            if verb == "inspect":
                verb, flags = "inspect model", flags[1:]
            row = {"step": step, **measured([vernier, *verb.split(), model, *flags, *more, "-v"], folder)}
            rows.append(row)
            for written in folder.glob("typed.onnx*"):
                written.unlink()
            print(json.dumps(row if options.only else {**row, "said": row["said"][-3:]}), flush=True)
    if not options.only:
        results = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "weights_bytes": weights, "blocks": blocks,
                   "cores": len(os.sched_getaffinity(0)),
                   "memory_gib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, "load": [*load, os.getloadavg()[0]], "rows": rows}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(page(results), encoding="utf-8")
    return 0 if all(row["exit"] == 0 for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
