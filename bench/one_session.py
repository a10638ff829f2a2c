"""Measures what one session for all plans of a search saves, and writes docs/records/one-session.md.

    python bench/one_session.py --before PROGRAM [--old PROGRAM] [--rounds 3] [--only cases|answers]

The program of this checkout beside those of earlier commits, in turns in one run: PROGRAM is a release build of one. Each of them writes its
own report, which the phases come from; `--old` may be a commit that calls them otherwise. The plain pass of bench/passes.py is measured in
the same run. What making sessions takes is counted in runs of their own (session_times.py). VERNIER_SHARED names the shared folder.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import statistics
import tempfile

import numpy as np
import onnxruntime

from networks import CARRIES, NETWORKS, ROOT, data_file, make, model_file
from paragraph import filled, headed
from passes import ALONE, diagnose, phase_seconds, plain_pass
from session_times import build, sessions_of

PROGRAM = ROOT / "build/release/apps/vernier/vernier"
PAGE = ROOT / "docs/records/one-session.md"
RESULTS = ROOT / "bench/results/one_session.json"
CASES = [("mobilenetv2-imagenet", "24", "tensorrt"), ("mobilenetv2-imagenet", "24", "onnxruntime"),
         ("yolox-nano", "15", "tensorrt"), ("yolox-nano", "15", "onnxruntime")]
WAYS = [["--int8"], ["--int8", "--target", "onnxruntime"], ["--fp16"], ["--fp8"]]
ANSWERED = [network for network in NETWORKS if network != "style-candy"]  # 0.35 s an inference: a quarter of an hour for its cases


def least_db(report, part):
    values = [output.get("sqnr_db") for output in (report.get(part) or {}).get("outputs", [])]
    values = [value for value in values if isinstance(value, (int, float))]
    return min(values) if values else None


def median_of(runs):
    """Of each figure by itself."""
    fields = [field.name for field in dataclasses.fields(runs[0]["search"])]
    return {phase: {field: statistics.median(getattr(run[phase], field) for run in runs) for field in fields} for phase in runs[0]}


def measure_cases(programs, rounds, folder):
    rows = []
    library = build(folder)
    for network, limit, target in CASES:
        samples = list(np.load(data_file(folder, network)))
        words = [model_file(network), "--data", data_file(folder, network), "--int8", "--min-sqnr", limit, "--target", target, *ALONE]
        row = {"case": f"{network} to {limit} dB, {target}", "programs": {}}
        taken = {name: [] for name in programs}
        counted = {name: [] for name in programs}
        plain = []
        for _ in range(rounds):
            plain.append(plain_pass(model_file(network), samples))
            for name, program in programs.items():
                taken[name].append(diagnose(program, words))
                counted[name].append(sessions_of(library, program, words))
        row["plain_s"] = statistics.median(plain)
        for name, runs in taken.items():
            phases = [phase_seconds(run.report) for run in runs]
            kept = runs[0].report["kept"]
            row["programs"][name] = {
                "effect_s": statistics.median(phase["sensitivity"] for phase in phases),
                "search_s": statistics.median(phase["search"] for phase in phases),
                "whole_s": statistics.median(run.seconds for run in runs),
                "kept": len(kept["layers"]), "evaluations": kept["evaluations"],
                "sessions": median_of(counted[name])}
        print(row, flush=True)
        rows.append(row)
    return rows


def measure_answers(programs, folder):
    rows = []
    for network in ANSWERED:
        carries = [word for carry in CARRIES.get(network, []) for word in ("--carry", carry)]
        for way in WAYS:
            words = [model_file(network), "--data", data_file(folder, network), *carries, *way]
            report = diagnose(programs["this commit"], [*words, *ALONE]).report
            low = least_db(report, "all_low") if report else None
            if low is None:  # nothing would run faster there, or nothing finite is left
                continue
            limit = f"{low + 3:.1f}"
            row = {"network": network, "way": " ".join(way), "limit": limit}
            for name, program in programs.items():
                report = diagnose(program, [*words, "--min-sqnr", limit, *ALONE]).report
                kept = report["kept"]
                row[name] = {"layers": sorted(kept["layers"]), "evaluations": kept["evaluations"],
                             "db": least_db(report, "final_figures")}
            rows.append(row)
            print(network, row["way"], [len(row[name]["layers"]) for name in programs], flush=True)
    return rows


def same(row):
    a, b = row["before"], row["this commit"]
    return (a["layers"], a["evaluations"]) == (b["layers"], b["evaluations"])


def largest_difference(rows):
    """Of the figures of written files, in dB, and how many are the same to the last bit."""
    pairs = [(row["before"]["db"], row["this commit"]["db"]) for row in rows if row["before"]["db"] is not None and row["this commit"]["db"] is not None]
    return max(abs(a - b) for a, b in pairs), sum(a == b for a, b in pairs), len(pairs)


def both(before, now):
    return f"{now}" if before == now else f"{before}, {now}"


def page(record):
    names = list(record["cases"][0]["programs"])
    head = [
        *headed("One session for all plans", PAGE),
        filled("For readers who ask why a search is fast: all plans of a search share one session of ONNX Runtime, with switched roundings and weights as "
               "inputs ([how](../contributing/trials.md#one-trial)). *Before*, each plan had a session of its own."), "",
        filled("Made by `bench/one_session.py` from [bench/results/one_session.json](../../bench/results/one_session.json). "
               f"{record['date']}, {record['machine']}; ONNX Runtime {record['onnxruntime']}. Commits: {record['commits']}. Twenty photographs, in turns in one "
               f"run, medians of {record['rounds']}."), "",
        filled("- *effect* and *search* are the phases *sensitivity of the layers* and *search*."),
        filled("- *passes*: the whole command without latencies and options, over one plain pass of the FP32 network over the samples."), ""]
    lines = ["\n".join(head) + f"""
