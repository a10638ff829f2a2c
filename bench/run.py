"""Measures the main job; called by bench/run, which builds first.  python bench/run.py [--old PROGRAM] [--output FILE] [NETWORK ...]

Inputs and the answers' folders go to a temporary folder. With networks named only these are measured, with the search cases on them,
and --output must say where to, because the recorded file holds all of them. PROGRAM is a release build of an older commit in its
checkout: whole commands of both run in turns.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

import cases
import networks
import passes
import tables

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "release"
VERNIER = BUILD / "apps" / "vernier" / "vernier"
BENCH = BUILD / "bench" / "main_job_bench"
RECORD = ROOT / "bench" / "results" / "main_job.json"
STARTED = time.perf_counter() / 60
FORMATS = {"int8": "--int8", "float16": "--fp16"}
# Samples, rounds of a pass, processes whose middle peak counts, runs of the whole command.
USUAL = {"one": 1, "few": 8, "many": 40, "rounds": 5, "samples": 4, "processes": 3, "runs": 3}
SPECIAL = {
    "style-candy": {"few": 4, "many": 8, "rounds": 3, "samples": 2, "processes": 1, "runs": 1},  # seconds an inference
    # Its first line is short, so that a round takes many of them.
    "ppocr-en-rec": {"one": 12, "few": 12, "many": 60, "rounds": 3},  # 12 text lines of different widths: all of them before they repeat
}


def say(text):
    print(f"bench: {time.perf_counter() / 60 - STARTED:.1f} min: {text}", file=sys.stderr, flush=True)


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    cache = dict(line.split(":", 1) for line in open(BUILD / "CMakeCache.txt").read().replace("=", ":").splitlines()
                 if line.startswith(("CMAKE_CXX_COMPILER:", "CMAKE_BUILD_TYPE:")))
    compiler = cache["CMAKE_CXX_COMPILER"].split(":")[-1]
    changed = output_of("git", "-C", ROOT, "status", "--porcelain", "--", "src", "include", "apps", "cmake", "CMakeLists.txt")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": cpu,
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "compiler": output_of(compiler, "--version").splitlines()[0],
        "build_type": cache["CMAKE_BUILD_TYPE"].split(":")[-1],
        "onnxruntime": onnxruntime.__version__,
        "onnx": onnx.__version__,
        "numpy": np.__version__,
        "commit": output_of("git", "-C", ROOT, "rev-parse", "HEAD").strip(),
        "source_changed_since_commit": bool(changed.strip()),
        "load_average_at_start": os.getloadavg(),
    }


def options_of(network, folder):
    carries = [option for carry in networks.CARRIES.get(network, []) for option in ("--carry", carry)]
    return [str(networks.model_file(network)), "--data", str(networks.data_file(folder, network)), *carries]


def bench(*arguments):
    done = subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr.strip()}


def memory(network, folder, low, settings):
    common = [*options_of(network, folder), "--low", low]
    peaks = {"plain": bench("peak", "plain", *common, "--samples", settings["one"])}
    for phase in ("own-error", "lock-step"):
        for count in (settings["few"], settings["many"]):
            # Which threads' peaks coincide is chance: the middle of several processes.
            several = [bench("peak", phase, *common, "--samples", count) for _ in range(settings["processes"])]
            middle = sorted(several, key=lambda run: run.get("peak_bytes", 0))[len(several) // 2]
            peaks[f"{phase} {count}"] = {**middle, "processes": len(several)}
    return peaks


def answer_of(run, share=None):
    """What the record keeps of a run. `share`: as for passes.limit_of(); without it no limit is kept."""
    answer = {"exit_code": run.exit_code, "seconds": run.seconds, "cpu_seconds": run.cpu_seconds}
    if run.exit_code not in (0, 1) or run.report is None:
        return {**answer, "failed": run.said.splitlines()[-5:]}
    report = run.report
    answer["phases"] = passes.phase_seconds(report)
    for name in ("all_low", "final_figures"):
        if name in report:
            answer[name] = {output["name"]: output["sqnr_db"] for output in report[name]["outputs"]}
    answer["scheme"] = report["scheme"]
    answer["samples"] = report["samples"]
    if "kept" in report:
        answer |= {key: report["kept"][key] for key in ("layers", "evaluations", "end", "certified")}
        answer["passed"] = report.get("final_figures", {}).get("passed")
    if share is not None:
        answer["limit"] = passes.limit_of(report, share)
    return answer


def in_turns(programs, words, count, folder, plain, share):
    """Whole commands of all programs by turns, each turn behind a plain pass. `plain`: of the model and its feeds, or None."""
    runs = {name: [] for name in programs}
    plain_seconds = []
    for _ in range(count):
        if plain:
            plain_seconds.append(passes.plain_pass(*plain))
        for name, program in programs.items():
            run = passes.diagnose(program, [*words, *passes.ALONE], folder / name)
            runs[name].append(answer_of(run, share if name == "new" else None))
    return {"plain_seconds": plain_seconds, "runs": runs}


def measure_network(programs, network, folder):
    settings = USUAL | SPECIAL.get(network, {})
    networks.make(folder, network, settings["many"])
    plain = networks.model_file(network), networks.samples_of(network, settings["many"])[:settings["samples"]]
    row = {}
    for low, flag in FORMATS.items():
        say(f"{network}, {low}")
        times = bench("time", *options_of(network, folder), "--low", low, "--rounds", settings["rounds"])
        effects = times.get("effects")
        share = effects["work_share"] if effects else 1  # with a state a layer is measured by whole runs
        whole = in_turns(programs, [*options_of(network, folder), flag, "--samples", settings["samples"]], settings["runs"],
                         folder / "answer" / network / low, plain, share)
        row[low] = {"time": times, "memory": memory(network, folder, low, settings), "whole": whole}
    return row


def float32_between(model, first, second):
    """The tensors that `first` hands to `second` in the written file, when no node stands between them."""
    nodes = {node.name: node for node in onnx.load(model).graph.node}
    return sorted(set(nodes[first].output) & set(nodes[second].input)) if {first, second} <= set(nodes) else []


def measure_case(programs, case, folder):
    say(case["name"])
    out = folder / "case" / case["name"]
    plain = None
    model = [str(ROOT / case["model"])]
    if network := case.get("network"):
        networks.make(folder, network, case["samples"])
        model = options_of(network, folder)
        plain = networks.model_file(network), networks.samples_of(network, case["samples"])
    result = {**case, "command": " ".join(["vernier diagnose", case["model"], *case["options"], *passes.ALONE, "-o DIR"]),
              **in_turns(programs, [*model, *case["options"]], case.get("runs", USUAL["runs"]), out, plain, share=0)}
    if "joined" in case:
        result["joined_by"] = float32_between(out / "new" / "out" / "model.onnx", *case["joined"])
    return result


def search_toys():
    """The rows of the first table that search_toys prints."""
    head, _, *rows = output_of(BUILD / "bench" / "search_toys").split("\n\n")[0].splitlines()
    keys = ("mean_calls", "p95_calls", "most_calls", "kept", "worst_over_optimum", "certified", "in_budget")
    split = [row.rsplit(None, len(keys)) for row in rows]
    return {"note": head, "rows": [{"toy": row[0], **dict(zip(keys, map(float, row[1:])))} for row in split]}


def commit_of(program):
    return output_of("git", "-C", program.parent, "rev-parse", "HEAD").strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--old", type=lambda text: pathlib.Path(text).resolve(), help="vernier of an older commit, to run beside")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if options.networks and not options.output:
        parser.error("some networks only: say where to with --output")
    record = {"machine": machine(), "networks": {}, "cases": []}
    programs = {"new": VERNIER}
    if options.old:
        record["machine"]["old_commit"] = commit_of(options.old)
        programs = {"old": options.old, **programs}
    chosen = options.networks or networks.NETWORKS
    with tempfile.TemporaryDirectory(prefix="vernier-bench-") as temporary:
        folder = pathlib.Path(temporary)
        if not options.networks:
            record["search_toys"] = search_toys()
        for case in cases.CASES:
            if not options.networks or case.get("network") in chosen:
                record["cases"].append(measure_case(programs, case, folder))
        for network in chosen:
            record["networks"][network] = measure_network(programs, network, folder)
    record["machine"] |= {"load_average_at_end": os.getloadavg(), "minutes": time.perf_counter() / 60 - STARTED}
    # No path of this machine belongs into the record.
    text = json.dumps(record, indent=1).replace(temporary, "TMP").replace(str(networks.SHARED), "shared").replace(str(ROOT), ".")
    output = options.output or RECORD
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text + "\n")
    if not options.networks:
        tables.write(json.loads(text))


if __name__ == "__main__":
    main()
