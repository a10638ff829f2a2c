"""Runs jobs by the program and by one whose notes and warnings are codes in the place of sentences: both decide the same,
write the same files and the same JSON, but for the sentences.

    python -m pytest tests/cli/test_notes.py --program build/release/apps/vernier/vernier --other .../vernier_with_codes
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
SENTENCES = {"warnings", "notes", "typed_notes", "not_compared"}
# Times, and what hangs on them; the doubt of verify is its warning once more.
DIFFERS = {"phases", "seconds", "ms", "wall_ms", "machine", "doubt"}

PREPARED = "quantize digits.onnx --int8 --data calib.npz -o int8.onnx -qq"
JOBS = {
    "diagnose": ["diagnose digits.onnx --int8 --data calib.npz --min-sqnr 30 --no-latency --no-options -o out --json"],
    "diagnose, random inputs": ["diagnose digits.onnx --fp16 --samples 2 --no-latency --no-options --json"],
    "diagnose, a file in low precision": ["diagnose int8.onnx --int8 --data calib.npz --no-latency --no-options --json"],
    "fix": ["fix digits.onnx --int8 --data calib.npz --min-sqnr 30 --no-latency -o out --json"],
    "verify": ["verify digits.onnx int8.onnx --data test.npz --min-sqnr 20 --json"],
    "verify, swapped": ["verify int8.onnx digits.onnx --data test.npz --json"],
    "calibrate, a cache": ["calibrate digits.onnx --data calib.npz --calibration-cache ranges.json --json",
                           "calibrate digits.onnx --data calib.npz --calibration-cache ranges.json --json"],
    "quantize": ["quantize digits.onnx --int8 --data calib.npz --layer-precisions none:float32 -o again.onnx --json"],
    "convert, random inputs": ["convert digits.onnx --int8 --calibration-cache c.txt -o typed.onnx --json"],
    "debug loss": ["debug loss digits.onnx int8.onnx --data test.npz --json"],
    "debug precision": ["debug precision digits.onnx --int8 --data calib.npz --min-sqnr 30 --json"],
    "check placement": ["check placement int8.onnx --json"],
    "inspect capability": ["inspect capability digits.onnx --target tensorrt --json"],
    "surgeon": ["surgeon sanitize digits.onnx --fold-constants -o folded.onnx"],
    "run": ["run digits.onnx --onnxrt --sim --int8 --data calib.npz --save-outputs run.pkl"],
}


def without(value, names):
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def sentences(value):
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (item if key in SENTENCES else sentences(item))]
    return [text for item in value for text in sentences(item)] if isinstance(value, list) else []


def content(path):
    """What a file holds, for comparison; of texts for people, and of runs with their times, that it is there."""
    if path.suffix in (".html", ".md", ".pkl"):
        return "there"
    if path.suffix == ".json":
        return without(json.loads(path.read_text(encoding="utf-8")), SENTENCES | DIFFERS)
    return path.read_bytes()


class Job:
    def __init__(self, program, commands, folder):
        folder.mkdir()
        for name in ("digits.onnx", "calib.npz", "test.npz"):
            shutil.copy(DIGITS / name, folder)
        cache = folder.parents[1] / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        own = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        self.exits, self.documents, self.said = [], [], ""
        for command in [PREPARED, *commands]:
            done = subprocess.run([program, *shlex.split(command)], cwd=folder, env=own, capture_output=True, text=True)
            self.exits.append(done.returncode)
            self.said += done.stderr
            if "--json" in command:
                assert done.stdout, done.stderr
                self.documents.append(json.loads(done.stdout))
        self.files = {str(path.relative_to(folder)): content(path) for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.sampled
@pytest.mark.parametrize("name", JOBS)
def test_nothing_is_decided_by_the_words_of_a_note(name, request, tmp_path):
    program, other = (str(pathlib.Path(request.config.getoption(option)).resolve()) for option in ("--program", "--other"))
    # Both in a folder of the same name: commands and paths stand in reports.
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    prose = Job(program, JOBS[name], tmp_path / "a" / "job")
    codes = Job(other, JOBS[name], tmp_path / "b" / "job")
    assert codes.exits == prose.exits
    assert without(codes.documents, SENTENCES | DIFFERS) == without(prose.documents, SENTENCES | DIFFERS)
    assert codes.files.keys() == prose.files.keys()
    for path, found in prose.files.items():
        assert codes.files[path] == found, path
    for text in sentences(codes.documents):
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)+", text), text
    for line in re.findall("^warning: (.*)$", codes.said, re.MULTILINE):
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)+", line), line
