"""Every job on every network of networks.py: it ends as it should, what it writes has the interface of the file it was
made from, runs in ONNX Runtime, and is as accurate there as was claimed."""
import json
import os
import pathlib
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

import networks

PROGRAM = os.environ["VERNIER_PROGRAM"]
# What ONNX Runtime gives of the written file against what was claimed, where no code lies on an edge.
WITHIN_DB = 0.5


def vernier(*arguments, folder, codes=(0,)):
    done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode in codes, f"{arguments}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


@pytest.fixture(params=networks.NETWORKS)
def made(request, tmp_path):
    return networks.write(request.param, tmp_path)


def interface(path):
    graph = onnx.load(path, load_external_data=False).graph
    return [[(value.name, value.type.tensor_type.elem_type) for value in values] for values in (graph.input, graph.output)]


def outputs(path, samples):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    count = len(next(iter(samples.values())))
    runs = [session.run(None, {name: value[i] for name, value in samples.items()}) for i in range(count)]
    return {output.name: np.stack([run[k] for run in runs]) for k, output in enumerate(session.get_outputs())}


def values_of(outputs, name):
    """Of an output, or of a part of one such as 'output0[:,4:]'. Samples are stacked in front."""
    if name in outputs:
        return outputs[name]
    output, inside = name[:-1].rsplit("[", 1)
    ends = [slice(*(int(end) if end else None for end in item.split(":"))) for item in inside.split(",")]
    return outputs[output][(slice(None), *ends)]


def sqnr(reference, got):
    reference, got = reference.astype(np.float64), got.astype(np.float64)
    error = np.sum((reference - got) ** 2)
    return np.inf if error == 0 else 10 * np.log10(np.sum(reference ** 2) / error)


def check_claim(model, written, samples, figures, form):
    """Figures of the report against ONNX Runtime's own run of both files. Its CPU kernels compute float16 between Casts
    in float32, and know no bfloat16: what was claimed is then the least."""
    assert interface(model) == interface(written)
    if form in ("--bf16", "--fp8"):
        return
    reference, got = outputs(model, samples), outputs(written, samples)
    assert {figure["name"].split("[")[0] for figure in figures["outputs"]} <= set(reference)
    for figure in figures["outputs"]:
        ours, theirs = values_of(reference, figure["name"]), values_of(got, figure["name"])
        known = np.isfinite(ours)  # the reference's own NaNs are no part of the figures
        if not np.all(np.isfinite(theirs[known])):
            assert figure["nonfinite"] > 0 and figure["sqnr_db"] == "-inf"
            continue
        ours, theirs = ours[known], theirs[known]
        if "labels" in figure["name"]:
            claimed, measured, within = figure["top1_agreement"], np.mean(ours == theirs), 0.01
        elif ours.dtype == np.uint8:
            zero = networks.ZERO_OF_CODES
            claimed, within = float(figure["sqnr_db"]), WITHIN_DB
            measured = sqnr(*(value.astype(np.float64) - zero for value in (ours, theirs)))
        else:
            claimed, measured, within = float(figure["sqnr_db"]), sqnr(ours, theirs), WITHIN_DB
        assert measured >= claimed - within
        if form == "--int8":
            assert measured == pytest.approx(claimed, abs=within)


@pytest.mark.sampled
@pytest.mark.parametrize("job, form", [("diagnose", "--int8"), ("diagnose", "--fp16"), ("diagnose", "--bf16"),
                                       ("fix", "--int8"), ("fix", "--fp16")])
def test_what_a_search_claims_is_true_in_onnx_runtime(made, tmp_path, job, form):
    model, data, samples = made
    vernier(job, model, form, "--data", data, "--min-sqnr", "20", "-o", "out", folder=tmp_path, codes=(0, 1, 5))
    report = json.loads((tmp_path / "out/report.json").read_text())
    for figure in report["all_low"]["outputs"]:
        assert figure.get("class_axis_from") != ""
    behind = tmp_path / "out/float.onnx"  # of files in low precision, and of repaired networks
    raised = any("already in low precision" in text for text in report["notes"])
    assert behind.exists() or not raised
    check_claim(behind if raised else model, tmp_path / "out/model.onnx", samples, report["final_figures"], form)


