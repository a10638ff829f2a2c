"""What a command that measures or writes says of options that only peers have (peer_options_test.cpp knows them all).

    python -m pytest tests/cli/test_peer_options.py --program build/release/tests/cli/vernier_double
"""
import re
import subprocess

import pytest

COMMANDS = {"diagnose": ["m.onnx", "--int8"], "convert": ["m.onnx", "--fp16", "-o", "out.onnx"], "verify": ["a", "b"],
            "run": ["m.onnx", "--onnxrt"], "debug accuracy": ["m.onnx", "--sim"], "calibrate": ["m.onnx"],
            "debug precision": ["nothing-needed.onnx", "--int8", "--journal", "none"],
            "bench": ["m.onnx"], "debug reduce": ["m.onnx", "-o", "r.onnx", "--check-sim", "int8"]}


def answer(program, command, option):
    words = [program, *command.split(), *COMMANDS[command], option]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_refusals_say_what_to_use(program, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = answer(program, command, "--gen-script")
    assert code == 2
    assert re.search(r"^error: --gen-script: .+\n hint: .+", said, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_has_no_effect_is_said_and_the_work_done(program, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    option = "--useSpinWait" if command in ("run", "bench") else "--sparse-weights"  # an engine of run could be told the latter
    code, said = answer(program, command, option)
    assert code == 0, said
    assert f"warning: {option} has no effect" in said
