"""The jobs on models and arrays in memory say what the command says of the same in files, and write nothing."""
import copy
import json
import os
import pathlib
import pickle
import runpy
import subprocess

import numpy as np
import onnx
import onnx_vernier as vernier
import pytest
from onnx import TensorProto, helper, numpy_helper

VERNIER = os.environ.get("VERNIER_PROGRAM", "vernier")


def test_fifteen_lines(model, images):
    report = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=30)
    assert report.passed is True
    assert report.kept_layers, "int8 cannot hold the spread of the first convolution"
    assert report.model is not None and report.model.in_memory
    fixed = vernier.fix(model, {"image": images}, low="int8", min_sqnr=30)
    assert fixed.passed is True
    assert len(fixed.kept_layers) <= len(report.kept_layers)
    checked = vernier.verify(model, report.model, {"image": images}, min_sqnr=30)
    assert checked.figures.passed is True
    assert checked.figures.outputs[0].sqnr_db == report.in_sample.outputs[0].sqnr_db
    assert checked.figures.outputs[0].sqnr_db != report.final_figures.outputs[0].sqnr_db, "of samples that it has not seen"
    onnx.checker.check_model(report.model.to_onnx())


def test_memory_and_files_give_the_same(written, model, images, tmp_path):
    file, samples = written
    printed = subprocess.run(
        [VERNIER, "diagnose", file, "--data", samples, "--int8", "--min-sqnr", "30", "--no-options", "--no-latency",
         "--no-cache", "-o", tmp_path / "out", "--json"],
        capture_output=True, text=True, check=True)
    told = json.loads(printed.stdout)
    report = vernier.diagnose(onnx.load(file), {"image": images}, low="int8", min_sqnr=30)
    for field in ("model_sha256", "data_sha256", "all_low", "kept", "final_figures", "layers", "scheme"):
        assert json.loads(report.to_json())[field] == told[field], field
    ours, theirs = report.model.to_onnx(), onnx.load(tmp_path / "out/model.onnx")
    assert ours.graph.SerializeToString(deterministic=True) == theirs.graph.SerializeToString(deterministic=True)
    assert json.loads(report.plan)["layers"] == json.loads((tmp_path / "out/plan.json").read_text())["layers"]


def test_nothing_is_written_before_it_is_asked_for(model, images, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "no_such_folder"))
    report = vernier.diagnose(model, {"image": images}, low=["int8", "float16"], min_sqnr=30, alternatives=1)
    vernier.verify(model, report.model, {"image": images})
    assert list(tmp_path.iterdir()) == []
    report.save(tmp_path / "out")
    there = {path.name for path in (tmp_path / "out").iterdir()}
    assert there == {"model.onnx", "plan.json", "report.json", "report.html", "deploy.md"}
    assert (tmp_path / "out/model.onnx").read_bytes() == report.model.to_bytes()