@pytest.mark.sampled
@pytest.mark.parametrize("formats", ["--int4 -p float16", "--int4 --int8 -p bfloat16", "--int8 --fp16",
                                     "--int8 -p bfloat16", "--fp8 --fp16", "--fp8 -p float16"])
def test_formats_beside_each_other_are_diagnosed(made, tmp_path, formats):
    """Layers that differ in how they are rounded, in one run of own errors and of causes."""
    model, data, _ = made
    done = vernier("diagnose", model, *formats.split(), "--data", data, "--no-latency", "--json", folder=tmp_path,
                   codes=(0, 3))
    if done.returncode == 0:
        assert any(layer["own_sqnr_db"] is not None for layer in json.loads(done.stdout)["layers"])
    else:
        assert "no layer" in done.stderr


@pytest.mark.sampled
def test_fix_keeps_no_more_layers_than_diagnose(made, tmp_path):
    model, data, _ = made
    low = json.loads(vernier("diagnose", model, "--int8", "--data", data, "--json", folder=tmp_path).stdout)["all_low"]
    worst = min(float(figure["sqnr_db"]) for figure in low["outputs"])
    if not np.isfinite(worst):
        worst = 20
    reports = {}
    for job in ("diagnose", "fix"):
        done = vernier(job, model, "--int8", "--data", data, "--min-sqnr", f"{worst + 3:.2f}", "--json", folder=tmp_path,
                       codes=(0, 1, 5))
        reports[job] = json.loads(done.stdout)
    if reports["diagnose"]["final_figures"]["passed"]:
        assert reports["fix"]["final_figures"]["passed"]
        assert len(reports["fix"]["kept"]["layers"]) <= len(reports["diagnose"]["kept"]["layers"])


@pytest.mark.parametrize("name, kept", [("log_mel", 0), ("norm_of_sums", 0), ("log_of_shares", 2)])
def test_powers_of_two_repair_float16(tmp_path, name, kept):
    """Without the repair 3 to 5 layers are kept. A probability below 6e-5 has lost its digits before any factor."""
    model, data, samples = networks.write(name, tmp_path)
    vernier("fix", model, "--data", data, "--fp16", "--min-sqnr", "40", "-o", "out", folder=tmp_path)
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert "scale-square" in [row["id"] for row in report["explanation"]["repairs"] if row["accepted"]]
    assert len(report["kept"]["layers"]) <= kept
    assert report["final_figures"]["passed"]
    check_claim(model, tmp_path / "out/model.onnx", samples, report["final_figures"], "--fp16")


def test_onnxruntime_quantizes_what_gains_time(tmp_path):
    """Layers as small as these gain nothing by kernels on codes, and are quantized where that is asked for."""
    model, data, _ = networks.write("attention", tmp_path)
    int8 = ["--int8", "--target", "onnxruntime", "--data", data]
    done = vernier("convert", model, *int8, "-o", "out.onnx", folder=tmp_path)
    assert "would make no layer of this network faster" in done.stderr
    kinds = {node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node}
    assert "QuantizeLinear" not in kinds
    # Nothing is quantized, and what was asked for decides about the exit code.
    for command in ("diagnose", "fix"):
        for limit, outcome, code in (([], "no-requirement", 0), (["--min-sqnr", "20"], "nothing-left", 5)):
            done = vernier(command, model, *int8, *limit, "--json", "-o", f"{command}{code}", folder=tmp_path, codes=(code,))
            assert "would make no layer of this network faster" in done.stderr
            assert json.loads(done.stdout)["outcome"] == outcome
            kinds = {node.op_type for node in onnx.load(tmp_path / f"{command}{code}/model.onnx").graph.node}
            assert "QuantizeLinear" not in kinds
    vernier("convert", model, *int8, "--even-if-slower", "-o", "all.onnx", folder=tmp_path)
    vernier("quantize", model, "--target", "onnxruntime", "--data", data, "--op-types-to-quantize", "MatMul", "-o", "some.onnx",
            folder=tmp_path)
    count = {name: sum(node.op_type == "QuantizeLinear" for node in onnx.load(tmp_path / name).graph.node)
             for name in ("all.onnx", "some.onnx")}
    assert count["all.onnx"] > count["some.onnx"] > 0
    refused = vernier("convert", model, "--int8", "--even-if-slower", "-o", "x.onnx", folder=tmp_path, codes=(2,))
    assert "--even-if-slower belongs to --target onnxruntime" in refused.stderr


