"""Compares searches for layers to keep on real networks and writes docs/records/search.md.

    python bench/compare_searches.py --inputs FOLDER [--program build/release/apps/vernier/vernier] [--only CASE ...]
                                     [--modes minimal ...] [--limit 60s] [--nncf PYTHON] [--render]

FOLDER holds NETWORK.npz (or .npy) for each network of the shared models ($VERNIER_SHARED/models), as bench/networks.py or the shared
tools/inputs.py make them. The program must be a release build. Each search runs alone, from no journal. --nncf names a Python with
nncf, openvino and onnx, for bench/nncf_search.py. Results are merged into bench/results/searches.json case by case, so that a part
can be measured again; --render writes the page from it without measuring.

Seconds depend on what else the machine does; CPU seconds less so, and counts not at all.
"""
import argparse
import datetime
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from networks import CARRIES, SHARED
from paragraph import filled, headed, write_pages

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/searches.json"
PAGE = ROOT / "docs/records/search.md"

# (network, low format, target's rules, what is needed, output for NNCF): between what all low and what all high gives. NNCF quantizes
# its own way whatever our target is, nearest to openvino's: it runs once for each need.
CASES = [
    ("mobilenetv2-imagenet", "--int8", "onnxruntime", "20", "logits"),
    ("mobilenetv2-imagenet", "--int8", "onnxruntime", "24", "logits"),
    ("yolox-nano", "--int8", "onnxruntime", "12", "output"),
    ("yolox-nano", "--int8", "onnxruntime", "15", "output"),
    ("rfb320-face", "--int8", "onnxruntime", "scores:46", "scores"),
    ("rfb320-face", "--int8", "onnxruntime", "scores:50", "scores"),
    ("stories260k", "--int8", "onnxruntime", "30", "logits"),
    ("vit-cifar", "--int8", "onnxruntime", "30", "output"),
    ("ppocr-en-rec", "--int8", "onnxruntime", "20", "save_infer_model/scale_0.tmp_1"),
    ("mobilenetv2-imagenet", "--int8", "openvino", "20", None),
    ("mobilenetv2-imagenet", "--int8", "openvino", "24", None),
    ("yolox-nano", "--int8", "openvino", "12", None),
    ("yolox-nano", "--int8", "openvino", "15", None),
    ("rfb320-face", "--int8", "openvino", "scores:50", None),
    ("ppocr-en-rec", "--int8", "openvino", "20", None),
    ("mobilenetv2-imagenet", "--int8", "tensorrt", "20", None),
    ("mobilenetv2-imagenet", "--int8", "tensorrt", "24", None),
    ("yolox-nano", "--int8", "tensorrt", "12", None),
    ("yolox-nano", "--int8", "tensorrt", "15", None),
    ("rfb320-face", "--int8", "tensorrt", "scores:46", None),
    ("rfb320-face", "--int8", "tensorrt", "scores:50", None),
    ("stories260k", "--int8", "tensorrt", "30", None),
    ("vit-cifar", "--int8", "tensorrt", "38", None),
    ("ppocr-en-rec", "--int8", "tensorrt", "20", None),
    ("silero-vad-16k", "--int8", "tensorrt", "45", None),
    ("dtln-part1", "--int8", "tensorrt", "50", None),
    ("dtln-part2", "--int8", "tensorrt", "30", None),
    ("stories260k", "--fp16", "tensorrt", "66", None),
    ("rfb320-face", "--fp16", "tensorrt", "scores:75", None),
]
MODES = {
    "minimal": ["--mode", "minimal"],
    "bisect": ["--mode", "bisect", "--no-minimal"],
    "linear": ["--mode", "linear", "--no-minimal"],
    "worst-first": ["--mode", "worst-first", "--top", "1", "--no-minimal"],
    "minimal, whole groups": ["--mode", "minimal", "--whole-groups"],
    "fix": [],  # another command: repairs first, then `minimal` on what is repaired
}
USUAL = ["minimal", "bisect", "linear", "fix"]


def name_of(case):
    network, low, target, needs, _ = case
    return f"{network} {low[2:]} {target} {needs}"


def data_of(inputs, network):
    return next((inputs / f"{network}{end}" for end in (".npz", ".npy") if (inputs / f"{network}{end}").exists()), None)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, folder):
    start, cpu = time.perf_counter(), cpu_seconds()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done, {"seconds": round(time.perf_counter() - start, 2), "cpu_seconds": round(cpu_seconds() - cpu, 2)}


def measure(program, case, mode, data, limit):
    network, low, target, needs, _ = case
    model = next((SHARED / "models" / network).glob("*.onnx"))
    command = [program, *(["fix"] if mode == "fix" else ["debug", "precision"]), str(model), low, "--target", target, "--min-sqnr", needs,
               "--data", str(data), "--journal", "none", "--json", "--budget", limit, *MODES[mode]]
    for carry in CARRIES.get(network, []):
        command += ["--carry", carry]
    with tempfile.TemporaryDirectory() as folder:
        done, times = run(command, folder)
    if done.returncode not in (0, 1):
        return {"error": next((line for line in done.stderr.splitlines() if line.startswith("error")), "failed")}
    report = json.loads(done.stdout)
    kept = report["kept"]
    result = {"end": kept["end"], "kept": len(kept["layers"]), "of": sum(row["format"] != report["high"] for row in report["layers"]),
              "kept_macs": kept["kept_macs"], "total_macs": kept["total_macs"], "evaluations": kept["evaluations"],
              "sample_inferences": kept.get("sample_inferences", 0), **times, "samples": report["samples"],
              "machine": report["machine"], "onnxruntime": report["onnxruntime_version"], "layers": kept["layers"]}
    if "ranking" in kept:
        result["ranking"] = kept["ranking"]
    return result


