"""Data loaders for tests/cli/loaders.test, for the network small.onnx: x, float32 [1, 4]. Most of them are wrong."""
import os
import sys
import time

import numpy as np


def sample(seed):
    return {"x": np.random.default_rng(seed).uniform(-1, 1, (1, 4)).astype(np.float32)}


def load_data():
    for seed in range(5):
        yield sample(seed)


def endless():
    seed = 0
    while True:
        yield sample(seed)
        seed += 1


def chatty():
    print("a line of the script")
    for seed in range(2):
        print(f"loading {seed}")
        yield sample(seed)


def save():
    """Not a loader: writes what load_data yields to files."""
    for i, each in enumerate(load_data()):
        np.savez(f"{i}.npz", **each)


def raises():
    yield sample(0)
    raise FileNotFoundError(2, "No such file or directory", "photo_1.jpg")


def hangs():
    yield sample(0)
    with open("pid", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    print("waiting for a sample", file=sys.stderr)
    time.sleep(300)
    yield sample(1)


def wrong_name():
    yield sample(0)
    yield {"xx": sample(1)["x"]}


def wrong_shape():
    yield {"x": np.zeros((4, 1), np.float32)}


def wrong_type():
    yield {"x": np.zeros((1, 4), np.int64)}


def nothing():
    return []


def exits():
    yield sample(0)
    sys.exit("no more")


if __name__ == "__main__":
    save()