@pytest.mark.sampled
def test_no_preparation_costs_accuracy(made, tmp_path):
    model, data, _ = made
    done = vernier("diagnose", model, "--int8", "--data", data, "--json", folder=tmp_path)
    for figure in json.loads(done.stdout)["reference"]["outputs"]:
        assert float(figure["sqnr_db"]) > 100


@pytest.mark.sampled
@pytest.mark.parametrize("form", ["--int8", "--fp16", "--fp8"])
def test_what_is_converted_keeps_its_interface_and_is_measured(made, tmp_path, form):
    model, data, samples = made
    vernier("convert", model, form, "--data", data, "-o", "typed.onnx", folder=tmp_path)
    assert interface(model) == interface(tmp_path / "typed.onnx")
    done = vernier("verify", model, "typed.onnx", "--data", data, "--json", folder=tmp_path)
    check_claim(model, tmp_path / "typed.onnx", samples, json.loads(done.stdout)["figures"], form)


@pytest.mark.sampled
def test_a_file_against_itself_is_exact(made, tmp_path):
    model, data, _ = made
    done = vernier("verify", model, model, "--data", data, "--min-top1-agreement", "1", "--json", folder=tmp_path, codes=(0, 1, 5))
    report = json.loads(done.stdout)
    assert (done.returncode == 1) == report.get("reference_quantized", False)  # exact, and yet no float model
    for figure in report["figures"]["outputs"]:
        assert figure["sqnr_db"] == "inf"


def without_words(report):
    return {key: value for key, value in report.items() if key not in ("seconds", "phases", "command", "warnings", "warning_codes", "machine")}


@pytest.mark.sampled
def test_batches_give_the_answers_of_single_samples(made, tmp_path):
    model, data, _ = made
    vernier("convert", model, "--fp16", "--data", data, "-o", "typed.onnx", folder=tmp_path)
    for words in (["calibrate", model], ["verify", model, "typed.onnx"]):
        one, three = [vernier(*words, "--data", data, *batch, "--json", folder=tmp_path, codes=(0, 3))
                      for batch in ([], ["--batch", "3"])]
        assert one.returncode == three.returncode
        if one.returncode == 3:  # a file in half precision has no float32 layers to calibrate
            assert words[0] == "calibrate" and one.stderr == three.stderr
            continue
        one, three = json.loads(one.stdout), json.loads(three.stdout)
        assert without_words(one) == without_words(three)
        told = [text for text in three["warnings"] if "--batch 3: samples run one by one" in text]
        assert (told == []) == (model.stem == "open_batch")


def floats_of_half(path):
    return {tensor.name for tensor in onnx.load(path).graph.initializer if tensor.data_type == networks.HALF}


def test_layers_behind_operators_of_microsoft_are_lowered(tmp_path):
    """ONNX infers no type behind them. Without one no layer was cast, and the all-float32 file was called float16."""
    model, data, samples = networks.write("operators_of_microsoft", tmp_path)
    vernier("diagnose", model, "--fp16", "--data", data, "--min-sqnr", "40", "-o", "out", folder=tmp_path)
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert {row["name"] for row in report["layers"]} == {"mixed", "wide", "narrow"}
    assert report["outcome"] == "nothing-needed" and report["typed"]["lowered"] == 3 and report["typed"]["casts"] > 0
    assert len(floats_of_half(tmp_path / "out/model.onnx")) == 3
    assert float(report["final_figures"]["outputs"][0]["sqnr_db"]) < 90, "rounded, and measured"
    check_claim(model, tmp_path / "out/model.onnx", samples, report["final_figures"], "--fp16")
    done = vernier("diagnose", model, "--fp16", "--data", data, "--min-sqnr", "40", folder=tmp_path)
    answer = " ".join(done.stdout.split("\n\n")[0].split())
    assert answer.startswith("All 3 layers that can be in FP16 (") and "2 other layers stay in FP32" in answer


