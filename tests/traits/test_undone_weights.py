"""`vernier verify` and `vernier debug loss` on files whose weights are not those of the float model, and whose other layers undo
that: equalized, permuted, rotated. They are no defect, whatever else is wrong; what else is wrong is named alone."""
import re

import numpy as np
import pytest

import quantized_files as files
from networks import FLOAT, Builder
from test_pair_defects import found

CHANNELS = 16


def chain(layers, outputs=8):
    """Weights and biases of Gemm layers with a Relu between them."""
    random = np.random.default_rng(1)
    sizes = [(CHANNELS if i < layers - 1 else outputs, CHANNELS) for i in range(layers)]
    return ([(0.35 * random.standard_normal(size)).astype(np.float32) for size in sizes],
            [(0.2 * random.standard_normal(size[0])).astype(np.float32) for size in sizes])


def float_network(weights, biases):
    b, source = Builder(72), "x"
    for i, (weight, bias) in enumerate(zip(weights, biases)):
        inputs = [source, b.constant(f"w{i}", weight), b.constant(f"b{i}", bias)]
        source = b.add("Gemm", inputs, f"k{i}" if i < len(weights) - 1 else "y", transB=1)
        if i < len(weights) - 1:
            source = b.add("Relu", [source], f"r{i}")
    return b.model([("x", FLOAT, [1, CHANNELS])], [("y", FLOAT, [1, len(biases[-1])])])


def quantized(weights, biases, samples, narrow=None, scaled=(None, 1)):
    """Calibrated on the samples. The range in front of layer `narrow` is 12 times too narrow; the scale of the weight of layer
    `scaled[0]` is `scaled[1]` times what it should be."""
    b, source, values = files.Quantizer(72), "x", samples
    for i, (weight, bias) in enumerate(zip(weights, biases)):
        most = np.abs(values).max() / (12 if i == narrow else 1)
        data = b.pair(source, -most * 128 / 127, most, np.int8)
        steps = np.abs(weight).max(1) / 127
        codes = np.round(weight / steps[:, None]).astype(np.int8)
        kernel = b.stored(f"w{i}", codes, steps * (scaled[1] if i == scaled[0] else 1), axis=0)
        source = b.add("Gemm", [data, kernel, b.constant(f"b{i}", bias)], f"k{i}" if i < len(weights) - 1 else "y", transB=1)
        values = values @ weight.T + bias
        if i < len(weights) - 1:
            source, values = b.add("Relu", [source], f"r{i}"), np.maximum(values, 0)
    return b.model([("x", FLOAT, [1, CHANNELS])], [("y", FLOAT, [1, len(biases[-1])])])


def equalized(weights, biases, layers=None):
    weights, biases = [w.copy() for w in weights], [b.copy() for b in biases]
    random = np.random.default_rng(7)
    for i in range(len(weights) - 1) if layers is None else layers:
        factors = (2 ** random.uniform(-1, 1, CHANNELS)).astype(np.float32)
        weights[i], biases[i] = weights[i] * factors[:, None], biases[i] * factors
        weights[i + 1] = weights[i + 1] / factors
    return weights, biases


def permuted(weights, biases):
    order = np.random.default_rng(7).permutation(CHANNELS)
    return [weights[0][order], weights[1][:, order], *weights[2:]], [biases[0][order], *biases[1:]]


def balanced(weights, biases):
    """The ranges of each channel made alike in the layers around it, as cross-layer equalization does."""
    weights, biases = [w.copy() for w in weights], [b.copy() for b in biases]
    for _ in range(200):
        for i in range(len(weights) - 1):
            factors = np.sqrt(np.abs(weights[i + 1]).max(0) / np.abs(weights[i]).max(1))
            weights[i], biases[i] = weights[i] * factors[:, None], biases[i] * factors
            weights[i + 1] = weights[i + 1] / factors
    return weights, biases


def defects(folder, code, layers, change, outputs=8, without_biases=False, **wrong):
    weights, biases = chain(layers, outputs)
    if without_biases:
        biases = [bias * 0 for bias in biases]
    samples = np.random.default_rng(2).standard_normal((40, 1, CHANNELS)).astype(np.float32)
    files.write(folder, float_network(weights, biases), {"x": samples}, "float.onnx")
    names, report = found(folder, quantized(*change(weights, biases), samples[:, 0], **wrong), code)
    return names, report


@pytest.mark.parametrize("layers, change, outputs", [(3, equalized, 8), (6, equalized, 8), (24, equalized, 8), (2, equalized, 1),
                                                     (2, equalized, 2), (2, permuted, 8)])
def test_weights_that_other_layers_undo_are_no_defect(tmp_path, layers, change, outputs):
    names, report = defects(tmp_path, 0, layers, change, outputs)
    assert not names and report["outputs"][0]["sqnr_db"] > 25, report["outputs"]


@pytest.mark.parametrize("factor", [0.5, 3, 6])
@pytest.mark.parametrize("layers", [3, 6])
def test_a_wrong_scale_is_named_alone_beside_permuted_weights(tmp_path, layers, factor):
    names, report = defects(tmp_path, 1, layers, permuted, scaled=(layers - 1, factor))
    assert names == [("weight-scale", f"w{layers - 1}.values")], (names, report["outputs"])


@pytest.mark.parametrize("layers", [3, 6, 24])
def test_a_pair_that_clips_is_named_alone_among_equalized_weights(tmp_path, layers):
    names, _ = defects(tmp_path, 1, layers, equalized, narrow=1)
    assert [node for _, node in names] == ["r0.codes"], names


