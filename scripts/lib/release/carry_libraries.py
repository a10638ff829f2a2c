#!/usr/bin/env python3
"""Puts the shared libraries that an installation needs into it, so that it runs wherever it lies:

    carry_libraries.py PREFIX

lib/vernier/ gets those that not every system has, and everything looks for them there, whatever the folder of PREFIX is
called. Prints their names, one a line. What is left to the system is what wheels leave to it, too (PEP 600).
"""
import pathlib
import re
import shutil
import subprocess
import sys

OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
                 "libz.so.1"}


def needed(binary):
    """Whatever it needs, directly or not: (name, file)."""
    text = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
    assert not missing, f"{binary}: not found: {', '.join(missing)}"
    return re.findall(r"^\s*(\S+) => (/\S+)", text, re.M)


def look_in(binary, place):
    subprocess.run(["patchelf", "--set-rpath", place, binary], check=True)


def main(prefix):
    ours = {prefix / "bin/vernier": "$ORIGIN/../lib/vernier"}
    ours |= {path: "$ORIGIN/vernier" for path in (prefix / "lib").glob("libvernier.so*") if not path.is_symlink()}
    files = {name: file for binary in ours for name, file in needed(binary) if name not in OF_THE_SYSTEM}
    folder = prefix / "lib/vernier"
    folder.mkdir(exist_ok=True)
    for name, file in sorted(files.items()):
        shutil.copyfile(file, folder / name)
        look_in(folder / name, "$ORIGIN")
        print(name)
    for binary, place in ours.items():
        look_in(binary, place)
    for binary in [*ours, *folder.iterdir()]:
        away = [file for name, file in needed(binary) if name not in OF_THE_SYSTEM and prefix not in pathlib.Path(file).resolve().parents]
        assert not away, f"{binary} still finds {away}"


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
