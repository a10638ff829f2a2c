"""Compares the searches of `vernier debug precision` on real networks and writes docs/benchmarks-search.md.

    python bench/compare_searches.py --inputs FOLDER [--program build/dev/apps/vernier/vernier] [--only NAME ...]

FOLDER holds NAME.npz for each network of the shared models ($VERNIER_SHARED/models), as its tools/inputs.py makes them. The
program must be a release build, and the machine must do nothing else. Each search runs alone, from no journal. Results go to
bench/results/searches.json; --render writes the page from it without measuring.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared"))
RESULTS = ROOT / "bench/results/searches.json"
PAGE = ROOT / "docs/benchmarks-search.md"

# Targets between what everything low gives and what everything high gives.
CASES = [
    ("mobilenetv2-imagenet", ["--int8"], "20"),
    ("mobilenetv2-imagenet", ["--int8"], "24"),
    ("yolox-nano", ["--int8"], "12"),
    ("yolox-nano", ["--int8"], "15"),
    ("rfb320-face", ["--int8"], "scores:46"),
    ("rfb320-face", ["--int8"], "scores:50"),
    ("vit-cifar", ["--int8"], "25"),
    ("ppocr-en-rec", ["--int8"], "25"),
    ("resnet8-cifar", ["--int8"], "30"),
    ("squeezenet-imagenet", ["--int8"], "30"),
]
MODES = {
    "minimal": ["--mode", "minimal"],
    "bisect, first N": ["--mode", "bisect", "--no-minimal"],
    "bisect, last N": ["--mode", "bisect", "--direction", "reverse", "--no-minimal"],
    "linear, first N": ["--mode", "linear", "--no-minimal"],
    "worst-first": ["--mode", "worst-first", "--top", "1", "--no-minimal"],
}


def measure(program, network, low, target, words, inputs, limit):
    model = next((SHARED / "models" / network).glob("*.onnx"))
    command = [program, "debug", "precision", str(model), *low, "--min-sqnr", target, "--data",
               str(inputs / f"{network}.npz"), "--journal", "none", "--json", "--budget", limit, *words]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        seconds = time.perf_counter() - start
    if done.returncode not in (0, 1):
        return {"error": next((l for l in done.stderr.splitlines() if l.startswith("error")), "failed")}
    report = json.loads(done.stdout)
    kept = report["kept"]
    layers = max((len(test["layers"]) for test in kept["tests"]), default=0)
    return {"end": kept["end"], "kept": len(kept["layers"]), "of": layers, "macs": kept["kept_macs"],
            "total_macs": kept["total_macs"], "evaluations": kept["evaluations"], "seconds": round(seconds, 2),
            "samples": report["samples"], "machine": report["machine"], "onnxruntime": report["onnxruntime_version"]}


def render(record):
    lines = ["# Searches compared", "",
             "Which layers to keep in float32 so that a requirement holds, by each mode of `vernier debug precision`, on the same simulated",
             "INT8 scheme (target tensorrt, absolute maximum). Written by `bench/compare_searches.py`; the record is",
             "[bench/results/searches.json](../bench/results/searches.json). *kept*: layers and their share of the multiply-accumulates;",
             "*runs*: over all samples, or as many as a failure needed; *s*: the whole command, with loading, the reference run, ranking and the check of",
             "the written model. `linear` and `worst-first` stop at the time limit where it says *cut short*.", "",
             f"Machine: {record['machine']}, ONNX Runtime {record['onnxruntime']}, {record['samples']} samples each.", "",
             "| network | needs | mode | kept | multiply-accumulates | runs | s |", "|---|---|---|---|---|---|---|"]
    for case in record["cases"]:
        for mode, result in case["modes"].items():
            name = f"{case['network']} | {case['target']} dB" if mode == "minimal" else " | "
            if "error" in result:
                lines.append(f"| {name} | {mode} | {result['error']} | | | |")
                continue
            share = result["macs"] / result["total_macs"] if result["total_macs"] else 0
            cut = " (cut short)" if result["end"] == "stopped" else ""
            lines.append(f"| {name} | {mode} | {result['kept']} of {result['of']}{cut} | {share:.0%} | {result['evaluations']} | "
                         f"{result['seconds']:.1f} |")
    lines += ["", *record.get("remarks", [])]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=pathlib.Path)
    parser.add_argument("--program", default=str(ROOT / "build/dev/apps/vernier/vernier"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--limit", default="60s", help="of one search")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    if not options.render:
        record = {"cases": [], "remarks": []}
        if RESULTS.exists():
            record["remarks"] = json.loads(RESULTS.read_text()).get("remarks", [])
        for network, low, target in CASES:
            if options.only and network not in options.only:
                continue
            case = {"network": network, "low": low, "target": target, "modes": {}}
            for mode, words in MODES.items():
                case["modes"][mode] = result = measure(options.program, network, low, target, words, options.inputs, options.limit)
                print(network, target, mode, result, flush=True)
                for key in ("machine", "onnxruntime", "samples"):
                    record.setdefault(key, result.pop(key, "")) if key not in record else result.pop(key, None)
            record["cases"].append(case)
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(render(json.loads(RESULTS.read_text())))


if __name__ == "__main__":
    main()
