"""Holds what the READMEs of examples/ claim, with ONNX Runtime and the examples' own scripts; Vernier is not needed.

    python -m pytest tests/examples
"""
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
NEEDS_CONSTRAINTS = ROOT / "examples" / "needs_constraints"
sys.path.insert(0, str(DIGITS))

import measure  # noqa: E402  (the path above comes first)
import simulate  # noqa: E402

NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# Kernels differ between versions and machines in the last bits. That can move a value over a rounding border, so the
# figures move by hundredths of a dB and by single samples of the 500; a wrong README is off by far more.
SQNR_TOLERANCE_DB = 0.3
ACCURACY_TOLERANCE = 0.006


@pytest.fixture(scope="module")
def digits():
    return measure.measure()


@pytest.fixture(scope="module")
def absorbing(tmp_path_factory):
    path = tmp_path_factory.mktemp("needs_constraints") / "made.onnx"
    subprocess.run([sys.executable, str(NEEDS_CONSTRAINTS / "make_model.py"), "-o", str(path)], check=True)
    return onnx.load(str(path))


def test_digits_is_a_valid_model_with_unique_node_names_and_few_bytes():
    model = onnx.load(str(DIGITS / "digits.onnx"))
    onnx.checker.check_model(model, full_check=True)
    names = [node.name for node in model.graph.node]
    assert all(names) and len(set(names)) == len(names)
    assert (DIGITS / "digits.onnx").stat().st_size < 300_000
    assert sum(f.stat().st_size for f in DIGITS.iterdir() if f.is_file()) < 1_000_000


def test_digits_inputs_are_raw_counts_and_match_the_model():
    model = onnx.load(str(DIGITS / "digits.onnx"))
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    for name, samples in (("test.npz", 500), ("calib.npz", 100)):
        arrays = np.load(DIGITS / name)
        assert arrays.files == [model.graph.input[0].name]
        counts = arrays["counts"]
        assert counts.dtype == np.float32 and list(counts.shape) == [samples] + shape[1:]
        assert counts.min() == 0 and counts.max() == 16 and (counts == np.rint(counts)).all()
    labels = np.load(DIGITS / "test_labels.npy")
    assert labels.shape == (500,) and sorted(set(labels.tolist())) == list(range(10))


def test_digits_calibration_images_are_not_test_images():
    test = {image.tobytes() for image in np.load(DIGITS / "test.npz")["counts"]}
    assert not any(image.tobytes() in test for image in np.load(DIGITS / "calib.npz")["counts"])


def test_digits_is_accurate_in_float32_with_and_without_batch_norm_folded(digits):
    assert digits["float32"]["accuracy"] >= 0.96
    assert digits["batch_norm_folded"]["sqnr_db"] > 100  # float32 rounding only


def test_digits_loses_its_accuracy_in_int8_and_two_kept_layers_repair_it(digits):
    int8, before = digits["int8"], digits["float32"]["accuracy"]
    assert len(int8["alone"]) == 19
    assert int8["all"]["sqnr_db"] < 10 and int8["all"]["accuracy"] < before - 0.3
    one, two = int8["kept"][:2]
    assert one["kept"] == ["block4_expand_conv"] and one["sqnr_db"] > int8["all"]["sqnr_db"] + 5
    assert two["kept"] == ["block4_expand_conv", "hidden_gemm"] and two["sqnr_db"] > one["sqnr_db"] + 5
    assert two["sqnr_db"] > 30 and two["accuracy"] >= before - ACCURACY_TOLERANCE


def test_digits_needs_both_layers_even_if_all_others_are_kept(digits):
    alone = digits["int8"]["alone"]  # only this one in INT8, the other 18 kept
    assert alone["block4_expand_conv"]["sqnr_db"] < 10 and alone["hidden_gemm"]["sqnr_db"] < 25
    assert min(s["sqnr_db"] for n, s in alone.items() if n not in ("block4_expand_conv", "hidden_gemm")) > 35


def test_digits_int8_problem_is_one_step_for_two_sizes_and_clipping_is_no_cure(digits):
    energies, sums = digits["int8"]["mixed_inputs"]
    assert energies["range"] == 1024 and energies["learned_rms"] < energies["step"] / 4
    assert sums["range"] == 128 and sums["learned_rms"] < sums["step"] * 1.1
    assert energies["clipped"]["sqnr_db"] < 15
    assert sums["best_clip"] == 1