def test_convolutions_that_stay_count_under_any_name(tmp_path):
    """FusedConv, as ONNX Runtime's optimizer writes it, has no form in int8: that is not "no layer needs float32"."""
    b = networks.Builder(35)
    for source, output, width in (("x", "first", 3), ("first", "second", 8)):
        b.add("FusedConv", [source, b.weight(f"{output}.weight", 8, width, 3, 3), b.weight(f"{output}.bias", 8)], output,
              domain="com.microsoft", activation="Relu", pads=[1] * 4)
    b.conv("second", "y", 8, 4, size=1)
    model = b.model([("x", networks.FLOAT, [1, 3, 8, 8])], [("y", networks.FLOAT, [1, 4, 8, 8])],
                    domains=["com.microsoft"])
    onnx.save(model, tmp_path / "fused.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(12, 1, 3, 8, 8))
    done = vernier("diagnose", "fused.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20", folder=tmp_path)
    answer = " ".join(done.stdout.split("\n\n")[0].split())
    assert answer.startswith("The one layer that can be in INT8 (3.9 % of the multiply-accumulates"), answer
    assert "2 other layers stay in FP32" in answer, answer


def test_layers_in_front_of_sequences_are_layers(tmp_path):
    """The path from the output ended there: "all 2 layers in int8" for a network whose third stayed in float32, or none at all."""
    model, data, _ = networks.write("sequences", tmp_path)
    done = vernier("diagnose", model, "--int8", "--data", data, "--min-sqnr", "20", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    assert {row["name"] for row in report["layers"]} == {"first.product", "wide.product", "y.product"}
    assert report["work"]["macs"] == report["work"]["total_macs"] == 16 * 32 + 96 * 32 + 16 * 8


def test_the_answer_says_how_little_of_a_recurrent_network_is_low(tmp_path):
    model, data, _ = networks.write("mostly_recurrent", tmp_path)
    for limit in ([], ["--min-sqnr", "20"]):
        done = vernier("diagnose", model, "--int8", "--data", data, *limit, "--json", folder=tmp_path)
        work = json.loads(done.stdout)["work"]
        hidden, width, steps = 32, 24, 20
        recurrent = steps * (2 * 4 * hidden * (width + hidden) + 3 * hidden * (2 * hidden + hidden))
        assert work["macs"] == steps * hidden * 4 and work["total_macs"] == work["macs"] + recurrent
        done = vernier("diagnose", model, "--int8", "--data", data, *limit, folder=tmp_path)
        answer = " ".join(done.stdout.split("\n\n")[0].split())
        assert "0.5 % of the multiply-accumulates" in answer and "2 recurrent layers stay in FP32" in answer
    done = vernier("diagnose", model, "--fp16", "--data", data, "--min-sqnr", "20", "--json", folder=tmp_path)
    work = json.loads(done.stdout)["work"]
    assert work["macs"] == work["total_macs"] and work["weight_bytes"] == work["total_weight_bytes"]


def test_a_quantized_file_keeps_its_scales(tmp_path):
    model, data, samples = networks.write("quantized_file", tmp_path)
    vernier("diagnose", model, "--int8", "--data", data, "--min-sqnr", "20", "-o", "out", folder=tmp_path, codes=(1,))
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["kept"]["layers"] == [] and report["outcome"] == "no-float-model"
    assert "all 4 quantized tensors start with the scales of the file" in report["notes"]
    # Nothing was raised and nothing quantized twice: the written file computes what the given one did.
    given, written = outputs(model, samples)["head"], outputs(tmp_path / "out/model.onnx", samples)["head"]
    assert sqnr(given, written) > 100


@pytest.mark.parametrize("name, kind, last", [("relu6_in_the_quantizer", np.int8, 6),
                                              ("clamp_in_the_quantizer", np.uint8, 2.5)])
def test_the_network_behind_a_file_keeps_what_its_quantizers_clamp(tmp_path, name, kind, last):
    """Without the clamps it would be another network: garbage that agrees with garbage."""
    model, data, samples = networks.write(name, tmp_path)
    twin, _ = networks.clamped_by_quantizers(kind, last, pairs=False)
    onnx.save(twin, tmp_path / "float.onnx")
    vernier("diagnose", model, "--int8", "--data", data, "--min-sqnr", "20", "-o", "out", folder=tmp_path, codes=(1,))
    exact = outputs(tmp_path / "float.onnx", samples)["head"]
    assert sqnr(exact, outputs(tmp_path / "out/float.onnx", samples)["head"]) > 100
    report = json.loads((tmp_path / "out/report.json").read_text())
    assert report["outcome"] == "no-float-model" and report["reference_from_file"]
    assert any("'conv0' to [0, " in note for note in report["notes"])
    # The float model decides: the same command with it can say met.
    done = vernier("diagnose", model, "--float", "float.onnx", "--int8", "--data", data, "--min-sqnr", "20", "-o", "with",
                   "--json", folder=tmp_path)
    claim = json.loads(done.stdout)["final_figures"]["outputs"][0]
    assert float(claim["sqnr_db"]) == pytest.approx(sqnr(exact, outputs(tmp_path / "with/model.onnx", samples)["head"]),
                                                    abs=WITHIN_DB)


def test_a_file_with_one_pair_needs_its_float_model_too(tmp_path):
    """The pair stands behind the last layer, so that no layer counts as low, and its range is wrong."""
    b = networks.Builder(44)
    b.conv("x", "stem", 3, 8)
    b.add("Relu", ["stem"], "relu")
    b.conv("relu", "head", 8, 4)
    scale = b.constant("scale", np.float32(0.25 / 127))
    b.add("QuantizeLinear", ["head", scale, b.constant("zero", np.int8(0))], "codes")
    b.add("DequantizeLinear", ["codes", scale, "zero"], "y")
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, 16, 16])], [("y", networks.FLOAT, [1, 4, 16, 16])]), tmp_path / "q.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(6, 1, 3, 16, 16))
    done = vernier("diagnose", "q.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20", "--json", folder=tmp_path, codes=(1,))
    assert json.loads(done.stdout)["outcome"] == "no-float-model"
    refused = vernier("diagnose", "q.onnx", "--float", "q.onnx", "--int8", "--data", "x.npz", folder=tmp_path, codes=(3,))
    assert "is quantized itself, not a float model" in refused.stderr


