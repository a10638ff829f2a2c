"""Outputs whose elements the scores of a sample pick, behind each operator that picks, as many as they decide or a fixed number.
Two forms of a network pick other elements as soon as scores differ a little."""
import json

import numpy as np
import onnx
import pytest

from networks import FLOAT, INT64, Builder
from quantized_files import Quantizer
from test_traits import vernier

SAMPLES, ANCHORS = 24, 64
GOOD, BAD = 1 / 24, 0.5


def head(b, step):
    """Scores and boxes of 64 anchors; `step`: of the pair in front of the layer that makes the scores."""
    b.add("Relu", [b.conv("x", "stem", 3, 8)], "features")
    b.add("MaxPool", ["features"], "small", kernel_shape=[2, 2], strides=[2, 2])
    source = "small" if step is None else b.pair("small", -128 * step, 127 * step, np.int8)
    b.conv(source, "scores.map", 8, 1, size=1)
    b.conv("small", "boxes.map", 8, 4, size=1)
    b.add("Reshape", ["scores.map", b.constant("scores.shape", np.array([1, 1, ANCHORS], np.int64))], "scores")
    b.add("Reshape", ["boxes.map", b.constant("boxes.shape", np.array([1, 4, ANCHORS], np.int64))], "boxes.rows")
    b.add("Transpose", ["boxes.rows"], "boxes", perm=[0, 2, 1])
    return "scores", "boxes"


def high(b):
    b.add("Greater", ["scores", b.constant("limit", np.float32(0.3))], "high")
    b.add("Reshape", ["high", b.constant("flat", np.array([-1], np.int64))], "high.flat")


def nms(b):
    b.constant("most", np.array([20], np.int64))
    b.add("NonMaxSuppression", ["boxes", "scores", "most", b.constant("iou", np.array([0.5], np.float32)),
                                b.constant("least", np.array([0.3], np.float32))], "selected")
    b.add("Gather", ["selected", b.constant("last", np.array([2], np.int64))], "column", axis=1)
    b.add("Squeeze", ["column", b.constant("one", np.array([1], np.int64))], "places")
    b.add("Gather", ["boxes", "places"], "y", axis=1)
    return [1, "n", 4]


def non_zero(b):
    high(b)
    b.add("Transpose", [b.add("NonZero", ["high"], "found")], "rows", perm=[1, 0])
    b.add("GatherND", ["scores", "rows"], "y")
    return ["n"]


def compress(b):
    high(b)
    b.add("Compress", ["boxes", "high.flat"], "y", axis=1)
    return [1, "n", 4]


def top_k(b):
    high(b)
    b.add("Cast", ["high.flat"], "ones", to=INT64)
    b.add("ReduceSum", ["ones", b.constant("axes", np.array([0], np.int64))], "k", keepdims=1)
    b.add("TopK", ["scores", "k"], ["y", "order"], axis=2)
    return [1, 1, "n"]


def unique(b):
    b.add("Round", ["scores"], "rounded")
    b.add("Unique", ["rounded"], "y", axis=2)
    return [1, 1, "n"]


def counted_slice(b):
    high(b)
    b.add("Cast", ["high.flat"], "ones", to=INT64)
    b.add("ReduceSum", ["ones", b.constant("axes", np.array([0], np.int64))], "k", keepdims=1)
    b.constant("ordered", np.array([ANCHORS], np.int64))
    b.add("TopK", ["scores", "ordered"], ["sorted", "order"], axis=2)
    b.add("Slice", ["sorted", b.constant("zero", np.array([0], np.int64)), "k", b.constant("two", np.array([2], np.int64))], "y")
    return [1, 1, "n"]


