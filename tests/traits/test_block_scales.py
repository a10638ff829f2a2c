"""`vernier debug loss FLOAT QUANTIZED` on weights in four bits with a scale for each block: what is wrong with all blocks or with
one of many is named, and what lies together by chance, or a quantizer does on purpose, is not."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import networks
import quantized_files as files
from networks import FLOAT
from test_pair_defects import found
from test_traits import vernier


def product(inputs=256, outputs=64, block=16, seed=0, scale=lambda step: step, clip=lambda step: step, shift=lambda codes: codes,
            noise=0.0, bits=4):
    """A MatMul and its file. `clip` gives the scales that values are rounded with, `scale` those that are stored; `noise`: of
    the values in front of the rounding, in steps."""
    random = np.random.default_rng(seed)
    weight = random.normal(0, 0.09, (inputs, outputs)).astype(np.float32)
    most = 2 ** (bits - 1) - 1
    starts = range(0, inputs, block)
    step = clip(np.stack([np.abs(weight[i:i + block]).max(0) for i in starts]).astype(np.float32) / most).astype(np.float32)
    steps = np.repeat(step, block, 0)[:inputs]
    codes = np.clip(np.rint(weight / steps + random.normal(0, noise, weight.shape)), -most - 1, most).astype(int)
    codes = np.clip(shift(codes), -most - 1, most)
    def model(quantized):
        b = networks.Builder(1, 21)
        source = None
        if quantized:
            kind = TensorProto.INT4 if bits == 4 else TensorProto.INT8
            b.initializers.append(helper.make_tensor("codes", kind, codes.shape, codes.ravel().tolist()))
            b.constant("step", scale(step).astype(np.float32))
            source = b.add("DequantizeLinear", ["codes", "step"], "values", axis=0, block_size=block)
        b.add("MatMul", ["x", source or b.constant("weight", weight)], "y")
        return b.model([("x", FLOAT, [4, inputs])], [("y", FLOAT, [4, outputs])])
    return model(False), model(True), {"x": random.standard_normal((8, 4, inputs)).astype(np.float32)}


def defects(folder, code, **how):
    float_model, quantized, samples = product(**how)
    files.write(folder, float_model, samples, "float.onnx")
    names, report = found(folder, quantized, code)
    return [kind for kind, _ in names], [defect["text"] for defect in report["defects"]]


@pytest.mark.sampled
@pytest.mark.parametrize("factor", [1 / 4, 1 / 2, 4])
@pytest.mark.parametrize("inputs, block", [(256, 16), (256, 32), (232, 16)])
@pytest.mark.parametrize("seed", range(3))
def test_a_factor_of_all_blocks_is_a_wrong_scale_whatever_lies_together_by_chance(tmp_path, factor, inputs, block, seed):
    """Of a thousand blocks whose values are all far off, some are off by nearly the same."""
    kinds, texts = defects(tmp_path, 1, inputs=inputs, block=block, seed=seed, scale=lambda step: step * factor)
    blocks = -(-inputs // block) * 64
    assert kinds == ["weight-scale"] and f"{blocks} of {blocks} blocks" in texts[0], texts


@pytest.mark.parametrize("seed", range(3))
def test_values_that_are_off_by_much_share_no_zero_point_by_chance(tmp_path, seed):
    """What a quantizer leaves that changed the weight: no block among many is off by the same, beyond chance."""
    kinds, texts = defects(tmp_path, (0, 1), seed=seed, noise=2.0)
    assert "shifted-codes" not in kinds, texts


def in_place(change):
    def changed(values):
        values = values.copy()
        change(values)
        return values
    return changed


def one_block(codes):
    codes[32:48, 5] += 3


def one_scale(step):
    step[2, 5] *= 4


@pytest.mark.parametrize("how, named, text", [
    ({"shift": in_place(one_block)}, "shifted-codes", "all values in 1 of 1024 blocks, first block 133,"),
    ({"scale": in_place(one_scale)}, "weight-scale", "1 of 1024 blocks, first block 133,")])
def test_one_block_of_many_that_is_wrong_is_named(tmp_path, how, named, text):
    kinds, texts = defects(tmp_path, 1, **how)
    assert kinds == [named] and text in texts[0], texts


@pytest.mark.parametrize("blocks", [1, 8, 64])
@pytest.mark.parametrize("ratio", [0.8, 0.6, 0.5])
def test_clipping_the_largest_values_of_a_block_is_no_wrong_scale(tmp_path, ratio, blocks):
    """As the search of AWQ for the best range does in some blocks."""
    def clip(step):
        step[:, :blocks] *= ratio
    assert defects(tmp_path, 0, clip=in_place(clip)) == ([], [])
    kinds, texts = defects(tmp_path, 1, clip=in_place(clip), scale=lambda step: step * 2)
    assert kinds in (["weight-scale"], ["other-values"]), texts


@pytest.mark.parametrize("inputs, block, short", [(232, 16, True), (240, 16, False)])
@pytest.mark.parametrize("bits", [4, 8])
def test_a_shorter_last_block_is_valid_and_tensorrt_refuses_it(tmp_path, inputs, block, short, bits):
    assert defects(tmp_path, 0, inputs=inputs, block=block, bits=bits) == ([], [])
    for target, refuses in (("tensorrt", short), ("onnxruntime", False)):
        done = vernier("check", "placement", "quantized.onnx", "--target", target, "--json", folder=tmp_path, codes=(0, 1))
        assert ("short-block" in [finding["rule"] for finding in json.loads(done.stdout)["findings"]]) == refuses, done.stdout
    done = vernier("check", "lint", "quantized.onnx", folder=tmp_path, codes=(0,))
    assert ("TensorRT wants whole blocks" in done.stdout) == short, done.stdout


def packed(weight, block):
    """Codes and scales of a weight [inputs, outputs], as a MatMulNBits of ONNX Runtime holds them."""
    blocks = weight.T.reshape(weight.shape[1], -1, block)
    scales = (np.abs(blocks).max(-1) / 7).astype(np.float32)
    codes = np.clip(np.round(blocks / scales[..., None]), -8, 7).astype(int) + 8
    return (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8), scales.reshape(-1)


def test_a_product_in_four_bits_with_its_bias_is_no_lost_layer(tmp_path):
    """As NNCF writes it: rows in front, the bias inside, the shape of the data behind. To the float model that is an Add."""
    width, rows, block = 64, 6, 32

    def network(four_bits):
        b = networks.Builder(821, 17)
        source = "x"
        for i in range(3):
            weight, bias = b.normal(width, width) / np.float32(8), b.normal(width) / np.float32(10)
            if four_bits:
                codes, scales = packed(weight, block)
                read = [b.add("Reshape", [source, b.constant(f"rows{i}", np.array([-1, width]))], f"flat{i}"),
                        b.constant(f"codes{i}", codes), b.constant(f"scales{i}", scales), "", "", b.constant(f"bias{i}", bias)]
                made = b.add("MatMulNBits", read, f"gemm{i}", domain="com.microsoft", K=width, N=width, bits=4, block_size=block)
                made = b.add("Reshape", [made, b.constant(f"shape{i}", np.array([1, rows, width]))], f"linear{i}")
            else:
                made = b.add("Add", [b.add("MatMul", [source, b.constant(f"weight{i}", weight)], f"product{i}"), b.constant(f"bias{i}", bias)], f"linear{i}")
            source = b.add("Tanh", [made], "y" if i == 2 else f"tanh{i}")
        return b.model([("x", FLOAT, [1, rows, width])], [("y", FLOAT, [1, rows, width])], domains=("com.microsoft",))
    for name, four_bits in (("float.onnx", False), ("quantized.onnx", True)):
        onnx.save(network(four_bits), tmp_path / name)
    np.savez(tmp_path / "x.npz", x=networks.Builder(822).normal(12, 1, rows, width))
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "x.npz", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["defects"] == []
