"""`vernier debug loss FLOAT QUANTIZED` on two numbered exports that write each layer with other nodes: the one layer that is wrong is
named, alone, and what is behind it is compared on exact inputs up to the output."""
import json

import numpy as np
import onnx
import pytest
from onnx import helper

import quantized_files as files
from networks import FLOAT
from test_pair_defects import found
from test_traits import vernier

LAYERS, CHANNELS, WIDTH, SAMPLES = 4, 6, 16, 4
WRONG = 1  # layer


def values(*shape, seed, size=0.3):
    return (size * np.random.default_rng([seed, len(shape)]).standard_normal(shape)).astype(np.float32)


class Export(files.Quantizer):
    def __init__(self, form, fault, first):
        super().__init__(5, 20)
        self.form, self.fault, self.count, self.layer = form, fault, first, 0

    def made(self, operator, inputs, outputs=None, **attributes):
        """Of one output, or where `outputs` says which are there, of the last one."""
        names = []
        for there in outputs or [True]:
            self.count += there
            names.append(str(self.count) if there else "")
        if self.form in ("fused", "skip") and operator in ("FusedConv", "SkipLayerNormalization", "BiasGelu"):
            attributes["domain"] = "com.microsoft"
        self.nodes.append(helper.make_node(operator, inputs, names, name=f"layer{self.layer}.{len(self.nodes)}", **attributes))
        return names if outputs else names[0]

    def value(self, value):
        return self.constant(f"layer{self.layer}.constant{len(self.initializers)}", np.asarray(value))

    def wrong(self, fault):
        return self.fault == fault and self.layer == WRONG

    def weight(self, weight):
        return self.value(weight * np.float32(3 if self.wrong("weight") else 1))

    def bias(self, bias):
        return self.value(np.zeros_like(bias) if self.wrong("bias") else bias)

    def model_of(self, last, shape, result):
        self.add("Identity", [last], "y")
        ends = ([helper.make_tensor_value_info(name, FLOAT, dims)] for name, dims in (("x", shape), ("y", result)))
        graph = helper.make_graph(self.nodes, "g", *ends, self.initializers)
        imports = [helper.make_opsetid("", 20)]
        if self.form == "fused":  # other tools leave it out
            imports.append(helper.make_opsetid("com.microsoft", 1))
        model = helper.make_model(graph, opset_imports=imports)
        model.ir_version = 9
        return model


class Images(Export):
    def convolved(self, source, index):
        weight, bias = values(CHANNELS, CHANNELS, 3, 3, seed=index, size=0.2), values(CHANNELS, seed=index)
        factor = 1 + np.abs(values(CHANNELS, seed=20 + index))
        pads = [2, 2, 0, 0] if self.wrong("pads") else [1, 1, 1, 1]
        relu = not self.wrong("relu")
        if self.form == "plain":
            made = self.made("Conv", [source, self.weight(weight), self.bias(bias)], pads=pads)
        elif self.form == "fused":
            how = {"activation": "Relu"} if relu else {}
            return self.made("FusedConv" if relu else "Conv", [source, self.weight(weight), self.bias(bias)], pads=pads, kernel_shape=[3, 3], **how)
        elif self.form in ("norm", "scale"):
            own = self.weight(weight / factor.reshape(-1, 1, 1, 1))
            made = self.made("Conv", [source, own], pads=pads)
            if self.form == "norm":
                rest = [self.value(factor), self.bias(bias), self.value(np.zeros(CHANNELS, np.float32)), self.value(np.full(CHANNELS, 1 - 1e-5, np.float32))]
                made = self.made("BatchNormalization", [made, *rest])
            else:
                made = self.made("Mul", [made, self.value(factor.reshape(1, -1, 1, 1))])
                made = self.made("Add", [made, self.bias(bias.reshape(1, -1, 1, 1))])
        elif self.form == "pad":
            ends = self.value(np.array([0, 0, *pads[:2], 0, 0, *pads[2:]]))
            made = self.made("Conv", [self.made("Pad", [source, ends]), self.weight(weight), self.bias(bias)])
        elif self.form == "layout":
            made = self.made("Conv", [source, self.weight(weight), self.bias(bias)], pads=pads)
            made = self.made("Transpose", [made], perm=[0, 2, 3, 1])
            made = self.made("Relu", [made]) if relu else made
            return self.made("Transpose", [made], perm=[0, 3, 1, 2])
        elif self.form == "automatic":
            how = {"pads": pads} if self.wrong("pads") else {"auto_pad": "SAME_UPPER"}
            made = self.made("Conv", [source, self.weight(weight), self.bias(bias)], kernel_shape=[3, 3], **how)
        return self.made("Relu", [made]) if relu else made

    def network(self):
        source = "x"
        for self.layer in range(LAYERS):
            source = self.convolved(source, self.layer)
        self.layer = LAYERS
        axes = self.value(np.array([2, 3]))
        mean = self.made("ReduceMean", [source, axes], keepdims=0)
        last = self.made("MatMul", [mean, self.value(values(CHANNELS, 5, seed=50))])
        return self.model_of(last, [1, CHANNELS, 8, 8], [1, 5])


