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
