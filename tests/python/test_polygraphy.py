"""What Polygraphy 0.53.6 makes of what we write and give, and we of what it writes."""
import numpy as np
import onnx_vernier as vernier
import pytest
from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
from polygraphy.comparator import Comparator, RunResults
from polygraphy.json import load_json, save_json

RESULTS = {"mine": [{"y": np.arange(6, dtype=np.float32).reshape(2, 3) * i, "n": np.array([i])} for i in range(3)]}


def test_results_go_both_ways(tmp_path):
    vernier.polygraphy.save_results(tmp_path / "ours.json", RESULTS)
    theirs = RunResults.load(str(tmp_path / "ours.json"))
    assert list(theirs.keys()) == ["mine"] and len(theirs["mine"]) == 3
    np.testing.assert_array_equal(theirs["mine"][2]["y"], RESULTS["mine"][2]["y"])
    theirs.save(str(tmp_path / "theirs.json"))
    back = vernier.polygraphy.load_results(tmp_path / "theirs.json")
    for one, other in zip(RESULTS["mine"], back["mine"]):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
            assert one[name].dtype == other[name].dtype


def test_inputs_are_theirs(tmp_path, images):
    feeds = [{"image": image} for image in images[:2]]
    vernier.polygraphy.save_inputs(tmp_path / "feeds.json", feeds)
    loaded = load_json(str(tmp_path / "feeds.json"))
    np.testing.assert_array_equal(loaded[1]["image"], images[1])
    save_json(feeds, str(tmp_path / "theirs.json"))
    assert [len(feed) for feed in loaded] == [1, 1]


def test_their_comparator_calls_our_functions(model, images):
    typed = vernier.quantize(model, {"image": images}, low="float16").model
    runners = [OnnxrtRunner(SessionFromOnnx(each.to_bytes())) for each in (typed, vernier.Model(model))]
    feeds = [{"image": image} for image in images[:4]]
    results = Comparator.run(runners, data_loader=feeds)
    for function, passes in (
        (vernier.polygraphy.sqnr(20), True),
        (vernier.polygraphy.sqnr({"scores": 400.0}), False),
        (vernier.polygraphy.max_abs(1e9), True),
        (vernier.polygraphy.max_abs(0), False),
        (vernier.polygraphy.top1_agreement(0), True),
    ):
        accuracy = Comparator.compare_accuracy(results, compare_func=function)
        assert bool(accuracy) is passes
    verdict = vernier.polygraphy.sqnr(20)(dict(results[0][1][0]), dict(results[1][1][0]))["scores"]
    assert verdict.value == vernier.formats.sqnr_db(results[1][1][0]["scores"], results[0][1][0]["scores"])


def test_the_earlier_name_warns():
    with pytest.warns(DeprecationWarning, match="same_top1 is now top1_agreement"):
        assert vernier.polygraphy.same_top1(0.5)({"y": np.eye(4)}, {"y": np.eye(4)})["y"].value == 1


def test_what_is_no_result(tmp_path):
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(vernier.InputError):
        vernier.polygraphy.load_results(tmp_path / "no.json")