class Tokens(Export):
    def linear(self, source, weight, bias):
        if self.form == "gemm":
            flat = self.made("Reshape", [source, self.value(np.array([-1, weight.shape[0]]))])
            made = self.made("Gemm", [flat, self.weight(weight), self.bias(bias)])
            return self.made("Reshape", [made, self.value(np.array([1, 4, weight.shape[1]]))])
        return self.made("Add", [self.made("MatMul", [source, self.weight(weight)]), self.bias(bias)])

    def norm(self, source, size, shift):
        if self.form != "pieces":
            return self.made("LayerNormalization", [source, self.value(size), self.value(shift)], axis=-1, epsilon=1e-5)
        axes = self.value(np.array([-1]))
        off = self.made("Sub", [source, self.made("ReduceMean", [source, axes])])
        variance = self.made("ReduceMean", [self.made("Mul", [off, off]), axes])
        root = self.made("Sqrt", [self.made("Add", [variance, self.value(np.float32(1e-5))])])
        return self.made("Add", [self.made("Mul", [self.made("Div", [off, root]), self.value(size)]), self.value(shift)])

    def activation(self, source):
        if self.wrong("operator"):
            return self.made("Cos", [source])
        if self.form != "pieces":
            return self.made("Gelu", [source])
        half = self.made("Erf", [self.made("Div", [source, self.value(np.float32(2**0.5))])])
        product = self.made("Mul", [source, self.made("Add", [half, self.value(np.float32(1))])])
        return self.made("Mul", [product, self.value(np.float32(0.5))])

    def network(self):
        source, normed = "x", None
        for self.layer in range(LAYERS):
            seed = 10 * self.layer
            size, shift = 1 + values(WIDTH, seed=seed), values(WIDTH, seed=seed + 1)
            normed = normed or self.norm(source, size, shift)
            up, up_bias = values(WIDTH, 2 * WIDTH, seed=seed + 2), values(2 * WIDTH, seed=seed + 3)
            down, down_bias = values(2 * WIDTH, WIDTH, seed=seed + 4), values(WIDTH, seed=seed + 5)
            if self.form == "skip" and not self.wrong("operator"):
                inner = self.made("BiasGelu", [self.made("MatMul", [normed, self.weight(up)]), self.bias(up_bias)])
            else:
                inner = self.activation(self.linear(normed, up, up_bias))
            normed = None
            if self.form == "skip" and self.layer + 1 < LAYERS:
                product = self.made("MatMul", [inner, self.value(down)])
                following = [self.value(1 + values(WIDTH, seed=seed + 10)), self.value(values(WIDTH, seed=seed + 11)), self.value(down_bias)]
                normed, *_, source = self.made("SkipLayerNormalization", [product, source, *following], [True, False, False, True], epsilon=1e-5)
            else:
                wrong, self.fault = self.fault, None
                source = self.made("Add", [source, self.linear(inner, down, down_bias)])
                self.fault = wrong
        self.layer = LAYERS
        last = self.made("MatMul", [source, self.value(values(WIDTH, 5, seed=70))])
        return self.model_of(last, [1, 4, WIDTH], [1, 4, 5])


