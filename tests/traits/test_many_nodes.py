"""Networks that are large by number, which run in parts (src/model/parts.h) and share runs (src/analysis/sensitivity.h):
the figures are those of smaller ones all the same."""
import json
import os
import pathlib
import resource
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from test_traits import check_claim, vernier

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import many_nodes  # noqa: E402


def diagnosed(model, folder, *arguments):
    data = model.with_suffix(".npy")
    vernier("diagnose", model, "--int8", "--data", data, "--no-latency", "-o", "out", *arguments, folder=folder)
    return json.loads((folder / "out/report.json").read_text()), {"x": np.load(data)}


def test_a_long_chain(tmp_path):
    model = many_nodes.made(tmp_path / "chain.onnx", many_nodes.chain, 1250)
    assert len(onnx.load(model).graph.node) > 5000
    report, samples = diagnosed(model, tmp_path)
    check_claim(model, tmp_path / "out/model.onnx", samples, report["final_figures"], "--int8")
    measured = [row["name"] for row in report["layers"] if row.get("sensitivity_db") is not None]
    assert len(measured) == 1250 and not any("sensitivity" in note for note in report["notes"])


def test_many_heads(tmp_path):
    """Each head changes its own output alone, so that its sensitivity is that output's error."""
    model = many_nodes.made(tmp_path / "heads.onnx", many_nodes.heads, 300)
    report, samples = diagnosed(model, tmp_path)
    check_claim(model, tmp_path / "out/model.onnx", samples, report["final_figures"], "--int8")
    errors = {figure["name"]: float(figure["sqnr_db"]) for figure in report["all_low"]["outputs"]}
    for row in report["layers"]:
        assert float(row["sensitivity_db"]) == pytest.approx(errors[row["name"].replace("head", "y")], abs=0.01)


def test_many_small_nodes_run_in_parts_that_a_search_did_not_choose(tmp_path):
    """Tensors of 16 bytes are not worth parts of their own, while a session of more than 4,000 nodes is cut for their number."""
    random = np.random.default_rng(0)
    nodes, weights, source = [], [], "x"
    for i in range(100):
        weights.append(numpy_helper.from_array((np.eye(4) + random.normal(0, 0.05, (4, 4))).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [source, f"w{i}"], [f"m{i}"], name=f"m{i}"))
        source = f"m{i}"
        for k in range(40):
            nodes.append(helper.make_node("Neg", [source], [f"n{i}_{k}"], name=f"n{i}_{k}"))
            source = f"n{i}_{k}"
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
                              [helper.make_tensor_value_info(source, TensorProto.FLOAT, [1, 4])], weights)
    model = tmp_path / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    np.save(model.with_suffix(".npy"), random.normal(0, 1, (4, 1, 4)).astype(np.float32))
    report, samples = diagnosed(model, tmp_path)
    check_claim(model, tmp_path / "out/model.onnx", samples, report["final_figures"], "--int8")
    assert sum(row.get("sensitivity_db") is not None for row in report["layers"]) == 100


def chain_of(folder, count, constants):
    """`count` nodes, or as many pairs of a Constant and an Add."""
    nodes = []
    for i in range(count):
        if constants:
            nodes.append(helper.make_node("Constant", [], [f"c{i}"], value=numpy_helper.from_array(np.ones(1, np.float32))))
            nodes.append(helper.make_node("Add", [f"t{i}", f"c{i}"], [f"t{i + 1}"]))
        else:
            nodes.append(helper.make_node("Relu" if i % 2 else "Neg", [f"t{i}"], [f"t{i + 1}"], name=f"r{i}"))
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("t0", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info(f"t{count}", TensorProto.FLOAT, [1])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "chain.onnx")


@pytest.mark.skipif(bool(os.environ.get("VERNIER_SANITIZE")), reason="under a sanitizer seconds say nothing")
@pytest.mark.parametrize("constants, arguments", [(True, ["run", "chain.onnx", "--onnxrt", "--onnx-outputs", "mark", "all"]),
                                                  (False, ["convert", "chain.onnx", "--fp16", "-o", "half.onnx"])])
def test_time_does_not_grow_with_the_square_of_the_nodes(tmp_path, constants, arguments):
    """Before 2026-11-29 these took 15 s and 10 s of CPU time; now about 2 s each."""
    chain_of(tmp_path, 10000 if constants else 20000, constants)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    vernier(*arguments, folder=tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 6
