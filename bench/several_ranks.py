"""What several ranks gain: measured at two, and worked out for an ideal network at two, four and eight; writes docs/records/ranks.md.

    python bench/several_ranks.py [--build build/release] [--repeat 3] [--only NETWORK ...]
    python bench/several_ranks.py --page     # writes the pages again from the record

Whole diagnoses, ranks of one thread each. One and two ranks run in turns, so that a busy minute meets both; the figure is the ratio of
the medians. Answers must be the same. Needs Open MPI (its mpicc.openmpi compiles rank_times.c), ONNX Runtime as the program finds it,
and VERNIER_SHARED, which names the shared folder.

Ranks talk only by exchanges, at which each waits for all, asleep. So on a network that takes no time, with a core to each rank, a job
would take, summed over its exchanges, the most CPU seconds that any rank used since the one before. That sum needs no more cores than
there are: rank_times.c writes what each rank had used at each exchange.
"""
import argparse
import collections
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import networks
import run
from networks import ROOT
from paragraph import filled, headed

CASES = [("mobilenetv2-imagenet", 100, ["--min-sqnr", "24"]), ("mobilenetv2-imagenet", 20, ["--min-sqnr", "24"]),
         ("yolox-nano", 20, ["--min-sqnr", "15"]), ("rfb320-face", 20, ["--min-sqnr", "scores:46"])]
