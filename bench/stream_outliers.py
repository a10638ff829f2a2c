"""What `smooth` and `rotate-stream` do against large channels of the residual stream, in several formats.

    python bench/stream_outliers.py [--program PATH] [--width 256] [--large 20]

Networks of bench/export_shapes.py with random weights. Two channels of the stream get a constant that is `--large` times as
large as the others' values, as in trained language models. The scales of the norms are halved at that place, and the weights
behind them divided by the rest.
Prints a table in Markdown: dB of the worst output with everything low, plain and with each repair.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import export_builder
import export_shapes
import numpy as np
import onnx
from onnx import numpy_helper

STREAMS = {"llama": "embedding", "gpt2": "embedded", "vit-b16": "embedded"}
EMBEDDINGS = r"embed_tokens|wte|wpe"  # their values are small: 0.05
READERS = {"llama": r"[qkv]_proj\.weight|gate_proj|up_proj", "gpt2": r"c_attn\.product\.weight|c_fc\.product\.weight",
           "vit-b16": r"in_proj\.weight|mlp\.0\.weight"}
NORMS = {"llama": r"norm\.weight", "gpt2": r"(ln_\d|ln_f|encoder\.ln)\.(weight|bias)", "vit-b16": r"(ln_\d|ln_f|encoder\.ln)\.(weight|bias)"}
SIZES = {"llama": {"inner": 704, "layers": 2, "vocabulary": 500, "heads": 4}, "gpt2": {"layers": 2, "vocabulary": 500, "heads": 4},
         "vit-b16": {"layers": 2, "heads": 4}}
FORMATS = {"INT8": ["--low", "int8"], "INT4 weights": ["--low", "int4"], "FP8": ["--low", "fp8"],
           "NVFP4": ["--low", "nvfp4"]}
REPAIRS = {"`smooth`": ["smooth"], "`rotate-stream`": ["rotate-stream"], "both": ["smooth", "rotate-stream"]}


def sound(name, folder, width, samples=16):
    """The network without channels that stand out, and the file of its samples."""
    export_builder.SAMPLES = samples
    path, data, _ = export_shapes.make(name, folder, width=width, **SIZES[name])
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor).copy()
        if re.search(NORMS[name], tensor.name):
            value[value > 20] /= 40  # the channels that the networks have large already
        elif re.search(EMBEDDINGS, tensor.name):
            value *= 8
        tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    for beside in pathlib.Path(folder).glob("*.data"):
        beside.unlink()
    return model, data


def add_outliers(model, name, width, large, channels=2):
    places = np.random.default_rng(7).permutation(width)[:channels]
    left = large / 2  # of the factor behind the norms' scales
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor).copy()
        if re.search(NORMS[name], tensor.name):
            last = tensor.name.startswith(("norm.", "transformer.ln_f", "encoder.ln."))
            value[..., places] /= large if last else large / left
        elif re.search(READERS[name], tensor.name):
            value[places] /= left
        tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    offset = np.zeros(width, np.float32)
    offset[places] = [0.4 * large, -0.4 * large]
    model.graph.initializer.append(numpy_helper.from_array(offset, "offset"))
    start = next(i for i, node in enumerate(model.graph.node) if STREAMS[name] in node.output)
    model.graph.node[start].output[0] = "before_offset"
    model.graph.node.insert(start + 1, onnx.helper.make_node("Add", ["before_offset", "offset"], [STREAMS[name]], name="offset"))


def make(name, folder, width, large):
    model, data = sound(name, folder, width)
    add_outliers(model, name, width, large)
    onnx.save(model, pathlib.Path(folder) / "model.onnx")
    return pathlib.Path(folder) / "model.onnx", data


def worst_db(figures):
    return min(output["sqnr_db"] for output in figures["outputs"])


def measure(program, path, data, options, repairs, out):
    """dB of the worst output with everything low, without repairs and with those that were accepted, and their names."""
    command = [program, "fix", path, "--data", data, "-o", out, "--no-cache", *options]
    for repair in repairs:
        command += ["--allow", repair]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    report = json.loads((pathlib.Path(out) / "report.json").read_text())
    accepted = {row["id"] for row in report["explanation"]["repairs"] if row["accepted"]}
    return worst_db(report["all_low"]), worst_db(report.get("repaired") or report["all_low"]), accepted


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/release/apps/vernier/vernier")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--large", type=float, default=20)
    given = parser.parse_args()
    print("| network | format | plain |", " | ".join(REPAIRS), "|")
    print("|---|---|---|" + "---|" * len(REPAIRS))
    for name in STREAMS:
        with tempfile.TemporaryDirectory() as folder:
            path, data = make(name, folder, given.width, given.large)
            for words, options in FORMATS.items():
                cells = []
                for repairs in REPAIRS.values():
                    plain, after, accepted = measure(given.program, path, data, options, repairs, pathlib.Path(folder) / "out")
                    cells.append(f"{after:.1f}" if accepted else "not better")
                print(f"| {name} | {words} | {plain:.1f} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