def test_samples_run_together_where_the_network_allows_it(model, images):
    one, many = [json.loads(vernier.calibrate(model, {"image": images}, batch=batch).to_json()) for batch in (1, 4)]
    assert one["tensors"] == many["tensors"]
    assert many["warnings"] == []
    fixed = copy.deepcopy(model)
    for value in [*fixed.graph.input, *fixed.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_value = 1
    report = vernier.verify(fixed, fixed, {"image": images}, batch=4)
    assert any("batch 4: samples run one by one: the first dimension of" in text for text in report.warnings)
    with pytest.raises(vernier.UsageError, match="batch=-1"):
        vernier.calibrate(model, {"image": images}, batch=-1)


@pytest.mark.parametrize("form", ["dict", "list", "generator", "tuples", "arrays", "array", "function", "path"])
def test_samples_of_every_form(form, model, images, written):
    given = {
        "dict": lambda: {"image": images},
        "list": lambda: [{"image": image} for image in images],
        "generator": lambda: ({"image": image} for image in images),
        "tuples": lambda: [(image, 3) for image in images],
        "arrays": lambda: list(images),
        "array": lambda: images,
        "function": lambda: vernier.Samples(len(images), lambda i: {"image": images[i]}),
        "path": lambda: written[1],
    }[form]()
    report = vernier.diagnose(model, given, low="int8", cross_fit=False)
    assert report.samples == len(images)
    expected = vernier.diagnose(model, {"image": images}, low="int8", cross_fit=False)
    assert report.data_sha256 == expected.data_sha256
    assert report.all_low == expected.all_low


def test_models_of_every_form(model, images, written):
    file, _ = written
    given = [str(file), pathlib.Path(file), file.read_bytes(), onnx.load(file), vernier.Model(file), vernier.Model(model)]
    told = {vernier.verify(model, each, {"image": images}).typed_sha256 for each in given[:5]}
    assert len(told) == 1
    with pytest.raises(TypeError, match="a model is a path, bytes"):
        vernier.Model(3)
    with pytest.raises(TypeError, match="not Report: pass its .model"):
        vernier.verify(model, vernier.quantize(model, {"image": images}), {"image": images})


def test_a_float_model_passes_no_gate(model, images):
    checked = vernier.verify(model, model, {"image": images}, min_sqnr=20)
    assert (checked.outcome, checked.passed) == ("nothing-left", False)
    assert vernier.verify(model, model, {"image": images}).passed is None


def test_labels_decide(digits):
    file, samples, labels = digits
    report = vernier.diagnose(file, samples, low="int8", labels=labels, min_top1=0.9, limit=len(labels))
    assert report.passed is not False
    assert report.kept.objective.startswith("--min-top1 0.9 by the labels given")
    with pytest.raises(vernier.UsageError, match="min_top1"):
        vernier.diagnose(file, samples, labels=labels)


def test_a_function_decides(model, images):
    seen = []

    def worst(outputs, references):
        seen.append((len(outputs), outputs[0]["scores"].shape, outputs[0]["scores"].dtype))
        return max(np.abs(o["scores"] - r["scores"]).max() for o, r in zip(outputs, references))

    low = vernier.diagnose(model, {"image": images}, low="int8").all_low.outputs[0].max_abs_error
    report = vernier.diagnose(model, {"image": images}, low="int8", metric=worst, max_metric=low / 10)
    assert {kept for kept in seen} <= {(n, (1, 10), np.dtype(np.float32)) for n in range(1, 13)} and seen[-1][0] == 12
    assert report.kept_layers and report.kept.metric <= low / 10


def test_what_a_function_raises_comes_out(model, images):
    def broken(outputs, references):
        raise ZeroDivisionError("of mine")

    with pytest.raises(ZeroDivisionError, match="of mine"):
        vernier.diagnose(model, {"image": images}, metric=broken, max_metric=1)
    with pytest.raises(ZeroDivisionError, match="sample 3"):
        def at(index):
            if index == 3:
                raise ZeroDivisionError("sample 3")
            return {"image": images[index]}
        vernier.diagnose(model, vernier.Samples(12, at))


def test_other_jobs(model, images):
    typed = vernier.quantize(model, {"image": images}, low="int8").model
    ranges = vernier.calibrate(model, {"image": images})
    assert {row.tensor for row in ranges.tensors} >= {"image", "r1"}
    assert ranges.column is not None if hasattr(ranges, "column") else True
    lost = vernier.explain_quantized(model, typed, {"image": images})
    assert lost.quantizers and lost.tensors[0].sqnr_db <= lost.tensors[-1].sqnr_db
    assert vernier.check_placement(typed).findings is not None
    assert vernier.inspect(model).inputs[0].name == "image"
    assert vernier.lint(model).summary is not None
    assert "image" in str(vernier.check_data(model, {"image": images}))


def test_runs_give_arrays(model, images):
    samples = {"image": images}
    reference = vernier.run(model, samples)
    assert len(reference) == 12 and reference[3]["scores"].shape == (1, 10)
    assert not reference[0]["scores"].flags.writeable
    typed = vernier.quantize(model, samples, low="int8").model
    for low in (vernier.run(typed, samples), vernier.run(model, samples, low="int8")):
        db = vernier.formats.sqnr_db(np.stack([r["scores"] for r in reference]), np.stack([o["scores"] for o in low]))
        assert db == pytest.approx(vernier.verify(model, typed, samples).figures.outputs[0].sqnr_db, abs=0.5)
    plain = vernier.run(model, samples, simulated=False)
    np.testing.assert_allclose(plain[5]["scores"], reference[5]["scores"], rtol=1e-3, atol=1e-3)
    assert {"r1", "c2"} <= set(vernier.run(model, samples, outputs=["*"], limit=1)[0])
    with pytest.raises(vernier.UsageError, match="quantize it first"):
        vernier.run(model, samples, simulated=False, low="int8")


def test_progress_and_warnings(model, images):
    told = []
    with pytest.warns(vernier.VernierWarning, match="random numbers") as warned:
        report = vernier.diagnose(model, None, low="float16", progress=lambda text, done, total: told.append((text, done, total)))
    assert "random-inputs" in [each.message.code for each in warned]
    assert "random-inputs" in [each.code for each in report.warning_codes]
    assert told and all(0 <= done <= max(total, done) for _, done, total in told)


def test_a_report_is_a_table_and_a_page(model, images):
    report = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=30)
    assert report.layers.column("name")[0] == report.layers[0].name
    assert report.to_html().startswith("<!doctype html>") or report.to_html().startswith("<!DOCTYPE html>")
    assert report.to_dict()["layers"][0]["name"] == report.layers[0].name
    with pytest.raises(AttributeError, match="'accuracy' was not measured"):
        report.accuracy
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: its DataFrame was not tried")
    assert list(pandas.DataFrame(report.layers)["name"]) == report.layers.column("name")