| case | commit | kept | evaluations | effect, s | search, s | both, ratio to {names[0]} | whole, s | passes |
|---|---|---:|---:|---:|---:|---:|---:|---:|"""]
    for row in record["cases"]:
        first = row["programs"][names[0]]
        for name, got in row["programs"].items():
            ratio = (got["effect_s"] + got["search_s"]) / (first["effect_s"] + first["search_s"])
            lines.append(f"""| {row["case"]} | {name} | {got["kept"]} | {got["evaluations"]} | {got["effect_s"]:.2f} | {got["search_s"]:.2f} | {ratio:.2f} | {got["whole_s"]:.1f} | {got["whole_s"] / row["plain_s"]:.0f} |""")
    between = [
        "", filled("If an older commit keeps another number of layers, the rules of its target or its search were different, and its times are of another search. If "
                   "*before* and *this commit* differ in evaluations, a set at the limit held in both orders of sums for one of them only. The last bit of a sum "
                   "decided, and the search continued differently."), "",
        "## What making sessions costs", "",
        filled(f"Counted in {record['rounds']} separate runs, with a library in front of ONNX Runtime that records each call (bench/session_times.c). Medians, CPU "
               "seconds of all threads."), "",
        filled("- *evaluations a second* are those of the search over its seconds."),
        filled("- *making* is ONNX Runtime's work to make a session: graph, kernels, packing of weights. *share* is that of making."),
        filled("- *running* includes our roundings, which run inside."),
        filled("- *rest* is Vernier's: plans, the models of the sessions, comparisons."), ""]
    lines.append("\n".join(between) + f"""
| case | commit | evaluations a second | phase | sessions made | CPU ms each | making, CPU s | running, CPU s | rest, CPU s | share |
|---|---|---:|---|---:|---:|---:|---:|---:|---:|""")
    for row in record["cases"]:
        for name, got in row["programs"].items():
            rate = f"""{got["evaluations"] / got["search_s"]:.1f}"""
            for phase, times in got["sessions"].items():
                made, making, running, cpu = times["made"], times["making_s"], times["running_s"], times["cpu_s"]
                each = f"{1000 * making / made:.1f}" if made else "-"
                lines.append(f"""| {row["case"]} | {name} | {rate if phase == "search" else ""} | {phase} | {made} | {each} | {making:.2f} | {running:.2f} | {cpu - making - running:.2f} | {100 * making / cpu:.0f} % |""")
    answers = record["answers"]
    agreed = sum(same(row) for row in answers)
    most, bits, figures = largest_difference([row for row in answers if same(row)])
    result = filled(f"Every shared network except style-candy, four ways to lower it, 8 samples, with a requirement 3 dB above everything in low precision. The kept layers "
                    f"and the evaluations are the same in {agreed} of {len(answers)} cases. The figures of the output models agree to the last bit in {bits} of {figures} "
                    f"of these, and to {most:.1g} dB in all.")
    lines.append(f"""
## Answers

{result} The data have each case.""")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", required=True, help="NAME=PROGRAM of the commit before")
    parser.add_argument("--old", help="NAME=PROGRAM of an older one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["cases", "answers"])
    arguments = parser.parse_args()
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    before_name, before = arguments.before.split("=", 1)
    programs = {"before": before, "this commit": str(PROGRAM)}
    timed = dict(programs)
    commits = [f"*before* {before_name}", f"*this commit* {os.popen(f'git -C {ROOT} rev-parse --short=8 HEAD').read().strip()}"]
    if arguments.old:
        old_name, old = arguments.old.split("=", 1)
        timed = {old_name: old, **programs}
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    wide = "with" if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text() else "without"
    record.update(date=datetime.date.today().isoformat(), machine=f"{cpu} {wide} AVX-512, {len(os.sched_getaffinity(0))} usable cores",
                  onnxruntime=onnxruntime.__version__, rounds=arguments.rounds, commits=", ".join(commits))
    with tempfile.TemporaryDirectory() as folder:
        if arguments.only != "answers":
            for network in sorted({network for network, _, _ in CASES}):
                make(folder, network, 20)
            record["cases"] = measure_cases(timed, arguments.rounds, folder)
        if arguments.only != "cases":
            for network in ANSWERED:
                make(folder, network, 8)
            record["answers"] = measure_answers(programs, folder)
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if "cases" in record and "answers" in record:
        PAGE.write_text(page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
