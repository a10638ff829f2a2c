"""Outputs whose one figure hides most of their values: masks, channels of another scale, and grids added to what a network says.
Each network exists twice, with a quantizer that ruins what it computes and with one that does not."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from networks import FLOAT, Builder
from test_traits import vernier

SEEN = np.array([1, 1, 0, 1, 0, 1, 1, 0, 1, 1], bool)  # of ten scores, those that are no mask


def stored(model, name, folder):
    onnx.save(model, folder / name)
    return name


def verdict(folder, *arguments, codes=(0, 1)):
    return json.loads(vernier("verify", *arguments, "--data", "net.npz", "--json", folder=folder, codes=codes).stdout)


def pair(b, source, step):
    """Q/DQ of step `step` around 0; None: the network as it is."""
    if step is None:
        return source
    scale, zero = b.constant(f"{source}.step", np.float32(step)), b.constant(f"{source}.zero", np.int8(0))
    b.add("QuantizeLinear", [source, scale, zero], f"{source}.codes")
    return b.add("DequantizeLinear", [f"{source}.codes", scale, zero], f"{source}.values")


def scores(b, step):
    return b.add("MatMul", [pair(b, "x", step), b.constant("w", b.normal(16, 10) * np.float32(0.3))], "scores")


def where(b, step):
    b.add("Where", [b.constant("seen", SEEN), scores(b, step), b.constant("never", np.float32(-1e9))], "y")


def where_input(b, step):
    b.add("Where", ["seen", scores(b, step), b.constant("never", np.float32(-1e30))], "y")


def added(b, step):
    b.add("Add", [scores(b, step), b.constant("mask", np.where(SEEN, 0, -1e4).astype(np.float32)[None])], "y")


def added_little(b, step):
    b.add("Add", [scores(b, step), b.constant("mask", np.where(SEEN, 0, -100).astype(np.float32)[None])], "y")


def added_input(b, step):
    b.add("Cast", ["seen"], "seen.float", to=FLOAT)
    b.add("Sub", [b.constant("one", np.float32(1)), "seen.float"], "unseen")
    b.add("Mul", ["unseen", b.constant("never", np.float32(-1e4))], "mask")
    b.add("Add", [scores(b, step), "mask"], "y")


def scattered(b, step):
    places = np.stack([np.zeros(3, np.int64), np.flatnonzero(~SEEN)], 1)
    b.add("ScatterND", [scores(b, step), b.constant("places", places), b.constant("never", np.full(3, 1e6, np.float32))], "y")


def moved(b, step):
    b.add("Where", [b.constant("seen", SEEN), scores(b, step), b.constant("never", np.float32(-65504))], "masked")
    b.add("Reshape", ["masked", b.constant("shape", np.array([1, 2, 5], np.int64))], "y")


MASKS = [where, where_input, added, added_little, added_input, scattered, moved]


def masked(mask, step, folder, name):
    b = Builder(901, 17)
    mask(b, step)
    inputs = [("x", FLOAT, [1, 16])] + ([("seen", TensorProto.BOOL, [1, 10])] if mask in (where_input, added_input) else [])
    return stored(b.model(inputs, [("y", FLOAT, [1, 2, 5] if mask is moved else [1, 10])]), name, folder)


def masked_data(mask, folder):
    arrays = {"x": Builder(902).normal(20, 1, 16)}
    if mask in (where_input, added_input):
        seen = np.repeat(SEEN[None, None], 20, 0)
        seen[:12] = True  # the first samples have no mask
        arrays["seen"] = seen
    np.savez(folder / "net.npz", **arrays)


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask.__name__)
def test_a_mask_hides_no_error_of_the_other_values(mask, tmp_path):
    masked_data(mask, tmp_path)
    masked(mask, None, tmp_path, "net.onnx")
    for step, limit in ((3, ["--min-sqnr", "20"]), (3, ["--min-cosine", "0.99"]), (0.035, ["--min-sqnr", "20"]), (0.035, ["--min-cosine", "0.99"])):
        masked(mask, step, tmp_path, "file.onnx")
        report = verdict(tmp_path, "net.onnx", "file.onnx", *limit)
        assert report["outcome"] == ("missed" if step == 3 else "met"), (step, limit, report["figures"])
        assert any(note["code"] == "output-holds-mask" for note in report["note_codes"]), report["notes"]
        names = [output["name"] for output in report["figures"]["outputs"]]
        assert names[0] == "y" and names[-1].startswith(("y[abs<", "y[>-", "y[<")), names
    # The part can be named, and left out.
    assert verdict(tmp_path, "net.onnx", "file.onnx", "--min-sqnr", f"{names[-1]}:20")["outcome"] == "met"
    masked(mask, 3, tmp_path, "file.onnx")
    assert verdict(tmp_path, "net.onnx", "file.onnx", "--min-sqnr", f"{names[-1]}:20", "--outputs", "y")["outcome"] == "missed"
    assert verdict(tmp_path, "net.onnx", "file.onnx", "--min-sqnr", "20", "--no-output-parts")["outcome"] == "met"


def test_jobs_that_choose_layers_see_what_a_mask_hides(tmp_path):
    def network(hidden):
        b = Builder(903, 17)
        wide = b.normal(16, 32)
        wide[:, 0] *= 400
        back = b.normal(32, 10)
        back[0] *= np.float32(1e-3)
        b.add("MatMul", ["x", b.constant("w1", wide)], "first")
        b.add("Relu", ["first"], "relu")
        b.add("MatMul", ["relu", b.constant("w2", back)], "scores")
        b.add("Where", [b.constant("seen", SEEN), "scores", b.constant("never", np.float32(-1e9))] if hidden else
              [b.constant("seen", SEEN), "scores", "scores"], "y")
        return stored(b.model([("x", FLOAT, [1, 16])], [("y", FLOAT, [1, 10])]), f"net_{hidden}.onnx", tmp_path)
    np.savez(tmp_path / "net.npz", x=Builder(904).normal(20, 1, 16))
    kept = {}
    for hidden in (False, True):
        net = network(hidden)
        done = vernier("diagnose", net, "--data", "net.npz", "--int8", "--min-sqnr", "25", "--no-latency", "--no-options", "-o", f"out_{hidden}",
                       "--json", folder=tmp_path, codes=(0, 1, 5))
        kept[hidden] = json.loads(done.stdout)["kept"]["layers"]
        outputs = onnx.load(tmp_path / f"out_{hidden}" / "model.onnx").graph.output
        assert [output.name for output in outputs] == ["y"]
    assert kept[True] == kept[False] and kept[True], kept


def head(channels, scales, step, folder, name, product=False):
    b = Builder(905, 17)
    scales = np.array(scales, np.float32)
    if product:
        b.add("MatMul", ["x", b.constant("w", b.normal(16, channels) * np.float32(0.3) * scales)], "head")
    else:
        b.add("Conv", ["x", b.constant("w", b.normal(channels, 3, 3, 3) * np.float32(0.2) * scales[:, None, None, None])], "head", pads=[1] * 4)
    b.add("Identity", [pair(b, "head", step)], "y")
    shape = ([1, 16], [1, channels]) if product else ([1, 3, 8, 8], [1, channels, 8, 8])
    return stored(b.model([("x", FLOAT, shape[0])], [("y", FLOAT, shape[1])]), name, folder)


BOX, SCORE = 300, 0.7


@pytest.mark.parametrize("scales, parts, product", [
    ([BOX] * 4 + [SCORE] * 6, ["y[:,:4]", "y[:,4:]"], False),
    ([SCORE] + [BOX] * 4 + [SCORE] * 5, ["y[:,[0,5:10]]", "y[:,1:5]"], False),
    ([BOX] * 2 + [SCORE] + [BOX] * 2 + [SCORE] * 5, ["y[:,[0:2,3:5]]", "y[:,[2,5:10]]"], False),
    ([4, BOX, 4, BOX, BOX, 4], ["y[:,[0,2,5]]", "y[:,[1,3:5]]"], True),
    ([BOX, SCORE] * 6, ["y[:,[0,2,4,6,8,10]]", "y[:,[1,3,5,7,9,11]]"], False),
    ([BOX / 4 ** i for i in range(6)], ["y[:,:2]", "y[:,2:4]", "y[:,4:]"], False),  # each a quarter of the one before
    ([BOX, 8, SCORE / 4] * 4, ["y[:,[0,3,6,9]]", "y[:,[1,4,7,10]]", "y[:,[2,5,8,11]]"], False),
    # One channel that is hardly used, or much larger, is no part.
    ([SCORE] * 5 + [SCORE / 40] + [SCORE] * 6, [], False),
    ([SCORE] * 5 + [BOX] + [SCORE] * 6, [], False),
    ([SCORE, 3 * SCORE] * 6, [], False),
])
def test_channels_of_one_scale_are_judged_wherever_they_lie(scales, parts, product, tmp_path):
    np.savez(tmp_path / "net.npz", x=Builder(906).normal(20, 1, *((16,) if product else (3, 8, 8))))
    head(len(scales), scales, None, tmp_path, "net.onnx", product)
    head(len(scales), scales, BOX / 30, tmp_path, "file.onnx", product)
    report = verdict(tmp_path, "net.onnx", "file.onnx", "--min-sqnr", "20")
    assert [output["name"] for output in report["figures"]["outputs"][1:]] == parts
    if not parts:
        return
    assert report["outcome"] == "missed"
    assert any(defect["kind"] == "hidden-part" for defect in report["defects"]), report["defects"]
    head(len(scales), scales, SCORE / 100, tmp_path, "file.onnx", product)
    named = verdict(tmp_path, "net.onnx", "file.onnx", "--outputs", parts[0])
    assert [output["name"] for output in named["figures"]["outputs"]] == [parts[0]]


def test_a_channel_that_only_the_file_has_constant_is_always_named(tmp_path):
    """Its values are no tenth of the next larger ones, so that it is no part."""
    np.savez(tmp_path / "net.npz", x=Builder(910).normal(20, 1, 3, 8, 8))
    head(3, [BOX, 60, 10], None, tmp_path, "net.onnx")
    head(3, [BOX, 60, 10], 110, tmp_path, "file.onnx")
    report = verdict(tmp_path, "net.onnx", "file.onnx", "--min-sqnr", "3")
    [note] = [note for note in report["warning_codes"] if note["code"] == "places-constant"]
    assert "2" in note["places"] and note["of"] == 3 and "'head' has one scale" in note["where"], note


def test_the_next_step_does_not_take_over_a_file_without_low_layers(tmp_path):
    np.savez(tmp_path / "net.npz", x=Builder(906).normal(20, 1, 16))
    scales = [BOX] * 4 + [SCORE] * 6
    head(10, scales, None, tmp_path, "net.onnx", product=True)
    head(10, scales, BOX / 30, tmp_path, "file.onnx", product=True)
    done = vernier("verify", "net.onnx", "file.onnx", "--data", "net.npz", "--min-sqnr", "20", folder=tmp_path, codes=(1,))
    [command] = [line.strip()[2:] for line in done.stdout.splitlines() if line.strip().startswith("$ vernier fix")]
    assert "Concat" not in done.stdout, done.stdout
    vernier(*command.split()[1:], "--no-latency", folder=tmp_path, codes=(0, 1, 5))


def boxes(step, grid, folder, name):
    """Boxes as heads decode them: (sigmoid + grid) * stride."""
    b = Builder(907, 17)
    b.add("Conv", [pair(b, "x", step), b.constant("w", b.normal(2, 3, 3, 3) * np.float32(0.4))], "conv", pads=[1] * 4)
    b.add("Sigmoid", ["conv"], "inside")
    b.add("Add", ["inside", b.constant("grid", grid)], "moved")
    b.add("Mul", ["moved", b.constant("stride", np.float32(16))], "y")
    return stored(b.model([("x", FLOAT, [1, 3, 20, 20])], [("y", FLOAT, [1, 2, 20, 20])]), name, folder)


GRID = np.stack(np.meshgrid(np.arange(20), np.arange(20)))[None].astype(np.float32)


@pytest.mark.parametrize("grid, step, code", [
    (GRID, 3, "output-offset-by-place"), (GRID - 10, 3, "output-offset-by-place"), (np.float32(19), 3, "output-offset"),
    (GRID, 0.035, None), (np.float32(0), 3, None),
])
def test_a_grid_flatters_a_figure(grid, step, code, tmp_path):
    np.savez(tmp_path / "net.npz", x=Builder(908).normal(20, 1, 3, 20, 20))
    boxes(None, grid, tmp_path, "net.onnx")
    boxes(step, grid, tmp_path, "file.onnx")
    report = verdict(tmp_path, "net.onnx", "file.onnx", "--min-sqnr", "25")
    told = [note for note in report.get("warning_codes", []) if note["code"].startswith("output-offset")]
    assert [note["code"] for note in told] == ([code] if code else []), report["warnings"]
    assert all(note["spread_db"] < 5 for note in told), told


def test_later_samples_may_be_larger_than_the_first(tmp_path):
    """The first sample has scores of about 1, the others of about 20; the file clips them at 20, beside a mask of -1e4."""
    np.savez(tmp_path / "net.npz", x=Builder(905).normal(12, 1, 16) * np.where(np.arange(12) == 0, 1, 20)[:, None, None].astype(np.float32))
    for name in ("net.onnx", "file.onnx"):
        b = Builder(906, 17)
        last = scores(b, None)
        if name == "file.onnx":
            last = b.add("Clip", [last, b.constant("low", np.float32(-20)), b.constant("high", np.float32(20))], "clipped")
        b.add("Where", [b.constant("seen", SEEN), last, b.constant("never", np.float32(-1e4))], "y")
        stored(b.model([("x", FLOAT, [1, 16])], [("y", FLOAT, [1, 10])]), name, tmp_path)
    assert verdict(tmp_path, "net.onnx", "file.onnx", "--min-sqnr", "20")["outcome"] == "missed"


def test_a_divisor_that_rounds_to_zero_is_named_by_what_it_makes(tmp_path):
    """Half of the channels are small: a pair rounds the root of their mean square to 0, and another their values."""
    b = Builder(261)
    kernel = b.normal(8, 4, 3, 3) * np.float32(0.2)
    kernel[:4] *= np.float32(1e-3)
    b.add("Conv", ["x", b.constant("kernel", kernel)], "conv", pads=[1] * 4)
    b.add("GlobalAveragePool", [b.add("Mul", ["conv", "conv"], "squares")], "mean")
    b.add("Sqrt", [b.add("Add", ["mean", b.constant("least", np.float32(1e-12))], "sum")], "root")
    b.add("LpNormalization", [b.add("Div", ["conv", "root"], "quotient")], "y", axis=1)
    model = b.model([("x", FLOAT, [1, 4, 8, 8])], [("y", FLOAT, [1, 8, 8, 8])])
    onnx.save(model, tmp_path / "float.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(8, 1, 4, 8, 8))
    vernier("quantize", "float.onnx", "--int8", "--target", "onnxruntime", "--even-if-slower", "--data", "x.npz", "-o", "quantized.onnx", folder=tmp_path)
    done = vernier("verify", "float.onnx", "quantized.onnx", "--data", "x.npz", "--min-sqnr", "20", "--target", "onnxruntime", "--json",
                   folder=tmp_path, codes=(1,))
    named = {(defect["kind"], defect["node"]) for defect in json.loads(done.stdout)["defects"]}
    assert ("not-finite", "quotient") in named, named


@pytest.mark.parametrize("half", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_float64_beside_a_layer_in_half_precision_is_not_compared(half, tmp_path):
    b = Builder(262)
    b.add("Cast", ["x"], "single", to=FLOAT)
    b.add("MatMul", ["single", b.constant("w", b.normal(16, 4))], "product")
    b.add("Relu", [b.add("Cast", ["product"], "half", to=half)], "relu")
    b.add("Cast", ["relu"], "y", to=FLOAT)
    b.add("ReduceMean", [b.add("Mul", ["x", "x"], "squares")], "mean", axes=[1])
    double = TensorProto.DOUBLE
    onnx.save(b.model([("x", double, [2, 16])], [("y", FLOAT, [2, 4]), ("mean", double, [2, 1])]), tmp_path / "half.onnx")
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(263).standard_normal((8, 2, 16)))
    for command in (("verify",), ("debug", "loss")):
        vernier(*command, "half.onnx", "half.onnx", "--data", "x.npz", folder=tmp_path)
