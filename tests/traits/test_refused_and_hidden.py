"""What only the runtime knows of a file (it refuses it, or computes something else), quantized values that are stored in other
places than Q/DQ pairs, outputs whose figure hides them, and layers behind operators of which little is known."""
import json
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from networks import FLOAT, Builder
from test_traits import vernier


def save(model, name, folder):
    onnx.save(model, folder / name)
    return name


def verdict(folder, *arguments, codes=(0, 1)):
    done = vernier("verify", *arguments, "--data", "net.npz", "--json", folder=folder, codes=codes)
    return json.loads(done.stdout), done


def product(b, name, source, width_in, width_out):
    return b.add("MatMul", [source, b.constant(f"{name}.weight", b.normal(width_in, width_out) / np.float32(np.sqrt(width_in)))], name)


def pair(b, source, step, dtype=TensorProto.FLOAT):
    scale = helper.make_tensor(f"{source}.step", dtype, [], [step])
    b.initializers.append(scale)
    zero = b.constant(f"{source}.zero", np.int8(0))
    b.add("QuantizeLinear", [source, scale.name, zero], f"{source}.codes")
    return b.add("DequantizeLinear", [f"{source}.codes", scale.name, zero], f"{source}.values")


def gemm(bias_step=None):
    """A Gemm between pairs; its int32 bias has `bias_step` times the scale that its sum has. None: the float network."""
    b = Builder(301, 17)
    weight, bias = b.normal(16, 24) * np.float32(0.2), b.normal(16)
    if bias_step is None:
        b.add("Gemm", ["x", b.constant("w", weight), b.constant("bias", bias)], "y", transB=1)
        return b.model([("x", FLOAT, [4, 24])], [("y", FLOAT, [4, 16])])
    zero = b.constant("zero", np.uint8(128))

    def around(source, output, step):
        scale = b.constant(f"{source}.step", np.float32(step))
        b.add("QuantizeLinear", [source, scale, zero], f"{source}.codes")
        return b.add("DequantizeLinear", [f"{source}.codes", scale, zero], output)

    def stored(name, values, step, kind):
        parts = [b.constant(f"{name}.codes", np.round(values / step).astype(kind)), b.constant(f"{name}.step", np.float32(step)),
                 b.constant(f"{name}.zero", kind(0))]
        return b.add("DequantizeLinear", parts, f"{name}.values")

    step = np.abs(weight).max() / 127
    data, wanted = around("x", "x.values", 4 / 127), 4 / 127 * step
    b.add("Gemm", [data, stored("w", weight, step, np.int8), stored("bias", bias, wanted * bias_step, np.int32)], "sum", transB=1)
    around("sum", "y", 0.06)
    return b.model([("x", FLOAT, [4, 24])], [("y", FLOAT, [4, 16])])


def test_what_the_target_itself_gives_decides(tmp_path):
    np.savez(tmp_path / "net.npz", x=Builder(302).normal(16, 4, 24))
    names = [save(gemm(), "net.onnx", tmp_path), save(gemm(1 / 6), "other.onnx", tmp_path), save(gemm(1), "right.onnx", tmp_path)]
    report, done = verdict(tmp_path, names[0], names[1], "--min-sqnr", "20", "--target", "onnxruntime")
    assert done.returncode == 1 and report["outcome"] == "missed"
    assert float(report["figures"]["outputs"][0]["sqnr_db"]) > 25 > 20 > float(report["engine"]["figures"]["outputs"][0]["sqnr_db"])
    text = vernier("verify", *names[:2], "--data", "net.npz", "--min-sqnr", "20", "--target", "onnxruntime", "-o", "out", folder=tmp_path, codes=(1,))
    assert "on ONNX Runtime" in " ".join(text.stdout.split()), text.stdout
    assert "Requirement missed" in (tmp_path / "out/report.html").read_text()
    report, done = verdict(tmp_path, names[0], names[2], "--min-sqnr", "20", "--target", "onnxruntime")
    assert report["outcome"] == "met" and "engine" not in report
    # Another target runs other kernels: there it is a note.
    report, _ = verdict(tmp_path, names[0], names[1], "--min-sqnr", "20", "--target", "tensorrt")
    assert report["outcome"] == "met" and any("default optimizations" in text for text in report["notes"])


