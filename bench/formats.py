"""What each format costs on shared networks, and whether the figure is that of the written file.

    python bench/formats.py [--build build/release] [--samples 4] [--json bench/results/formats.json]

For each network and format: the layers that `quantize` lowers, the bytes of the weights, the SQNR that `verify` measures on the
file, and the same figure by who runs the file without us: ONNX Runtime where it has the kernels, else ONNX's reference in NumPy
with the operators of tests/diff/format_oracle.py. And what TensorRT-RTX's compiler says for capability 12.0, if it is installed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import networks
import numpy as np
import onnxruntime
import run

sys.path.insert(0, str(networks.ROOT / "tests/diff"))
import format_oracle

os.environ["XDG_CACHE_HOME"] = os.devnull  # every run measures all anew

ENGINES = networks.ROOT / ".deps/engines/bin/python"
NETWORKS = ["mobilenetv2-imagenet", "stories260k", "vit-cifar"]
# Options of quantize, and whether ONNX Runtime runs the file.
FORMATS = {
    "int8": (["--low", "int8"], True),
    "float8e4m3fn": (["--low", "float8e4m3fn"], True),
    "nvfp4": (["--low", "nvfp4"], False),
    "nvfp4, weights alone": (["--quantize-mode", "nvfp4-weight-only"], False),
    "mxfp8": (["--low", "mxfp8"], False),
    "mxfp8e5m2": (["--low", "mxfp8e5m2"], False),
    "mxfp4": (["--low", "mxfp4"], False),
    "int4": (["--low", "int4"], True),
    "uint4": (["--low", "uint4"], True),
    "int16 over int8": (["--low", "int16", "--target", "onnxruntime"], True),
    "int16 over int4": (["--low", "int16", "--weight-bits", "4", "--target", "onnxruntime"], True),
    "dynamic-int8": (["--low", "dynamic-int8", "--target", "onnxruntime"], True),
}


def command(program, *words):
    return subprocess.run([str(word) for word in (program, *words)], capture_output=True, text=True)


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def without_us(model, typed, data, in_onnxruntime):
    """SQNR of the first output, pooled."""
    real = session(model)
    low = session(typed) if in_onnxruntime else format_oracle.reference(typed)
    name = real.get_inputs()[0].name
    signal = noise = 0.0
    for sample in np.load(data):
        wanted, got = (runner.run(None, {name: sample})[0].astype(np.float64) for runner in (real, low))
        signal += np.sum(wanted**2)
        noise += np.sum((wanted - got) ** 2)
    return 10 * np.log10(signal / noise)


def compiled(program, typed, network):
    """What NVIDIA's compiler said: empty when it took the file."""
    shapes = networks.COMPILED_SHAPES.get(network)
    done = command(program, "inspect", "engine", typed, "--python", ENGINES, "--compute-capability", "12.0", "--json",
                   *(["--shapes", shapes] if shapes else []))
    return "" if done.returncode == 0 else done.stderr.splitlines()[0].partition(str(typed) + ": ")[2]


def measured(program, network, data, form, folder):
    words, in_onnxruntime = FORMATS[form]
    model, typed = networks.model_file(network), folder / "typed.onnx"
    done = command(program, "quantize", model, *words, "--data", data, "-o", typed, "--json", "-q")
    assert done.returncode == 0, done.stderr
    low = sum(count for name, count in json.loads(done.stdout)["layers_by_format"].items() if name != "float32")
    if low == 0:
        return None
    done = command(program, "verify", model, typed, "--data", data, "--json", "-q", "--no-explain")
    assert done.returncode in (0, 1), done.stderr
    figure = json.loads(done.stdout)["figures"]["outputs"][0]
    row = {"layers": low, "sqnr_db": float(figure["sqnr_db"]), "without_us_db": without_us(model, typed, data, in_onnxruntime),
           "file_bytes": typed.stat().st_size, "runner": "ONNX Runtime" if in_onnxruntime else "reference"}
    if ENGINES.exists():
        row["refused"] = compiled(program, typed, network)
    return row


def table(rows):
    lines = ["| network | format | layers | SQNR, dB | run without Vernier, dB | by | file, kB | TensorRT-RTX, 12.0 |", "|---|---|---:|---:|---:|---|---:|---|"]
    for network, forms in rows.items():
        for form, row in forms.items():
            if row is None:
                lines.append(f"| {network} | {form} | none |  |  |  |  |  |")
                continue
            verdict = "" if "refused" not in row else "refused" if row["refused"] else "builds"
            lines.append(f"| {network} | {form} | {row['layers']} | {row['sqnr_db']:.2f} | {row['without_us_db']:.2f} | {row['runner']} | "
                         f"{row['file_bytes'] / 1000:.0f} | {verdict} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=networks.ROOT / "build/release")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--formats", nargs="+", default=list(FORMATS))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.networks:
            networks.make(pathlib.Path(folder), name, options.samples)
            data = networks.data_file(pathlib.Path(folder), name)
            rows[name] = {}
            for form in options.formats:
                rows[name][form] = measured(options.build / "apps/vernier/vernier", name, data, form, pathlib.Path(folder))
                print(name, form, rows[name][form], flush=True)
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"machine": run.machine(), "samples": options.samples, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
