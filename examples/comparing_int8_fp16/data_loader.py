"""Data loaders for the digits network: what --data-loader-script wants. Here, for once, the data come from a file."""
import pathlib

import numpy as np

DIGITS = pathlib.Path(__file__).resolve().parent.parent / "digits"


def samples(file, count):
    for counts in np.load(DIGITS / file)["counts"][:count]:
        yield {"counts": counts[np.newaxis]}  # the input is [1,1,8,8]: one sample, with its batch dimension


def load_data():
    """Samples to compare on: none of them was used for training or calibration."""
    return samples("test.npz", 40)


def calibration():
    return samples("calib.npz", 100)
