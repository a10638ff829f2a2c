"""Placement rules for TensorRT held against what NVIDIA's compiler does, both ways. Evidence: compiled, not run."""
import json
import os
import pathlib
import subprocess

import onnx
import pytest

from compiler import ENGINES
from placement_cases import CASES

PROGRAM = os.environ["VERNIER_PROGRAM"]
# What `check placement` says that TensorRT-RTX makes of a place, and how that shows in the list of its kernels.
REFUSED, IN_FLOAT, AS_MANY_KERNELS, TAKEN, FUSED = "refused", "in float", "as many kernels", "taken", "fused"
SEEN = {
    "zero-point": ("refused", REFUSED),
    "code-type": ("int32 is refused; uint8 with zero point 0 is accepted, as int8", TAKEN),
    "activation-along-axis": ("the next layer runs in float32", IN_FLOAT),
    "weight-axis": ("the layer runs in float32", IN_FLOAT),
    "one-input-in-float": ("the layer runs in float32", IN_FLOAT),
    "pair-in-an-epilogue": ("as many kernels as without the pair", AS_MANY_KERNELS),
    "skip-branch-in-float": ("as many kernels as with a pair in this place", AS_MANY_KERNELS),
    "unequal-concat": ("as many kernels as with one scale", AS_MANY_KERNELS),
    "int8-and-float8": ("accepted: one engine has kernels of both formats", TAKEN),
    "lost-upper-limit": ("run with 1.6.1: values above the limit; 1.7.1 compiles the same kernel", FUSED),
    "absent-limit": ("run with 1.6.1: all zeros without an upper limit, no negative values without a lower", TAKEN),
    "half-steps": ("run with 1.6.1: infinities or zeros, unlike in float32", TAKEN),
}


def vernier(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)


def checked(model, path):
    onnx.save(model, path)
    done = vernier("check", "placement", path, "--target", "tensorrt", "--json", "--compile", "--python", ENGINES, "--compute-capability", "8.9")
    report = json.loads(done.stdout)
    costs = any(not finding.get("costs_nothing") for finding in report["findings"])
    assert done.returncode == (4 if report["compiled"].get("refused") else int(costs)), done.stderr
    return report


def in_float(compiled):
    return [kernel["name"] for kernel in compiled["kernels"] if kernel["kind"] in ("correlation", "gemm") and
            all(tensor["type"] == "float32" for tensor in kernel["inputs"])]


def test_every_rule_has_its_case():
    assert set(SEEN) == set(CASES)


def test_the_page_says_the_same():
    page = pathlib.Path(__file__).resolve().parents[2].joinpath("docs/records/placement.md").read_text()
    for rule, (words, _) in SEEN.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{rule}` |"))
        assert row.endswith(f"| {words} |")


@pytest.mark.sampled
@pytest.mark.parametrize("rule", CASES)
def test_a_rule_says_what_the_compiler_does(rule, tmp_path):
    stands, changed = (checked(model, tmp_path / f"{name}.onnx") for name, model in zip(("stands", "changed"), CASES[rule]))
    words, seen = SEEN[rule]
    assert {finding["rule"] for finding in stands["findings"]} == {rule}
    assert {finding["compiled"] for finding in stands["findings"]} == {words}
    assert not changed["findings"] and not changed["compiled"].get("refused") and not in_float(changed["compiled"])
    if seen == REFUSED:
        assert "Non-zero zero point is not supported" in stands["compiled"]["refused"]
        return
    assert "refused" not in stands["compiled"]
    assert bool(in_float(stands["compiled"])) == (seen == IN_FLOAT)
    if seen == AS_MANY_KERNELS:
        assert len(stands["compiled"]["kernels"]) == len(changed["compiled"]["kernels"])
    assert any("_CorrCast_" in kernel["name"] for kernel in stands["compiled"]["kernels"]) == (seen == FUSED)
    assert not any("_CorrCast_" in kernel["name"] for kernel in changed["compiled"]["kernels"])
    if rule == "int8-and-float8":
        assert {tensor["type"] for kernel in stands["compiled"]["kernels"] for tensor in kernel["inputs"]} >= {"int8", "float8"}


def test_a_target_without_a_compiler_is_refused(tmp_path):
    onnx.save(CASES["weight-axis"][1], tmp_path / "model.onnx")
    done = vernier("check", "placement", tmp_path / "model.onnx", "--target", "onnxruntime", "--compile", "--python", ENGINES)
    assert done.returncode == 2 and "onnxruntime" in done.stderr
