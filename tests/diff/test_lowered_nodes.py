"""ONNX's own backend node tests lowered to each format: the file is written and ONNX Runtime computes with it what the
original gives, or the program says why not.

Never an internal error, and never a file that ONNX Runtime refuses although it runs the original. Values are right when they are
as near the original's as the format lets well-behaved operators be (NEAR), and else when `verify` claims just the error that ONNX
Runtime shows: a logarithm near 1 or a sum of large values of both signs loses digits in any implementation. Formats that no CPU
provider runs (BF16, FP8) are judged by `verify` alone, which simulates them. What became of each test is written to
build/lowered_nodes.json. The default takes every 48th test, and each change (VERNIER_SAMPLE) begins at another one.
VERNIER_NODE_STEP=1 takes all of them and prints the table of docs/contributing/hardening.md:

    VERNIER_NODE_STEP=1 python -m pytest tests/diff/test_lowered_nodes.py -s
"""
import collections
import hashlib
import json
import os
import subprocess

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from typed_files import ENVIRONMENT, PROGRAM, ROOT, session

REPORT = ROOT / "build/lowered_nodes.json"
STEP = int(os.environ.get("VERNIER_NODE_STEP", "48"))
FORMATS = {"float16": ["--fp16"], "bfloat16": ["--bf16"], "float8": ["--fp8"], "int8": ["--int8"],
           "codes": ["--int8", "--target", "onnxruntime", "--even-if-slower"], "int4": ["--int4"], "mixed": ["--int4", "--int8", "-p", "float16"]}
RUN_BY_NOBODY = {"bfloat16", "float8"}
# dB of noise that rounding inputs, weights and results leaves where the operator does not magnify it.
NEAR = {"float16": 50, "bfloat16": 30, "float8": 15, "int8": 25, "codes": 25, "int4": 8, "mixed": 8}
WITHIN_DB = 1.0  # of what verify claims
# Files that ONNX Runtime's CPU provider refuses although it runs the original: it has no kernel for the format. Its words.
NO_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation", "no kernel for node", "NotImplemented", "data type is not supported")
# Why verify has no figure: indices and truth values of no scores, where codes decide nothing, and data with NaN.
NOT_JUDGED = ("no output can be measured", "NaN in the inputs", "infinity in the inputs")


def node_tests(step):
    """Every `step`th of them; each change begins at another one."""
    change = hashlib.sha256(os.environ.get("VERNIER_SAMPLE", "").encode()).digest()
    return load_model_tests(kind="node")[int.from_bytes(change[:4], "big") % step::step]


def written(case, folder):
    """The case as files, as a user has it: the folder and the feed, or None when ONNX Runtime does not run the original."""
    inputs = case.data_sets[0][0]
    if case.model is None or not all(isinstance(value, np.ndarray) for value in inputs):
        return None
    if not any(value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT for value in case.model.graph.input):
        return None
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(case.model, folder / case.name / "model.onnx")
    feed = {}
    path = folder / case.name / "model.onnx"
    for i, (value, array) in enumerate(zip(case.model.graph.input, inputs)):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array, value.name).SerializeToString())
        feed[value.name] = array
    try:
        outputs, again = (session(path).run(None, feed) for _ in range(2))
    except Exception:  # whatever the reason: nothing of ours is involved
        return None
    if not all(isinstance(value, np.ndarray) and np.array_equal(value, same, equal_nan=value.dtype.kind == "f")
               for value, same in zip(outputs, again)):
        return None  # draws at random, or gives sequences
    if not any(value.size for value in outputs):
        return None  # nothing can be compared, and verify refuses it
    names = [value.name for value in case.model.graph.output]
    return folder / case.name, feed, dict(zip(names, outputs))


def noise_db(reference, got):
    """SQNR of one output; values that are not finite in the reference are left out. Of labels and codes all or nothing."""
    if reference.shape != got.shape:
        return -np.inf
    if reference.dtype.kind != "f":
        return np.inf if np.array_equal(reference, got) else -np.inf
    known = np.isfinite(reference)
    reference, got = reference[known].astype(np.float64), got[known].astype(np.float64)
    if not np.all(np.isfinite(got)):
        return -np.inf
    noise, signal = np.sum((reference - got) ** 2), np.sum(reference**2)
    return np.inf if noise == 0 else 10 * np.log10(signal / noise) if signal > 0 else -np.inf


