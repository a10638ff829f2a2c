#!/usr/bin/env python3
"""Adds the licences of what is inside to a wheel: add_licences.py WHEEL FOLDER writes the new one into the folder."""
import pathlib
import sys

from auditwheel.wheeltools import InWheel

from bill import licences
from components import components


def main(wheel, folder):
    with InWheel(wheel, folder / wheel.name) as content:  # writes RECORD anew, and takes times from SOURCE_DATE_EPOCH
        content = pathlib.Path(content)
        parts = components(path.name for path in content.glob("*.libs/*"))
        target = next(content.glob("*.dist-info")) / "licenses"
        target.mkdir(exist_ok=True)
        (target / "third-party.txt").write_text(licences(parts), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