@pytest.mark.sampled
@pytest.mark.parametrize("factor", [0.25, 0.8, 1.25, 4])
@pytest.mark.parametrize("layers", [3, 6, 24])
def test_a_wrong_scale_is_named_alone_among_equalized_weights(tmp_path, layers, factor):
    """Other layers undo the factors of each channel, but not the one of all."""
    names, report = defects(tmp_path, 1, layers, equalized, scaled=(1, factor))
    assert names == [("weight-scale", "w1.values")], names
    said = float(re.search(r"are ([\d.]+) times", report["defects"][0]["text"])[1])
    assert said == pytest.approx(factor, rel=0.03), report["defects"]


@pytest.mark.parametrize("factor", [0.5, 1.5])
@pytest.mark.parametrize("layers, wrong", [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2), (5, 1), (5, 3)])
def test_ranges_tell_which_of_equalized_layers_without_biases_is_wrong(tmp_path, layers, wrong, factor):
    """Any of them could have the factor: the outputs are the same. Equalized ranges are alike on both sides of a channel."""
    names, report = defects(tmp_path, 1, layers, balanced, without_biases=True, scaled=(wrong, factor))
    assert names == [("weight-scale", f"w{wrong}.values")], names


def are_named_together(names, report):
    """One as the defect, and all others in its sentence."""
    layers = {"w0.values": "k0", "w1.values": "k1", "w2.values": "y"}
    assert len(names) == 1 and names[0][0] == "weight-scale", names
    text = report["defects"][0]["text"]
    others = re.search(r"The outputs are the same with this factor at (.*) instead", text)
    assert others, text
    said = re.findall(r"\b(?:k0|k1|y)\b", others[1])
    assert sorted([layers[names[0][1]], *said]) == ["k0", "k1", "y"], text


def test_layers_that_nothing_tells_apart_are_named_together(tmp_path):
    are_named_together(*defects(tmp_path, 1, 3, equalized, without_biases=True, scaled=(1, 0.5)))


def smoothed(weights, biases):
    """Activations made larger or smaller, as SmoothQuant does: ranges of neighbouring layers differ on purpose."""
    weights, random = [w.copy() for w in weights], np.random.default_rng(8)
    for i, most in enumerate((1.5, 0.37)):
        factors = (most * 2 ** random.uniform(-0.5, 0.5, CHANNELS)).astype(np.float32)
        weights[i], weights[i + 1] = weights[i] * factors[:, None], weights[i + 1] / factors
    return weights, biases


@pytest.mark.parametrize("wrong", [0, 1, 2])
@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_ranges_that_differ_on_purpose_tell_nothing(tmp_path, wrong, factor):
    are_named_together(*defects(tmp_path, 1, 3, smoothed, without_biases=True, scaled=(wrong, factor)))


@pytest.mark.parametrize("factors", [{0: 0.5, 2: 2}, {0: 2, 2: 0.5}, {0: 0.5, 1: 3}, {0: 2, 1: 2, 2: 0.4}])
def test_several_wrong_scales_behind_shared_weights_are_named(tmp_path, factors):
    """Two layers read each of the first two weights. The factors undo each other in part."""
    random = np.random.default_rng(5)
    shared = [(0.35 * random.standard_normal((rows, CHANNELS))).astype(np.float32) for rows in (CHANNELS, CHANNELS, 8)]
    layers = [0, 0, 1, 1, 2]
    biases = [(0.2 * random.standard_normal(len(shared[i]))).astype(np.float32) for i in layers]
    samples = np.random.default_rng(2).standard_normal((40, 1, CHANNELS)).astype(np.float32)

    def network(b, weights, pairs):
        source, values = "x", samples[:, 0]
        for i, which in enumerate(layers):
            most = np.abs(values).max()
            data = b.pair(source, -most * 128 / 127, most, np.int8) if pairs else source
            source = b.add("Gemm", [data, weights[which], b.constant(f"b{i}", biases[i])], f"k{i}" if i < 4 else "y", transB=1)
            values = values @ shared[which].T + biases[i]
            if i < 4:
                source, values = b.add("Relu", [source], f"r{i}"), np.maximum(values, 0)
        return b.model([("x", FLOAT, [1, CHANNELS])], [("y", FLOAT, [1, 8])])

    b = files.Quantizer(72)
    model = network(b, [b.constant(f"w{i}", weight) for i, weight in enumerate(shared)], False)
    files.write(tmp_path, model, {"x": samples}, "float.onnx")
    b = files.Quantizer(72)
    stored = []
    for i, weight in enumerate(shared):
        steps = np.abs(weight).max(1) / 127
        stored.append(b.stored(f"w{i}", np.round(weight / steps[:, None]).astype(np.int8), steps * factors.get(i, 1), axis=0))
    names, _ = found(tmp_path, network(b, stored, True), 1)
    assert sorted(node for kind, node in names if kind == "weight-scale") == [f"w{i}.values" for i in factors], names


def half_and_twice(weights, biases):
    """One factor of all values of a layer, which the next one undoes."""
    return [2 * weights[0], weights[1] / 2, *weights[2:]], [2 * biases[0], *biases[1:]]


@pytest.mark.parametrize("factor", [0.4, 3])
@pytest.mark.parametrize("layers", [3, 4, 10])
def test_a_wrong_scale_is_named_alone_beside_two_that_undo_each_other(tmp_path, layers, factor):
    names, _ = defects(tmp_path, 1, layers, half_and_twice, scaled=(2, factor))
    assert names == [("weight-scale", "w2.values")], names
