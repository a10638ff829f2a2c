"""Random small networks in each format: NVIDIA's compiler takes the file that we write, or the conversion has said that
it will not. VERNIER_SAMPLES sets how many (8), VERNIER_SAMPLE where they begin. Evidence: compiled, not run."""
import collections
import hashlib
import json
import os
import subprocess

import numpy as np
import onnx
import pytest

from compiler import ENGINES
from sampled_networks import sample

PROGRAM = os.environ["VERNIER_PROGRAM"]
COUNT = int(os.environ.get("VERNIER_SAMPLES", "8"))
FIRST = int.from_bytes(hashlib.sha256(os.environ.get("VERNIER_SAMPLE", "").encode()).digest()[:3], "big")
REFUSES = "engine-refuses-nodes"


def vernier(folder, *arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=600)


def refusal(folder, file, capability):
    """Its words; nothing where it builds."""
    done = vernier(folder, "inspect", "engine", file, "--python", ENGINES, "--compute-capability", capability, "--json")
    assert done.returncode in (0, 4), done.stderr
    return done.stderr.splitlines()[0] if done.returncode else ""


def convert(folder, model, data, options):
    """Whether a refusal is announced; None where no layer can have the format."""
    onnx.save(model, folder / "model.onnx")
    np.savez(folder / "data.npz", x=data)
    done = vernier(folder, "convert", "model.onnx", *options, "--data", "data.npz", "-o", "typed.onnx", "--json")
    assert done.returncode in (0, 2), done.stderr
    if done.returncode == 2:
        return None
    return REFUSES in {note["code"] for note in json.loads(done.stdout).get("warning_codes", [])}


def test_a_file_builds_or_its_refusal_is_announced(tmp_path):
    outcomes, wrong = collections.Counter(), []
    for seed in range(FIRST, FIRST + COUNT):
        drawn = sample(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        announced = convert(folder, drawn.model, drawn.data, drawn.options)
        if announced is None or refusal(folder, "model.onnx", drawn.capability):
            outcomes["not written, or refused in float32"] += 1
            continue
        why = refusal(folder, "typed.onnx", drawn.capability)
        outcomes["announced" if announced else "built"] += 1
        if announced != bool(why):
            wrong.append(f"seed {seed}, {' '.join(drawn.options)}: {why or 'announced, and it builds'}")
    print(dict(outcomes))
    assert not wrong, "\n".join(wrong)
    assert outcomes["built"] > 0