def fixed_top_k(b):
    """Twelve boxes, best first, with their scores and classes, as DETR gives them."""
    b.add("TopK", ["scores", b.constant("k", np.array([12], np.int64))], ["best", "order"], axis=2)
    b.add("Reshape", ["order", b.constant("flat", np.array([12], np.int64))], "places")
    b.add("Gather", ["boxes", "places"], "picked", axis=1)
    b.add("Mod", ["order", b.constant("classes", np.array([4], np.int64))], "labels")
    b.add("Transpose", ["best"], "column", perm=[0, 2, 1])
    b.add("Transpose", [b.add("Cast", ["labels"], "numbers", to=FLOAT)], "names", perm=[0, 2, 1])
    b.add("Concat", ["picked", "column", "names"], "y", axis=2)
    return [1, 12, 6]


def gathered_elements(b):
    b.add("TopK", ["scores", b.constant("k", np.array([12], np.int64))], ["best", "order"], axis=2)
    b.add("Transpose", ["order"], "rows", perm=[0, 2, 1])
    b.add("Expand", ["rows", b.constant("wide", np.array([1, 12, 4], np.int64))], "places")
    b.add("GatherElements", ["boxes", "places"], "picked", axis=1)
    b.add("Mul", ["picked", b.constant("stride", np.float32(8))], "y")
    return [1, 12, 4]


def best_box(b):
    b.add("ArgMax", ["scores"], "best", axis=2, keepdims=0)
    b.add("Squeeze", ["best", b.constant("axis", np.array([0], np.int64))], "place")
    b.add("Gather", ["boxes", "place"], "y", axis=1)
    return [1, 1, 4]


def padded_nms(b):
    nms(b)
    b.nodes[-1].output[0] = "found"
    b.add("Concat", ["found", b.constant("nothing", np.zeros((1, 20, 4), np.float32))], "padded", axis=1)
    b.add("Slice", ["padded", b.constant("begin", np.array([0], np.int64)), b.constant("end", np.array([20], np.int64)),
                    b.constant("along", np.array([1], np.int64))], "y")
    return [1, 20, 4]


FIXED = [fixed_top_k, gathered_elements, best_box, padded_nms]
PICKS = [*FIXED, nms, non_zero, compress, top_k, unique, counted_slice]


def network(picks, step=None):
    b = Quantizer(901)
    head(b, step)
    shape = picks(b)
    return b.model([("x", FLOAT, [1, 3, 16, 16])], [("y", FLOAT, shape)])


def write(folder, picks, step):
    onnx.save(network(picks), folder / "float.onnx")
    onnx.save(network(picks, step), folder / "quantized.onnx")
    np.savez(folder / "net.npz", x=Quantizer(902).normal(SAMPLES, 1, 3, 16, 16))


def verify(folder, *arguments, codes=(0, 1)):
    done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "net.npz", *arguments, "--json", folder=folder, codes=codes)
    return json.loads(done.stdout)


@pytest.mark.parametrize("picks", PICKS)
def test_what_stands_in_front_of_picks_is_judged(picks, tmp_path):
    write(tmp_path, picks, BAD)
    report = verify(tmp_path, "--min-sqnr", "30")
    names = [output["name"] for output in report["figures"]["outputs"]]
    assert report["outcome"] == "missed" and any("before" in name for name in names) and "y" not in names
    write(tmp_path, picks, GOOD)
    assert verify(tmp_path, "--min-sqnr", "20")["outcome"] == "met"


@pytest.mark.parametrize("picks", [nms, non_zero, compress, top_k, counted_slice])
def test_samples_with_other_picks_are_counted(picks, tmp_path):
    write(tmp_path, picks, BAD)
    rows = verify(tmp_path)["exact_outputs"]
    assert len(rows) == 1 and rows[0]["samples"] == SAMPLES and rows[0]["equal"] < SAMPLES / 2


@pytest.mark.parametrize("picks", FIXED)
def test_other_picks_of_a_fixed_number_are_counted(picks, tmp_path):
    write(tmp_path, picks, BAD)
    rows = verify(tmp_path)["exact_outputs"]
    assert len(rows) == 1 and rows[0]["samples"] == SAMPLES and 0 < SAMPLES - rows[0]["equal"], rows