def nbits(bits_of_weight):
    """Two products; their weights in MatMulNBits where `bits_of_weight` is one of 2, 4, 8, else in float."""
    b, source = Builder(303, 21), "x"
    for name, width in (("first", 32), ("second", 16)):
        weight = b.normal(32, width) / np.float32(np.sqrt(32))
        if not bits_of_weight:
            b.add("MatMul", [source, b.constant(f"{name}.weight", weight)], name)
        else:
            half = 2 ** (bits_of_weight - 1)
            scale = np.abs(weight).max(0) / np.float32(max(half - 1, 1))
            codes = np.clip(np.round(weight / scale) + half, 0, 2 * half - 1).astype(np.uint8).T
            per_byte = 8 // bits_of_weight
            packed = sum(codes[:, i::per_byte] << (i * bits_of_weight) for i in range(per_byte)).reshape(width, 1, -1).astype(np.uint8)
            b.add("MatMulNBits", [source, b.constant(f"{name}.codes", packed), b.constant(f"{name}.scale", scale.astype(np.float32))], name,
                  domain="com.microsoft", K=32, N=width, bits=bits_of_weight, block_size=32)
        source = b.add("Relu", [name], f"{name}.relu") if name == "first" else name
    return b.model([("x", FLOAT, [4, 32])], [("second", FLOAT, [4, 16])], ["com.microsoft"] if bits_of_weight else [])


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_reference_with_weights_in_few_bits_is_no_float_model(bits, tmp_path):
    np.savez(tmp_path / "net.npz", x=Builder(304).normal(16, 4, 32))
    float_name, name = save(nbits(0), "float.onnx", tmp_path), save(nbits(bits), "few.onnx", tmp_path)
    report, done = verdict(tmp_path, name, name, "--min-sqnr", "20")
    assert done.returncode == 1 and report["outcome"] == "no-float-model"
    report, _ = verdict(tmp_path, float_name, name, "--min-sqnr", "1")
    assert not any("no layer in low precision" in text for text in report["warnings"]), report["warnings"]
    assert {row["format"] for row in report["layers"] if row["op_type"] == "MatMul"} == {"uint8" if bits == 8 else "int4"}
    done = vernier("diagnose", name, "--int8", "--data", "net.npz", "--min-sqnr", "20", "--no-latency", folder=tmp_path, codes=(1, 3))
    assert "float model" in done.stdout + done.stderr


def test_pairs_inside_a_function_of_the_file_are_seen(tmp_path):
    b = Builder(305, 17)
    product(b, "first", "x", 24, 16)
    np.savez(tmp_path / "net.npz", x=b.normal(16, 4, 24))
    float_model = b.model([("x", FLOAT, [4, 24])], [("first", FLOAT, [4, 16])])
    save(float_model, "float.onnx", tmp_path)
    quantized = onnx.ModelProto()
    quantized.CopyFrom(float_model)
    step, zero = numpy_helper.from_array(np.float32(0.5 / 127), "step"), numpy_helper.from_array(np.int8(0), "zero")
    inside = [helper.make_node("Constant", [], ["step"], value=step), helper.make_node("Constant", [], ["zero"], value=zero),
              helper.make_node("QuantizeLinear", ["data", "step", "zero"], ["codes"], name="quantize"),
              helper.make_node("DequantizeLinear", ["codes", "step", "zero"], ["result"], name="dequantize")]
    quantized.functions.append(helper.make_function("ours", "Rounded", ["data"], ["result"], inside, [helper.make_opsetid("", 17)]))
    quantized.opset_import.append(helper.make_opsetid("ours", 1))
    quantized.graph.node.insert(0, helper.make_node("Rounded", ["x"], ["rounded"], name="rounded", domain="ours"))
    quantized.graph.node[1].input[0] = "rounded"
    save(quantized, "clipped.onnx", tmp_path)
    report, done = verdict(tmp_path, "float.onnx", "clipped.onnx", "--min-sqnr", "20")
    assert done.returncode == 1 and report["defects"] and report["placements"]
    report, _ = verdict(tmp_path, "clipped.onnx", "clipped.onnx", "--min-sqnr", "20")
    assert report["outcome"] == "no-float-model"


def test_a_file_that_the_target_does_not_run_is_refused(tmp_path):
    def network(dtype):
        b = Builder(306, 21)
        source = pair(b, "x", 4 / 127, dtype) if dtype else "x"
        if dtype == TensorProto.BFLOAT16:
            b.nodes[0].input[0] = b.add("Cast", ["x"], "narrow", to=TensorProto.BFLOAT16)
            b.nodes.insert(0, b.nodes.pop())
            source = b.add("Cast", [source], "wide", to=FLOAT)
        product(b, "y", source, 24, 16)
        return b.model([("x", FLOAT, [4, 24])], [("y", FLOAT, [4, 16])])
    np.savez(tmp_path / "net.npz", x=Builder(307).normal(16, 4, 24))
    save(network(None), "float.onnx", tmp_path)
    save(network(TensorProto.BFLOAT16), "narrow.onnx", tmp_path)
    report, done = verdict(tmp_path, "float.onnx", "narrow.onnx", "--min-sqnr", "20", "--target", "onnxruntime")
    assert done.returncode == 1 and report["outcome"] == "refused"
    assert any(defect["kind"] == "refused-run" for defect in report["defects"]), report["defects"]
    report, _ = verdict(tmp_path, "float.onnx", "narrow.onnx", "--min-sqnr", "20", "--target", "tensorrt")
    assert report["outcome"] == "met"


