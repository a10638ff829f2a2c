"""Runs every command on the 13 shared networks in every format, and checks the answers against each other.

    python bench/sweep.py OUT [NETWORK ...] [--formats int8 fp16 bf16 fp8] [--samples N] [--threads N] [--limit SECONDS]

For each network and format: `diagnose` without a requirement; `convert` of everything and `verify` of the file; `diagnose` with a
requirement that all-low misses by --margin dB. Writes OUT/sweep.json and OUT/sweep.md after every pair, so that a stopped sweep keeps
what it has, and what each command printed and wrote to OUT/NETWORK/FORMAT. Exit code 1 when any finding was made. A finding is:

- an exit code other than the 0 that was asked for, or a run longer than --limit
- a figure of a plan and one of the file made from it that are more than 0.1 dB apart
- a typed file that the ONNX checker refuses; int8 and float16 files also when ONNX Runtime does not run them or gives other
  values than finite ones
- `nan` in a printed report
- a run that takes longer than --slow seconds

Seconds are those of the machine as it is, busy or not: good for finding slow phases, no benchmark (that is bench/run).
VERNIER_PROGRAM names the program, build/release otherwise. Needs what bench/networks.py needs, onnx and onnxruntime.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np
import onnx

import networks
from tables import table

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

PROGRAM = os.environ.get("VERNIER_PROGRAM", str(networks.ROOT / "build" / "dev" / "apps" / "vernier" / "vernier"))
FORMATS = ["int8", "fp16", "bf16", "fp8"]
RUNNABLE = {"int8", "fp16"}  # by ONNX Runtime on a CPU
TOLERANCE_DB = 0.1
FEWER_SAMPLES = {"style-candy": 3}  # seconds an inference
OVERFLOWED_REQUIREMENT_DB = 20.0  # where all-low is not finite, nothing can be added to it

# FILE FEED [DISABLED ...]: loads and runs a typed file as a user would, and fails on values that are not finite.
RUN_FILE = """
import sys
import numpy
import onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"],
                                       disabled_optimizers=sys.argv[3:])