def test_what_decides_says_whether_it_passed(model, images):
    samples = {"image": images}
    assert vernier.diagnose(model, samples, low="int8").passed is None
    assert vernier.diagnose(model, samples, metric=lambda o, r: 0.0, max_metric=0.5).passed is True
    assert vernier.diagnose(model, samples, metric=lambda o, r: 1.0, max_metric=0.5).passed is False
    assert vernier.diagnose(model, samples, labels=[0] * 12, min_top1=0).passed is True
    typed = vernier.quantize(model, samples).model
    assert vernier.verify(model, typed, samples).passed is None
    assert vernier.verify(model, typed, samples, min_sqnr=400).passed is False


def test_saved_reports_name_their_files(model, images, tmp_path):
    report = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=30)
    report.save(tmp_path / "out")
    assert "model.onnx" in (tmp_path / "out/deploy.md").read_text()
    assert "No model was written" not in (tmp_path / "out/deploy.md").read_text()
    document = json.loads((tmp_path / "out/report.json").read_text())
    assert set(document["files"]) == {"report", "page", "model", "plan", "deploy"}
    printed = subprocess.run([VERNIER, "report", tmp_path / "out/report.json"], capture_output=True, text=True, check=True)
    assert printed.stdout.startswith("Keep 1 of 3 layers")


def test_how_to_deploy_a_model_in_memory(model, images):
    report = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=30)
    assert "nothing to deploy" not in report.deploy() and "model.onnx" in report.deploy()
    assert "int8/typed.onnx" in report.deploy("int8/typed.onnx")
    assert "report.save(folder) writes the output model" in str(report)
    impossible = vernier.diagnose(model, {"image": images}, metric=lambda outputs, references: 1.0, max_metric=0.5)
    assert impossible.model is not None or "nothing to deploy" in impossible.deploy()


def test_pickle_and_copy(model, images):
    report = vernier.diagnose(model, {"image": images}, low="int8", min_sqnr=30)
    for other in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert str(other) == str(report) and other.model.to_bytes() == report.model.to_bytes() and other.passed is True
    assert repr(report).startswith("<DiagnoseReport: Keep 1 of 3 layers")


def test_ranges_go_through_a_cache_of_tensorrt(model, images, tmp_path):
    samples = {"image": images}
    cache = tmp_path / "ranges.cache"
    vernier.calibrate(model, samples, output=cache)
    assert cache.read_text().startswith("TRT-")
    learned = vernier.quantize(model, samples).model
    read = vernier.quantize(model, calibration_cache=cache).model
    assert vernier.verify(learned, read, samples).figures.outputs[0].sqnr_db > 60
    assert vernier.diagnose(model, samples, calibration_cache=cache).get("calibrated_on_evaluation_samples") is False


