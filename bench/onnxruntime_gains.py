"""What `--target onnxruntime` gains by quantizing only what saves time, beside all that has a kernel on codes.

    python bench/onnxruntime_gains.py [--build build/release] [--samples 8] [--json bench/results/onnxruntime_gains.json]

For each shared network: SQNR with everything low that a choice allows, and milliseconds of one sample on two threads, of
the float32 network and of each file, in turns.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import networks
import run

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

CHOICES = {"where it gains": [], "everything": ["--even-if-slower"]}


def diagnose(program, model, data, words):
    done = subprocess.run([program, "diagnose", model, "--data", data, "--int8", "--target", "onnxruntime", "--json", "-q", *words],
                          capture_output=True, text=True)
    if "would run no layer of it faster" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def measured(program, model, data, repeat):
    row = {}
    for name, words in CHOICES.items():
        reports = [diagnose(program, model, data, words) for _ in range(repeat)]
        if reports[0] is None:
            row[name] = None
            continue
        row[name] = {"layers": len(reports[0]["layers"]),
                     "sqnr_db": min(float(output["sqnr_db"]) for output in reports[0]["all_low"]["outputs"]),
                     "float_ms": statistics.median(report["latency"]["float_ms"] for report in reports),
                     "ms": statistics.median(report["latency"]["low_ms"] for report in reports)}
    return row


def table(rows):
    lines = ["| network | layers low | SQNR, dB | time | everything: layers low | SQNR, dB | time |",
             "|---|---:|---:|---:|---:|---:|---:|"]
    for network, row in rows.items():
        cells = [network]
        for choice in CHOICES:
            each = row[choice]
            cells += ["none", "", ""] if each is None else [str(each["layers"]), f"{each['sqnr_db']:.1f}", f"{each['ms'] / each['float_ms']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=networks.ROOT / "build/release")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--networks", nargs="+", default=networks.STATELESS, help="the others stay as --json has them")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    program = options.build / "apps/vernier/vernier"
    known = options.json and options.json.exists() and set(options.networks) < set(networks.STATELESS)
    rows = json.loads(options.json.read_text())["rows"] if known else {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.networks:
            networks.make(pathlib.Path(folder), name, options.samples)
            data = networks.data_file(pathlib.Path(folder), name)
            rows[name] = measured(program, networks.model_file(name), data, options.repeat)
            print(name, rows[name], flush=True)
    rows = dict(sorted(rows.items()))
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"machine": run.machine(), "samples": options.samples, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
