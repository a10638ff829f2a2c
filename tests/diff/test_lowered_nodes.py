"""ONNX's own backend node tests lowered to each format: the file is written and ONNX Runtime runs it, or the program says why not.

Never an internal error, and never a file that ONNX Runtime refuses although it runs the original. Formats that no CPU provider
runs (BF16, FP8) end at the ONNX checker. What was refused, by reason, is written to build/lowered_nodes.json.
VERNIER_NODE_STEP=1 takes every test, the default every twelfth.
"""
import collections
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

from typed_files import ENVIRONMENT, PROGRAM, ROOT

REPORT = ROOT / "build/lowered_nodes.json"
STEP = int(os.environ.get("VERNIER_NODE_STEP", "12"))
FORMATS = {"float16": ["--fp16"], "bfloat16": ["--bf16"], "float8": ["--fp8"], "int8": ["--int8"],
           "codes": ["--int8", "--target", "onnxruntime", "--even-if-slower"], "int4": ["--int4"], "mixed": ["--int4", "--int8", "-p", "float16"]}
RUN_BY_NOBODY = {"bfloat16", "float8"}
# Files that ONNX Runtime's CPU provider refuses although it runs the original: it has no kernel for the format. Its words.
NO_KERNEL = ("NOT_IMPLEMENTED", "Could not find an implementation", "NotImplemented", "data type is not supported")


def session(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


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
    for i, (value, array) in enumerate(zip(case.model.graph.input, inputs)):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array, value.name).SerializeToString())
        feed[value.name] = array
    try:
        session(folder / case.name / "model.onnx").run(None, feed)
    except Exception:  # whatever the reason: nothing of ours is involved
        return None
    return folder / case.name, feed


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    found = [written(case, folder) for case in load_model_tests(kind="node")[::STEP]]
    return [case for case in found if case is not None]


@pytest.mark.parametrize("name", FORMATS)
def test_node_tests_are_lowered_and_run_or_refused_with_the_reason(name, cases, tmp_path):
    outcomes, refused, failures = collections.Counter(), collections.defaultdict(list), []
    for folder, feed in cases:
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
            outcomes["checked"] += 1  # by the program itself: check_written_model
            continue
        try:
            session(typed).run(None, feed)
            outcomes["run"] += 1
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
    assert outcomes["run"] + outcomes["checked"] > len(cases) / 2
