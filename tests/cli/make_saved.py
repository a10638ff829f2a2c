"""Files of saved data for the text cases, written without Polygraphy.

    make_saved.py FOLDER NAME...
"""
import base64
import io
import json
import pathlib
import sys

import numpy as np


def array(values, cut=0):
    out = io.BytesIO()
    np.save(out, values)
    data = out.getvalue()
    return {"array": base64.b64encode(data[:len(data) - cut]).decode(), "polygraphy_class": "ndarray"}


def results(**runs):
    return {"lst": [[name, [{"outputs": {output: {"values": value, "polygraphy_class": "LazyArray"} for output, value in outputs.items()},
                             "runtime": 0.5, "runner_name": name, "polygraphy_class": "IterationResult"} for outputs in iterations]]
                    for name, iterations in runs.items()], "polygraphy_class": "RunResults"}


def grid(*values):
    return np.array([values], np.float32)


A = "onnxrt-runner-N0-11/20/26-23:59:5"
FILES = {
    # Two iterations each, whose runners' names differ in their times only.
    "a.json": results(**{A + "3": [{"y": array(grid(1, 2))}, {"y": array(grid(3, 4))}]}),
    "b.json": results(**{A + "7": [{"y": array(grid(5, 6))}, {"y": array(grid(7, 8))}]}),
    "two_runs.json": results(first=[{"y": array(grid(1, 2))}], second=[{"y": array(grid(3, 4))}]),
    "wide.json": results(r=[{"y": array(np.arange(4000, dtype=np.float32).reshape(2, 2000))}]),
    "not_finite.json": results(r=[{"y": array(grid(1, np.nan, -np.inf, 3)), "all": array(grid(np.nan))}]),
    "inputs.json": [{"x": array(np.array([1, 2, 3]))}, {"x": array(np.array([4, 5, 6]))}],
    "other.json": [{"m": array(np.array([True, False]))}, {"m": array(np.array([False, True]))}],
    "names.json": results(**{"\x1b[2J": [{"../../etc/y\x07": array(grid(1, 2))}]}),
    "short_array.json": results(r=[{"y": array(grid(1, 2), cut=3)}]),
    "accuracy.json": {"lst": [], "polygraphy_class": "AccuracyResults"},
    "none.json": results(r=[]),
    "tensor.json": results(r=[{"y": {"tensor": "AAAA", "polygraphy_class": "Tensor"}}]),
    "twice.json": '{"lst": [["r", [{"outputs": {"y": %s, "y": %s}, "runtime": null}]]], "polygraphy_class": "RunResults"}'
                  % ((json.dumps(array(grid(1))),) * 2),
    "deep.json": '{"new": ' + "[" * 100000 + "]" * 100000 + ', "lst": [], "polygraphy_class": "RunResults"}',
    "huge.json": results(r=[{"y": {"array": base64.b64encode(
        b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }".ljust(117) + b"\n"
    ).decode(), "polygraphy_class": "ndarray"}}]),
}

folder = pathlib.Path(sys.argv[1])
for name in sys.argv[2:]:
    content = FILES[name]
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=4), encoding="utf-8")