def test_digits_answers_nan_in_fp16_until_epsilon_and_root_are_both_kept(digits):
    fp16 = digits["fp16"]
    broken = fp16["all"]["samples_not_finite"]
    assert broken > 100 and np.isnan(fp16["all"]["sqnr_db"])
    for name in measure.GUILTY_IN_FP16:
        assert fp16[f"{name} kept"]["samples_not_finite"] == broken
    assert fp16["both kept"]["samples_not_finite"] == 0 and fp16["both kept"]["sqnr_db"] > 50
    assert fp16["both kept"]["accuracy"] >= digits["float32"]["accuracy"] - ACCURACY_TOLERANCE
    assert fp16["larger epsilon"]["sqnr_db"] > 50


def test_digits_has_an_epsilon_that_numpy_rounds_to_zero_in_fp16_beside_one_that_survives():
    constants = simulate.initializers_of(onnx.load(str(DIGITS / "digits.onnx")))
    assert constants["contrast_epsilon"] > 0 and np.float16(constants["contrast_epsilon"]) == 0
    assert np.float16(constants["feature_epsilon"]) > 0 and np.float16(measure.LARGER_EPSILON) > 0


def tolerance_of(text: str) -> float:
    return ACCURACY_TOLERANCE if "accuracy" in text[-12:] else SQNR_TOLERANCE_DB


def test_digits_readme_shows_what_measure_prints():
    printed = subprocess.run([sys.executable, str(DIGITS / "measure.py")], check=True, capture_output=True,
                             text=True).stdout.splitlines()
    readme = (DIGITS / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n\$ python examples/digits/measure.py\n(.*?)```", readme, re.DOTALL).group(1).splitlines()
    assert len(shown) == len(printed)
    for a, b in zip(shown, printed):
        assert NUMBER.sub("#", a).split() == NUMBER.sub("#", b).split(), b
        for match_a, match_b in zip(NUMBER.finditer(a), NUMBER.finditer(b)):
            allowed = tolerance_of(a[:match_a.start()])
            assert float(match_a.group()) == pytest.approx(float(match_b.group()), abs=allowed), b


def test_needs_constraints_is_the_four_node_chain_that_its_readme_draws(absorbing):
    onnx.checker.check_model(absorbing, full_check=True)
    assert [node.name for node in absorbing.graph.node] == ["MatMul_0", "Add", "Sub", "MatMul_1"]
    assert [node.output[0] for node in absorbing.graph.node] == ["matmul_out_0", "add_out_1", "sub_out_2",
                                                                 "matmul_out_3"]
    assert len(absorbing.graph.initializer) == 2  # one weight for both products


@pytest.fixture(scope="module")
def between_one_and_two():
    return np.random.default_rng(0).uniform(1, 2, (1, 1, 256, 256)).astype(np.float32)


def test_needs_constraints_is_the_identity_up_to_the_steps_of_float32_near_65504(absorbing, between_one_and_two):
    reference = simulate.run(absorbing, between_one_and_two)[0]
    assert np.abs(reference - between_one_and_two).max() <= 2.0**-9


@pytest.mark.parametrize("kept", [(), ("Add",), ("Sub",), ("MatMul_0", "MatMul_1"), ("MatMul_0", "MatMul_1", "Add"),
                                  ("MatMul_0", "MatMul_1", "Sub")])
def test_needs_constraints_is_all_zeros_in_fp16_unless_add_and_sub_are_both_kept(absorbing, between_one_and_two, kept):
    assert not simulate.run(simulate.to_fp16(absorbing, set(kept)), between_one_and_two)[0].any()


def test_needs_constraints_is_repaired_by_add_and_sub(absorbing, between_one_and_two):
    reference = simulate.run(absorbing, between_one_and_two)[0]
    repaired = simulate.run(simulate.to_fp16(absorbing, {"Add", "Sub"}), between_one_and_two)[0]
    assert simulate.sqnr(reference, repaired) == pytest.approx(60.9, abs=SQNR_TOLERANCE_DB)
