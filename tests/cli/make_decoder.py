"""Small decoders with KV caches, and samples of their steps.

    make_decoder.py FOLDER    concat.onnx, scatter.onnx, attention.onnx, causal.onnx, rows.onnx (Attention of rank 3) and multi.onnx
                              (MultiHeadAttention of ONNX Runtime) and their samples: concat.npz ...

One channel of the keys of layer 0 is large, as published of language models: INT8 with one scale leaves the others no
steps. Values, and layer 1, have no such channel.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, SIZE, PAST, SLOTS = 2, 2, 8, 6, 16
WIDTH, WORDS = HEADS * SIZE, 32
KINDS = ("concat", "scatter", "attention", "causal", "rows", "multi")


class Decoder:
    def __init__(self, kind):
        self.kind, self.nodes, self.constants, self.inputs, self.outputs = kind, [], {}, [], []
        draw = np.random.default_rng(7)
        x = "x"
        for i in range(LAYERS):
            weights = {part: draw.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)) for part in "qkvo"}
            if i == 0:
                weights["k"][:, 3] *= 200
                weights["q"][:, 3] /= 200
            q, k, v = (self.heads(x, weights[part], f"{part}{i}") for part in "qkv")
            read = self.attend(q, k, v, i)
            merged = read
            if not self.joined():
                merged = self.node("Transpose", [read], f"merge{i}", perm=[0, 2, 1, 3])
                merged = self.node("Reshape", [merged, self.constant("wide", np.int64([1, -1, WIDTH]))], f"rows{i}")
            x = self.node("Add", [x, self.product(merged, weights["o"], f"o{i}")], f"sum{i}")
        self.product(x, draw.normal(0, WIDTH**-0.5, (WIDTH, WORDS)), "logits")

    def joined(self):
        """Whether the operator reads all heads in one row."""
        return self.kind in ("rows", "multi")

    def constant(self, name, value):
        self.constants[name] = value.astype(np.float32) if value.dtype == np.float64 else value
        return name

    def node(self, op_type, inputs, output, outputs=(), **attributes):
        self.nodes.append(helper.make_node(op_type, inputs, [output, *outputs], name=f"{output}_{op_type.lower()}", **attributes))
        return output

    def product(self, x, weight, name):
        return self.node("MatMul", [x, self.constant(f"{name}_weight", weight)], name)

    def heads(self, x, weight, name):
        if self.joined():
            return self.product(x, weight, name)
        split = self.constant("split", np.int64([1, -1, HEADS, SIZE]))
        rows = self.node("Reshape", [self.product(x, weight, f"{name}_all"), split], f"{name}_rows")
        return self.node("Transpose", [rows], name, perm=[0, 2, 1, 3])

    def cache(self, i, part):
        past, present = f"past_key_values.{i}.{part}", f"present.{i}.{part}"
        time = SLOTS if self.kind == "scatter" else "past"
        self.inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, [1, HEADS, time, SIZE]))
        self.outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, [1, HEADS, SLOTS if self.kind == "scatter" else "time", SIZE]))
        return past, present

    def attend(self, q, k, v, i):
        (past_k, present_k), (past_v, present_v) = self.cache(i, "key"), self.cache(i, "value")
        if self.kind in ("attention", "causal"):
            return self.node("Attention", [q, k, v, "", past_k, past_v], f"read{i}", [present_k, present_v], is_causal=int(self.kind == "causal"))
        if self.kind == "rows":
            return self.node("Attention", [q, k, v, "", past_k, past_v], f"read{i}", [present_k, present_v], q_num_heads=HEADS, kv_num_heads=HEADS)
        if self.kind == "multi":
            return self.node("MultiHeadAttention", [q, k, v, "", "", "", past_k, past_v], f"read{i}", [present_k, present_v],
                             num_heads=HEADS, domain="com.microsoft")
        mask = None
        if self.kind == "scatter":
            self.node("TensorScatter", [past_k, k, "at"], present_k, axis=2)
            self.node("TensorScatter", [past_v, v, "at"], present_v, axis=2)
            mask = "mask"
        else:
            self.node("Concat", [past_k, k], present_k, axis=2)
            self.node("Concat", [past_v, v], present_v, axis=2)
        turned = self.node("Transpose", [present_k], f"turned{i}", perm=[0, 1, 3, 2])
        scores = self.node("MatMul", [q, turned], f"scores{i}")
        scores = self.node("Mul", [scores, self.constant("scale", np.float64(SIZE**-0.5))], f"scaled{i}")
        if mask:
            scores = self.node("Add", [scores, mask], f"masked{i}")
        return self.node("MatMul", [self.node("Softmax", [scores], f"shares{i}", axis=-1), present_v], f"read{i}")

    def model(self):
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "new", WIDTH]), *self.inputs]
        if self.kind == "scatter":
            inputs += [helper.make_tensor_value_info("at", TensorProto.INT64, [1]), helper.make_tensor_value_info("mask", TensorProto.FLOAT, [1, 1, 1, SLOTS])]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "new", WORDS]), *self.outputs]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, [numpy_helper.from_array(np.asarray(v), n) for n, v in self.constants.items()])
        opset = 18 if self.kind in ("concat", "grouped", "multi") else 24
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=10))


def first_feed(kind, draw):
    """Of a step behind PAST others, without these."""
    time = SLOTS if kind == "scatter" else 0
    feed = {f"past_key_values.{i}.{part}": np.zeros((1, HEADS, time, SIZE), np.float32) for i in range(LAYERS) for part in ("key", "value")}
    return {**feed, **step_of(kind, 0, draw)}


def step_of(kind, at, draw):
    feed = {"x": draw.normal(size=(1, 1, WIDTH)).astype(np.float32)}
    if kind == "scatter":
        feed |= {"at": np.int64([at]), "mask": np.where(np.arange(SLOTS) <= at, 0, -1e4).astype(np.float32).reshape(1, 1, 1, SLOTS)}
    return feed


def carried(session, outputs):
    """The caches that the next step reads."""
    return {o.name.replace("present", "past_key_values"): value for o, value in zip(session.get_outputs(), outputs) if o.name.startswith("present")}


def steps(path, kind, seed, count):
    """Feeds of `count` steps, after PAST others, each with the caches of the one before."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(seed)
    feed, feeds = first_feed(kind, draw), []
    for at in range(1, PAST + count):
        feed = {**carried(session, session.run(None, feed)), **step_of(kind, at, draw)}
        feeds.append(feed)
    return feeds[PAST - 1:]


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    for kind in KINDS:
        path = folder / f"{kind}.onnx"
        onnx.save(Decoder(kind).model(), path)
        samples = [steps(path, kind, seed, 1)[0] for seed in range(32)]
        np.savez(folder / f"{kind}.npz", **{name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]})