def test_ranges_of_another_grid_are_taken_over(tmp_path):
    """TensorRT takes no zero point: its symmetric grid holds the same range. The file as it is stands beside it."""
    model, data, samples = networks.write("clamp_in_the_quantizer", tmp_path)
    twin, _ = networks.clamped_by_quantizers(np.uint8, 2.5, pairs=False)
    onnx.save(twin, tmp_path / "float.onnx")
    done = vernier("diagnose", "float.onnx", "--from", model, "--int8", "--data", data, "-o", "out", "--json", folder=tmp_path)
    report = json.loads(done.stdout)
    assert any("more its ranges" in note for note in report["notes"])
    exact = outputs(tmp_path / "float.onnx", samples)["head"]
    assert float(report["given"]["outputs"][0]["sqnr_db"]) == pytest.approx(sqnr(exact, outputs(model, samples)["head"]), abs=0.5)
    steps = [float(onnx.numpy_helper.to_array(tensor)) for tensor in onnx.load(tmp_path / "out/model.onnx").graph.initializer
             if tensor.name.endswith("_scale") and tensor.dims == [] and "values" in tensor.name]
    assert any(step == pytest.approx(2.5 / 127, rel=1e-5) for step in steps), steps


def test_a_range_that_may_be_a_clamp_or_a_fault_is_refused(tmp_path):
    """Few values hold most of the energy, and the pair cuts them: only the float model can tell what was meant."""
    b = networks.Builder(42)
    b.conv("x", "stem", 3, 8, size=1)
    b.add("Mul", ["stem", b.constant("spread", np.float32(1))], "wide")
    scale = b.constant("scale", np.float32(4 / 127))
    b.add("QuantizeLinear", ["wide", scale, b.constant("zero", np.int8(0))], "codes")
    b.add("DequantizeLinear", ["codes", scale, "zero"], "values")
    b.conv("values", "head", 8, 4)
    model = b.model([("x", networks.FLOAT, [1, 3, 16, 16])], [("head", networks.FLOAT, [1, 4, 16, 16])])
    onnx.save(model, tmp_path / "m.onnx")
    samples = b.normal(6, 1, 3, 16, 16)
    samples[:, :, 0, 3, 3] = 200
    np.savez(tmp_path / "x.npz", x=samples)
    done = vernier("diagnose", "m.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "20", folder=tmp_path, codes=(3,))
    assert "the pair of 'wide'" in done.stderr and "vernier verify FLOAT.onnx" in done.stderr


@pytest.mark.parametrize("per_channel", [False, True])
def test_one_verdict_on_a_file_that_somebody_quantized(tmp_path, per_channel):
    """Channels of very different sizes that the next layer evens out: under one scale most of them use a few levels, and
    the pooled error of the weight does not show it."""
    models = {}
    for quantized in (False, True):
        b = networks.Builder(43)
        size = np.logspace(0, 3, 16).astype(np.float32)
        weight = b.normal(16, 3, 3, 3) * size.reshape(-1, 1, 1, 1)
        if quantized:
            scale = np.abs(weight).max(axis=(1, 2, 3) if per_channel else None) / 127
            codes = np.round(weight / np.reshape(scale, (-1, 1, 1, 1))).astype(np.int8)
            b.add("DequantizeLinear", [b.constant("codes", codes), b.constant("step", scale.astype(np.float32))], "weight",
                  **({"axis": 0} if per_channel else {}))
            step = b.constant("x.scale", np.float32(4 / 127))
            b.add("QuantizeLinear", ["x", step, b.constant("zero", np.int8(0))], "x.codes")
            source = b.add("DequantizeLinear", ["x.codes", step, "zero"], "x.values")
        else:
            source = "x"
            b.constant("weight", weight)
        b.add("Conv", [source, "weight"], "wide", pads=[1] * 4)
        b.add("Mul", ["wide", b.constant("even", (1 / size).reshape(-1, 1, 1))], "equal")
        b.conv("equal", "head", 16, 4)
        models[quantized] = b.model([("x", networks.FLOAT, [1, 3, 16, 16])], [("head", networks.FLOAT, [1, 4, 16, 16])])
    onnx.save(models[False], tmp_path / "float.onnx")
    onnx.save(models[True], tmp_path / "quantized.onnx")
    np.savez(tmp_path / "x.npz", x=b.normal(6, 1, 3, 16, 16))
    both = ["float.onnx", "quantized.onnx", "--data", "x.npz"]
    loss = vernier("debug", "loss", *both, folder=tmp_path, codes=(0 if per_channel else 1,))
    done = vernier("verify", *both, "--min-sqnr", "25", "--json", folder=tmp_path, codes=(0 if per_channel else 1,))
    verdict = json.loads(done.stdout)
    assert {row["target"] for row in verdict["placements"]} == {"tensorrt", "onnxruntime", "openvino"}
    assert [row["kind"] for row in verdict.get("defects", [])] == ([] if per_channel else ["starved-channels"])
    text = vernier("verify", *both, "--min-sqnr", "25", folder=tmp_path, codes=(0, 1)).stdout.replace("\n", " ")
    assert ("all of its channels share one scale" in loss.stdout.replace("\n", " ")) == (not per_channel)
    assert ("vernier fix float.onnx --from quantized.onnx" in " ".join(text.split())) == (not per_channel)
    assert "placements" not in json.loads(vernier("verify", *both, "--no-explain", "--json", folder=tmp_path).stdout)
    vernier("fix", "float.onnx", "--from", "quantized.onnx", "--int8", "--data", "x.npz", "--min-sqnr", "25", folder=tmp_path)


def test_layers_that_a_file_has_in_float32_stay_there(tmp_path):
    model, data, _ = networks.write("quantized_file", tmp_path)
    done = vernier("diagnose", model, "--int8", "--data", data, "--json", folder=tmp_path)
    assert {row["name"] for row in json.loads(done.stdout)["layers"]} == {"stem", "middle"}


LABEL_SCRIPT = """
import numpy as np

def metric(outputs, references):
    pairs = [(got["labels"], ref["labels"]) for got, ref in zip(outputs, references)]
    assert all(got.dtype == np.int64 and got.shape == (1, 16, 16) for pair in pairs for got in pair)
    return float(np.mean([np.mean(got == ref) for got, ref in pairs]))
"""


def test_scripts_get_labels(tmp_path):
    model, data, samples = networks.write("labels", tmp_path)
    (tmp_path / "metric.py").write_text(LABEL_SCRIPT)
    vernier("diagnose", model, "--int8", "--data", data, "--metric-script", "metric.py", "--min", "0.9", "-o", "out", folder=tmp_path)
    report = json.loads((tmp_path / "out/report.json").read_text())
    got = outputs(tmp_path / "out/model.onnx", samples)["labels"]
    assert report["kept"]["file_test"]["metric"] == pytest.approx(np.mean(got == outputs(model, samples)["labels"]), abs=1e-9)


def test_layers_in_float64_stay_and_are_named(tmp_path):
    model, data, _ = networks.write("double_inside", tmp_path)
    report = json.loads(vernier("diagnose", model, "--fp16", "--data", data, "--json", folder=tmp_path).stdout)
    assert {row["name"] for row in report["layers"]} == {"stem", "relu", "head", "mix"}
    assert "2 layers in float64 stay as they are and are not measured (warm, shares)" in report["notes"]


def test_a_network_in_float64_is_refused_with_the_reason(tmp_path):
    wide = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"], name="relu")], "wide",
                                  *([onnx.helper.make_tensor_value_info(name, networks.DOUBLE, [1, 4])] for name in "xy"))
    onnx.save(onnx.helper.make_model(wide, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "wide.onnx")
    np.savez(tmp_path / "x.npz", x=np.ones((2, 1, 4)))
    done = vernier("diagnose", "wide.onnx", "--fp16", "--data", "x.npz", folder=tmp_path, codes=(3,))
    assert "all its layers compute in float64" in done.stderr


def test_what_nothing_float_stands_behind_is_refused_with_its_reason(tmp_path):
    b = networks.Builder(1)
    b.add("NonZero", ["x"], "places")
    onnx.save(b.model([("x", networks.FLOAT, [1, 8])], [("places", networks.INT64, [2, "n"])]), tmp_path / "m.onnx")
    done = vernier("diagnose", "m.onnx", "--int8", folder=tmp_path, codes=(3,))
    assert "no output can be measured" in done.stderr
    assert "'places' is int64 of NonZero" in done.stderr


def test_a_model_that_gives_nothing_finite_is_not_searched(tmp_path):
    b = networks.Builder(16)
    networks.segmentation(b)
    b.add("Sub", ["head", b.constant("far", np.float32(1000))], "below")
    b.add("Log", ["below"], "y")
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, 16, 16])], [("y", networks.FLOAT, [1, 7, 16, 16])]), tmp_path / "m.onnx")
    for job in (["diagnose", "m.onnx", "--int8", "--min-sqnr", "20"], ["verify", "m.onnx", "m.onnx"]):
        done = vernier(*job, folder=tmp_path, codes=(3,))
        assert "output 'y' of the float model holds nothing but NaN" in done.stderr


