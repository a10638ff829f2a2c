"""A decoder of 1.5 billion weights on one GPU: seconds and memory of `vernier diagnose`; adds to bench/results/gpu.json.

    python bench/gpu_decoder.py [--program build/release/apps/vernier/vernier] [--layers 28] [--samples 16] [--tokens 512] [--only WORD]

The network has the shape of Llama (export_shapes.py) with random weights; in each norm four channels are 40 times as large as the
others, as outlier channels of trained decoders are. The memory of the GPU is what the driver says is in use, every 50 ms, less what
was in use before; that of the process its largest resident set. VERNIER_ONNXRUNTIME_GPU and VERNIER_ORT_LIBRARY as for gpu.py.
"""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

import export_builder
import export_shapes
import gpu

WIDTH, INNER, HEADS, OUTLIERS = 2048, 5504, 16, 4
JOBS = {"FP8": ["--fp8"], "INT8": ["--int8"], "FP8, 5 dB": ["--fp8", "--min-sqnr", "5", "--claim-confidence", "0.5"]}


class MemoryInUse:
    """The most that the first GPU had in use while the block ran, in bytes."""

    def __enter__(self):
        self.before, self.most, self.ended = self.now(), 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    @staticmethod
    def now():
        asked = ["nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout) << 20

    def watch(self):
        while not self.ended.wait(0.05):
            self.most = max(self.most, self.now() - self.before)


def with_outlier_channels(builder):
    for tensor in builder.initializers:
        if tensor.name.endswith("norm.weight"):
            values = export_builder.numpy_helper.to_array(tensor).copy()
            values[builder.random.permutation(values.size)[:OUTLIERS]] *= 40
            tensor.CopyFrom(export_builder.numpy_helper.from_array(values, tensor.name))


def decoder(folder, layers, samples, tokens):
    export_builder.SAMPLES = samples
    for module in (export_builder, export_shapes):
        module.TOKENS = tokens
    build, opset, _ = export_builder.SHAPES["llama"]
    builder = export_builder.Builder(0)
    inputs, outputs, data = build(builder, width=WIDTH, inner=INNER, layers=layers, heads=HEADS)
    with_outlier_channels(builder)
    builder.write(folder / "model.onnx", inputs, outputs, opset, beside=True)
    export_shapes.np.savez(folder / "data.npz", **data)
    return builder.weights_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=gpu.ROOT / "build/release/apps/vernier/vernier")
    parser.add_argument("--layers", type=int, default=28)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", default="")
    parser.add_argument("--results", type=pathlib.Path, default=gpu.RESULTS)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        start = time.perf_counter()
        weights = decoder(folder, arguments.layers, arguments.samples, arguments.tokens)
        print(f"{weights / 4e9:.2f} billion weights made in {time.perf_counter() - start:.0f} s", flush=True)
        for name, options in JOBS.items():
            if arguments.only not in name:
                continue
            with MemoryInUse() as gpu_memory:
                row = gpu.run(arguments.program, folder / "model.onnx", folder / "data.npz", options, arguments.device, 1)
            row.pop("local", None)
            row |= {"weights_bytes": weights, "gpu_memory_over_weights": round(gpu_memory.most / weights, 2),
                    "options": options, "cores": os.cpu_count(), "date": datetime.date.today().isoformat()}
            results[f"decoder, {name}, {arguments.samples} samples of {arguments.tokens} tokens"] = row
            arguments.results.write_text(json.dumps(results, indent=1) + "\n")
            print(name, json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
