#!/usr/bin/env python3
"""Every kind of file that the program reads, with one thing wrong, in every command that reads it.

    tests/hostile/fuzz.py --program build/release/apps/vernier/vernier --runs 1000 --seed 1 [--jobs 2] [--keep FOLDER]

Run I of seed S is the same everywhere. What went wrong is printed, and with --keep the files that did it stay.
docs/contributing/hardening.md has what was run and found.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/traits"))


def made_files(folder, program):
    """One of each kind; {file: [commands that read it]}. `{}` stands for it."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from PIL import Image

    import networks

    digits = folder / "digits.onnx"
    for name in ("digits.onnx", "calib.npz", "test.npz", "test_labels.npy"):
        shutil.copy(ROOT / "examples/digits" / name, folder / name)
    data = folder / "calib.npz"

    def run(*command):
        subprocess.run([program, *map(str, command)], cwd=folder, check=True, capture_output=True)

    files = {}
    judged = ["--int8", "--data", data, "--no-latency", "--no-options"]
    for name in networks.NETWORKS:
        model, samples, _ = networks.write(name, folder)
        files[model] = [["diagnose", "{}", "--int8", "--data", samples, "--no-latency"], ["fix", "{}", "--fp16", "--data", samples],
                        ["convert", "{}", "--int8", "--data", samples, "-o", "o.onnx"], ["convert", "{}", "--fp16", "-o", "o.onnx"],
                        ["verify", "{}", "{}", "--data", samples], ["run", "{}", "--onnxrt"], ["check", "lint", "{}"],
                        ["inspect", "model", "{}", "--show", "layers", "attrs", "weights"], ["inspect", "capability", "{}"],
                        ["surgeon", "sanitize", "{}", "--fold-constants", "-o", "o.onnx"], ["inspect", "sparsity", "{}"],
                        ["debug", "loss", "{}", "{}"], ["quantize", "{}", "-o", "o.onnx"], ["check", "placement", "{}"],
                        ["surgeon", "weight-strip", "{}", "-o", "o.onnx"]]
        files[samples] = [["diagnose", model, "--int8", "--data", "{}", "--no-latency"], ["inspect", "data", "{}"],
                          ["check", "data", model, "--data", "{}"]]
    run("run", digits, "--onnxrt", "--data", data, "--save-outputs", "outputs.json", "--save-inputs", "inputs.json")
    run("diagnose", digits, *judged, "--min-sqnr", "20", "-o", "out", "--journal", "journal.jsonl")
    run("calibrate", digits, "--data", data, "-o", "ranges.json")
    run("calibrate", digits, "--data", data, "-o", "ranges.cache")
    run("convert", digits, "--int8", "--data", data, "-o", "typed.onnx")
    shutil.copy(folder / "out/plan.json", folder / "plan.json")
    shutil.copy(folder / "out/report.json", folder / "report.json")
    images = np.load(data)
    np.save(folder / "counts.npy", images[images.files[0]])
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(folder / "image.png")
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(folder / "image.jpg")
    (folder / "test_data_set_0").mkdir()
    (folder / "test_data_set_0/input_0.pb").write_bytes(numpy_helper.from_array(images[images.files[0]][:1]).SerializeToString())
    quantized = next(iter(json.loads((folder / "ranges.json").read_text())["tensors"]))
    (folder / "overrides.json").write_text(json.dumps({quantized: [{"scale": 0.1, "zero_point": 0}]}))
    run("debug", "reduce", digits, "-o", "o.onnx", "--save-debug-replay", "replay.json", "--check", "false")
    onnx.save(onnx.load(digits), folder / "external.onnx", save_as_external_data=True, location="external.bin", size_threshold=0)
    files |= {
        digits: [["diagnose", "{}", *judged, "--min-sqnr", "20"]],
        folder / "typed.onnx": [["verify", digits, "{}", "--data", data], ["debug", "loss", digits, "{}"], ["check", "placement", "{}"],
                                ["diagnose", "{}", *judged], ["run", "{}", "--onnxrt", "--sim"]],
        folder / "external.bin": [["inspect", "model", folder / "external.onnx"], ["diagnose", folder / "external.onnx", *judged]],
        folder / "external.onnx": [["diagnose", "{}", *judged], ["check", "lint", "{}"]],
        folder / "counts.npy": [["diagnose", digits, "--int8", "--data", "{}", "--no-latency"], ["inspect", "data", "{}"]],
        folder / "image.png": [["run", digits, "--onnxrt", "--data", "{}", "--image-color", "y"]],
        folder / "image.jpg": [["run", digits, "--onnxrt", "--data", "{}", "--image-color", "y"]],
        folder / "test_data_set_0/input_0.pb": [["run", digits, "--onnxrt", "--data", ".."]],
        folder / "inputs.json": [["run", digits, "--onnxrt", "--load-inputs", "{}"], ["data", "to-input", "{}", "-o", "o.json"]],
        folder / "outputs.json": [["run", digits, "--onnxrt", "--data", data, "--load-outputs", "{}"], ["inspect", "data", "{}"],
                                  ["data", "concat", "{}", "{}", "-o", "o.json"]],
        folder / "ranges.json": [["convert", digits, "--int8", "--calib", "{}", "-o", "o.onnx"]],
        folder / "ranges.cache": [["convert", digits, "--int8", "--calib", "{}", "-o", "o.onnx"]],
        folder / "plan.json": [["convert", digits, "--plan", "{}", "-o", "o.onnx"]],
        folder / "report.json": [["report", "{}"], ["report", "--diff", "{}", "{}"], ["report", "{}", "-o", "o.html"]],
        folder / "journal.jsonl": [["diagnose", digits, *judged, "--min-sqnr", "20", "--journal", "copy.jsonl", "--resume"]],
        folder / "replay.json": [["debug", "reduce", digits, "-o", "o.onnx", "--load-debug-replay", "{}", "--check", "true"]],
        folder / "overrides.json": [["quantize", digits, "--data", data, "-o", "o.onnx", "--tensor-overrides", "{}"]],
        folder / "test_labels.npy": [["eval", digits, "--data", folder / "test.npz", "--task", "classification", "--labels", "{}"]],
    }
    return {path: commands for path, commands in files.items() if path.exists()}