def compare(folder, kind, forms, fault, first):
    shape = (1, CHANNELS, 8, 8) if kind is Images else (1, 4, WIDTH)
    samples = {"x": np.random.default_rng(3).standard_normal((SAMPLES, *shape)).astype(np.float32)}
    files.write(folder, kind(forms[0], None, 10).network(), samples, "float.onnx")
    names, report = found(folder, kind(forms[1], fault, first).network(), code=int(fault is not None))
    assert all(f"layer{WRONG}." in defect["node"] + defect["text"] for defect in report["defects"]), report["defects"]
    assert len(names) == int(fault is not None), report["defects"]
    last = next(row for row in report["tensors"] if row["layer"].startswith(f"layer{LAYERS}.") and row["operator"] == "MatMul")
    assert last["own_sqnr_db"] == "inf" or last["own_sqnr_db"] > 60, report["tensors"]
    return report


IMAGE_FORMS = ["norm", "scale", "fused", "pad", "layout", "automatic"]


@pytest.mark.sampled
@pytest.mark.parametrize("first", [10, 13])
@pytest.mark.parametrize("fault", [None, "weight", "bias", "pads", "relu"])
@pytest.mark.parametrize("forms", [*(("plain", form) for form in IMAGE_FORMS), ("norm", "plain"), ("fused", "plain"), ("scale", "norm")], ids="-".join)
def test_convolutions_in_other_forms_behind_a_fault(forms, fault, first, tmp_path):
    compare(tmp_path, Images, forms, fault, first)


@pytest.mark.sampled
@pytest.mark.parametrize("first", [10, 13])
@pytest.mark.parametrize("fault", [None, "weight", "bias", "operator"])
@pytest.mark.parametrize("forms", [("plain", "gemm"), ("plain", "pieces"), ("plain", "skip"), ("gemm", "plain"), ("pieces", "skip"), ("skip", "plain")], ids="-".join)
def test_products_norms_and_activations_in_other_forms_behind_a_fault(forms, fault, first, tmp_path):
    compare(tmp_path, Tokens, forms, fault, first)