def test_negative_scales_of_stored_values_are_for_some_engines(tmp_path):
    def network(quantized):
        b = Builder(308, 21)
        weight = b.normal(24, 16) * np.float32(0.2)
        if quantized:
            step = np.abs(weight).max(0) / 127
            step[::3] *= -1
            b.add("DequantizeLinear", [b.constant("codes", np.round(weight / step).astype(np.int8)), b.constant("step", step.astype(np.float32))],
                  "values", axis=1)
        b.add("MatMul", ["x", "values" if quantized else b.constant("w", weight)], "y")
        return b.model([("x", FLOAT, [4, 24])], [("y", FLOAT, [4, 16])])
    np.savez(tmp_path / "net.npz", x=Builder(309).normal(16, 4, 24))
    save(network(False), "float.onnx", tmp_path)
    save(network(True), "quantized.onnx", tmp_path)
    report, _ = verdict(tmp_path, "float.onnx", "quantized.onnx", "--min-sqnr", "30", "--target", "onnxruntime")
    assert report["outcome"] == "met"
    report, _ = verdict(tmp_path, "float.onnx", "quantized.onnx", "--min-sqnr", "30", "--target", "tensorrt")
    assert report["outcome"] == "refused" and report["defects"][0]["kind"] == "negative-scale"
    # Nothing asked, or missed: then debug loss looks at the pairs, too.
    for limit in ([], ["--min-sqnr", "90"]):
        report, _ = verdict(tmp_path, "float.onnx", "quantized.onnx", *limit, "--target", "onnxruntime")
        assert report["outcome"] == ("missed" if limit else "no-requirement"), report["defects"]
    lint = vernier("check", "lint", "quantized.onnx", folder=tmp_path)
    assert "are negative" in lint.stdout


def test_lint_names_an_ir_version_that_the_runtime_does_not_know(tmp_path):
    b = Builder(310, 17)
    product(b, "y", "x", 24, 16)
    model = b.model([("x", FLOAT, [4, 24])], [("y", FLOAT, [4, 16])])
    model.ir_version = 99
    (tmp_path / "new.onnx").write_bytes(model.SerializeToString())
    assert "IR version" in vernier("check", "lint", "new.onnx", folder=tmp_path, codes=(1,)).stdout
    vernier("convert", "new.onnx", "--fp16", "-o", "half.onnx", folder=tmp_path)  # which asks for no such version
    assert onnx.load(tmp_path / "half.onnx").ir_version <= 11


@pytest.mark.parametrize("level, told", [(0, False), (300, True), (-300, True)])
def test_a_constant_offset_flatters_a_figure(level, told, tmp_path):
    b = Builder(311, 17)
    b.add("Tanh", [product(b, "hidden", "x", 16, 32)], "tanh")
    product(b, "last", "tanh", 32, 1)
    b.add("Add", ["last", b.constant("level", np.float32(level))], "y")
    save(b.model([("x", FLOAT, [1, 16])], [("y", FLOAT, [1, 1])]), "net.onnx", tmp_path)
    np.savez(tmp_path / "net.npz", x=b.normal(24, 1, 16))
    vernier("convert", "net.onnx", "--fp16", "-o", "half.onnx", folder=tmp_path)
    report, _ = verdict(tmp_path, "net.onnx", "half.onnx", "--min-sqnr", "20")
    assert any(note["code"] == "output-offset" for note in report.get("warning_codes", [])) == told, report["warnings"]


def test_layers_behind_a_group_normalization_are_lowered(tmp_path):
    b = Builder(312, 21)
    b.conv("x", "first", 8, 16)
    b.add("GroupNormalization", ["first", b.constant("gain", np.ones(16, np.float32)), b.constant("shift", np.zeros(16, np.float32))], "norm",
          num_groups=4)
    b.conv("norm", "second", 16, 8)
    save(b.model([("x", FLOAT, [1, 8, 6, 6])], [("second", FLOAT, [1, 8, 6, 6])]), "net.onnx", tmp_path)
    vernier("convert", "net.onnx", "--fp16", "-o", "half.onnx", folder=tmp_path)
    types = {tensor.name: tensor.data_type for tensor in onnx.load(tmp_path / "half.onnx").graph.initializer}
    assert all(kind != FLOAT for name, kind in types.items() if name.endswith("weight")), types


