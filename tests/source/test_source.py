"""Holds the sources to what the project says of them."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_sources_are_formatted():
    run("scripts/format", "--check")


def test_folders_include_what_they_name_and_nothing_else():
    run(sys.executable, "scripts/lib/folders.py")


def test_public_headers_include_only_the_standard_library_and_each_other():
    for path in (ROOT / "include").rglob("*.h"):
        for included in re.findall(r"^#include [<\"]([^>\"]+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert included.startswith("vernier/") or "/" not in included and "." not in included, f"{path}: {included}"