def test_layers_behind_a_fixed_number_of_picks_are_compared(tmp_path):
    """The neighbours of a point: what layers make of them has the same shape, and its values have partners."""
    def neighbours(b):
        fixed_top_k(b)
        b.nodes[-1].output[0] = "rows"
        b.linear("rows", "y", 6, 8)
        return [1, 12, 8]
    write(tmp_path, neighbours, BAD)
    assert [output["name"] for output in verify(tmp_path)["figures"]["outputs"]] == ["y"]


@pytest.mark.parametrize("picks", PICKS)
def test_the_pair_that_changes_the_picks_is_named(picks, tmp_path):
    write(tmp_path, picks, 4 * BAD)
    report = verify(tmp_path, "--min-sqnr", "30")
    assert any("small" in defect["node"] for defect in report["defects"]), report["defects"]


@pytest.mark.parametrize("picks", PICKS)
def test_diagnose_and_fix_judge_in_front_of_picks(picks, tmp_path):
    write(tmp_path, picks, BAD)
    done = vernier("fix", "float.onnx", "--int8", "--data", "net.npz", "--min-sqnr", "35", "--quick", "-o", "out", "--json",
                   folder=tmp_path, codes=(0, 1, 5))
    report = json.loads(done.stdout)
    assert "before" in report["all_low"]["outputs"][0]["name"]
    given, written = (onnx.load(path).graph.output for path in (tmp_path / "float.onnx", tmp_path / "out/model.onnx"))
    assert [output.name for output in given] == [output.name for output in written] == ["y"]
    done = vernier("verify", "float.onnx", "out/model.onnx", "--data", "net.npz", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["figures"]["outputs"]


def masked(b):
    b.add("ArgMax", ["boxes"], "class", axis=2, keepdims=1)
    b.add("Cast", ["class"], "foreground", to=onnx.TensorProto.BOOL)
    b.add("Mul", ["boxes", b.add("Cast", ["foreground"], "factors", to=FLOAT)], "y")


def chosen_by_where(b):
    b.add("ArgMax", ["boxes"], "class", axis=2, keepdims=1)
    b.add("Cast", ["class"], "foreground", to=onnx.TensorProto.BOOL)
    b.add("Where", ["foreground", "boxes", b.constant("zero", np.float32(0))], "y")


def gated(b):
    """Outputs of experts, the best two of which have gates that are not 0."""
    b.add("TopK", ["boxes", b.constant("k", np.array([2], np.int64))], ["best", "order"], axis=2)
    b.add("ScatterElements", [b.constant("none", np.zeros((1, ANCHORS, 4), np.float32)), "order", "best"], "gates", axis=2)
    b.add("Mul", ["gates", "boxes"], "y")


@pytest.mark.parametrize("behind", [masked, chosen_by_where, gated])
def test_values_beside_a_choice_keep_their_partners(behind, tmp_path):
    """Another choice changes an element, and moves none."""
    def picks(b):
        behind(b)
        return [1, ANCHORS, 4]
    write(tmp_path, picks, BAD)
    assert [output["name"] for output in verify(tmp_path)["figures"]["outputs"]] == ["y"]


def test_places_alone_are_judged_by_boxes_and_scores(tmp_path):
    for name, step in (("float", None), ("quantized", BAD)):
        b = Quantizer(901)
        head(b, step)
        nms(b)
        onnx.save(b.model([("x", FLOAT, [1, 3, 16, 16])], [("selected", INT64, ["n", 3])]), tmp_path / f"{name}.onnx")
    np.savez(tmp_path / "net.npz", x=Quantizer(902).normal(SAMPLES, 1, 3, 16, 16))
    report = verify(tmp_path, "--min-sqnr", "30")
    assert {output["name"] for output in report["figures"]["outputs"]} == {
        "boxes[before NonMaxSuppression]", "scores[before NonMaxSuppression]"}
    assert report["outcome"] == "missed" and report["exact_outputs"][0]["equal"] < SAMPLES


def test_layers_behind_picks_count_other_picks_as_errors(tmp_path):
    def second_stage(b):
        compress(b)
        b.nodes[-1].output[0] = "picked"
        b.linear("picked", "y", 4, 8)
        return [1, "n", 8]
    write(tmp_path, second_stage, BAD)
    report = verify(tmp_path, "--min-sqnr", "10")
    figure = {output["name"]: output["sqnr_db"] for output in report["figures"]["outputs"]}
    assert report["outcome"] == "missed" and figure["y"] < 5


def test_picks_that_no_layer_decides_are_compared(tmp_path):
    def known(b):
        b.add("Greater", ["x", b.constant("limit", np.float32(1))], "high")
        b.add("ReduceMax", [b.add("Cast", ["high"], "ones", to=FLOAT)], "columns", axes=[0, 1, 2], keepdims=0)
        b.add("Cast", ["columns"], "condition", to=onnx.TensorProto.BOOL)
        b.add("Compress", ["scores", "condition"], "y", axis=2)
        return [1, 1, "n"]
    write(tmp_path, known, BAD)
    assert [output["name"] for output in verify(tmp_path)["figures"]["outputs"]] == ["y"]


def test_a_limit_of_a_picked_output_names_what_is_measured(tmp_path):
    write(tmp_path, compress, BAD)
    done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "net.npz", "--min-sqnr", "y:20", folder=tmp_path, codes=(2,))
    assert "'y' is not a measured output" in done.stderr and "boxes[before Compress]" in done.stderr
    verify(tmp_path, "--min-sqnr", "boxes[before Compress]:20", codes=(0,))