def test_no_model_of_an_earlier_answer_stays_in_a_folder(model, images, tmp_path):
    vernier.diagnose(model, images, min_sqnr=20).save(tmp_path / "d")
    assert (tmp_path / "d/model.onnx").exists()
    bad = vernier.diagnose(model, images, metric=lambda outputs, references: 9.0, max_metric=1)
    assert bad.passed is False and bad.kept_layers == []
    bad.save(tmp_path / "d")
    assert sorted(each.name for each in (tmp_path / "d").iterdir()) == ["report.html", "report.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(vernier.InputError, match="cannot write"):
        bad.save(tmp_path / "file")


def test_lint_says_whether_it_passed(model):
    assert vernier.lint(model).passed is True
    broken = type(model)()
    broken.CopyFrom(model)
    broken.graph.node[0].op_type = "NoSuchOperator"
    assert vernier.lint(broken).passed is False


def test_reports_do_not_speak_of_options(model, images):
    told = [vernier.verify(model, vernier.quantize(model, images).model, images), vernier.explain_quantized(
        model, vernier.quantize(model, images, target="onnxruntime").model, images), vernier.diagnose(model, images, min_sqnr=30)]
    for report in told:
        assert "--" not in str(report).replace("---", ""), str(report)
        assert not any("--" in text for text in report.get("warnings", []))


def test_fix_writes_a_configuration_for_training(tmp_path):
    weight = numpy_helper.from_array(np.eye(8, dtype=np.float32), "fc.weight")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "fc.weight"], ["y"], name="product")], "one",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    samples = {"x": np.linspace(-2, 2, 12 * 8, dtype=np.float32).reshape(12, 1, 8)}
    report = vernier.fix(model, samples, qat=tmp_path / "qat")
    assert report.files["qat"] == str(tmp_path / "qat/qat.py")
    entries = {entry["quantizer_name"]: entry for entry in runpy.run_path(report.files["qat"])["CONFIG"]["quant_cfg"]}
    assert entries["fc.input_quantizer"]["cfg"]["constant_amax"] == pytest.approx(2)
    with pytest.raises(vernier.UsageError, match="qat: no low format has a scale"):
        vernier.fix(model, samples, low="float16", qat=tmp_path / "qat")


def test_a_configuration_for_training_has_the_ranges_of_the_network_as_it_is(tmp_path):
    """Of a channel that `equalize` or `smooth` makes smaller in the repaired network, training still meets the large one."""
    random = np.random.default_rng(0)
    first, second = (random.normal(0, 0.2, (8, channels, 3, 3)).astype(np.float32) for channels in (3, 8))
    first[3] *= 1000
    second[:, 3] /= 1000
    nodes = [helper.make_node("Conv", ["x", "0.weight"], ["a"], name="first", pads=[1] * 4), helper.make_node("Relu", ["a"], ["b"], name="relu"),
             helper.make_node("Conv", ["b", "2.weight"], ["y"], name="second", pads=[1] * 4)]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 8, 8])],
                              [numpy_helper.from_array(first, "0.weight"), numpy_helper.from_array(second, "2.weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    report = vernier.fix(model, {"x": random.normal(0, 1, (12, 1, 3, 8, 8)).astype(np.float32)}, min_sqnr=25, qat=tmp_path)
    assert report.passed and any(row.accepted for row in report.explanation.repairs), report.explanation.repairs
    assert any("Its ranges are those without repairs" in note for note in report.notes), report.notes
    entries = {entry["quantizer_name"]: entry for entry in runpy.run_path(report.files["qat"])["CONFIG"]["quant_cfg"]}
    assert entries["2.input_quantizer"]["cfg"]["constant_amax"] > 500


def test_the_plan_of_a_repaired_network_fits_no_other_model(model, images):
    report = vernier.fix(model, {"image": images}, low="int8")
    plan = json.loads(report.plan)
    assert report.get("repaired") and plan["model_sha256"] != report.model_sha256
