"""`vernier debug loss` on operators of ONNX Runtime that hold their weights as codes, without a pair: QAttention,
DynamicQuantizeLSTM, GatherBlockQuantized, MatMulNBits. A sound file has no defect; a wrong scale is named with its weight."""
import json

import numpy as np
import pytest
from onnx import TensorProto, helper

import quantized_files as files
from networks import FLOAT, INT64, Builder
from test_pair_defects import found
from test_traits import vernier

MICROSOFT = "com.microsoft"
WIDTH, STEPS, HIDDEN = 16, 6, 8


def codes_of(values, axis, kind, factor):
    """Codes, scales and zero points; with a scale for each index of `axis`, or one. The first scale is `factor` times as large as
    it should be."""
    low, high = files.ENDS[kind]
    others = tuple(i for i in range(values.ndim) if i != axis) if axis is not None else None
    step = np.float32(np.abs(values).max(others) / 120)
    zero = 0 if low < 0 else 128
    spread = step.reshape([-1 if i == axis else 1 for i in range(values.ndim)]) if axis is not None else step
    codes = np.clip(np.round(values / spread) + zero, low, high).astype(kind)
    step = np.atleast_1d(step).copy()
    step[0] *= factor
    return codes, step if axis is not None else step[0], np.full(step.shape, zero, kind) if axis is not None else kind(zero)


def attention(kind=np.int8, axis=None):
    def build(quantized, factor=1.0):
        b = Builder(401)
        weight, bias = b.normal(WIDTH, 3 * WIDTH) * np.float32(0.3), b.constant("bias", b.normal(3 * WIDTH) * np.float32(0.3))
        if quantized:
            codes, step, zero = codes_of(weight, axis, kind, factor)
            data = [b.constant("x.step", np.float32(4 / 127)), b.constant("x.zero", np.uint8(128))]
            b.add("QuantizeLinear", ["x", *data], "x.codes")
            b.add("QAttention", ["x.codes", b.constant("w.codes", codes), bias, data[0], b.constant("w.step", step), "", data[1],
                                 b.constant("w.zero", zero)], "mixed", domain=MICROSOFT, num_heads=2)
        else:
            b.add("Attention", ["x", b.constant("w", weight), bias], "mixed", domain=MICROSOFT, num_heads=2)
        b.linear("mixed", "y", WIDTH, WIDTH)
        return b.model([("x", FLOAT, [1, STEPS, WIDTH])], [("y", FLOAT, [1, STEPS, WIDTH])], [MICROSOFT])
    return build, {"x": np.clip(Builder(402).normal(24, 1, STEPS, WIDTH), -4, 4)}, "'w' of mixed"


def lstm(kind=np.int8, of_channels=False, directions=1, wrong="W"):
    def build(quantized, factor=1.0):
        b = Builder(403)
        weights = {"W": b.normal(directions, 4 * HIDDEN, WIDTH) * np.float32(0.3), "R": b.normal(directions, 4 * HIDDEN, HIDDEN) * np.float32(0.3)}
        bias = b.constant("B", b.normal(directions, 8 * HIDDEN) * np.float32(0.3))
        attributes = {"hidden_size": HIDDEN, "direction": "bidirectional" if directions == 2 else "forward"}
        if quantized:
            read = {}
            for name, weight in weights.items():
                axis = 2 if of_channels else 0 if directions == 2 else None
                codes, step, zero = codes_of(weight.transpose(0, 2, 1), axis, kind, factor if name == wrong else 1)
                if of_channels:
                    step, zero = step.reshape(1, -1), zero.reshape(1, -1)
                read[name] = [b.constant(f"{name}.{part}", np.atleast_1d(value)) for part, value in (("codes", codes), ("step", step), ("zero", zero))]
            b.add("DynamicQuantizeLSTM", ["x", read["W"][0], read["R"][0], bias, "", "", "", "", *read["W"][1:], *read["R"][1:]],
                  ["all", "last"], domain=MICROSOFT, **attributes)
        else:
            b.add("LSTM", ["x", *(b.constant(name, weight) for name, weight in weights.items()), bias], ["all", "last"], **attributes)
        b.add("Reshape", ["last", b.constant("shape", np.array([1, directions * HIDDEN], np.int64))], "state")
        b.linear("state", "y", directions * HIDDEN, 5)
        return b.model([("x", FLOAT, [STEPS, 1, WIDTH])], [("y", FLOAT, [1, 5])], [MICROSOFT])
    return build, {"x": Builder(404).normal(24, STEPS, 1, WIDTH)}, f"'{wrong}' of all"