def test_a_function_may_hold_what_picks(tmp_path):
    model = network(non_zero)
    kept = [node for node in model.graph.node if not {"high", "high.flat", "found", "rows", "y"} & set(node.output)]
    del model.graph.node[:]
    model.graph.node.extend([*kept, onnx.helper.make_node("Strong", ["scores"], ["y"], name="strong", domain="local")])
    limit = onnx.numpy_helper.from_array(np.float32(0.3), "limit")
    body = [onnx.helper.make_node(*node, **options) for *node, options in (
        ("Constant", [], ["limit"], {"value": limit}), ("Greater", ["scores", "limit"], ["high"], {}),
        ("NonZero", ["high"], ["found"], {}), ("Transpose", ["found"], ["rows"], {"perm": [1, 0]}),
        ("GatherND", ["scores", "rows"], ["strong"], {}))]
    opsets = list(model.opset_import)
    model.functions.append(onnx.helper.make_function("local", "Strong", ["scores"], ["strong"], body, opsets))
    model.opset_import.append(onnx.helper.make_opsetid("local", 1))
    onnx.save(model, tmp_path / "float.onnx")
    np.savez(tmp_path / "net.npz", x=Quantizer(902).normal(SAMPLES, 1, 3, 16, 16))
    done = vernier("diagnose", "float.onnx", "--int8", "--data", "net.npz", "--min-sqnr", "20", "--quick", "--json", folder=tmp_path,
                   codes=(0, 1, 5))
    assert "before" in json.loads(done.stdout)["all_low"]["outputs"][0]["name"]


def test_codes_that_are_picked_are_compared_as_values(tmp_path):
    def picks(quantized):
        def add(b):
            high(b)
            if not quantized:
                b.add("Compress", ["boxes", "high.flat"], "y", axis=1)
                return [1, "n", 4]
            scale, zero = b.constant("step", np.float32(1 / 16)), b.constant("zero", np.int8(0))
            b.add("QuantizeLinear", ["boxes", scale, zero], "codes")
            b.add("Compress", ["codes", "high.flat"], "picked", axis=1)
            b.add("DequantizeLinear", ["picked", scale, zero], "y")
            return [1, "n", 4]
        return add
    onnx.save(network(picks(False)), tmp_path / "float.onnx")
    onnx.save(network(picks(True)), tmp_path / "quantized.onnx")
    np.savez(tmp_path / "net.npz", x=Quantizer(902).normal(SAMPLES, 1, 3, 16, 16))
    report = verify(tmp_path, "--min-sqnr", "20", "--target", "onnxruntime")
    assert report["outcome"] == "met", report["figures"]


