"""`vernier debug loss FLOAT QUANTIZED` on quantized constants that no weighted layer reads: of normalizations that the file writes as
one operator, of sums that are constant in the float model. And values that several pairs see one after the other."""
import numpy as np
import pytest
from onnx import TensorProto, helper

import quantized_files as files
from networks import FLOAT
from test_pair_defects import found

WIDTH, ROWS = 16, 6
NAMED = {True: "gamma{}_DequantizeLinear_Output", False: "scale{}"}


def normalizations(quantized, factor=1.0, named=True):
    """Two of them, in pieces; quantized, as one operator each, with factors of four bits, the second of a scale `factor` times
    as large. `named`: after those of the float model."""
    b = files.Quantizer(201, 21)
    random = np.random.default_rng(202)
    source = "x"
    for i in (1, 2):
        weight, gamma, beta = (random.normal(mean, size, shape).astype(np.float32)
                               for mean, size, shape in ((0, 0.3, (WIDTH, WIDTH)), (1, 0.4, WIDTH), (0, 0.2, WIDTH)))
        b.add("MatMul", [source, b.constant(f"weight{i}", weight)], f"product{i}")
        if quantized:
            step = np.float32(np.abs(gamma).max() / 7)
            codes = np.rint(gamma / step).astype(int)
            name = NAMED[named].format(i)
            b.initializers.append(helper.make_tensor(f"{name}.codes", TensorProto.INT4, [WIDTH], codes.tolist()))
            b.add("DequantizeLinear", [f"{name}.codes", b.constant(f"{name}.step", step * np.float32(factor if i == 2 else 1))], name)
            source = b.add("LayerNormalization", [f"product{i}", name, b.constant(f"beta{i}", beta)], f"normal{i}", epsilon=1e-5)
            continue
        mean = b.add("ReduceMean", [f"product{i}", b.constant(f"axes{i}", np.int64([-1]))], f"mean{i}", keepdims=1)
        centred = b.add("Sub", [f"product{i}", mean], f"centred{i}")
        squares = b.add("Pow", [centred, b.constant(f"two{i}", np.float32(2))], f"squares{i}")
        variance = b.add("ReduceMean", [squares, f"axes{i}"], f"variance{i}", keepdims=1)
        root = b.add("Sqrt", [b.add("Add", [variance, b.constant(f"least{i}", np.float32(1e-5))], f"sum{i}")], f"root{i}")
        normal = b.add("Div", [centred, root], f"quotient{i}")
        b.add("Mul", [normal, b.constant(f"gamma{i}", gamma)], f"scaled{i}")
        source = b.add("Add", [f"scaled{i}", b.constant(f"beta{i}", beta)], f"normal{i}")
    b.add("MatMul", [source, b.constant("head", random.normal(0, 0.3, (WIDTH, 5)).astype(np.float32))], "y")
    model = b.model([("x", FLOAT, [1, ROWS, WIDTH])], [("y", FLOAT, [1, ROWS, 5])])
    model.ir_version = 10
    return model


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("factor", [1, 0.25])
def test_a_factor_of_a_normalization_is_compared_in_another_form(tmp_path, named, factor):
    """Its rounding to four bits is no other operator, and a wrong scale is that constant's."""
    samples = {"x": np.random.default_rng(203).standard_normal((12, 1, ROWS, WIDTH)).astype(np.float32)}
    files.write(tmp_path, normalizations(False), samples, "float.onnx")
    names, report = found(tmp_path, normalizations(True, factor, named), code=int(factor != 1))
    assert names == ([] if factor == 1 else [("weight-scale", NAMED[named].format(2))]), report["defects"]


