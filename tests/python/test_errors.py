"""Errors are exceptions with a kind, in words of Python."""
import inspect
import os
import pathlib
import pickle
import re
import subprocess
import typing

import numpy as np
import onnx_vernier as vernier
import pytest
from onnx_vernier import _calls
from onnx_vernier._errors import _ARGUMENTS, in_python_words, report_in_python_words
from onnx_vernier._options import TABLE

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Names of each job's arguments, with those in its **options.
ARGUMENTS_OF = {
    name: {*inspect.signature(getattr(vernier, name)).parameters, *getattr(getattr(_calls, f"{name.title()}Options", None), "__annotations__", ())}
    for name in ("diagnose", "evaluate", "verify")
}
VERNIER = os.environ.get("VERNIER_PROGRAM", "vernier")


def test_kinds(model, images, tmp_path):
    with pytest.raises(vernier.InputError, match="no such file") as missing:
        vernier.diagnose(tmp_path / "no.onnx", {"image": images})
    assert missing.value.code == "E301" and pickle.loads(pickle.dumps(missing.value)).code == "E301"
    assert vernier.UsageError("an argument").code == "E200" and vernier.Interrupted("ended").code == ""
    assert missing.value.kind == "input" and isinstance(missing.value, ValueError)
    with pytest.raises(vernier.InputError, match="not an ONNX model"):
        vernier.diagnose(b"no model", {"image": images})
    with pytest.raises(vernier.InputError, match="has no graph"):
        vernier.diagnose(b"", {"image": images})
    with pytest.raises(vernier.UsageError, match="target='tensort' is not one of tensorrt, .*did you mean 'tensorrt'"):
        vernier.diagnose(model, {"image": images}, target="tensort")
    with pytest.raises(vernier.UsageError, match="float8e4m3fn"):
        vernier.diagnose(model, {"image": images}, low="int9")
    with pytest.raises(vernier.UsageError, match="one requirement decides"):
        vernier.diagnose(model, {"image": images}, min_sqnr=3, max_abs=1)
    with pytest.raises(vernier.UsageError, match="not a calibration method"):
        vernier.diagnose(model, {"image": images}, calibration="most")
    with pytest.raises(TypeError, match="'fp16': did you mean low='float16'"):
        vernier.diagnose(model, {"image": images}, fp16=True)
    with pytest.raises(TypeError, match="'minsqnr': did you mean 'min_sqnr'"):
        vernier.diagnose(model, {"image": images}, minsqnr=20)
    assert "min_sqnr" in inspect.signature(vernier.diagnose).parameters
    with pytest.raises(TypeError, match="samples are"):
        vernier.diagnose(model, 3)


def test_a_misspelt_field_of_a_report_names_the_nearest(model, images):
    report = vernier.diagnose(model, {"image": images}, low="int8", limit=4)
    with pytest.raises(AttributeError, match="no field 'kept_layer': did you mean 'kept_layers'"):
        report.kept_layer
    with pytest.raises(AttributeError, match="'latency' was not measured"):
        report.latency
    with pytest.raises(AttributeError, match="no field 'shar': did you mean 'share'"):
        report.layers[0].shar
    with pytest.raises(KeyError, match="no column 'shar': did you mean 'share'"):
        report.layers.column("shar")
    assert report.layers.column("graph_of_it") == [None] * len(report.layers), "not measured is no error"


def test_tables_stay_aligned_in_words_of_python():
    table = "                       kept  result\n  repaired             2 of 9   24.1 dB\n  --target openvino    1 of 9   25.0 dB\n"
    words = vernier._errors.report_in_python_words(table).split("\n")
    assert words[2] == "  target openvino      1 of 9   25.0 dB", words


