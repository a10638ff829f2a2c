"""Every option that the peers' reference lists is known to every command that measures or writes (CONTRACT 8).

    python -m pytest tests/cli/test_peer_options.py --program build/dev/tests/cli/vernier_double

Known means: taken, taken with a warning that it has no effect, or refused with a reason; never "unknown option".
"""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared")) / "reference" / "polygraphy.md"
COMMANDS = {"diagnose": ["m.onnx", "--int8"], "convert": ["m.onnx", "--fp16", "-o", "out.onnx"], "verify": ["a", "b"],
            "run": ["m.onnx", "--onnxrt"], "debug accuracy": ["m.onnx", "--sim"], "calibrate": ["m.onnx"],
            "debug precision": ["nothing-needed.onnx", "--int8", "--journal", "none"],
            "debug reduce": ["m.onnx", "-o", "r.onnx", "--check-sim", "int8"]}


def peer_options():
    """Names in the groups that Polygraphy's run, convert and debug precision share, and in trtexec's section."""
    if not REFERENCE.exists():
        if os.environ.get("CI"):
            raise RuntimeError(f"{REFERENCE} is missing, and CI must have it")
        return []
    text = REFERENCE.read_text()
    groups = text[text.index("### 1.0 "):text.index("### 1.1 ")]
    trtexec = text[text.index("## 5. trtexec"):text.index("## 6. ")]
    return sorted(set(re.findall(r"--[a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9]", groups + trtexec)))


def answer(program, command, option):
    words = [program, *command.split(), *COMMANDS[command], option]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.skipif(not peer_options(), reason="the shared reference is not there")
def test_no_peer_option_is_unknown(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = peer_options()
    assert len(options) > 200
    unknown = []
    for command in COMMANDS:
        for option in options:
            _, said = answer(program, command, option)
            if "unknown option" in said or "did you mean" in said:
                unknown.append(f"{command} {option}")
    assert unknown == []


@pytest.mark.parametrize("command", COMMANDS)
def test_refusals_say_what_to_use(program, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = answer(program, command, "--save-heatmaps")
    assert code == 2
    assert re.search(r"^error: --save-heatmaps: .+\n hint: .+", said, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_has_no_effect_is_said_and_the_work_done(program, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = answer(program, command, "--sparse-weights")
    assert code == 0, said
    assert "warning: --sparse-weights has no effect here" in said
