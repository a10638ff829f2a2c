"""Trains a network with the configuration that `vernier fix --qat` writes, in ModelOpt: accuracy before and after.

    python bench/qat.py FOLDER [--program build/release/apps/vernier/vernier]

Needs torch, onnx, onnxscript, scikit-learn and nvidia-modelopt 0.47 or later. It takes a minute on one core.

The digits network of examples/digits is trained in float and exported. In each case `vernier fix --qat` writes qat.py
from 100 calibration images. ModelOpt quantizes the network with it and trains it for 15 epochs. Accuracy is that on 500
test images.
"""
import argparse
import importlib.metadata
import pathlib
import runpy
import subprocess
import sys

import modelopt.torch.quantization as mtq
import numpy as np
import torch
from torch.nn import functional

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples/digits"))
import network  # noqa: E402
import train as digits  # noqa: E402

CASES = {
    "INT8": ["--int8"],
    "INT8, two layers kept": ["--int8", "--min-sqnr", "25"],
    "FP8": ["--fp8"],
}
EPOCHS = 15


def accuracy(net, counts, labels):
    with torch.no_grad():
        return 100 * float((net(torch.from_numpy(counts)).argmax(1).numpy() == labels).mean())


def export(net, path):
    # The optimizer of torch 2.15's exporter takes "+ 1e-8" for nothing and drops it.
    torch.onnx.export(net.eval(), (torch.zeros(1, 1, 8, 8),), path, input_names=["counts"], output_names=["logits"],
                      dynamo=True, optimize=False, external_data=False, verbose=False)


def train_again(net, counts, labels):
    """A few epochs more, with the statistics of BatchNormalizations as they are."""
    generator = torch.Generator().manual_seed(1)
    x, y = torch.from_numpy(counts), torch.from_numpy(labels)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)
    for _ in range(EPOCHS):
        order = torch.randperm(len(x), generator=generator)
        for chosen in order.split(64):
            loss = functional.cross_entropy(net(digits.shift(x[chosen], generator)), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/vernier/vernier"))
    args = parser.parse_args()
    folder, program = args.folder.resolve(), args.program
    folder.mkdir(parents=True, exist_ok=True)
    (x, y), (calib, _), (test, labels) = digits.split_data(seed=0)
    net = digits.train(x, y, epochs=60, seed=0)
    export(net, folder / "float.onnx")
    np.savez(folder / "calib.npz", counts=calib)
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "nvidia-modelopt"))
    print(versions)
    print(f"float: {accuracy(net, test, labels):.1f} %")
    for number, (name, options) in enumerate(CASES.items()):
        case = folder / str(number)
        done = subprocess.run([program, "fix", "float.onnx", "--data", "calib.npz", *options, "--no-cache", "--qat", case.name],
                              cwd=folder, capture_output=True, text=True)
        if done.returncode > 1:
            raise SystemExit(done.stderr)
        low = network.Digits().eval()
        low.load_state_dict(net.state_dict())
        mtq.quantize(low, runpy.run_path(str(case / "qat.py"))["CONFIG"], lambda model: model(torch.from_numpy(calib)))
        quantized = sum(module.is_enabled for path, module in low.named_modules() if path.endswith(".weight_quantizer"))
        before = accuracy(low, test, labels)
        train_again(low, x, y)
        print(f"| {name} | {quantized} of 19 | {before:.1f} % | {accuracy(low, test, labels):.1f} % |", flush=True)


if __name__ == "__main__":
    main()
