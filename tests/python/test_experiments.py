"""Ways to choose ranges, causes and repairs of the caller's."""
import numpy as np
import onnx
import onnx_vernier as vernier
import pytest
from conftest import network
from onnx import numpy_helper


@pytest.fixture(scope="module")
def even():
    """Channels alike: int8 holds it."""
    return network(spread=1.0)


def test_a_range_method(model, images):
    """The function sees every tensor that is quantized, with all its values, and what it gives is the grid."""
    seen = {}

    def largest(values):
        seen[values.tensor] = values
        return values.min, values.max

    report = vernier.quantize(model, images, calibration=largest)
    image = seen["image"]
    assert (image.format, image.count.sum()) == ("int8", images.size)
    assert (image.min, image.max) == (images.min(), images.max())
    assert (image.low[1:] >= image.high[:-1] - 1e-3).all(), "bins in order"
    plain = vernier.quantize(model, images)
    assert report.model.to_onnx().graph == plain.model.to_onnx().graph


def test_a_range_method_decides(even, images):
    wide = vernier.diagnose(even, images, calibration=lambda values: (10 * values.min, 10 * values.max))
    plain = vernier.diagnose(even, images)
    assert "a function" in wide.scheme
    assert wide.all_low.outputs[0].sqnr_db < plain.all_low.outputs[0].sqnr_db - 10


@pytest.mark.parametrize("answer", [None, (1, 0), (0, float("nan")), "wide"])
def test_a_range_that_is_none(model, images, answer):
    with pytest.raises(vernier.UsageError, match="function"):
        vernier.quantize(model, images, calibration=lambda values: answer)


def test_errors_of_functions_end_the_job(model, images):
    def broken(values):
        raise KeyError("mine")

    for arguments in ({"calibration": broken}, {"causes": [broken]}, {"repairs": [broken]}):
        with pytest.raises(KeyError, match="mine"):
            vernier.fix(model, images, min_sqnr=30, **arguments)


def test_a_cause(model, images):
    def wide_channels(layer):
        data = [tensor for tensor in layer.inputs if not tensor.constant and len(tensor.channel_absmax) > 1]
        if not data:
            return None
        ratio = data[0].channel_absmax.max() / data[0].channel_absmax.min()
        if ratio < 100:
            return None
        return {"sentence": f"channels differ by {ratio:.0f}", "tensor": data[0].tensor, "confidence": 0.9,
                "figures": {"ratio": (float(ratio), "x")}, "repairs": ["equalize"]}

    report = vernier.diagnose(model, images, min_sqnr=30, causes=[wide_channels, lambda layer: None])
    found = [cause for cause in report.explanation.causes if cause.id == "wide-channels"]
    assert found and found[0].sentence.startswith("channels differ by") and found[0].repairs == ["equalize", "keep-high"]
    assert found[0].layer in [row.name for row in report.layers]
    assert "channels differ by" in str(report) or "channels differ by" in report.to_html()


@pytest.mark.parametrize("answer", [{"sentence": ""}, {"sentense": "x"}, {}])
def test_a_cause_that_says_nothing(model, images, answer):
    with pytest.raises(vernier.UsageError, match="cause mine"):
        vernier.diagnose(model, images, min_sqnr=30, causes={"mine": lambda layer: answer})


def test_a_repair_of_ranges(even, images):
    """A range that is far too wide is repaired by a function that clips it, and by nothing else."""
    wide = {"calibration": lambda values: (50 * values.min, 50 * values.max)}

    def narrow(network):
        """ranges as the values have them"""
        ideas = []
        for layer in network.layers:
            for tensor in layer.inputs:
                if tensor in network.ranges and tensor in network["values"]:
                    seen = network["values"][tensor]
                    ideas.append({"layers": [layer.name], "ranges": {tensor: (seen.min, seen.max)}, "what": "narrow"})
        return ideas

    report = vernier.fix(even, images, allow=["narrow"], repairs=[narrow], **wide)
    tried = [row for row in report.explanation.repairs if row.id == "narrow"]
    assert any(row.accepted for row in tried)
    assert all(row.after_db > row.before_db + 20 for row in tried if row.accepted and row.get("before_db") is not None)


def test_a_repair_of_constants(model, images):
    weights = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}

    def zeros(network):
        return [{"layers": ["second"], "constants": {"w2": np.zeros_like(weights["w2"])}, "what": "nothing is left"}]

    report = vernier.fix(model, images, repairs=[zeros])
    assert [row.accepted for row in report.explanation.repairs if row.id == "zeros"] == [False]


