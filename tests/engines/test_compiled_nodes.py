"""ONNX's own node tests, lowered to FP16 and INT8, through NVIDIA's compiler: what it takes in float32 it takes
lowered. The default is every 96th; VERNIER_NODE_STEP=1 takes all and prints the counts."""
import collections
import os
import pathlib
import subprocess
import sys

from compiler import ENGINES

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/diff"))
import test_lowered_nodes as nodes  # first: it sets what onnx reads when it is loaded

STEP = int(os.environ.get("VERNIER_NODE_STEP", "96"))


def refusal(file):
    """Its words; nothing where it builds."""
    done = subprocess.run([nodes.PROGRAM, "inspect", "engine", file, "--python", ENGINES, "--json"], capture_output=True, text=True,
                          env=nodes.ENVIRONMENT)
    assert done.returncode in (0, 4), done.stderr
    return done.stderr.splitlines()[0] if done.returncode else ""


def test_what_builds_in_float32_builds_lowered(tmp_path):
    outcomes, wrong = collections.Counter(), []
    for case in nodes.node_tests(STEP):
        made = nodes.written(case, tmp_path)
        if made is None:
            continue
        folder = made[0]
        if refusal(folder / "model.onnx"):
            outcomes["refused in float32"] += 1
            continue
        for name in ("float16", "int8"):
            typed = tmp_path / "typed.onnx"
            typed.unlink(missing_ok=True)
            done = subprocess.run([nodes.PROGRAM, "convert", folder / "model.onnx", *nodes.FORMATS[name], "--data",
                                   folder / "test_data_set_0", "-o", typed, "-qq"], capture_output=True, text=True, env=nodes.ENVIRONMENT)
            if done.returncode != 0:
                outcomes[name, "not written"] += 1
                continue
            why = refusal(typed)
            outcomes[name, "refused" if why else "built"] += 1
            if why:
                wrong.append(f"{folder.name} in {name}: {why}")
    print(dict(outcomes))
    assert not wrong, "\n".join(wrong)
    assert STEP > 1 or outcomes["float16", "built"] > 0 and outcomes["int8", "built"] > 0