def test_long_functions_group_their_arguments(model, images):
    for function, most in ((vernier.diagnose, 16), (vernier.fix, 20)):
        parameters = inspect.signature(function).parameters
        assert len(parameters) <= most and {"low", "min_sqnr", "min_top1_agreement"} <= set(parameters)
        options = typing.get_type_hints(getattr(_calls, f"{function.__name__.title()}Options"))
        assert {"max_abs", "weight_bits", "threads"} <= set(options)
        with pytest.raises(TypeError, match="'weight_bit': did you mean 'weight_bits'"):
            function(model, {"image": images}, weight_bit=8)
    for option in typing.get_type_hints(_calls.DiagnoseOptions):
        assert f"- ``{option}=" in vernier.diagnose.__doc__
    assert vernier.diagnose(model, {"image": images}, low="int8", limit=4).samples == 4  # a flat keyword


def test_an_earlier_name_still_works(model, images):
    with pytest.warns(DeprecationWarning, match="min_same_top1 is now min_top1_agreement"):
        earlier = vernier.verify(model, model, {"image": images}, min_same_top1=0.5)
    assert earlier.figures.passed is True and earlier.outcome == "nothing-left"
    with pytest.raises(TypeError, match="'min_same_top1': did you mean 'min_top1_agreement'"):
        vernier.verify(model, model, {"image": images}, min_same_top1=0.5, min_top1_agreement=0.5)
    with pytest.raises(TypeError, match="'min_top1_agreemnt': did you mean 'min_top1_agreement'"):
        vernier.diagnose(model, {"image": images}, min_top1_agreemnt=0.5)
    with pytest.raises(TypeError, match="'min_same_top1'") as refused:
        vernier.evaluate(model, {"image": images}, min_same_top1=0.5)
    assert "min_top1_agreement" not in str(refused.value)  # evaluate() has no such argument


def test_no_value_of_a_wrong_type_gets_to_the_core(model, images, tmp_path, monkeypatch):
    """An error names the argument in words: not a method that a list does not have, not nanobind."""
    monkeypatch.chdir(tmp_path)
    jobs = {"diagnose": vernier.diagnose, "evaluate": vernier.evaluate, "verify": vernier.verify}
    tried = 0
    for row in TABLE:
        argument = row.argument
        name = next((name for name in jobs if argument in ARGUMENTS_OF[name]), None)
        if name is None or argument == "samples":
            continue
        given = [model, model, {"image": images}] if name == "verify" else [model, {"image": images}]
        others = {"evaluate": {"labels": [0] * len(images)}, "diagnose": {"quick": True}}.get(name, {})
        for value in (object(), "nothing such", [3], ["a:fp32"], {"a": object()}, {3: 4}):
            try:
                jobs[name](*given, **{**others, "limit": 1, argument: value})
            except (vernier.Error, TypeError) as error:
                assert not re.search("_core|incompatible function|has no attribute", str(error)), (argument, value, str(error))
            tried += 1
    assert tried > 300


def test_values_that_no_network_can_read(model, images):
    with pytest.raises(vernier.UsageError, match=r"layer_precisions=\['a:fp32'\]: expected {layer: format}"):
        vernier.diagnose(model, {"image": images}, layer_precisions=["a:fp32"])
    with pytest.raises(vernier.UsageError, match="calibration=3: expected a method's name or a function"):
        vernier.diagnose(model, {"image": images}, calibration=3)
    hidden = np.ma.masked_array(images, mask=np.zeros_like(images, bool))
    assert vernier.diagnose(model, {"image": hidden}, low="int8", quick=True).data_sha256 == (
        vernier.diagnose(model, {"image": images}, low="int8", quick=True).data_sha256)
    hidden[0] = np.ma.masked
    for samples in ({"image": hidden}, [{"image": each} for each in hidden], {"image": list(hidden)}):
        with pytest.raises(vernier.InputError, match=r"masked array.*array.filled\(value\)"):
            vernier.diagnose(model, samples, low="int8")
    with pytest.raises(vernier.InputError, match="masked array"):
        vernier.evaluate(model, {"image": images}, np.ma.masked_array([0] * len(images), mask=[True] + [False] * (len(images) - 1)))


def test_an_unreachable_requirement_is_no_error(model, images):
    report = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=400)
    assert report.passed is False or report.kept.end == "impossible" or report.kept_layers


