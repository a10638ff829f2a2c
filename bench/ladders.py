"""Plans of several formats against plans of two, on shared networks; writes docs/records/ladders.md.

    python bench/ladders.py --inputs FOLDER [--program build/release/apps/vernier/vernier] [--only NETWORK ...] [--render]

FOLDER is made by bench/networks.py. Each network is searched twice for the same requirement: with --int8 and --precision float16,
and with --ladder int8,int16,float16. Both costs are the multiply-accumulates of one sample times bits. Results are merged into
bench/results/ladders.json network by network; --render writes the page from it without measuring.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from networks import data_file, model_file
from paragraph import filled, headed

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/ladders.json"
PAGE = ROOT / "docs/records/ladders.md"
# Between what all in INT8 and what all in FP16 gives, by OpenVINO's rules.
CASES = {
    "resnet8-cifar": "42",
    "squeezenet-imagenet": "36",
    "vit-cifar": "38",
    "mobilenetv2-imagenet": "24",
    "rfb320-face": "scores:52",
    "yolox-nano": "output:15",
}
BITS = {"uint8": 8, "uint16": 12, "float16": 16}


def search(program, network, needs, data, formats):
    command = [program, "diagnose", str(model_file(network)), *formats, "--target", "openvino", "--min-sqnr", needs, "--data", str(data),
               "--cost", "macs", "--quick", "--no-options", "--json"]
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1, 5):
        sys.exit(f"{network}: {done.stderr}")
    report = json.loads(done.stdout)
    return report, round(seconds, 1)


def met(report):
    return report.get("final_figures", {}).get("passed", False)


def measure(program, network, needs, data):
    two, two_seconds = search(program, network, needs, data, ["--int8", "--precision", "float16"])
    many, many_seconds = search(program, network, needs, data, ["--ladder", "int8,int16,float16"])
    kept = many["kept"]
    if two["kept"]["end"] == "nothing-needed":
        return {"needs": needs, "samples": many["samples"], "nothing_needed": True}
    rungs = kept["ladder"]["rungs"]
    total = sum(rung["macs"] for rung in rungs)
    high = two["kept"]["kept_macs"]
    return {
        "needs": needs, "samples": many["samples"], "end": kept["end"], "certified": kept["certified"], "rungs": rungs,
        "bits": sum(rung["macs"] * BITS[rung["format"]] for rung in rungs) / total,
        "evaluations": kept["evaluations"], "seconds": many_seconds, "met": met(many),
        "two": {"kept": len(two["kept"]["layers"]), "bits": 8 + 8 * high / total, "evaluations": two["kept"]["evaluations"],
                "seconds": two_seconds, "met": met(two)},
        "machine": many["machine"], "onnxruntime": many["onnxruntime_version"]}


INTRODUCTION = "\n".join([
    *headed("Several formats compared with two", PAGE),
    filled("For readers who ask what a third format saves: plans of INT8, INT16 and FP16 against plans of INT8 and FP16, for the same "
           "requirement."), "",
    filled("Made by `bench/ladders.py` from [bench/results/ladders.json](../../bench/results/ladders.json). The commands are `vernier "
           "diagnose --int8 --precision float16` and `vernier diagnose --ladder int8,int16,float16`, both with `--cost macs --target openvino "
           "--quick`."), "",
    filled("- *bits*: what a multiply-accumulate reads on average. INT8 reads 8, INT16 (A16W8) 12, FP16 16."),
    filled("- *runs*: over all samples. A ladder's runs never end early."),
    filled("- *s*: the whole command."), ""])


def render(record):
    lines = [INTRODUCTION, filled(f"Machine: {record['machine']}, ONNX Runtime {record['onnxruntime']}."), "",
             "| network | needs | INT8 | INT16 | FP16 | bits | runs | s | two: FP16 | two: bits | two: runs | two: s |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for network, result in record["networks"].items():
        if result.get("nothing_needed"):
            lines.append(f"| {network} ({result['samples']} samples) | {result['needs']} dB | all | | | 8 | | | | 8 | | |")
            continue
        layers = {rung["format"]: rung["layers"] for rung in result["rungs"]}
        two = result["two"]
        bits = "missed" if not result["met"] else f"{result['bits']:.2f}"
        bits_of_two = "missed" if not two["met"] else f"{two['bits']:.2f}"
        counts = " | ".join(str(layers.get(name, 0)) for name in BITS)
        lines.append(f"| {network} ({result['samples']} samples) | {result['needs']} dB | {counts} | {bits} | {result['evaluations']} | "
                     f"{result['seconds']} | {two['kept']} | {bits_of_two} | {two['evaluations']} | {two['seconds']} |")
    lines += ["", *(filled(text) if text else "" for text in record.get("remarks", []))]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=pathlib.Path)
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/vernier/vernier"))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"networks": {}, "remarks": []}
    for network, needs in {} if options.render else CASES.items():
        if options.only and network not in options.only:
            continue
        record["networks"][network] = result = measure(options.program, network, needs, data_file(options.inputs, network))
        for key in ("machine", "onnxruntime"):
            record[key] = result.pop(key, record.get(key, ""))
        print(network, result, flush=True)
        RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(render(record))


if __name__ == "__main__":
    main()
