"""Measures what a second diagnosis takes where the first one's measurements were kept, and writes docs/records/again.md.

    python bench/measured_before.py [--rounds 3]

Each round begins with an empty cache folder: a first `diagnose`, then others of the same network, samples and formats with another
limit, another cost and layers left out, each beside the same command with --no-cache, in turns in one run. Answers must be equal.
VERNIER_SHARED names the shared folder.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import onnxruntime

from networks import ROOT, data_file, make, model_file
from paragraph import filled, headed
from passes import ALONE

PROGRAM = ROOT / "build/release/apps/vernier/vernier"
PAGE = ROOT / "docs/records/again.md"
RESULTS = ROOT / "bench/results/measured_before.json"
CASES = [("mobilenetv2-imagenet", "24", [["--min-sqnr", "24"], ["--min-sqnr", "23"], ["--min-sqnr", "22"], ["--min-sqnr", "26"],
                                         ["--min-sqnr", "24", "--margin", "0.5"]]),
         ("yolox-nano", "15", [["--min-sqnr", "15"], ["--min-sqnr", "14"], ["--min-sqnr", "17"]]),
         ("rfb320-face", "30", [["--min-sqnr", "30"], ["--min-sqnr", "28"], ["--min-sqnr", "33"]])]


def diagnose(words, folder, cache):
    """(report, seconds)"""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    start = time.perf_counter()
    subprocess.run([PROGRAM, "diagnose", *map(str, words), *ALONE, "-o", "out"], cwd=folder, env=environment, capture_output=True)
    return json.loads(pathlib.Path(folder, "out/report.json").read_text()), time.perf_counter() - start


def answer_of(report):
    outputs = (report.get("final_figures") or {}).get("outputs", [])
    return sorted(report["kept"]["layers"]), report["kept"]["evaluations"], [output.get("sqnr_db") for output in outputs]


def measure(network, first, others, rounds, folder):
    common = [model_file(network), "--data", data_file(folder, network), "--int8"]
    rows = [{"words": " ".join(words), "again_s": [], "anew_s": []} for words in others]
    firsts = []
    for _ in range(rounds):
        for row, words in zip(rows, others):
            with tempfile.TemporaryDirectory() as cache:
                firsts.append(diagnose([*common, "--min-sqnr", first], folder, cache)[1])
                again, seconds = diagnose([*common, *words], folder, cache)
                row["again_s"].append(seconds)
                anew, seconds = diagnose([*common, *words, "--no-cache"], folder, cache)
                row["anew_s"].append(seconds)
                row["kept"] = len(anew["kept"]["layers"])
                row["same"] = row.get("same", True) and answer_of(again) == answer_of(anew)
    for row in rows:
        row["again_s"], row["anew_s"] = statistics.median(row["again_s"]), statistics.median(row["anew_s"])
    return {"network": network, "limit": first, "first_s": statistics.median(firsts), "rows": rows}


def page(record):
    lines = [*headed("A second diagnosis", PAGE),
             filled("For readers who ask what kept measurements save: a second `diagnose` with another limit "
                    "([how](../guides/use-a-diagnosis.md#again-with-another-limit))."), "",
             filled("Made by `bench/measured_before.py` from [bench/results/measured_before.json](../../bench/results/measured_before.json). "
                    f"{record['date']}, {record['machine']}; ONNX Runtime {record['onnxruntime']}; commit {record['commit']}. INT8, twenty samples, "
                    f"without latencies and options. Whole commands in turns in one run, medians of {record['rounds']}."), "",
             filled("- *again* follows a first `diagnose` with the limit in the heading."),
             filled("- *anew* is the same command with `--no-cache`."), ""]
    for case in record["cases"]:
        lines.append(f"""## {case["network"]}, first to {case["limit"]} dB: {case["first_s"]:.1f} s

| asked again | kept | again, s | anew, s | again / first | again / anew | same answer |
|---|---:|---:|---:|---:|---:|---|""")
        for row in case["rows"]:
            lines.append(f"""| `{row["words"]}` | {row["kept"]} | {row["again_s"]:.2f} | {row["anew_s"]:.2f} | {row["again_s"] / case["first_s"]:.2f} | {row["again_s"] / row["anew_s"]:.2f} | {"yes" if row["same"] else "no"} |""")
        lines.append("")
    lines.append(filled("The rest of the time goes to reading and preparing the network, its reference run, and sets that the first search did not try. "
                        "The output model is another one, so it is verified again. The goal was a quarter."))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    record = {"date": datetime.date.today().isoformat(), "machine": f"{cpu}, {len(os.sched_getaffinity(0))} usable cores",
              "onnxruntime": onnxruntime.__version__, "rounds": arguments.rounds,
              "commit": os.popen(f"git -C {ROOT} rev-parse --short=8 HEAD").read().strip(), "cases": []}
    with tempfile.TemporaryDirectory() as folder:
        for network, first, others in CASES:
            make(folder, network, 20)
            record["cases"].append(measure(network, first, others, arguments.rounds, folder))
            print(record["cases"][-1], flush=True)
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