def test_a_repair_that_rewrites(model, images):
    """The network of conftest with its channel scaled back: exact, and what INT8 can hold."""

    def scale_back(network):
        whole = network.model.to_onnx()
        weights = {each.name: each for each in whole.graph.initializer}
        first, second = (numpy_helper.to_array(weights[name]).copy() for name in ("w1", "w2"))
        first[3] /= 1024
        second[:, 3] *= 1024
        weights["w1"].CopyFrom(numpy_helper.from_array(first, "w1"))
        weights["w2"].CopyFrom(numpy_helper.from_array(second, "w2"))
        return [{"layers": ["first", "second"], "model": whole, "what": "channel 3 by 1/1024"}]

    report = vernier.fix(model, images, allow=["scale-back"], repairs=[scale_back], min_sqnr=27)
    (row,) = [row for row in report.explanation.repairs if row.id == "scale-back"]
    assert row.accepted and row.neutral_db > 60
    assert report.passed and report.kept_layers == []
    written = {each.name for each in report.model.to_onnx().graph.node}
    assert "second" in written


def test_a_rewrite_that_computes_something_else_is_taken_back(model, images):
    def spoil(network):
        whole = network.model.to_onnx()
        for each in whole.graph.initializer:
            if each.name == "w3":
                each.CopyFrom(numpy_helper.from_array(2 * numpy_helper.to_array(each), "w3"))
        return [{"layers": ["last", "second"], "model": whole, "what": "twice"}]

    report = vernier.fix(model, images, allow=["spoil"], repairs=[spoil])
    assert [row.accepted for row in report.explanation.repairs if row.id == "spoil"] == [False]


@pytest.mark.parametrize(
    ("idea", "why"),
    [
        ({"layers": ["nobody"], "ranges": {}}, "no layer is named 'nobody'"),
        ({"layers": ["first"]}, "changes nothing"),
        ({"layers": [], "ranges": {"image": (0, 1)}}, "names no layer"),
        ({"layers": ["first"], "ranges": {"w1": (0, 1)}}, "not an activation with a range"),
        ({"layers": ["first"], "ranges": {"image": (1, 0)}}, "is not a range"),
        ({"layers": ["first"], "constants": {"w1": np.zeros(3, np.float32)}}, "not a float32 constant"),
        ({"layers": ["first"], "range": {"image": (0, 1)}}, "expected one of layers, ranges"),
    ],
)
def test_ideas_that_are_none(model, images, idea, why):
    with pytest.raises(vernier.UsageError, match=why):
        vernier.fix(model, images, repairs={"mine": lambda network: [idea]})


def test_a_model_has_to_be_the_only_change(model, images):
    whole = [{"layers": ["first"], "model": model}, {"layers": ["second"], "model": model}]
    with pytest.raises(vernier.UsageError, match="the only change") as refused:
        vernier.fix(model, images, repairs={"mine": lambda network: whole})
    assert refused.value.code == "E214"
    other = onnx.ModelProto()
    other.CopyFrom(model)
    other.graph.output[0].name = other.graph.node[-1].output[0] = "others"
    with pytest.raises(vernier.UsageError, match="different inputs or outputs"):
        vernier.fix(model, images, repairs={"mine": lambda network: [{"layers": ["first"], "model": other}]})


def test_names(model, images):
    with pytest.raises(vernier.UsageError, match="is already a repair"):
        vernier.fix(model, images, repairs={"smooth": lambda network: []})
    with pytest.raises(vernier.UsageError, match="two functions are called"):
        vernier.diagnose(model, images, causes=[lambda layer: None, lambda layer: None])
    with pytest.raises(vernier.UsageError, match="is not a function"):
        vernier.diagnose(model, images, causes={"mine": 3})
    with pytest.raises(vernier.UsageError, match="causes=3"):
        vernier.diagnose(model, images, causes=3)


def test_one_function_needs_no_list(model, images):
    def seen(layer):
        return "it was seen"

    report = vernier.diagnose(model, images, min_sqnr=30, causes=seen)
    assert any(cause.id == "seen" for cause in report.explanation.causes)


@pytest.mark.parametrize(
    "arguments",
    [
        {"causes": {"mine": lambda layer: 5}},
        {"causes": {"mine": lambda layer: ["x"]}},
        {"repairs": {"mine": lambda network: {"layers": []}}},
        {"repairs": {"mine": lambda network: ["first"]}},
        {"repairs": {"mine": lambda network: 5}},
        {"repairs": {"mine": lambda network: [{"layers": ["first"], "ranges": {"image": 1}}]}},
        {"calibration": lambda seen: (0.0, 0.0)},
    ],
)
def test_answers_that_are_none_of_theirs(model, images, arguments):
    with pytest.raises(vernier.UsageError, match="mine|function"):
        vernier.fix(model, images, min_sqnr=30, **arguments)
