#!/usr/bin/env python3
"""Trains the digits network and writes digits.onnx, calib.npz, test.npz and test_labels.npy beside this file.

Nothing in the repository needs this to run again: its outputs are committed. It is here so that nobody has to believe
that the problems in the network come from training rather than from edited weights.

Needs Debian 12's python3-torch (1.13.1), python3-sklearn (1.2.1) and python3-onnx (1.12.0). One thread and fixed seeds:
the same machine and versions give the same file, others give a network with the same problems and other digits.

    /usr/bin/python3 examples/digits/train.py      # half a minute on one core
"""
import argparse
import pathlib

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import functional

import export
import network

TEST_SAMPLES = 500
CALIBRATION_SAMPLES = 100


def split_data(seed: int):
    """Three disjoint, class-balanced sets of (counts [N,1,8,8] float32, labels [N] int64): training, calibration, test."""
    digits = load_digits()
    counts = digits.images.astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    rest, test, rest_labels, test_labels = train_test_split(
        counts, labels, test_size=TEST_SAMPLES, random_state=seed, stratify=labels)
    train, calib, train_labels, calib_labels = train_test_split(
        rest, rest_labels, test_size=CALIBRATION_SAMPLES, random_state=seed, stratify=rest_labels)
    return (train, train_labels), (calib, calib_labels), (test, test_labels)


def shift(counts: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Moves the whole batch by up to one pixel each way: with 1,200 images some augmentation is needed."""
    dy, dx = (int(torch.randint(0, 3, (1,), generator=generator)) for _ in range(2))
    return functional.pad(counts, (1, 1, 1, 1))[:, :, dy:dy + 8, dx:dx + 8]


def train(counts: np.ndarray, labels: np.ndarray, epochs: int, seed: int) -> network.Digits:
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.from_numpy(counts), torch.from_numpy(labels)
    net = network.Digits()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-2)
    batch = 64
    steps = epochs * (len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    for epoch in range(epochs):
        net.train()
        order = torch.randperm(len(x), generator=generator)
        for i in range(len(x) // batch):
            chosen = order[i * batch:(i + 1) * batch]
            loss = functional.cross_entropy(net(shift(x[chosen], generator)), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss of the last batch {loss.item():.4f}", flush=True)
    return net.eval()


def accuracy(net: network.Digits, counts: np.ndarray, labels: np.ndarray) -> float:
    with torch.no_grad():
        return float((net(torch.from_numpy(counts)).argmax(1).numpy() == labels).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    args = parser.parse_args()
    (x, y), (calib, _), (test, test_labels) = split_data(args.seed)
    net = train(x, y, args.epochs, args.seed)
    print(f"accuracy: training {accuracy(net, x, y):.4f}, test {accuracy(net, test, test_labels):.4f}")
    onnx.save(export.to_onnx(net), str(args.out / "digits.onnx"))
    np.savez_compressed(args.out / "calib.npz", counts=calib)
    np.savez_compressed(args.out / "test.npz", counts=test)
    np.save(args.out / "test_labels.npy", test_labels)


if __name__ == "__main__":
    main()