def table(form):
    """Rows in blocks of 16, in 4 or 8 bits."""
    def build(quantized, factor=1.0):
        b = Builder(405, 21)
        rows = b.normal(50, 32)
        if quantized:
            half = 128 if form == "bytes" else 8
            blocks = rows.reshape(50, 2, 16)
            step = (np.abs(blocks).max(-1) / (half - 1)).astype(np.float32)
            codes = np.round(blocks / step[..., None]).astype(np.int64).reshape(50, 32)
            step[:, 1] *= factor
            unsigned = codes + half
            packed = (unsigned[:, 0::2] | unsigned[:, 1::2] << 4).astype(np.uint8)
            attributes, zeros = {}, []
            if form == "bytes":
                b.constant("rows.codes", unsigned.astype(np.uint8))
                attributes["bits"] = 8
            elif form in ("packed", "packed with zeros"):
                b.constant("rows.codes", packed)
                attributes["bits"] = 4
                if form == "packed with zeros":
                    zeros = [b.constant("rows.zero", np.full((50, 1), 0x88, np.uint8))]
            else:
                nibbles = packed if form == "uint4" else ((codes & 15)[:, 0::2] | (codes & 15)[:, 1::2] << 4).astype(np.uint8)
                kind = TensorProto.UINT4 if form == "uint4" else TensorProto.INT4
                b.initializers.append(helper.make_tensor("rows.codes", kind, [50, 32], nibbles.tobytes(), raw=True))
                if form == "uint4":
                    b.initializers.append(helper.make_tensor("rows.zero", kind, [50, 2], b"\x88" * 50, raw=True))
                    zeros = ["rows.zero"]
            b.add("GatherBlockQuantized", ["rows.codes", "ids", b.constant("rows.step", step), *zeros], "row", domain=MICROSOFT,
                  block_size=16, gather_axis=0, quantize_axis=1, **attributes)
        else:
            b.add("Gather", [b.constant("rows", rows), "ids"], "row")
        b.linear("row", "y", 32, 8)
        model = b.model([("ids", INT64, [STEPS])], [("y", FLOAT, [STEPS, 8])], [MICROSOFT])
        model.ir_version = 10
        return model
    return build, {"ids": np.random.default_rng(406).integers(0, 50, (24, STEPS))}, "'rows' of row"


NETWORKS = {
    "attention": attention(), "attention, uint8": attention(np.uint8), "attention, columns": attention(axis=1),
    "lstm": lstm(), "lstm, uint8": lstm(np.uint8), "lstm, state": lstm(wrong="R"), "lstm, channels": lstm(of_channels=True),
    "lstm, two directions": lstm(directions=2),
    "table, int4": table("int4"), "table, uint4": table("uint4"), "table, packed": table("packed"),
    "table, packed with zeros": table("packed with zeros"), "table, bytes": table("bytes"),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_codes_inside_an_operator_are_compared_with_the_float_weight(tmp_path, name):
    build, samples, weight = NETWORKS[name]
    files.write(tmp_path, build(False), samples, "float.onnx")
    assert found(tmp_path, build(True), code=0)[0] == []
    names, report = found(tmp_path, build(True, 2.0))
    assert [kind for kind, _ in names] == ["weight-scale"], report["defects"]
    text = report["defects"][0]["text"]
    assert weight in text and (" 2 times" in text or " 1.9" in text or " 2.0" in text), text


def product(bits, factor=1.0):
    """A product in blocks of 16, whose scales and codes belong together: with a factor they are coarse."""
    b = Builder(407)
    weight = b.normal(64, 16) * np.float32(0.3)
    if not bits:
        b.add("MatMul", ["x", b.constant("w", weight)], "y")
        return b.model([("x", FLOAT, [4, 64])], [("y", FLOAT, [4, 16])])
    half = 2 ** (bits - 1)
    blocks = weight.T.reshape(16, 4, 16)
    step = np.abs(blocks).max(-1) / max(half - 1, 1) * factor
    codes = np.clip(np.round(blocks / step[..., None]) + half, 0, 2 * half - 1).astype(np.uint8)
    packed = sum(codes[..., i::8 // bits] << (i * bits) for i in range(8 // bits)).astype(np.uint8)
    b.add("MatMulNBits", ["x", b.constant("codes", packed), b.constant("step", step.astype(np.float32).reshape(-1))], "y", domain=MICROSOFT,
          K=64, N=16, bits=bits, block_size=16)
    return b.model([("x", FLOAT, [4, 64])], [("y", FLOAT, [4, 16])], [MICROSOFT])


@pytest.mark.parametrize("bits, factor, words", [(2, 1, None), (4, 1, None), (8, 1, None), (8, 40, "7 of 256 levels"), (4, 8, "of 16 levels"),
                                                 (2, 4.5, "scales are")])
def test_scales_that_are_far_too_large_are_told_by_the_bits_of_the_weight(tmp_path, bits, factor, words):
    files.write(tmp_path, product(None), {"x": Builder(408).normal(24, 4, 64)}, "float.onnx")
    names, report = found(tmp_path, product(bits, factor), code=1 if words else 0)
    assert names == ([("lost-layer", "y")] if words else []), report["defects"]
    assert not words or words in report["defects"][0]["text"], report["defects"]
    done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "x.npz", "--min-sqnr", "60", "--json", folder=tmp_path, codes=(1,))
    assert [(defect["kind"], defect["node"]) for defect in json.loads(done.stdout).get("defects", [])] == names


def test_a_wrong_scale_of_two_bits_is_named(tmp_path):
    files.write(tmp_path, product(None), {"x": Builder(408).normal(24, 4, 64)}, "float.onnx")
    model = product(2)
    steps = next(tensor for tensor in model.graph.initializer if tensor.name == "step")
    steps.raw_data = (np.frombuffer(steps.raw_data, np.float32) * np.where(np.arange(64) == 9, 0.25, 1).astype(np.float32)).tobytes()
    names, report = found(tmp_path, model)
    assert names[0][1] == "y" and names[0][0] in ("weight-scale", "other-values"), report["defects"]