def test_what_is_not_finite_inside_is_said(tmp_path):
    """A quantizer behind makes a number of it."""
    b = networks.Builder(18)
    b.conv("x", "stem", 3, 4)
    b.add("Exp", ["stem"], "grown")  # beyond float16
    b.add("Mul", ["grown", b.constant("far", np.float32(1e6))], "beyond")
    b.add("Min", ["beyond", b.constant("most", np.float32(3))], "back")
    b.conv("back", "y", 4, 3)
    onnx.save(b.model([("x", networks.FLOAT, [1, 3, 8, 8])], [("y", networks.FLOAT, [1, 3, 8, 8])]), tmp_path / "m.onnx")
    vernier("convert", "m.onnx", "--fp16", "-o", "half.onnx", folder=tmp_path)
    done = vernier("verify", "m.onnx", "half.onnx", "--min-sqnr", "1", folder=tmp_path, codes=(0, 1))
    assert "of the low precision network returns infinite or NaN values, first" in done.stderr
    if done.returncode == 0:
        assert ", but 'beyond' (Mul) overflows inside the network." in done.stdout.replace("\n", " ")
    done = vernier("verify", "m.onnx", "m.onnx", folder=tmp_path)
    assert "not finite" not in done.stderr


def test_everything_is_not_said_where_a_layer_was_excluded(tmp_path):
    model, data, _ = networks.write("classes_before_pixels", tmp_path)
    done = vernier("diagnose", model, "--int8", "--data", data, "--layer-precisions", "stem:fp32", folder=tmp_path)
    assert done.stdout.startswith("Everything that can be in INT8 except 1 excluded layer (20.6 % of the multiply-accumulates")
    done = vernier("diagnose", model, "--int8", "--data", data, folder=tmp_path)
    assert done.stdout.startswith("Everything in INT8: ")