@pytest.mark.parametrize("optimized", ["float.onnx", "quantized.onnx"])
@pytest.mark.parametrize("level", ["BASIC", "EXTENDED"])
def test_files_that_the_optimizer_of_onnx_runtime_wrote_are_read(level, optimized, tmp_path):
    """Its names of shapes and of inlined functions are those that it gives to the other file's nodes."""
    import onnxruntime

    b = files.Quantizer(5, 17)
    b.add("Add", [b.add("MatMul", ["x", b.constant("w", values(WIDTH, WIDTH, seed=1))], "product"), b.constant("b", values(WIDTH, seed=2))], "sum")
    b.add("MatMul", [b.add("HardSwish", ["sum"], "swish"), b.constant("v", values(WIDTH, WIDTH, seed=3))], "last")
    b.add("Add", ["last", b.constant("c", values(WIDTH, seed=4))], "y")
    model = b.model([("x", FLOAT, [2, 4, WIDTH])], [("y", FLOAT, [2, 4, WIDTH])])
    files.write(tmp_path, model, {"x": np.random.default_rng(3).standard_normal((SAMPLES, 2, 4, WIDTH)).astype(np.float32)}, "float.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(model.SerializeToString(), options)
    written = onnx.load(tmp_path / "optimized.onnx")
    files.write(tmp_path, written if optimized == "float.onnx" else model, name="float.onnx")
    names, report = found(tmp_path, model if optimized == "float.onnx" else written, code=0)
    assert names == [] and report["outputs"], report["defects"]


@pytest.mark.parametrize("upper", [0, 1])
def test_a_pair_that_was_calibrated_behind_a_fault_is_judged_by_right_values(upper, tmp_path):
    """The file keeps the other triangle, whose values are smaller, and its ranges are made for these."""
    def network(upper):
        b = files.Quantizer(311, 17)
        size = np.triu(np.full((WIDTH, WIDTH), 3, np.float32)) + np.tril(np.full((WIDTH, WIDTH), 0.5, np.float32), -1)
        b.add("Trilu", [b.add("Mul", ["x", b.constant("size", size)], "sized")], "triangle", upper=upper)
        b.add("MatMul", ["triangle", b.constant("w1", values(WIDTH, WIDTH, seed=1))], "first")
        b.add("MatMul", [b.add("Relu", ["first"], "hidden"), b.constant("w2", values(WIDTH, 6, seed=2))], "y")
        return b.model([("x", FLOAT, [WIDTH, WIDTH])], [("y", FLOAT, [WIDTH, 6])])
    samples = {"x": np.random.default_rng(312).standard_normal((SAMPLES, WIDTH, WIDTH)).astype(np.float32)}
    files.write(tmp_path, network(1), samples, "float.onnx")
    files.write(tmp_path, network(upper), name="other.onnx")
    vernier("quantize", "other.onnx", "--int8", "--data", "x.npz", "-o", "quantized.onnx", folder=tmp_path)
    done = vernier("debug", "loss", "float.onnx", "quantized.onnx", "--data", "x.npz", "--json", folder=tmp_path, codes=(int(upper == 0),))
    defects = json.loads(done.stdout)["defects"]
    assert [defect["node"] for defect in defects if defect["kind"] == "other-operator"] == (["triangle"] if upper == 0 else []), defects
    assert all("too narrow" in defect["text"] for defect in defects if defect["kind"] in ("lost-layer", "lost-pair")), defects


class Shared(Tokens):
    """Layers that share one weight. `at`: the layer that has another one in the file, or no norm. `step`: between the seeds of layers
    that share none."""

    def __init__(self, form, fault, at, first, step=0):
        super().__init__(form, fault, first)
        self.at, self.step = at, step

    def wrong(self, fault):
        return self.fault == fault and self.layer == self.at

    def network(self):
        source = "x"
        for self.layer in range(LAYERS):
            seed = 80 + self.step * self.layer
            weight, bias = values(WIDTH, WIDTH, seed=seed, size=0.4), values(WIDTH, seed=seed + 1)
            own = values(WIDTH, WIDTH, seed=82, size=0.4) if self.wrong("weight") else weight
            self.fault, fault = None, self.fault
            source = self.made("Add", [source, self.made("Tanh", [self.linear(source, own, bias)])])
            self.fault = fault
            if not self.wrong("norm"):
                source = self.norm(source, 1 + values(WIDTH, seed=seed + 3), values(WIDTH, seed=seed + 4))
        self.layer = LAYERS
        return self.model_of(self.made("MatMul", [source, self.value(values(WIDTH, 5, seed=85))]), [1, 4, WIDTH], [1, 4, 5])


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("forms", [("gemm", "pieces"), ("pieces", "gemm")], ids="-".join)
def test_a_layer_that_does_not_share_its_weight_is_the_only_one_named(forms, at, tmp_path):
    samples = {"x": np.random.default_rng(3).standard_normal((SAMPLES, 1, 4, WIDTH)).astype(np.float32)}
    files.write(tmp_path, Shared(forms[0], None, at, 10).network(), samples, "float.onnx")
    names, report = found(tmp_path, Shared(forms[1], "weight", at, 13).network())
    assert names and all(f"layer{at}." in node for _, node in names), report["defects"]


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("forms", [("gemm", "pieces"), ("pieces", "gemm")], ids="-".join)
def test_a_norm_that_is_missing_is_the_one_named(forms, at, tmp_path):
    samples = {"x": np.random.default_rng(3).standard_normal((SAMPLES, 1, 4, WIDTH)).astype(np.float32)}
    files.write(tmp_path, Shared(forms[0], None, at, 10, step=10).network(), samples, "float.onnx")
    names, report = found(tmp_path, Shared(forms[1], "norm", at, 13, step=10).network())
    assert names and all(f"layer{at}." in defect["text"] and "is lost" in defect["text"] for defect in report["defects"]), report["defects"]


class Towers(Tokens):
    """Two towers with the same weights, written in this order."""

    def __init__(self, form, order, operator, first):
        super().__init__(form, None, first)
        self.order, self.operator = order, operator

    def network(self):
        last = {}
        for self.layer in self.order:
            last[self.layer] = self.made(self.operator, [f"x{self.layer}"])
            for seed in (90, 92):
                made = self.linear(last[self.layer], values(WIDTH, WIDTH, seed=seed, size=0.4), values(WIDTH, seed=seed + 1))
                last[self.layer] = self.made("Tanh", [made])
        self.layer = 2
        self.made("Sub", [last[0], last[1]])
        model = self.model_of(str(self.count), [1, 4, WIDTH], [1, 4, WIDTH])
        del model.graph.input[:]
        model.graph.input.extend(helper.make_tensor_value_info(f"x{i}", FLOAT, [1, 4, WIDTH]) for i in range(2))
        return model


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_towers_that_share_weights_are_not_mixed_up(order, tmp_path):
    samples = {f"x{i}": np.random.default_rng(3 + i).standard_normal((SAMPLES, 1, 4, WIDTH)).astype(np.float32) for i in range(2)}
    files.write(tmp_path, Towers("pieces", (0, 1), "Tanh", 10).network(), samples, "float.onnx")
    names, report = found(tmp_path, Towers("gemm", order, "Cos", 13).network())
    assert len(names) == 2 and all("has Cos" in defect["text"] for defect in report["defects"]), report["defects"]


class Misread(Tokens):
    """A product of one of two tensors, with a bias that is small against the skip."""

    def network(self):
        self.layer = WRONG
        tanh, sine = self.made("Tanh", ["x"]), self.made("Sin", ["x"])
        right = self.made("Mul", [sine, "x"])
        read = self.made("Mul", [tanh, "x"]) if self.wrong("source") else right
        made = self.linear(read, values(WIDTH, WIDTH, seed=95, size=0.4), values(WIDTH, seed=96, size=0.06))
        last = self.made("Tanh", [self.made("Add", ["x", made])])
        self.layer = LAYERS
        product = self.made("MatMul", [last, self.value(values(WIDTH, 5, seed=97))])
        both = self.made("ReduceMean", [self.made("Sub", [tanh, right])])
        return self.model_of(self.made("Add", [product, both]), [1, 4, WIDTH], [1, 4, 5])


@pytest.mark.parametrize("forms", [("gemm", "pieces"), ("pieces", "gemm")], ids="-".join)
def test_a_bias_inside_of_a_product_that_reads_another_tensor_is_not_lost(forms, tmp_path):
    samples = {"x": np.random.default_rng(3).standard_normal((SAMPLES, 1, 4, WIDTH)).astype(np.float32)}
    files.write(tmp_path, Misread(forms[0], None, 10).network(), samples, "float.onnx")
    names, report = found(tmp_path, Misread(forms[1], "source", 13).network())
    assert len(names) == 1 and "bias" not in report["defects"][0]["text"], report["defects"]


@pytest.mark.parametrize("held, said", [(0.3, None), (0.01, "alpha 0.01, in the float model 0.3")])
def test_an_activation_in_a_convolution_with_another_parameter_is_named(held, said, tmp_path):
    def model(fused):
        b = files.Quantizer(5, 17)
        inputs = ["x", b.constant("w", values(CHANNELS, CHANNELS, 3, 3, seed=1)), b.constant("b", values(CHANNELS, seed=2))]
        if fused:
            b.add("FusedConv", inputs, "active", domain="com.microsoft", pads=[1] * 4, kernel_shape=[3, 3], activation="LeakyRelu", activation_params=[held])
        else:
            b.add("LeakyRelu", [b.add("Conv", inputs, "first", pads=[1] * 4)], "active", alpha=0.3)
        b.add("Conv", ["active", b.constant("v", values(CHANNELS, CHANNELS, 3, 3, seed=3))], "y", pads=[1] * 4)
        ends = ([helper.make_tensor_value_info(name, FLOAT, [1, CHANNELS, 8, 8])] for name in ("x", "y"))
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        made = helper.make_model(helper.make_graph(b.nodes, "g", *ends, b.initializers), opset_imports=imports)
        made.ir_version = 9
        return made
    samples = {"x": np.random.default_rng(3).standard_normal((SAMPLES, 1, CHANNELS, 8, 8)).astype(np.float32)}
    files.write(tmp_path, model(False), samples, "float.onnx")
    names, report = found(tmp_path, model(True), code=int(said is not None))
    assert len(names) == int(said is not None), report["defects"]
    assert said is None or ("'active'" in report["defects"][0]["text"] and said in report["defects"][0]["text"]), report["defects"]