outputs = session.run(None, dict(numpy.load(sys.argv[2])))
sys.exit(0 if all(numpy.isfinite(output).all() for output in outputs) else "values that are not finite")
"""


def number(value):
    """Reports write numbers that JSON has no form for as text."""
    return None if value is None else float(value)


def worst_db(figures):
    return min(number(output["sqnr_db"]) for output in figures["outputs"])


def difference_db(a, b):
    """The largest over outputs of two sections of reports. Equal infinities do not differ."""
    first = {output["name"]: number(output["sqnr_db"]) for output in a["outputs"]}
    second = {output["name"]: number(output["sqnr_db"]) for output in b["outputs"]}
    if first.keys() != second.keys():
        return math.inf
    return max(0.0 if first[name] == second[name] else abs(first[name] - second[name]) for name in first)


def samples_of(network, options):
    return min(options.samples, FEWER_SAMPLES.get(network, options.samples))


class Pair:
    """One network in one format: runs commands, keeps their text, collects findings."""

    def __init__(self, network, low, options):
        self.network = network
        self.low = low
        self.options = options
        self.folder = options.out / network / low
        self.folder.mkdir(parents=True, exist_ok=True)
        self.row = {"network": network, "format": low, "findings": [], "warnings": []}

    def finding(self, text):
        self.row["findings"].append(text)

    def data(self):
        carries = [word for carry in networks.CARRIES.get(self.network, []) for word in ("--carry", carry)]
        return ["--data", networks.data_file(self.options.out / "inputs", self.network), *carries,
                "--samples", samples_of(self.network, self.options), "--threads", self.options.threads]

    def run(self, name, *words):
        """Exit code, or None past the limit; what was printed lies in NAME.txt and NAME.err."""
        command = [PROGRAM, *map(str, words)]
        start = time.perf_counter()
        with open(self.folder / f"{name}.txt", "w") as out, open(self.folder / f"{name}.err", "w") as err:
            try:
                code = subprocess.run(command, stdout=out, stderr=err, timeout=self.options.limit).returncode
            except subprocess.TimeoutExpired:
                code = None
        self.row[f"{name}_seconds"] = seconds = round(time.perf_counter() - start, 1)
        self.row[f"{name}_exit"] = code
        if code is None:
            self.finding(f"{name}: longer than {self.options.limit} s")
        elif code != 0:
            self.finding(f"{name}: exit code {code}: {self.last_error(name)}")
        if code is not None and seconds > self.options.slow:
            self.finding(f"{name}: took {seconds} s")
        if re.search(r'\bnan\b(?!")', (self.folder / f"{name}.txt").read_text(), re.IGNORECASE):
            self.finding(f"{name}: prints nan")
        return code

    def last_error(self, name):
        errors = [line for line in (self.folder / f"{name}.err").read_text().splitlines() if line.startswith("error")]
        return errors[-1] if errors else "no message"

    def report(self, folder):
        report = json.loads((folder / "report.json").read_text())
        self.row["warnings"] = sorted(set(self.row["warnings"]) | set(report["warnings"]))
        return report

    def same(self, what, a, b):
        """Records how far two sections of reports are apart."""
        apart = difference_db(a, b)
        self.row[f"{what}_difference_db"] = apart
        if not apart <= TOLERANCE_DB:
            self.finding(f"{what}: {worst_db(a):.2f} dB simulated and {worst_db(b):.2f} dB from the file")

    def explore(self):
        """All low, measured; the requirement that follows from it."""
        out = self.folder / "explored"
        if self.run("explore", "diagnose", networks.model_file(self.network), f"--{self.low}", *self.data(), "--no-latency", "--no-options", "--no-split", "-o",
                    out) != 0:
            return None
        report = self.report(out)
        all_low = worst_db(report["all_low"])
        self.row["all_low_db"] = all_low
        self.row["candidates"] = sum(row["format"] != "float32" for row in report["layers"])
        self.same("explore", report["all_low"], report["final_figures"])
        self.check_file("explore", out / "model.onnx")
        return report

    def convert(self, all_low):
        """The same model by the other command, verified by the third."""
        file = self.folder / "converted.onnx"
        model = networks.model_file(self.network)
        if self.run("convert", "convert", model, f"--{self.low}", *self.data(), "-o", file) != 0:
            return
        if self.run("verify", "verify", model, file, *self.data(), "--json") == 0:
            self.same("convert", all_low, json.loads((self.folder / "verify.txt").read_text())["figures"])

    def search(self, all_low_db):
        """The smallest kept set for a requirement that all-low misses."""
        if all_low_db == math.inf:
            return  # nothing is lost, nothing can be missed
        required = round(all_low_db + self.options.margin, 1) if math.isfinite(all_low_db) else OVERFLOWED_REQUIREMENT_DB
        self.row["required_db"] = required
        out = self.folder / "searched"
        code = self.run("search", "diagnose", networks.model_file(self.network), f"--{self.low}", *self.data(), "--no-latency", "--no-options", "--no-split",
                        "--min-sqnr", required, "-o", out)
        if code not in (0, 1):
            return
        report = self.report(out)
        kept = report["kept"]
        self.row |= {"kept": len(kept["layers"]), "end": kept["end"], "evaluations": kept["evaluations"],
                     "phases": {phase["phase"]: round(phase["seconds"], 1) for phase in report["phases"]}}
        if kept["end"] != "certified":
            self.finding(f"search: ended {kept['end']}")
        simulated, verified = number(kept.get("metric")), worst_db(report["final_figures"])
        self.row |= {"simulated_db": simulated, "verified_db": verified}
        if simulated is None or not (simulated == verified or abs(simulated - verified) <= TOLERANCE_DB):
            self.finding(f"search: {simulated} dB simulated and {verified} dB from the file")
        if (code == 0) != report["final_figures"]["passed"]:
            self.finding(f"search: exit code {code}, but the written file gives {verified:.2f} dB")
        self.check_file("search", out / "model.onnx")

    def check_file(self, name, file):
        """What others say of a typed file: the ONNX checker, and ONNX Runtime where it has kernels."""
        try:
            onnx.checker.check_model(str(file), full_check=True)
            self.row[f"{name}_checker"] = True
        except Exception as failure:  # whatever it throws is the finding
            self.row[f"{name}_checker"] = False
            self.finding(f"{name}: the ONNX checker refuses the file: {str(failure).splitlines()[0]}")
        if self.low not in RUNNABLE:
            return
        # In a process of its own: the runtime was seen to crash on files that the checker accepts.
        feed = self.folder / "feed.npz"
        np.savez(feed, **self.first_feed())
        for disabled in ([], ["NchwcTransformer"]):  # what deploy.md advises where the runtime crashes
            done = subprocess.run([sys.executable, "-c", RUN_FILE, str(file), str(feed), *disabled], capture_output=True, text=True)
            self.row[f"{name}_runs"] = done.returncode == 0
            if done.returncode == 0:
                break
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            without = f" without {disabled[0]}" if disabled else ""
            self.finding(f"{name}: ONNX Runtime does not run the file{without}: exit code {done.returncode}: {last}")

    def first_feed(self):
        sample = networks.samples_of(self.network, 1)[0]
        if isinstance(sample, dict):
            return sample
        graph = onnx.load(networks.model_file(self.network)).graph
        weights = {tensor.name for tensor in graph.initializer}  # old files list them as inputs too
        return {next(given.name for given in graph.input if given.name not in weights): sample}

    def measure(self):
        report = self.explore()
        if report:
            self.convert(report["all_low"])
            self.search(self.row["all_low_db"])
        return self.row


def text_of(value, digits=1):
    if value is None:
        return ""
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def both(row, what):
    """yes when every file that was checked passed."""
    answers = [row[key] for key in (f"explore_{what}", f"search_{what}") if key in row]
    return "" if not answers else "yes" if all(answers) else "NO"


def markdown(rows):
    head = ["network, format", "exit", "all-low dB", "required dB", "kept", "evaluations", "seconds", "simulated dB", "verified dB",
            "apart dB", "convert apart dB", "checker", "runs", "warnings", "findings"]
    lines = []
    for row in rows:
        apart = None
        if row.get("simulated_db") is not None:
            same = row["simulated_db"] == row["verified_db"]
            apart = 0.0 if same else abs(row["simulated_db"] - row["verified_db"])
        kept = f"{row['kept']} of {row['candidates']}" if "kept" in row else f"of {row.get('candidates', '')}"
        lines.append([f"{row['network']} {row['format']}", text_of(row.get("search_exit", row.get("explore_exit"))),
                      text_of(row.get("all_low_db")), text_of(row.get("required_db")), kept, text_of(row.get("evaluations")),
                      text_of(row.get("search_seconds")), text_of(row.get("simulated_db"), 2), text_of(row.get("verified_db"), 2),
                      text_of(apart, 3), text_of(row.get("convert_difference_db"), 3), both(row, "checker"), both(row, "runs"),
                      len(row["warnings"]), len(row["findings"])])
    text = table(head, lines) + "\n"
    for row in rows:
        for kind in ("findings", "warnings"):
            for line in row[kind]:
                text += f"\n- {row['network']} {row['format']}, {kind[:-1]}: {line}"
    return text + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--threads", type=int, default=0, help="0: all usable cores")
    parser.add_argument("--margin", type=float, default=6.0, help="dB above all-low that is required")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a command is ended")
    parser.add_argument("--slow", type=float, default=60, help="seconds from which on a command is a finding")
    options = parser.parse_intermixed_args()
    unknown = set(options.networks) - set(networks.NETWORKS)
    if unknown:
        parser.error(f"no network is named {', '.join(sorted(unknown))}; there are: {', '.join(networks.NETWORKS)}")
    rows = []
    for low in options.formats:
        for network in options.networks or networks.NETWORKS:
            networks.make(options.out / "inputs", network, samples_of(network, options))
            rows.append(Pair(network, low, options).measure())
            for finding in rows[-1]["findings"] or ["nothing found"]:
                print(f"sweep: {network} {low}: {finding}", file=sys.stderr, flush=True)
            (options.out / "sweep.json").write_text(json.dumps(rows, indent=1) + "\n")
            (options.out / "sweep.md").write_text(markdown(rows))
    sys.exit(any(row["findings"] for row in rows))


if __name__ == "__main__":
    main()