def test_the_axis_of_classes_can_be_given(tmp_path):
    model, data, samples = networks.write("classes_before_pixels", tmp_path)
    vernier("convert", model, "--int8", "--data", data, "-o", "typed.onnx", folder=tmp_path)
    ref, got = outputs(model, samples)["logits"], outputs(tmp_path / "typed.onnx", samples)["logits"]
    for option, axis in ([], 1), (["--top1-axis", "-1"], 3), (["--top1-axis", "logits:2"], 2):
        done = vernier("verify", model, "typed.onnx", "--data", data, *option, "--min-top1-agreement", "0.5", "--json", folder=tmp_path)
        figure = json.loads(done.stdout)["figures"]["outputs"][0]
        agreed = np.mean(np.argmax(ref, axis + 1) == np.argmax(got, axis + 1))  # samples come first
        assert figure["top1_agreement"] == pytest.approx(agreed, abs=0.005)
        assert figure.get("class_axis", 3) == axis
    for wrong, said in ("4", "has no axis 4: its rank is 4"), ("y:1", "'y' is not a measured output"), ("x", "'x' is not AXIS"):
        done = vernier("verify", model, "typed.onnx", "--data", data, "--top1-axis", wrong, folder=tmp_path, codes=(2,))
        assert said in done.stderr


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_equal_infinities_are_equal(tmp_path, value):
    b = networks.Builder(17)
    b.add("Add", ["x", b.constant("far", np.float32(value))], "y")
    onnx.save(b.model([("x", networks.FLOAT, [1, 3])], [("y", networks.FLOAT, [1, 3])]), tmp_path / "m.onnx")
    for limit in (["--min-sqnr", "60"], ["--max-abs-error", "0"], ["--min-cosine", "1"], ["--max-mse", "0"]):
        vernier("verify", "m.onnx", "m.onnx", *limit, folder=tmp_path, codes=(5,))  # met, and all of it in FP32


@pytest.mark.sampled
def test_runners_agree(made, tmp_path):
    model, data, _ = made
    differs = model.stem == "sometimes_nan"  # NaN is not equal to NaN there, as in NumPy and Polygraphy
    vernier("run", model, "--onnxrt", "--onnxrt", "--data", data, "--atol", "0", "--rtol", "0", folder=tmp_path,
            codes=(int(differs),))


@pytest.mark.sampled
def test_it_can_be_looked_at(made, tmp_path):
    model, data, _ = made
    vernier("inspect", "model", model, "--show", "layers", folder=tmp_path)
    vernier("check", "lint", model, folder=tmp_path)
    vernier("quantize", model, "--data", data, "-o", "q.onnx", folder=tmp_path)
    assert interface(model) == interface(tmp_path / "q.onnx")