def test_saved_outputs_need_the_tensors_in_front_of_picks(tmp_path):
    write(tmp_path, compress, BAD)
    vernier("run", "float.onnx", "--onnxrt", "--data", "net.npz", "--save-outputs", "saved.json", folder=tmp_path)
    done = vernier("debug", "precision", "float.onnx", "--int8", "--data", "net.npz", "--golden", "saved.json", "--min-sqnr", "20",
                   folder=tmp_path, codes=(3,))
    assert "boxes[before Compress]' is missing" in done.stderr, done.stderr


@pytest.mark.parametrize("limit, of_classes", [(["--min-sqnr", "35"], False), (["--min-top1-agreement", "1"], True)])
def test_classes_that_change_are_a_cause_where_classes_are_asked_for(tmp_path, limit, of_classes):
    """Many layers with their usual error: SQNR is missed by their sum, and a few of 384 rows change their class."""
    b, x = Builder(4), "x"
    for layer in range(8):
        weight = (b.random.standard_normal((32, 32)) / 4).astype(np.float32)
        b.add("MatMul", [x, b.constant(f"w{layer}", weight)], f"a{layer}")
        x = b.add("Relu", [f"a{layer}"], f"r{layer}")
    b.add("MatMul", [x, b.constant("head", (b.random.standard_normal((32, 40)) / 5.6).astype(np.float32))], "logits")
    onnx.save(b.model([("x", FLOAT, [16, 32])], [("logits", FLOAT, [16, 40])]), tmp_path / "net.onnx")
    np.savez(tmp_path / "data.npz", x=b.random.standard_normal((24, 16, 32)).astype(np.float32))
    done = vernier("diagnose", "net.onnx", "--int8", "--data", "data.npz", *limit, "--no-options", "--json", folder=tmp_path, codes=(0, 5))
    report = json.loads(done.stdout)
    assert report["all_low"]["outputs"][0]["top1_agreement"] < 1
    assert ("decision-boundary" in [cause["id"] for cause in report["explanation"]["causes"]]) == of_classes


def test_products_that_only_make_picks_are_not_forgotten(tmp_path):
    """A quantizing bottleneck: an encoder, the nearest row of a codebook, a decoder. Only the decoder has values that reach the output."""
    b, x = Builder(8), "x"
    for layer in range(3):
        x = b.add("Relu", [b.linear(x, f"encoder{layer}", 32, 32)], f"relu{layer}")
    scores = b.add("MatMul", [x, b.constant("codebook", b.random.standard_normal((32, 16)).astype(np.float32))], "scores")
    code = b.add("ArgMax", [scores], "code", axis=-1, keepdims=0)
    b.linear(b.add("Gather", [b.constant("rows", b.random.standard_normal((16, 32)).astype(np.float32)), code], "row"), "y", 32, 8)
    onnx.save(b.model([("x", FLOAT, [1, 32])], [("y", FLOAT, [1, 8])]), tmp_path / "net.onnx")
    np.savez(tmp_path / "data.npz", x=b.random.standard_normal((20, 1, 32)).astype(np.float32))
    done = vernier("diagnose", "net.onnx", "--int8", "--data", "data.npz", "--min-sqnr", "10", "--no-options", "-o", "out", folder=tmp_path)
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["work"]["deciding"] == 4
    words = " ".join(done.stdout.split())
    assert "that can be in INT8" in words and "4 products that only make picks or conditions stay in FP32" in words