def tokens(quantized, factor=1.0, narrow=1.0, moves=("Transpose", "Reshape", "Flatten"), only=None):
    """Zeros and a token, which are constant in the float model, in front of patches; behind a product pairs on both sides of nodes
    that move values, all of them or the one of `only` with `narrow` ranges."""
    b = files.Quantizer(211, 17)
    random = np.random.default_rng(212)
    token, weight, head = (random.normal(0, size, shape).astype(np.float32)
                           for size, shape in ((2, WIDTH), (0.3, (WIDTH, WIDTH)), (0.2, (2 * WIDTH * ROWS, 5))))
    def pair(tensor, end, name=None):
        end *= narrow if name in (f"pair{only}", "pair") or (name and only is None) else 1
        return b.pair(tensor, -end, end, np.int8, name) if quantized else tensor
    def stored(name, values, factor=1.0):
        if not quantized:
            return b.constant(name, values)
        step = np.abs(values).max() / 127
        return b.stored(name, np.rint(values / step).astype(np.int8), np.float32(step * factor))
    b.add("ConstantOfShape", [b.constant("shape", np.int64([1, ROWS, WIDTH]))], "zeros")
    first = b.add("Add", [pair("zeros", 1.0), stored("token", token, factor)], "first")
    b.add("Concat", [pair(first, 8.0), pair("x", 4.5)], "joined", axis=1)
    b.add("MatMul", [pair("joined", 8.0), stored("weight", weight)], "product")
    source = "product"
    for i, move in enumerate(moves):
        source = pair(source, 9.0, f"pair{i}")
        attributes = {"Transpose": {"perm": [0, 2, 1]}, "Flatten": {"axis": 1}}.get(move, {})
        shape = [b.constant("other", np.int64([1, 2 * ROWS, WIDTH]))] if move == "Reshape" else []
        source = b.add(move, [source, *shape], f"moved{i}", **attributes)
    b.add("MatMul", [pair(source, 9.0, f"pair{len(moves)}"), stored("head", head)], "y")
    return b.model([("x", FLOAT, [1, ROWS, WIDTH])], [("y", FLOAT, [1, 5])])


SAMPLES = {"x": np.random.default_rng(213).standard_normal((16, 1, ROWS, WIDTH)).clip(-4.4, 4.4).astype(np.float32)}


@pytest.mark.parametrize("factor", [1, 0.25, 3])
def test_a_constant_of_a_sum_that_the_float_model_folds_is_compared(tmp_path, factor):
    files.write(tmp_path, tokens(False), SAMPLES, "float.onnx")
    names, report = found(tmp_path, tokens(True, factor), code=int(factor != 1))
    assert names == ([] if factor == 1 else [("weight-scale", "token.values")]), report["defects"]


@pytest.mark.parametrize("only, named", [(None, 0), (0, 0), (2, 2)])
def test_values_that_several_pairs_cut_off_are_one_finding(tmp_path, only, named):
    files.write(tmp_path, tokens(False), SAMPLES, "float.onnx")
    names, report = found(tmp_path, tokens(True, narrow=0.15, only=only))
    assert names == [("lost-pair", f"pair{named}.codes")], report["defects"]
    assert ("3 more pairs" in report["defects"][0]["text"]) == (only is None), report["defects"]


def embedding(quantized, factor=1.0, zero=0):
    """Rows of a table, which no layer multiplies with, and a constant that Where fills in."""
    b = files.Quantizer(221, 17)
    random = np.random.default_rng(222)
    table, filled, head = (random.normal(0, size, shape).astype(np.float32) for size, shape in ((1, (40, WIDTH)), (1, (ROWS, WIDTH)), (0.3, (WIDTH, 5))))
    def stored(name, values, factor=1.0, zero=0):
        if not quantized:
            return b.constant(name, values)
        step = np.abs(values).max() / 100
        b.stored(name, np.rint(values / step).astype(np.int8) + np.int8(zero), np.float32(step * factor))
        return f"{name}.values"
    rows = b.add("Gather", [stored("table", table, factor), "ids"], "rows", axis=0)
    kept = b.add("Less", ["ids", b.constant("most", np.int64(30))], "few")
    mask = b.add("Unsqueeze", [kept, b.constant("last", np.int64([-1]))], "mask")
    b.add("Where", [mask, rows, stored("filled", filled, zero=zero)], "joined")
    b.add("MatMul", [b.pair("joined", -4.0, 4.0, np.int8) if quantized else "joined", stored("head", head)], "y")
    return b.model([("ids", TensorProto.INT64, [ROWS])], [("y", FLOAT, [ROWS, 5])])


@pytest.mark.parametrize("wrong, named", [({}, []), ({"factor": 0.25}, [("weight-scale", "table.values")]),
                                          ({"zero": 20}, [("shifted-codes", "filled.values")])])
def test_tables_and_constants_that_are_selected_are_compared(tmp_path, wrong, named):
    samples = {"ids": np.random.default_rng(223).integers(0, 40, (16, ROWS))}
    files.write(tmp_path, embedding(False), samples, "float.onnx")
    names, report = found(tmp_path, embedding(True, **wrong), code=int(bool(named)))
    assert names == named, report["defects"]
