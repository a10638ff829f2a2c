"""Measures the main job; called by bench/run, which builds first.  python bench/run.py [--output FILE] [NETWORK ...]

Inputs and the answers' folders go to a temporary folder. With networks named only these are measured, the search cases are left
out, and --output must say where to, because the recorded file holds all of them.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime

import cases
import networks
import tables

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "release"
VERNIER = BUILD / "apps" / "vernier" / "vernier"
BENCH = BUILD / "bench" / "main_job_bench"
RECORD = ROOT / "bench" / "results" / "main_job.json"
FORMATS = {"int8": "--int8", "float16": "--fp16"}
USUAL = {"one": 1, "few": 8, "many": 40, "rounds": 7, "samples": 4}
SPECIAL = {
    "style-candy": {"few": 4, "many": 8, "rounds": 3, "samples": 2},  # seconds an inference
    "ppocr-en-rec": {"one": 12, "few": 12, "many": 60},  # 12 text lines of different widths: all of them before they repeat
}


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


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
            # Which threads' peaks coincide is chance: the middle of three processes.
            three = [bench("peak", phase, *common, "--samples", count) for _ in range(3)]
            peaks[f"{phase} {count}"] = sorted(three, key=lambda run: run.get("peak_bytes", 0))[1]
    return peaks


def cpu_seconds():
    """Of all children so far: what a command computed, however busy the machine was."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def diagnose(arguments, out):
    """One call of the product: exit code, wall seconds, and what its JSON says."""
    start, cpu_start = time.perf_counter(), cpu_seconds()
    done = subprocess.run([VERNIER, "diagnose", *map(str, arguments), "-o", out, "--json"], capture_output=True, text=True)
    answer = {"exit_code": done.returncode, "seconds": time.perf_counter() - start, "cpu_seconds": cpu_seconds() - cpu_start}
    if done.returncode not in (0, 1):
        return {**answer, "failed": done.stderr.strip().splitlines()[-5:]}
    report = json.loads(done.stdout)
    answer["phases"] = {phase["phase"]: phase["seconds"] for phase in report["phases"]}
    for name in ("all_low", "final_figures"):
        if name in report:
            answer[name] = {output["name"]: output["sqnr_db"] for output in report[name]["outputs"]}
    answer["scheme"] = report["scheme"]
    answer["samples"] = report["samples"]
    if "kept" in report:
        answer |= {key: report["kept"][key] for key in ("layers", "evaluations", "end", "certified")}
        answer["passed"] = report.get("final_figures", {}).get("passed")
    return answer


def measure_network(network, folder):
    settings = USUAL | SPECIAL.get(network, {})
    networks.make(folder, network, settings["many"])
    row = {}
    for low, flag in FORMATS.items():
        say(f"{network}, {low}")
        answer = diagnose([*options_of(network, folder), flag, "--samples", settings["samples"], "--no-latency", "--no-options", "--no-split"],
                          folder / "answer" / network / low)
        row[low] = {"time": bench("time", *options_of(network, folder), "--low", low, "--rounds", settings["rounds"]),
                    "memory": memory(network, folder, low, settings), "answer": answer}
    return row


def float32_between(model, first, second):
    """The tensors that `first` hands to `second` in the written file, when no node stands between them."""
    nodes = {node.name: node for node in onnx.load(model).graph.node}
    return sorted(set(nodes[first].output) & set(nodes[second].input)) if {first, second} <= set(nodes) else []


def measure_case(case, folder):
    out = folder / "case" / case["name"]
    runs = []
    for _ in range(case.get("runs", 3)):
        say(case["name"])
        runs.append(diagnose([*case_input(case, folder), *case["options"]], out))
    result = {**case, "command": " ".join(["vernier diagnose", case["model"], *case["options"], "-o DIR"]), "runs": runs}
    if "joined" in case:
        result["joined_by"] = float32_between(out / "model.onnx", *case["joined"])
    return result


def case_input(case, folder):
    if "network" not in case:
        return [ROOT / case["model"]]
    networks.make(folder, case["network"], case["samples"])
    return options_of(case["network"], folder)


def search_toys():
    """The rows of the first table that search_toys prints."""
    head, _, *rows = output_of(BUILD / "bench" / "search_toys").split("\n\n")[0].splitlines()
    keys = ("mean_calls", "p95_calls", "most_calls", "kept", "worst_over_optimum", "certified", "in_budget")
    split = [row.rsplit(None, len(keys)) for row in rows]
    return {"note": head, "rows": [{"toy": row[0], **dict(zip(keys, map(float, row[1:])))} for row in split]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    if options.networks and not options.output:
        parser.error("some networks only: say where to with --output")
    record = {"machine": machine(), "networks": {}, "cases": []}
    with tempfile.TemporaryDirectory(prefix="vernier-bench-") as temporary:
        folder = pathlib.Path(temporary)
        if not options.networks:
            record["search_toys"] = search_toys()
            record["cases"] = [measure_case(case, folder) for case in cases.CASES]
        for network in options.networks or networks.NETWORKS:
            record["networks"][network] = measure_network(network, folder)
    record["machine"]["load_average_at_end"] = os.getloadavg()
    # No path of this machine belongs into the record.
    text = json.dumps(record, indent=1).replace(temporary, "TMP").replace(str(networks.SHARED), "shared").replace(str(ROOT), ".")
    output = options.output or RECORD
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text + "\n")
    if not options.networks:
        (ROOT / "docs" / "benchmarks.md").write_text(tables.page(json.loads(text)))


if __name__ == "__main__":
    main()
