"""KV caches of attention operators that join past and new values inside: what the written file gives in ONNX Runtime, fed with codes,
is as near to the float model as verify says, and no cache's format changes what the operator computes."""
import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from networks import FLOAT, Builder
from test_traits import outputs, sqnr, vernier

WIDTH, HEADS, SIZE, PAST, NEW = 32, 4, 16, 5, 3
FORMS = ["multi", "multi-causal", "rows", "rows-causal"]


def decoder(form):
    b = Builder(640, 24 if form.startswith("rows") else 17)
    groups = HEADS if form.startswith("multi") else 2
    def product(source, output, width_in, width_out):
        return b.add("MatMul", [source, b.constant(f"{output}.weight", b.normal(width_in, width_out) / np.float32(np.sqrt(width_in)))], output)
    read, inputs, returned, samples = "x", [("x", FLOAT, [1, NEW, WIDTH])], [("logits", FLOAT, [1, NEW, 12])], {"x": b.normal(8, 1, NEW, WIDTH)}
    for i in range(2):
        parts = [product(read, f"{i}.{part}", WIDTH, count * SIZE) for part, count in (("q", HEADS), ("k", groups), ("v", groups))]
        past, present = ([f"{time}.{i}.{part}" for part in ("key", "value")] for time in ("past", "present"))
        made = [f"{i}.mixed", *present]
        if form.startswith("rows"):
            b.add("Attention", [*parts, "", *past], made, q_num_heads=HEADS, kv_num_heads=groups, is_causal=int("causal" in form))
        else:
            b.add("MultiHeadAttention", [*parts, "", "", "", *past], made, domain="com.microsoft", num_heads=HEADS, unidirectional=int("causal" in form))
        read = b.add("Add", [read, product(f"{i}.mixed", f"{i}.o", HEADS * SIZE, WIDTH)], f"{i}.out")
        inputs += [(name, FLOAT, [1, groups, PAST, SIZE]) for name in past]
        returned += [(name, FLOAT, [1, groups, PAST + NEW, SIZE]) for name in present]
        samples |= {name: b.normal(8, 1, groups, PAST, SIZE) for name in past}
    product(read, "logits", WIDTH, 12)
    return b.model(inputs, returned, domains=[] if form.startswith("rows") else ["com.microsoft"]), samples


def scale_of(model, cache):
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return next(constants[node.input[1]] for node in model.graph.node if node.op_type == "DequantizeLinear" and node.input[0] == cache)


def fed(path, samples):
    """The samples as the file takes them, and what its caches mean."""
    model, kinds = onnx.load(path), {}
    for value in model.graph.input:
        kinds[value.name] = value.type.tensor_type.elem_type
    scales = {name: scale_of(model, name.replace("past", "present")) for name, kind in kinds.items() if kind == onnx.TensorProto.INT8}
    given = dict(samples)
    for name, scale in scales.items():
        given[name] = np.clip(np.rint(samples[name] / scale), -128, 127).astype(np.int8)
    for name, kind in kinds.items():
        if kind == onnx.TensorProto.FLOAT16:
            given[name] = samples[name].astype(np.float16)
    got = outputs(path, given)
    return {name: values * scales[name.replace("present", "past")] if name.replace("present", "past") in scales else values for name, values in got.items()}


@pytest.mark.parametrize("kind, least", [("int8", 25), ("float16", 60)])
@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_small_caches_is_as_near_as_claimed(tmp_path, form, kind, least):
    model, samples = decoder(form)
    onnx.save(model, tmp_path / "net.onnx")
    np.savez(tmp_path / "x.npz", **samples)
    vernier("quantize", "net.onnx", "--kv-cache", kind, "--data", "x.npz", "-o", "low.onnx", folder=tmp_path)
    types = {value.name: value.type.tensor_type.elem_type for value in onnx.load(tmp_path / "low.onnx").graph.input}
    assert all(types[name] == getattr(onnx.TensorProto, kind.upper()) for name in samples if name != "x"), types
    done = vernier("verify", "net.onnx", "low.onnx", "--data", "x.npz", "--json", "--outputs", "*", folder=tmp_path, codes=(0, 1))
    report = json.loads(done.stdout)
    claimed = {row["name"]: float(row["sqnr_db"]) for row in (report.get("figures") or report)["outputs"]}
    exact, got = outputs(tmp_path / "net.onnx", samples), fed(tmp_path / "low.onnx", samples)
    measured = sqnr(exact["logits"], got["logits"])
    assert measured > least and measured == pytest.approx(claimed["logits"], abs=0.3), (measured, claimed)
    assert min(sqnr(exact[name], got[name].astype(np.float32)) for name in exact) > least
