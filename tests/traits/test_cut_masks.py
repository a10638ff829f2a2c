"""Files that Vernier made of attention with a mask: it cuts the mask off where a Softmax still gives nothing, which is no defect. And a
mask that is cut off too near to the scores."""
import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from networks import FLOAT, Builder
from test_traits import vernier

LENGTH, WIDTH = 8, 16
TARGETS = {"onnxruntime": ["--even-if-slower"], "openvino": [], "tensorrt": []}


def attention(mask, form="add", seed=431):
    b = Builder(seed)
    for name, source in (("q", "x"), ("k", "x"), ("v", "x")):
        b.add("MatMul", [source, b.constant(f"{name}.weight", b.normal(WIDTH, WIDTH) * np.float32(0.25))], name)
    b.add("MatMul", ["q", b.add("Transpose", ["k"], "turned", perm=[0, 2, 1])], "scores")
    hidden = np.triu(np.ones((LENGTH, LENGTH), np.float32), 1)
    if form == "add":
        with np.errstate(invalid="ignore"):
            b.add("Add", ["scores", b.constant("mask", np.where(hidden, np.float32(mask), np.float32(0)))], "masked")
    elif form == "where":
        b.add("Where", [b.constant("hidden", hidden.astype(bool)), b.constant("mask", np.float32(mask)), "scores"], "masked")
    else:
        b.add("Mul", [b.add("Sub", [b.constant("one", np.float32(1)), b.constant("seen", 1 - hidden)], "unseen"),
                      b.constant("mask", np.float32(mask))], "product")
        b.add("Add", ["scores", "product"], "masked")
    b.add("MatMul", [b.add("Softmax", ["masked"], "shares", axis=-1), "v"], "context")
    b.add("MatMul", ["context", b.constant("o.weight", b.normal(WIDTH, 4) * np.float32(0.25))], "y")
    return b.model([("x", FLOAT, [1, LENGTH, WIDTH])], [("y", FLOAT, [1, LENGTH, 4])])


def made(folder, target, mask, form, seed=431):
    onnx.save(attention(mask, form, seed), folder / "float.onnx")
    np.savez(folder / "x.npz", x=Builder(432).normal(8, 1, LENGTH, WIDTH))
    vernier("quantize", "float.onnx", "--int8", "--target", target, *TARGETS[target], "--data", "x.npz", "-o", "quantized.onnx", folder=folder)


def defects(folder, target, *options, command=("verify",)):
    options += ("--target", target) if command == ("verify",) else ()
    done = vernier(*command, "float.onnx", "quantized.onnx", "--data", "x.npz", "--json", *options, folder=folder, codes=(0, 1))
    return json.loads(done.stdout).get("defects", [])


@pytest.mark.sampled
@pytest.mark.parametrize("form", ["add", "where", "product"])
@pytest.mark.parametrize("mask", [-1e4, -1e9, -3.4e38])
@pytest.mark.parametrize("target", TARGETS)
def test_a_mask_that_vernier_cuts_off_is_no_defect(target, mask, form, tmp_path):
    made(tmp_path, target, mask, form)
    assert defects(tmp_path, target, "--min-sqnr", "60") == []
    assert defects(tmp_path, target, "--min-sqnr", "15") == []
    assert defects(tmp_path, target, command=("debug", "loss")) == []


@pytest.mark.parametrize("seed", range(433, 439))
def test_a_pair_behind_a_mask_rounds_the_scores_as_well(seed, tmp_path):
    """Without it the outputs are a little better, and it does not cut off too much."""
    made(tmp_path, "onnxruntime", -1e9, "add", seed)
    found = defects(tmp_path, "onnxruntime", command=("debug", "loss"))
    assert not any(defect["kind"] in ("lost-layer", "clipped-weight") for defect in found), found


def test_a_mask_that_is_cut_off_among_the_scores_is_named(tmp_path):
    made(tmp_path, "onnxruntime", -1e9, "add")
    model = onnx.load(tmp_path / "quantized.onnx")
    scale = next(node.input[1] for node in model.graph.node if node.op_type == "DequantizeLinear" and node.input[0].startswith("mask"))
    for tensor in model.graph.initializer:
        if tensor.name == scale:
            tensor.CopyFrom(numpy_helper.from_array((numpy_helper.to_array(tensor) / 60).astype(np.float32), scale))
    onnx.save(model, tmp_path / "quantized.onnx")
    assert any(defect["node"].startswith("mask") for defect in defects(tmp_path, "onnxruntime", "--min-sqnr", "20"))