def test_a_product_behind_an_stft_is_lowered(tmp_path):
    """ONNX's inference takes a one-sided spectrum for a whole one, and refuses the product behind it."""
    b = Builder(314, 17)
    parts = [b.constant("step", np.int64(16)), b.constant("window", np.hanning(32).astype(np.float32)), b.constant("length", np.int64(32))]
    b.add("STFT", ["x", *parts], "spectrum")
    b.add("ReduceSumSquare", ["spectrum"], "power", axes=[3], keepdims=0)
    product(b, "y", "power", 17, 8)
    graph = helper.make_graph(b.nodes, "stft", [helper.make_tensor_value_info("x", FLOAT, [1, 128, 1])],
                              [helper.make_tensor_value_info("y", FLOAT, None)], b.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    save(model, "net.onnx", tmp_path)
    vernier("convert", "net.onnx", "--fp16", "-o", "half.onnx", folder=tmp_path)
    types = {tensor.name: tensor.data_type for tensor in onnx.load(tmp_path / "half.onnx").graph.initializer}
    assert types.get("y.weight") != FLOAT, types


def test_a_script_judges_what_the_target_gives(tmp_path):
    np.savez(tmp_path / "net.npz", x=Builder(302).normal(16, 4, 24))
    save(gemm(), "net.onnx", tmp_path)
    save(gemm(1 / 6), "other.onnx", tmp_path)
    (tmp_path / "score.py").write_text("""
def metric(outputs, references):
    error = sum(((a["y"] - b["y"]) ** 2).sum() for a, b in zip(outputs, references))
    return 1 - error / sum((b["y"] ** 2).sum() for b in references)
""")
    done = vernier("verify", "net.onnx", "other.onnx", "--data", "net.npz", "--metric-script", "score.py", "--min", "0.9",
                   "--target", "onnxruntime", folder=tmp_path, codes=(1,))
    assert "on ONNX Runtime" in " ".join(done.stdout.split()), done.stdout
    vernier("verify", "net.onnx", "other.onnx", "--data", "net.npz", "--metric-script", "score.py", "--min", "0.9", folder=tmp_path)


def test_places_that_the_data_choose_end_nothing(tmp_path):
    b = Builder(313, 17)
    product(b, "scores", "x", 16, 8)
    b.add("Greater", ["scores", b.constant("limit", np.float32(0.9))], "high")
    b.add("NonZero", ["high"], "where")
    b.add("Transpose", ["where"], "places")
    b.add("GatherND", ["scores", "places"], "chosen")
    b.add("Unsqueeze", ["chosen", b.constant("axis", np.array([1], np.int64))], "column")
    b.add("Mul", ["column", b.constant("row", b.normal(1, 4))], "rows")
    b.add("ReduceSum", ["rows", b.constant("first", np.array([0], np.int64))], "y", keepdims=1)
    save(b.model([("x", FLOAT, [4, 16])], [("y", FLOAT, [1, 4])]), "net.onnx", tmp_path)
    np.savez(tmp_path / "net.npz", x=b.normal(24, 4, 16))
    done = vernier("diagnose", "net.onnx", "--fp8", "--data", "net.npz", "--min-sqnr", "60", "--no-latency", "-o", "out", folder=tmp_path, codes=(0, 1, 5))
    assert "different shapes" not in done.stderr
    vernier("quantize", "net.onnx", "--quantize-mode", "fp8", "--data", "net.npz", "-o", "low.onnx", folder=tmp_path)
    report, _ = verdict(tmp_path, "net.onnx", "low.onnx", "--min-sqnr", "60")
    assert report["figures"]["outputs"]


def labels_behind(folder, *nodes, type_=TensorProto.INT64):
    """A product, and an output that `nodes` make of it."""
    b = Builder(5)
    b.linear("x", "scores", 8, 5)
    b.constant("one", np.array(1, np.int64))
    for op_type, inputs, output, attributes in nodes:
        b.add(op_type, inputs, output, **attributes)
    onnx.save(b.model([("x", FLOAT, [1, 8])], [("labels", type_, ["rows", "columns"])]), folder / "m.onnx")


@pytest.mark.parametrize("nodes, type_", [
    ([("ArgMax", ["scores"], "place", {"axis": 1}), ("Add", ["place", "one"], "labels", {})], TensorProto.INT64),
    ([("Cast", ["scores"], "labels", {"to": TensorProto.INT32})], TensorProto.INT32),
], ids=["changed_labels", "cast"])
def test_integers_that_depend_on_floats_are_refused_with_the_tensor_to_measure(tmp_path, nodes, type_):
    labels_behind(tmp_path, *nodes, type_=type_)
    done = vernier("diagnose", "m.onnx", "--int8", "--min-sqnr", "20", folder=tmp_path, codes=(3,))
    assert "none is a float tensor, or the result of an ArgMax or QuantizeLinear" in done.stderr
    assert "make 'scores' an output, and measure that: vernier surgeon extract with --outputs scores:auto" in done.stderr
    vernier("surgeon", "extract", "m.onnx", "--outputs", "scores:auto", "-o", "scores.onnx", folder=tmp_path)
    vernier("diagnose", "scores.onnx", "--int8", "--min-sqnr", "20", folder=tmp_path)


def test_a_type_of_eight_bits_that_is_not_read_is_named(tmp_path):
    zero = helper.make_tensor("z", TensorProto.FLOAT8E4M3FNUZ, [], [0])
    graph = helper.make_graph([helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                               helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", FLOAT, [1, 8])],
                              [helper.make_tensor_value_info("y", FLOAT, [1, 8])],
                              [zero, numpy_helper.from_array(np.float32(0.5), "s")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    done = vernier("verify", "m.onnx", "m.onnx", folder=tmp_path, codes=(3,))
    assert "tensor 'z': vernier does not read elements of type FLOAT8E4M3FNUZ" in done.stderr
    assert "quantize to FLOAT8E4M3FN" in done.stderr


@pytest.mark.parametrize("op_type, attributes", [
    ("RandomNormal", {"scale": 0.0}), ("RandomUniform", {"low": 1.0, "high": 0.0}),
])
def test_random_numbers_at_which_onnx_runtime_aborts_do_not_end_the_program(tmp_path, op_type, attributes):
    graph = helper.make_graph([helper.make_node("Neg", ["c"], ["d"], name="folds"),
                               helper.make_node(op_type, [], ["r"], name="random", shape=[1, 8], dtype=1, **attributes),
                               helper.make_node("Sum", ["x", "d", "r"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", FLOAT, [1, 8])],
                              [helper.make_tensor_value_info("y", FLOAT, [1, 8])],
                              [numpy_helper.from_array(np.ones(8, np.float32), "c")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    done = vernier("surgeon", "sanitize", "m.onnx", "--fold-constants", "-o", "s.onnx", folder=tmp_path)
    assert "not proven by running both: node 'random'" in done.stderr
    assert [node.op_type for node in onnx.load(tmp_path / "s.onnx").graph.node] == [op_type, "Sum"]
    done = vernier("run", "m.onnx", "--onnxrt", folder=tmp_path, codes=(1, 4))
    assert "at which ONNX Runtime aborts" in done.stderr + done.stdout


def test_where_the_high_format_is_the_worse_one_keeping_nothing_is_the_answer(tmp_path):
    """A mask of -1e9 is infinite in FP16, and 0 times that is NaN: with all products in FP16 no output is finite, while a
    quantizer makes some number of it."""
    b = Builder(77, 17)
    mask = b.add("Mul", ["open", b.constant("lowest", np.float32(-1e9))], "mask")
    scores = b.add("Add", [product(b, "scores", "x", 16, 8), mask], "masked")
    shares = b.add("Softmax", [scores], "shares", axis=-1)
    mixed = b.add("Mul", [product(b, "mixed", shares, 8, 16), b.constant("small", np.float32(0.05))], "scaled")
    b.add("Add", [product(b, "main", "x", 16, 16), mixed], "y")
    save(b.model([("x", FLOAT, [4, 16]), ("open", FLOAT, [1, 8])], [("y", FLOAT, [4, 16])]), "m.onnx", tmp_path)
    np.savez(tmp_path / "m.npz", x=b.normal(12, 4, 16), open=np.zeros((12, 1, 8), np.float32))
    for mode in (["minimal"], ["bisect", "--no-minimal"]):
        done = vernier("debug", "precision", "m.onnx", "--int8", "-p", "float16", "--data", "m.npz", "--min-sqnr", "10",
                       "--mode", *mode, "--json", folder=tmp_path)
        report = json.loads(done.stdout)
        assert report["all_high"]["passed"] is False
        assert report["outcome"] == "nothing-needed"
        assert report["kept"]["layers"] == []
        note = next(note for note in report["note_codes"] if note["code"] == "high-format-worse")
        assert note["high"] == "FP16"


@pytest.mark.parametrize("operator, primitives", [("HardSwish", ["HardSigmoid", "Mul"]), ("Mish", ["Softplus", "Tanh", "Mul"])])
def test_a_reference_that_went_through_onnx_runtime_has_its_names(operator, primitives, tmp_path):
    """It writes functions as primitives with names of its own, and does so again with the other half of a comparison."""
    def network(inlined, half):
        b = Builder(315, 18)
        b.conv("x", "conv", 3, 4)
        if half:
            b.add("Cast", [b.add("Cast", ["conv"], "conv.half", to=TensorProto.FLOAT16)], "conv.float", to=FLOAT)
        last = "conv.float" if half else "conv"
        if not inlined:
            b.add(operator, [last], "y")
        else:
            names = {"HardSwish": ["HS_X"], "Mish": ["Softplus_X", "TanHSoftplusX"]}[operator]
            source = last
            for primitive, name in zip(primitives, names):
                attributes = {"alpha": 1 / 6, "beta": 0.5} if primitive == "HardSigmoid" else {}
                source = b.add(primitive, [source], f"_inlfunc_{operator}_{name}", **attributes)
            b.add("Mul", [last, source], "y")
        return b.model([("x", FLOAT, [1, 3, 6, 6])], [("y", FLOAT, [1, 4, 6, 6])])
    np.savez(tmp_path / "net.npz", x=Builder(316).normal(12, 1, 3, 6, 6))
    for reference, file in ((True, False), (False, True), (True, True)):
        save(network(reference, half=False), "net.onnx", tmp_path)
        save(network(file, half=True), "half.onnx", tmp_path)
        report, _ = verdict(tmp_path, "net.onnx", "half.onnx", "--min-sqnr", "40")
        assert report["outcome"] == "met"


@pytest.mark.parametrize("as_node", [False, True])
def test_names_of_classes_in_the_graph_end_nothing(as_node, tmp_path):
    b = Builder(317, 17)
    product(b, "logits", "x", 16, 10)
    names = numpy_helper.from_array(np.array(list("abcdefghij"), dtype=object), "names")
    if as_node:
        b.add("Constant", [], "names", value=names)
    else:
        b.initializers.append(names)
    b.add("ArgMax", ["logits"], "place", axis=1, keepdims=0)
    b.add("Gather", ["names", "place"], "label")
    save(b.model([("x", FLOAT, [1, 16])], [("logits", FLOAT, [1, 10]), ("label", TensorProto.STRING, [1])]), "net.onnx", tmp_path)
    np.savez(tmp_path / "net.npz", x=b.normal(24, 1, 16))
    for job in (["diagnose", "net.onnx", "--int8"], ["diagnose", "net.onnx", "--fp16", "--outputs", "logits"],
                ["fix", "net.onnx", "--int8", "--min-sqnr", "20", "-o", "fixed"], ["quantize", "net.onnx", "-o", "int8.onnx"],
                ["verify", "net.onnx", "int8.onnx", "--min-sqnr", "20"], ["run", "net.onnx", "--onnxrt"]):
        vernier(*job, "--data", "net.npz", folder=tmp_path, codes=(0, 1, 5))
    outputs = onnx.load(tmp_path / "fixed/model.onnx").graph.output
    assert [output.name for output in outputs] == ["logits", "label"]


def read_inside_and_outside(kind):
    """'h' is read by a product in a body and by another one around it."""
    b = Builder(331, 17)
    weight = b.constant("w", b.normal(12, 12) / np.float32(4))
    hidden = product(b, "first", "x", 12, 12)

    def body(name, inputs, outputs, *more):
        inner = helper.make_node("MatMul", [hidden, weight], [f"{name}.out"], name=f"{name}.product")
        return helper.make_graph([inner, *more], name, inputs, [*outputs, helper.make_tensor_value_info(f"{name}.out", FLOAT, [1, 12])])

    if kind == "If":
        b.add("ReduceMean", ["x"], "mean", keepdims=0)
        b.add("Greater", ["mean", b.constant("zero", np.float32(0))], "positive")
        b.add("If", ["positive"], "y", then_branch=body("then", [], []), else_branch=body("else", [], []))
    else:
        given = [helper.make_tensor_value_info(name, type, shape) for name, type, shape in
                 (("i", TensorProto.INT64, []), ("goes_on", TensorProto.BOOL, []), ("carried", FLOAT, [1, 12]))]
        goes_on = helper.make_tensor_value_info("goes_on.out", TensorProto.BOOL, [])
        b.add("Loop", [b.constant("three", np.array(3)), b.constant("true", np.array(True)), "x"], "y",
              body=body("loop", given, [goes_on], helper.make_node("Identity", ["goes_on"], ["goes_on.out"])))
    b.add("MatMul", [hidden, weight], "side")
    return b.model([("x", FLOAT, [1, 12])], [("y", FLOAT, [1, 12]), ("side", FLOAT, [1, 12])])


@pytest.mark.parametrize("options", ("--int8", "--fp8", "--bf16", "--fp16 --accumulate float16"))
@pytest.mark.parametrize("kind", ("If", "Loop"))
def test_a_tensor_is_read_in_a_body_and_around_it(tmp_path, kind, options):
    name = save(read_inside_and_outside(kind), "net.onnx", tmp_path)
    np.savez(tmp_path / "net.npz", x=Builder(332).normal(8, 1, 12))
    options = [*options.split(), "--data", "net.npz"]
    report = json.loads(vernier("diagnose", name, *options, "-o", "out", "--json", folder=tmp_path).stdout)
    assert all(20 < output["sqnr_db"] < 90 for output in report["all_low"]["outputs"])
    assert not any("failed" in warning for warning in report["warnings"]), report["warnings"]
    written = json.loads(vernier("verify", name, "out/model.onnx", "--data", "net.npz", "--json", folder=tmp_path).stdout)
    for one, other in zip(report["all_low"]["outputs"], written["figures"]["outputs"]):
        assert one["sqnr_db"] == pytest.approx(other["sqnr_db"], abs=1 if "--accumulate" in options else 0.3)
    vernier("debug", "precision", name, *options, "--min-sqnr", "20", folder=tmp_path)


def messages(given_destinations):
    """Sums of messages by node: in float16, ONNX Runtime's CPU has no kernel for that reduction."""
    b = Builder(311, 17)
    constants = {"sources": b.random.integers(0, 12, 30), "destinations": np.repeat(b.random.integers(0, 12, (30, 1)), 8, 1)}
    names = {name: name if given_destinations and name == "destinations" else b.constant(name, value.astype(np.int64))
             for name, value in constants.items()}
    b.add("Gather", ["x", names["sources"]], "message", axis=0)
    product(b, "sent", "message", 8, 8)
    zeros = b.constant("zeros", np.zeros((12, 8), np.float32))
    b.add("ScatterElements", [zeros, names["destinations"], "sent"], "sums", axis=0, reduction="add")
    b.add("Concat", ["x", "sums"], "both", axis=1)
    product(b, "y", "both", 16, 4)
    inputs = [("x", FLOAT, [12, 8])] + ([("destinations", TensorProto.INT64, [30, 8])] if given_destinations else [])
    return b.model(inputs, [("y", FLOAT, [12, 4])]), constants["destinations"]


@pytest.mark.parametrize("given", [False, True])
def test_a_file_of_casts_that_the_runtime_refuses_is_not_met_there(given, tmp_path):
    model, destinations = messages(given)
    save(model, "float.onnx", tmp_path)
    more = {"destinations": np.stack([destinations] * 4)} if given else {}
    np.savez(tmp_path / "net.npz", x=Builder(312).normal(4, 12, 8), **more)
    vernier("convert", "float.onnx", "--fp16", "-o", "half.onnx", folder=tmp_path)
    limit = ["--min-sqnr", "40"]
    report, done = verdict(tmp_path, "float.onnx", "half.onnx", *limit, "--target", "onnxruntime")
    assert done.returncode == 1 and report["outcome"] == "refused"
    assert [defect["kind"] for defect in report["defects"]] == ["refused-run"]
    report, done = verdict(tmp_path, "float.onnx", "half.onnx", *limit)
    assert done.returncode == 0 and report["outcome"] == "met"
    assert "does not run" in str(report["warnings"])
    # Random indices and shapes fit the network in float32, so that the format is what is refused.
    lint = vernier("check", "lint", "half.onnx", folder=tmp_path, codes=(1,))
    assert "ScatterElements" in lint.stdout


def mask():
    """As in a speech enhancer: in float16, the optimizer moves the Transpose behind Casts of its own, and crashes."""
    b = Builder(313, 17)
    b.add("Tanh", ["x"], "state")
    b.add("Squeeze", ["state", b.constant("axes", np.array([1]))], "squeezed")
    b.add("Transpose", ["squeezed"], "turned", perm=[1, 0, 2])
    product(b, "mapped", "turned", 64, 65)
    b.add("Add", ["mapped", b.constant("bias", b.normal(65))], "shifted")
    b.add("Sigmoid", ["shifted"], "mask")
    b.add("Mul", ["spectrum", "mask"], "y")
    return b.model([("x", FLOAT, [16, 1, "n", 64]), ("spectrum", FLOAT, ["n", 16, 65])], [("y", FLOAT, ["n", 16, 65])])


def loading_crashes(path):
    program = "import onnxruntime, sys; onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])"
    return subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=False).returncode < 0


def test_a_file_whose_load_crashes_the_runtime_is_named(tmp_path):
    save(mask(), "float.onnx", tmp_path)
    b = Builder(314)
    np.savez(tmp_path / "net.npz", x=b.normal(4, 16, 1, 1, 64), spectrum=np.abs(b.normal(4, 1, 16, 65)))
    diagnose = ["diagnose", "float.onnx", "--data", "net.npz", "--fp16", "--min-sqnr", "40", "--no-latency", "--no-options", "-o", "out"]
    done = vernier(*diagnose, folder=tmp_path)
    if not loading_crashes(tmp_path / "out/model.onnx"):
        pytest.skip("this ONNX Runtime loads the file")
    report = json.loads((tmp_path / "out/report.json").read_text())
    check = report["typed"]["onnxruntime"]
    assert not check["runs"] and check["crashing_optimizers"] == ["NchwcTransformer"]
    assert "crashes when it loads" in done.stderr
    assert 'disabled_optimizers=["NchwcTransformer"]' in (tmp_path / "out/deploy.md").read_text()
    lint = vernier("check", "lint", "out/model.onnx", folder=tmp_path)
    assert "NchwcTransformer" in lint.stdout
    files = ["float.onnx", "out/model.onnx", "--min-sqnr", "40"]
    report, _ = verdict(tmp_path, *files)
    assert report["outcome"] == "met" and "NchwcTransformer" in str(report["warnings"])
    for there in (["--target", "onnxruntime"], ["--on", "onnxruntime"]):
        report, done = verdict(tmp_path, *files, *there)
        assert done.returncode == 1 and report["outcome"] == "refused"
        assert "NchwcTransformer" in report["defects"][0]["text"]
    done = vernier(*diagnose, "--target", "onnxruntime", folder=tmp_path, codes=(4,))
    assert "crashes when it loads" in done.stdout


def between_convolutions(middle):
    """`middle` adds nodes from "first" to "inner", between two convolutions that have a kernel on codes."""
    b = Builder(315, 17)
    b.conv("x", "first", 8, 16)
    middle(b)
    b.conv("inner", "last", 16, 8)
    return b.model([("x", FLOAT, [1, 8, 24, 24])], [("last", FLOAT, [1, 8, 24, 24])])


def squeezed(b):
    b.add("HardSigmoid", ["first"], "gate")
    b.add("Mul", ["first", "gate"], "inner")


def kept(b):
    b.conv("first", "kept", 16, 16)
    b.add("Relu", ["kept"], "inner")


def joined(b):
    b.add("ConvTranspose", ["first", b.weight("up", 16, 8, 1, 1)], "wide")
    b.conv("first", "narrow", 16, 8)
    b.add("Concat", ["wide", "narrow"], "inner", axis=1)


MIDDLES = {"PRelu": lambda b: b.add("PRelu", ["first", b.constant("slope", np.full((16, 1, 1), 0.2, np.float32))], "inner"),
           "HardSigmoid": squeezed, "kept": kept, "Concat": joined}


@pytest.mark.parametrize("middle", MIDDLES)
def test_placement_agrees_with_what_is_written(middle, tmp_path):
    save(between_convolutions(MIDDLES[middle]), "float.onnx", tmp_path)
    np.savez(tmp_path / "net.npz", x=Builder(316).normal(4, 1, 8, 24, 24))
    vernier("quantize", "float.onnx", "--data", "net.npz", "--target", "onnxruntime", "--even-if-slower",
            "--layer-precisions", "kept:float32", "-o", "out.onnx", folder=tmp_path)
    done = vernier("check", "placement", "out.onnx", "--target", "onnxruntime", "--json", folder=tmp_path)
    findings = json.loads(done.stdout)["findings"]
    assert all(finding["costs_nothing"] for finding in findings), findings
    text = vernier("check", "placement", "out.onnx", "--target", "onnxruntime", folder=tmp_path).stdout
    assert "does not know" not in text


def test_placement_still_finds_pairs_that_nothing_needs(tmp_path):
    """Alone, an operator without a kernel only pays for its pairs."""
    b = Builder(317, 17)
    b.add("HardSigmoid", [pair(b, "x", 4 / 127)], "gate")
    b.add("Neg", [pair(b, "gate", 1 / 127)], "y")
    save(b.model([("x", FLOAT, [4, 24])], [("y", FLOAT, [4, 24])]), "alone.onnx", tmp_path)
    done = vernier("check", "placement", "alone.onnx", "--target", "onnxruntime", folder=tmp_path, codes=(1,))
    assert "remove the pairs around it" in done.stdout


def test_a_scale_far_too_large_is_named_with_the_one_that_fits(tmp_path):
    def network(step):
        b = Builder(318, 17)
        product(b, "inner", "x", 24, 32)
        product(b, "y", pair(b, "inner", step) if step else "inner", 32, 16)
        return b.model([("x", FLOAT, [4, 24])], [("y", FLOAT, [4, 16])])
    np.savez(tmp_path / "net.npz", x=Builder(319).normal(8, 4, 24))
    save(network(None), "float.onnx", tmp_path)
    save(network(0.9), "coarse.onnx", tmp_path)
    done = vernier("debug", "loss", "float.onnx", "coarse.onnx", "--data", "net.npz", "--json", folder=tmp_path, codes=(1,))
    defect, = [row for row in json.loads(done.stdout)["defects"] if row["kind"] == "unused-levels"]
    session = onnxruntime.InferenceSession(network_to(network(None), "inner").SerializeToString(), providers=["CPUExecutionProvider"])
    largest = max(np.abs(session.run(None, {"x": x})[0]).max() for x in np.load(tmp_path / "net.npz")["x"])
    assert "scale 0.9" in defect["text"] and f"{largest / 127:.4f}"[:6] in defect["cure"], defect
    assert "fix FLOAT_MODEL --from" in defect["cure"]


def network_to(model, name):
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info(name, FLOAT, None))
    return model