def claimed_db(folder, typed):
    """What verify says of each output; None when it says that it cannot, with the reason."""
    done = subprocess.run([PROGRAM, "verify", folder / "model.onnx", typed, "--data", folder / "test_data_set_0", "--json", "-qq"],
                          capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode not in (0, 1):
        return None, f"exit {done.returncode}: {done.stderr.splitlines()[0]}"
    figures = json.loads(done.stdout)["figures"]["outputs"]
    return {figure["name"]: float(figure.get("sqnr_db", "inf")) for figure in figures}, ""


def judged(name, folder, typed, reference, got):
    """"right", "as claimed" or "wrong", and why."""
    measured = {output: noise_db(value, got[output]) for output, value in reference.items()}
    if min(measured.values()) >= NEAR[name]:
        return "right", ""
    claimed, why = claimed_db(folder, typed)
    if claimed is None:
        return "wrong", f"{measured}, and verify says {why}"
    off = {output: (db, claimed.get(output)) for output, db in measured.items()
           if db < NEAR[name] and not (output in claimed and db >= claimed[output] - WITHIN_DB)}
    return ("wrong", f"measured and claimed: {off}") if off else ("as claimed", "")


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    found = [written(case, folder) for case in node_tests(STEP)]
    return [case for case in found if case is not None]


@pytest.mark.parametrize("name", FORMATS)
def test_node_tests_are_lowered_and_run_or_refused_with_the_reason(name, cases, tmp_path):
    outcomes, refused, failures = collections.Counter(), collections.defaultdict(list), []
    for folder, feed, reference in cases:
        typed = tmp_path / "typed.onnx"
        typed.unlink(missing_ok=True)
        done = subprocess.run([PROGRAM, "convert", folder / "model.onnx", *FORMATS[name], "--data", folder / "test_data_set_0",
                               "-o", typed, "-qq"], capture_output=True, text=True, env=ENVIRONMENT)
        if done.returncode in (2, 3):
            outcomes["refused"] += 1
            refused[done.stderr.splitlines()[0].replace(str(folder), "...")].append(folder.name)
            continue
        if done.returncode != 0:
            failures.append(f"{folder.name}: exit {done.returncode}: {done.stderr.splitlines()[:1]}")
            continue
        if name in RUN_BY_NOBODY:
            claimed, why = claimed_db(folder, typed)  # the program's own checker has seen the file
            if claimed is None:
                if any(words in why for words in NOT_JUDGED):
                    outcomes["not judged"] += 1
                else:
                    failures.append(f"{folder.name}: written, and verify says {why}")
                continue
            outcomes["right" if min(claimed.values(), default=np.inf) >= NEAR[name] else "as claimed"] += 1
            continue
        try:
            loaded = session(typed)
            names = [value.name for value in loaded.get_outputs()]
            # A copy of what is fed: ONNX Runtime writes BatchNormalization's running values over the inputs that they replace.
            got = loaded.run(None, {key: array.copy() for key, array in feed.items()})
            outcome, why = judged(name, folder, typed, reference, dict(zip(names, got)))
            outcomes[outcome] += 1
            if outcome == "wrong":
                failures.append(f"{folder.name}: {why}")
        except Exception as error:
            if any(words in str(error) for words in NO_KERNEL):
                outcomes["no kernel"] += 1
                refused["ONNX Runtime: no kernel"].append(folder.name)
            else:
                failures.append(f"{folder.name}: {str(error).splitlines()[0][:200]}")
    REPORT.parent.mkdir(exist_ok=True)
    known = json.loads(REPORT.read_text()) if REPORT.exists() else {}
    REPORT.write_text(json.dumps({**known, name: {"outcomes": outcomes, "refused": refused}}, indent=1))
    print(name, dict(outcomes))
    assert not failures, "\n".join(failures)
    assert outcomes["right"] > len(cases) / 2