def one(seed, index, files, folder):
    """Run `index`: its file, its command, what became of it, and its folder."""
    choice = random.Random(f"{seed}:{index}")
    path = choice.choice(sorted(files))
    return attempt(path, choice.choice(files[path]), folder / f"run{index}", choice)


def attempt(path, command, work, choice=None):
    """The command on the file as it is, or with one thing wrong."""
    import drive
    import mutate

    inputs = work / "in"
    hostile = inputs / (path.relative_to(path.parents[1]) if path.suffix == ".pb" else path.name)
    hostile.parent.mkdir(parents=True)
    data = path.read_bytes()
    hostile.write_bytes(mutate.mutated(choice, path, data) if choice else data)
    if path.suffix == ".bin":  # the model that names it lies beside it
        shutil.copy(path.with_suffix(".onnx"), inputs)
        command = [inputs / "external.onnx" if word == path.with_suffix(".onnx") else word for word in command]
    if path.name == "external.onnx":
        shutil.copy(path.with_suffix(".bin"), inputs)
    (work / "out").mkdir()
    words = [str(hostile) if word == "{}" else str(inputs) if word == ".." else str(word) for word in command]
    if "copy.jsonl" in words:
        words = ["../in/journal.jsonl" if word == "copy.jsonl" else word for word in words]
    outcome = drive.run(words, inputs, work, writes=hostile.name if "--journal" in words else None)
    return path, words, outcome, work


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/apps/vernier/vernier")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="index of the first run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, help="where files that did harm stay")
    options = parser.parse_args()
    os.environ["VERNIER_PROGRAM"] = str(options.program.resolve())
    codes, faults = collections.Counter(), []
    with tempfile.TemporaryDirectory() as scratch:
        files = made_files(pathlib.Path(scratch), os.environ["VERNIER_PROGRAM"])
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            runs = range(options.first, options.first + options.runs)
            for index, (path, words, outcome, work) in zip(
                    runs, pool.map(lambda i: one(options.seed, i, files, pathlib.Path(scratch)), runs)):
                codes[outcome.code] += 1
                if outcome.faults:
                    faults.append(index)
                    print(f"run {index}: {path.name}: {' '.join(words)}\n  {outcome.faults}\n  {outcome.output[-400:]!r}", flush=True)
                    if options.keep:
                        shutil.copytree(work, options.keep / f"run{index}", dirs_exist_ok=True)
                shutil.rmtree(work)
    told = ", ".join(f"{count} ended with {code}" for code, count in sorted(codes.items(), key=str))
    print(f"{options.runs} runs of seed {options.seed} on {len(files)} files: {told}; {len(faults)} with a fault")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