ALONE = ["--threads", "1", "--no-latency", "--no-options", "--no-split", "--no-cache"]
RESULTS = ROOT / "bench/results/several_ranks.json"
PAGE = ROOT / "docs/records/ranks.md"
GUIDE = ROOT / "docs/guides/several-machines.md"
BEGIN, END = "<!-- from here written by bench/several_ranks.py -->\n", "<!-- to here -->\n"
# As root, and on one machine: Open MPI asks to be told, and needs no network but the machine's own.
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root"]
QUIET = {"OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}

Row = collections.namedtuple("Row", "what cpu clock")


def timed(ranks, words, folder, library):
    """Seconds of the whole command, and the rows of rank_times.c of each rank."""
    for old in folder.glob("times.*"):
        old.unlink()
    places = ["--bind-to", "core"] if ranks <= len(os.sched_getaffinity(0)) else ["--oversubscribe", "--bind-to", "none"]
    start = time.perf_counter()
    subprocess.run([*MPIRUN, *places, "-n", str(ranks), "env", f"LD_PRELOAD={library}", f"RANK_TIMES={folder}/times", *map(str, words)],
                   check=True, capture_output=True, env={**os.environ, **QUIET})
    wall = time.perf_counter() - start
    rows = []
    for rank in range(ranks):
        lines = (line.split() for line in (folder / f"times.{rank}").read_text().splitlines())
        rows.append([Row(what, float(cpu), float(clock)) for what, cpu, clock in lines])
    assert len({len(each) for each in rows}) == 1, "ranks met unlike often"
    return wall, rows


def add_to_phases(phases, begin, end, start, seconds, sums):
    """Spreads what was used between two exchanges over the phases that the first rank was in by its clock."""
    covered = 0
    for name, length in phases:
        inside = max(0.0, min(end, start + length) - max(begin, start))
        start += length
        if inside > 0:
            share = inside / (end - begin)
            covered += share
            sums[name] = sums.get(name, 0) + share * seconds
    sums["else"] = sums.get("else", 0) + (1 - covered) * seconds


def simulated(rows, phases):
    """On an ideal network: seconds in all, by phase, and of the mean rank."""
    begin = next((row.clock for row in rows[0] if row.what == "start"), 0)
    result = {"s": 0, "mean_s": 0, "exchanges": sum(row.what == "exchange" for row in rows[0]), "phases": {}}
    used, clock = [0.0] * len(rows), begin
    for at in zip(*rows):
        each = [row.cpu - before for row, before in zip(at, used)]
        used = [row.cpu for row in at]
        result["s"] += max(each)
        result["mean_s"] += statistics.mean(each)
        if at[0].clock > clock:
            add_to_phases(phases, clock, at[0].clock, begin, max(each), result["phases"])
        else:
            result["phases"]["else"] = result["phases"].get("else", 0) + max(each)
        clock = max(clock, at[0].clock)
    return result


def measure(program, network, samples, requirement, repeat, folder, library):
    data = networks.make(folder, network, samples)
    runs = collections.defaultdict(list)
    kept = None
    for ranks in [*itertools.chain(*[(1, 2)] * repeat), 4, 8]:
        out = folder / f"out-{ranks}"
        wall, rows = timed(ranks, [program, "diagnose", networks.model_file(network), "--data", data, "--int8", *requirement, *ALONE, "-o", out],
                           folder, library)
        report = json.loads((out / "report.json").read_text())
        kept = kept or report["kept"]["layers"]
        assert kept == report["kept"]["layers"], f"{network}: {ranks} ranks keep other layers"
        phases = [(phase["phase"], phase["seconds"]) for phase in report["phases"]]
        runs[ranks].append({"ranks": ranks, "wall_s": wall, **simulated(rows, phases)})
        if ranks == 1:  # meets nobody: its phases are those of its clock
            runs[1][-1]["phases"] = {name: sum(seconds for other, seconds in phases if other == name) for name, _ in phases}
    case = {"network": network, "samples": samples, "requirement": " ".join(requirement), "kept": len(kept), "ranks": []}
    for ranks, each in runs.items():
        median = sorted(each, key=lambda one: one["s"])[len(each) // 2]
        if ranks <= 2:
            median["wall_s"] = statistics.median(one["wall_s"] for one in each)
        else:
            del median["wall_s"]  # they shared cores
        case["ranks"].append(median)
    return case


def gains(case):
    """(ranks' row, times as fast, own, waiting) for each number of ranks but one."""
    one = case["ranks"][0]
    for row in case["ranks"][1:]:
        yield row, one["s"] / row["s"], row["mean_s"] - one["s"] / row["ranks"], row["s"] - row["mean_s"]


def measured_gain(case):
    return case["ranks"][0]["wall_s"] / case["ranks"][1]["wall_s"]


def name_of(case):
    return f"{case['network']}, {case['samples']} samples, {case['requirement'].split()[-1].split(':')[-1]} dB"


def short_table(record):
    lines = ["| network | one rank | two ranks, measured | times as fast | two, ideal network | four | eight |", "|---|---:|---:|---:|---:|---:|---:|"]
    for case in record["cases"]:
        one, two = case["ranks"][:2]
        ideal = " | ".join(f"{gain:.2f}x" for _, gain, _, _ in gains(case))
        lines.append(f"| {name_of(case)} | {one['wall_s']:.1f} s | {two['wall_s']:.1f} s | {measured_gain(case):.2f}x | {ideal} |")
    return "\n".join(lines) + "\n"


def page(record):
    machine = record["machine"]
    head = "\n".join([
        *headed("Several ranks", PAGE),
        filled("For people with a cluster: what `mpirun` gains ([how to use it](../guides/several-machines.md)), and where it stops scaling."), "",
        filled("Made by `bench/several_ranks.py` from [bench/results/several_ranks.json](../../bench/results/several_ranks.json). "
               f"{machine['date']}, {machine['cpu']}, {machine['usable_cores']} usable cores, load average {machine['load_average_at_start'][0]:.1f} at the start; ONNX "
               f"Runtime {machine['onnxruntime']}; commit {machine['commit'][:8]}. Whole `diagnose --int8` without latencies and options, ranks of one thread each on one "
               f"machine. One and two ranks ran in turns, each on a core of its own; seconds are medians of {record['repeat']}. All numbers of ranks keep the same layers.")])
    method = "\n".join([
        filled("- *Ideal network*: ranks only talk in exchanges, at which each one sleeps until all arrive. With a core for each rank and a network that takes no time, a job "
               "takes the most CPU seconds of any rank between two exchanges, summed over its exchanges. Four and eight ranks shared two cores and their caches, so their "
               "times are rather too long."),
        filled("- *more work*: the work of all ranks beyond that of one, divided by ranks. Each rank prepares the network and builds sessions itself, and some runs are in "
               "vain."),
        filled("- *waiting*: that of the mean rank for the slowest.")])
    lines = [f"""{head}

{short_table(record)}
{method}
"""]
    for case in record["cases"]:
        one = case["ranks"][0]
        lines.append(f"""## {name_of(case)}: {case["kept"]} kept

| ranks | CPU seconds of one / ranks | more work | waiting | sum: ideal network | times as fast | exchanges |
|---:|---:|---:|---:|---:|---:|---:|""")
        for row, gain, own, waiting in gains(case):
            lines.append(f"| {row['ranks']} | {one['s'] / row['ranks']:.2f} | {own:.2f} | {waiting:.2f} | {row['s']:.2f} | {gain:.2f}x | {row['exchanges']} |")
        several = case["ranks"][1:]
        lines.append(f"""
<!-- not prose: phases as the program names them -->
| phase | one rank, s | {" | ".join(f"{row['ranks']}" for row in several)} | at {several[-1]['ranks']} |
|---|---:|{"---:|" * len(several)}---:|""")
        for name, seconds in one["phases"].items():
            if seconds < 0.1:
                continue
            each = [row["phases"].get(name, 0) for row in several]
            lines.append(f"| {name} | {seconds:.2f} | {' | '.join(f'{s:.2f}' for s in each)} | {seconds / max(each[-1], 1e-3):.1f}x |")
        lines.append("")
    stops = []
    for case in record["cases"]:
        rows = list(gains(case))
        row, gain, own, waiting = rows[-1]
        longest = sorted(row["phases"].items(), key=lambda item: -item[1])[:3]
        stops.append(filled(f"- {name_of(case)}: {row['ranks']} ranks are {gain / rows[-2][1]:.2f} times as fast as {rows[-2][0]['ranks']}. Of their {row['s']:.2f} s, {own:.2f} are more work "
                     f"and {waiting:.2f} waiting. Longest: {', '.join(f'{name} {seconds:.2f} s' for name, seconds in longest)}."))
    lines.append("""## Where it stops scaling

""" + "\n".join(stops) + "\n\n" + filled("Phases are those of the first rank's clock; `else` is the time before the first, after the last and between them. The CPU seconds of a rank between two "
               "exchanges are spread over the phases of that time. For one rank they are seconds of its clock.") + "\n")
    return "\n".join(lines)


def write_pages(record):
    PAGE.write_text(page(record), encoding="utf-8")
    guide = GUIDE.read_text(encoding="utf-8")
    before, rest = guide.split(BEGIN)
    GUIDE.write_text(before + BEGIN + "\n" + short_table(record) + "\n" + END + rest.split(END)[1], encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=ROOT / "build/release")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="networks; then nothing is written")
    parser.add_argument("--page", action="store_true", help="only write the pages again from the record")
    arguments = parser.parse_args()
    if arguments.page:
        return write_pages(json.loads(RESULTS.read_text(encoding="utf-8")))
    run.BUILD = pathlib.Path(arguments.build).resolve()
    program = run.BUILD / "apps/vernier/vernier"
    record = {"machine": run.machine(), "repeat": arguments.repeat, "cases": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        library = folder / "rank_times.so"
        subprocess.run(["mpicc.openmpi", "-O2", "-fPIC", "-shared", ROOT / "bench/rank_times.c", "-o", library], check=True)
        for network, samples, requirement in CASES:
            if arguments.only and network not in arguments.only:
                continue
            case = measure(program, network, samples, requirement, arguments.repeat, folder, library)
            record["cases"].append(case)
            print(f"{name_of(case)}: measured {measured_gain(case):.2f}x; ideal network "
                  + ", ".join(f"{row['ranks']} ranks {row['s']:.2f} s {gain:.2f}x, more work {own:.2f}, waiting {waiting:.2f}"
                              for row, gain, own, waiting in gains(case)), flush=True)
    if not arguments.only:
        RESULTS.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        write_pages(record)


if __name__ == "__main__":
    main()
