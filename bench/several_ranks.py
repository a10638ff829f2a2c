"""Two ranks of one thread against one rank of one thread, on searches whose time goes into evaluations.

    python bench/several_ranks.py [--build build/release] [--repeat 3] [--json bench/results/several_ranks.json]

Runs alternate, so that a busy minute meets both; the figure is the ratio of the medians. Answers must be the same.

Where other programs use the cores, times say little. Then the CPU seconds of the rank that used most can be compared: ranks
that wait sleep, so it is what one core per rank would have needed, less what ranks wait for each other.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import networks
import run

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

CASES = [("mobilenetv2-imagenet", 100, ["--min-sqnr", "24"]), ("mobilenetv2-imagenet", 20, ["--min-sqnr", "24"]),
         ("yolox-nano", 20, ["--min-sqnr", "15"]),
         ("rfb320-face", 20, ["--min-sqnr", "scores:46"])]
# As root, and on one machine: Open MPI asks to be told, and needs no network but the machine's own.
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "core", "-n"]
QUIET = {"OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}


def seconds(ranks, words):
    """Of the whole command, and CPU seconds of the rank that used most."""
    start = time.perf_counter()
    done = subprocess.run([*MPIRUN, str(ranks), "bash", "-c", '"$@" && times >&2', "bash", *map(str, words)], check=True, capture_output=True,
                          text=True, env={**os.environ, **QUIET})
    wall = time.perf_counter() - start
    used = [sum(60 * int(minutes) + float(rest) for minutes, rest in re.findall(r"(\d+)m([\d.]+)s", line)) for line in done.stderr.splitlines()
            if re.fullmatch(r"\d+m[\d.]+s \d+m[\d.]+s", line)]
    assert len(used) == 2 * ranks, done.stderr  # of each shell, and of what it ran
    return wall, max(used)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="networks")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    run.BUILD = pathlib.Path(arguments.build).resolve()
    program = pathlib.Path(arguments.build).resolve() / "apps/vernier/vernier"
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for network, samples, requirement in CASES:
            if arguments.only and network not in arguments.only:
                continue
            data = networks.make(folder, network, samples)
            times, cpu = {1: [], 2: []}, {1: [], 2: []}
            kept = {}
            for _ in range(arguments.repeat):
                for ranks in times:
                    out = folder / f"{network}-{samples}-{ranks}"
                    wall, used = seconds(ranks, [program, "diagnose", networks.model_file(network), "--data", data, "--int8", *requirement,
                                                 "--threads", "1", "--no-latency", "--no-options", "--no-split", "-o", out])
                    times[ranks].append(wall)
                    cpu[ranks].append(used)
                    kept[ranks] = json.loads((out / "report.json").read_text())["kept"]["layers"]
            assert kept[1] == kept[2], f"{network}: two ranks keep other layers"
            one, two = (statistics.median(times[ranks]) for ranks in (1, 2))
            one_cpu, two_cpu = (statistics.median(cpu[ranks]) for ranks in (1, 2))
            rows.append({"network": network, "samples": samples, "requirement": " ".join(requirement), "one_s": one, "two_s": two,
                         "ratio": one / two, "one_cpu_s": one_cpu, "two_cpu_s": two_cpu, "cpu_ratio": one_cpu / two_cpu})
            print(f"{network:24} {samples:4} {one:7.1f} s  {two:7.1f} s  {one / two:.2f}x; CPU {one_cpu:6.2f} s  {two_cpu:6.2f} s  "
                  f"{one_cpu / two_cpu:.2f}x", flush=True)
    if arguments.json:
        record = {"machine": run.machine(), "repeat": arguments.repeat, "rows": rows}
        pathlib.Path(arguments.json).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
