"""Errors are exceptions with a kind, in words of Python."""
import pathlib
import re

import numpy as np
import onnx_vernier as vernier
import pytest
from onnx_vernier._errors import in_python_words

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_kinds(model, images, tmp_path):
    with pytest.raises(vernier.InputError, match="no such file") as missing:
        vernier.diagnose(tmp_path / "no.onnx", {"image": images})
    assert missing.value.kind == "input" and isinstance(missing.value, ValueError)
    with pytest.raises(vernier.InputError, match="not an ONNX model"):
        vernier.diagnose(b"no model", {"image": images})
    with pytest.raises(vernier.InputError, match="has no graph"):
        vernier.diagnose(b"", {"image": images})
    with pytest.raises(vernier.UsageError, match="did you mean 'tensorrt'"):
        vernier.diagnose(model, {"image": images}, target="tensort")
    with pytest.raises(vernier.UsageError, match="float8e4m3fn"):
        vernier.diagnose(model, {"image": images}, low="int9")
    with pytest.raises(vernier.UsageError, match="one requirement decides"):
        vernier.diagnose(model, {"image": images}, min_sqnr=3, max_abs=1)
    with pytest.raises(vernier.UsageError, match="no way to calibrate"):
        vernier.diagnose(model, {"image": images}, calibration="most")
    with pytest.raises(TypeError):
        vernier.diagnose(model, {"image": images}, int8=True)
    with pytest.raises(TypeError, match="samples are"):
        vernier.diagnose(model, 3)


def test_an_unreachable_requirement_is_no_error(model, images):
    report = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=400)
    assert report.passed is False or report.kept.end == "impossible" or report.kept_layers


def test_no_word_of_the_command():
    assert in_python_words("give --data, or --calibration-cache FILE (--min-sqnr 20)") == (
        "give samples, or calibration_cache FILE (min_sqnr 20)")
    assert in_python_words("a--b and -o stay") == "a--b and -o stay"
    texts = re.findall(r'"[^"\n]*(?<![\w-])--[a-z][^"\n]*"', "\n".join(
        path.read_text() for path in (ROOT / "src").rglob("*.cpp")))
    assert len(texts) > 100  # what is looked through below
    for text in texts:
        assert not re.search(r"(?<![\w-])--[a-z]", in_python_words(text)), text


def test_big_endian_labels_and_numpy_scalars(model, images):
    report = vernier.diagnose(model, {"image": images}, min_sqnr=np.float32(20), limit=np.int64(5), low="int8")
    assert report.samples == 5


@pytest.mark.parametrize("wrong, told", [
    ({"min_sqnr": float("nan")}, "min_sqnr=nan"),
    ({"min_sqnr": True}, "min_sqnr=True"),
    ({"min_sqnr": "x"}, "min_sqnr='x'"),
    ({"min_sqnr": {}}, "no output has a limit"),
    ({"min_same_top1": 95}, "from 0 to 1"),
    ({"max_abs": -1}, "max_abs=-1: a number from 0 on"),
    ({"min_cosine": 2}, "from -1 to 1"),
    ({"labels": [0] * 12, "min_top1": 70}, "min_top1=70"),
    ({"labels": [1.7] * 12, "min_top1": 0.7}, "labels of float64"),
    ({"min_metric": 1}, "limits of metric"),
    ({"margin": 5}, "margin without a requirement"),
    ({"threads": -1}, "threads=-1"),
    ({"limit": 2.5}, "limit=2.5"),
    ({"seed": "a"}, "seed='a'"),
    ({"max_seconds": -1}, "max_seconds=-1"),
    ({"alternatives": -1}, "alternatives=-1"),
    ({"block_size": 0}, "32, 64 or 128"),
    ({"low": 8}, "low=8"),
    ({"low": "in8"}, "did you mean 'int8'"),
    ({"target": "trt"}, "did you mean 'tensorrt'"),
    ({"input_shapes": {"zz": [1]}}, "'zz' is no input"),
    ({"outputs": "nothing"}, "'nothing'"),
])
def test_nothing_wrong_is_taken(model, images, wrong, told):
    with pytest.raises(vernier.Error, match=re.escape(told)):
        vernier.diagnose(model, {"image": images}, **wrong)


def test_repairs_that_are_none(model, images):
    for wrong in ({"allow": ["zzz"]}, {"forbid": "zzz"}):
        with pytest.raises(vernier.UsageError, match="no repair 'zzz'.*smooth"):
            vernier.fix(model, {"image": images}, min_sqnr=30, **wrong)


def test_samples_that_are_none(model, images):
    with pytest.raises(vernier.InputError, match="no array for any input"):
        vernier.diagnose(model, {})
    with pytest.raises(vernier.InputError, match="different shapes"):
        vernier.diagnose(model, {"image": [images[0], images[0][..., :4]]})
    with pytest.raises(TypeError, match=r"at\(0\) gave ndarray"):
        vernier.diagnose(model, vernier.Samples(3, lambda i: images[i]))


def test_samples_of_a_list_are_named_by_their_place(model, images):
    good = {"image": images[0]}
    for wrong, told in (
        ([good, good, {"images": images[0]}], "sample 2: no array for input 'image'"),
        ([good, {**good, "mask": images[0]}], "sample 1: no input is called 'mask'"),
        ([good, {}], "sample 1: no array for input 'image'"),
        ([good, {"image": images[0][..., :4]}], "sample 1: input 'image' wants shape"),
        ([(images[0], 3), (images[0], 3, 4)], "sample 1 of the list has 3 arrays, the network has 1 inputs: image"),
        ([good, None], "sample 1 of the list is None"),
        ([good, "a.npz"], "sample 1 of the list is 'a.npz'"),
        (vernier.Samples(3, lambda index: good if index < 2 else {}), "sample 2: no array for input 'image'"),
    ):
        with pytest.raises(vernier.InputError, match=re.escape(told)):
            vernier.diagnose(model, wrong)


def test_an_oracle_that_counts():
    with pytest.raises(TypeError, match="True or False"):
        vernier.search(5, lambda kept: int(2 in kept))
    with pytest.raises(ValueError, match="above 0"):
        vernier.search(5, lambda kept: True, costs=[-1] * 5)