def marks_of_the_library():
    """What texts in src/ mark: arguments and commands."""
    marks = set()
    for path in (ROOT / "src").rglob("*.*"):
        if path.suffix not in (".cpp", ".h", ".py"):
            continue
        code = re.sub(r"^ *//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        # Literals beside each other are one.
        marks |= set(re.findall('‹([^‹›"]+)›', re.sub(r'"\s*"', "", code)))
    marks.remove("{}")  # from tables, of which one is public
    marks.remove("min-top{}")
    return marks | {"min-top1"} | set(vernier._core.WORDS["Metric"])


def options_of_commands():
    """{"vernier run": {"--threads", ...}, ...}, as completion knows them."""
    script = subprocess.run([VERNIER, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    table = script.split('case "$path" in', 1)[1].split("esac", 1)[0]
    return {path: set(words.split()) for path, words in re.findall(r"'(vernier[^']*)'\) words='([^']*)'", table)}


OF_THE_PROGRAM_ALONE = "vernier --help"  # E202: Python has no commands to mistype


def test_marks_are_options_and_commands_that_there_are():
    marks, commands = marks_of_the_library(), options_of_commands()
    assert len(marks) > 100 and len(commands) > 40
    options = set.union(*commands.values())
    for mark in marks:
        if mark == OF_THE_PROGRAM_ALONE:
            continue
        if not mark.startswith("vernier "):
            assert f"--{mark}" in options, mark
            continue
        # The longest command that it begins with takes all its options.
        command = max((path for path in commands if f"{mark} ".startswith(f"{path} ")), key=len)
        assert command != "vernier", mark
        for option in re.findall(r"--[a-z0-9-]+", mark):
            assert option in commands[command], mark


def test_marks_are_words_of_python():
    for mark in marks_of_the_library():
        if mark == OF_THE_PROGRAM_ALONE:
            continue
        said = in_python_words(f"‹{mark}›")
        assert said and not re.search("--|vernier |[‹›]", said), (mark, said)
        assert mark.startswith("vernier ") or not re.match("[a-z0-9]+-", said), (mark, said)
    assert in_python_words("give ‹data›, or ‹calibration-cache› FILE (‹min-sqnr› 20)") == (
        "give samples, or calibration_cache FILE (min_sqnr 20)")
    assert in_python_words("list them with: ‹vernier inspect model MODEL --show layers›") == (
        "list them with: inspect(model, nodes=True)")
    assert in_python_words("‹vernier surgeon extract› cuts a part out") == "the command's 'surgeon extract' cuts a part out"
    assert in_python_words("a--b, --c, > and < stay") == "a--b, --c, > and < stay"


def test_words_of_python_are_arguments_that_there_are():
    functions = [getattr(vernier, name) for name in vernier.__all__ if name[0].islower() and callable(getattr(vernier, name))]
    arguments = {name for function in functions for name in inspect.signature(function).parameters}
    arguments |= {row.argument for row in TABLE}
    for said in _ARGUMENTS.values():
        assert re.match(r"\w+", said)[0] in arguments, said


def test_texts_of_reports_are_in_words_of_python():
    assert report_in_python_words("give --data, or --calibration-cache FILE (--min-sqnr 20)") == (
        "give samples, or calibration_cache FILE (min_sqnr 20)")
    assert report_in_python_words("a--b and -o stay") == "a--b and -o stay"
    texts = re.findall(r'"[^"\n]*(?<![\w-])--[a-z][^"\n]*"', "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/report/text").rglob("*.cpp")))
    assert len(texts) > 50
    for text in texts:
        assert not re.search(r"(?<![\w-])--[a-z]", report_in_python_words(text)), text


def test_subject_and_remedies_are_data(model, images):
    with pytest.raises(vernier.UsageError) as raised:
        vernier.diagnose(model, {"image": images}, outputs="nothing")
    assert raised.value.subject == "outputs" and str(raised.value).startswith("outputs: no float output is named 'nothing'")
    with pytest.raises(vernier.UsageError) as raised:
        vernier.diagnose(model, {"image": images}, nodes=["nowhere"])
    assert raised.value.subject == "nodes"
    assert raised.value.remedies == ["inspect(model, nodes=True)"] and raised.value.remedies[0] in raised.value.hint
    with pytest.raises(vernier.InputError) as raised:
        vernier.diagnose("nowhere.onnx", {"image": images})
    assert raised.value.subject == "" and raised.value.remedies == []
    copy = pickle.loads(pickle.dumps(vernier.InputError("‹data›: none", "give ‹min-sqnr›")))
    assert (str(copy), copy.subject, copy.remedies) == ("samples: none (hint: give min_sqnr)", "samples", ["min_sqnr"])


def test_names_forge_no_marks(model, images):
    with pytest.raises(vernier.UsageError, match=re.escape("named '\\u{2039}int8\\u{203A}'")) as raised:
        vernier.diagnose(model, {"image": images}, outputs="‹int8›")
    assert raised.value.subject == "outputs"


def test_big_endian_labels_and_numpy_scalars(model, images):
    report = vernier.diagnose(model, {"image": images}, min_sqnr=np.float32(20), limit=np.int64(5), low="int8")
    assert report.samples == 5


@pytest.mark.parametrize("wrong, told", [
    ({"min_sqnr": float("nan")}, "min_sqnr=nan"),
    ({"min_sqnr": True}, "min_sqnr=True"),
    ({"min_sqnr": "x"}, "min_sqnr='x'"),
    ({"min_sqnr": {}}, "no output has a limit"),
    ({"min_top1_agreement": 95}, "from 0 to 1"),
    ({"max_abs": -1}, "max_abs=-1: a number from 0 on"),
    ({"min_cosine": 2}, "from -1 to 1"),
    ({"labels": [0] * 12, "min_top1": 70}, "min_top1=70"),
    ({"labels": [1.7] * 12, "min_top1": 0.7}, "labels are float64"),
    ({"min_metric": 1}, "limits of metric"),
    ({"margin": 5}, "margin without a requirement"),
    ({"threads": -1}, "threads=-1"),
    ({"gpu_memory": "8X"}, "gpu_memory='8X': a size"),
    ({"gpu_memory": 0}, "gpu_memory=0: a size"),
    ({"limit": 2.5}, "limit=2.5"),
    ({"seed": "a"}, "seed='a'"),
    ({"max_seconds": -1}, "max_seconds=-1"),
    ({"alternatives": -1}, "alternatives=-1"),
    ({"block_size": 0}, "32, 64 or 128"),
    ({"low": 8}, "low=8"),
    ({"low": "in8"}, "did you mean 'int8'"),
    ({"target": "trt"}, "did you mean 'tensorrt'"),
    ({"input_shapes": {"zz": [1]}}, "'zz' is not an input"),
    ({"outputs": "nothing"}, "'nothing'"),
])
def test_nothing_wrong_is_taken(model, images, wrong, told):
    with pytest.raises(vernier.Error, match=re.escape(told)):
        vernier.diagnose(model, {"image": images}, **wrong)


def test_repairs_that_are_none(model, images):
    for wrong in ({"allow": ["zzz"]}, {"forbid": "zzz"}):
        with pytest.raises(vernier.UsageError, match="'zzz' is not a repair.*smooth"):
            vernier.fix(model, {"image": images}, min_sqnr=30, **wrong)


def test_samples_that_are_none(model, images):
    with pytest.raises(vernier.InputError, match="no array for any input"):
        vernier.diagnose(model, {})
    with pytest.raises(vernier.InputError, match="different shapes"):
        vernier.diagnose(model, {"image": [images[0], images[0][..., :4]]})
    with pytest.raises(TypeError, match=r"at\(0\) returned ndarray"):
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
    with pytest.raises(TypeError, match="expected True, False"):
        vernier.search(5, lambda kept: int(2 in kept))
    with pytest.raises(ValueError, match="above 0"):
        vernier.search(5, lambda kept: True, costs=[-1] * 5)


def test_warnings_point_at_the_line_that_called(model, images):
    for job in (lambda: vernier.verify(model, model, {"image": images}), lambda: vernier.diagnose(model, None, low="int8")):
        with pytest.warns(vernier.VernierWarning) as told:
            job()
        assert {warning.filename for warning in told} == {__file__}