def measure_nncf(python, case, data, limit):
    network, _, _, needs, output = case
    model = next((SHARED / "models" / network).glob("*.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        done, _ = run([python, str(ROOT / "bench/nncf_search.py"), str(model), str(data), output, needs.split(":")[-1],
                       str(int(limit.rstrip("s")) * 10)], folder)
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
    return json.loads(line[7:]) if line else {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"}


def row_of(mode, result):
    if "error" in result:
        return f"{mode} | {result['error']} | | | | | "
    if "cut_short_after" in result:
        return (f"{mode} | no answer within {result['cut_short_after']} s | | {result['evaluations']} | {result['sample_inferences']} | "
                f"{result['seconds']:.1f} | {result.get('cpu_seconds', '')}")
    share = f"{result['kept_macs'] / result['total_macs']:.0%}" if result.get("total_macs") else ""
    cut = {"stopped": ", cut short", "impossible": ", missed"}.get(result.get("end"), "")
    inferences = result["sample_inferences"] or ""
    return (f"{mode} | {result['kept']} of {result['of']}{cut} | {share} | {result['evaluations']} | {inferences} | {result['seconds']:.1f} | "
            f"{result.get('cpu_seconds', '')}")


INTRODUCTION = "\n".join([
    *headed("Searches compared", PAGE),
    filled("For readers who ask how few layers each search keeps: the modes of `vernier debug precision`, `vernier fix`, and NNCF's `quantize_with_accuracy_control`."), "",
    filled("Made by `bench/compare_searches.py` from [bench/results/searches.json](../../bench/results/searches.json)."), "",
    filled("- *kept*: layers, and their share of the multiply-accumulates. `bisect` and `linear` keep the first N layers; `fix` repairs first."),
    filled("- *runs*: over all samples, or as many as a failure needed."),
    filled("- *inferences*: one sample through the network once. It counts the reference run, local errors, everything low, estimates and trials. Sensitivities count by the share of the "
           "network that they run. For `fix` it is without its repairs."),
    filled("- *s* and *CPU s*: the whole command, with loading, ranking and verification."),
    filled("- *cut short*: the search stopped at its time limit."), ""])


def render(record):
    lines = [INTRODUCTION, filled(f"{record['date']}. Machine: {record['machine']}, ONNX Runtime {record['onnxruntime']}."), ""]
    lines += [filled(text) for text in record.get("before", [])] + ["", "| network | scheme | needs | by | kept | MACs | runs | inferences | s | CPU s |",
                                         "|---|---|---|---|---|---|---|---|---|---|"]
    for case in CASES:
        for number, (mode, result) in enumerate(record["cases"].get(name_of(case), {}).items()):
            network, low, target, needs, _ = case
            samples = result.get("samples", "")
            head = f"{network} ({samples} samples) | {low[2:]}, {target} | {needs} dB" if number == 0 else " | | "
            lines.append(f"| {head} | {row_of(mode, result)} |")
    lines += ["", *(filled(text) if text else "" for text in record.get("remarks", []))]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=pathlib.Path, nargs="*", default=[], help="folders, searched in order")
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/vernier/vernier"))
    parser.add_argument("--only", nargs="*", default=[], help="words that a case's name must hold")
    parser.add_argument("--modes", nargs="*", default=USUAL, choices=list(MODES) + ["nncf"])
    parser.add_argument("--limit", default="60s", help="of one search; NNCF has ten times as much")
    parser.add_argument("--nncf", help="a Python that has NNCF")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not isinstance(record.get("cases"), dict):
        record = {"cases": {}, "before": [], "remarks": []}
    for case in [] if options.render else CASES:
        if not all(word in name_of(case) for word in options.only):
            continue
        data = next((found for folder in options.inputs if (found := data_of(folder, case[0]))), None)
        if data is None:
            print(f"no inputs for {case[0]}", file=sys.stderr)
            continue
        modes = record["cases"].setdefault(name_of(case), {})
        for mode in options.modes:
            if mode == "nncf":
                continue
            modes[mode] = result = measure(options.program, case, mode, data, options.limit)
            for key in ("machine", "onnxruntime"):
                record[key] = result.pop(key, record.get(key, ""))
            record["date"] = str(datetime.date.today())
            print(name_of(case), mode, row_of(mode, result), flush=True)
            RESULTS.write_text(json.dumps(record, indent=1) + "\n")
        if options.nncf and case[4]:
            modes["NNCF"] = result = measure_nncf(options.nncf, case, data, options.limit)
            print(name_of(case), row_of("NNCF", result), flush=True)
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    write_pages(PAGE, render(record), {"## By the rules of ONNX Runtime": (
        "search-remarks.md", "Limits of the comparison",
        "For readers of [searches compared](search.md): losses, limits of the comparison, and networks that are toys.")})


if __name__ == "__main__":
    main()
