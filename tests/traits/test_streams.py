"""`rotate-stream` on transformers as exporters write them: the stream is found, and the rewritten network computes the same."""
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from networks import Builder
from test_traits import vernier

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
WIDTH, INNER, TOKENS, WORDS = 32, 48, 6, 40
CASES = {}


def case(layers, products=0, opset=17):
    """`layers`: whose weights take the matrix; `products`: that are added."""
    def listed(build):
        CASES[build.__name__] = (build, layers, products, opset)
        return build
    return listed


class Transformer(Builder):
    """Blocks whose writers have large channels."""

    def table(self, name, *shape):
        return self.constant(name, self.random.normal(0, 1, shape).astype(np.float32))

    def norm_constants(self, name, bias):
        scale = self.constant(f"{name}.weight", (1 + 0.2 * self.random.normal(0, 1, WIDTH)).astype(np.float32))
        return scale, self.constant(f"{name}.bias", self.random.normal(0, 0.2, WIDTH).astype(np.float32)) if bias else None

    def norm(self, source, name):
        return self.add("LayerNormalization", [source, *self.norm_constants(name, True)], name, axis=-1)

    def rms(self, source, name):
        """In pieces, as PyTorch writes Llama's."""
        self.add("Pow", [source, self.number("two", 2)], f"{name}.square")
        self.add("ReduceMean", [f"{name}.square", *self.last()], f"{name}.mean", keepdims=1, **self.last_attribute())
        self.add("Add", [f"{name}.mean", self.number("epsilon", 1e-5)], f"{name}.sum")
        self.add("Sqrt", [f"{name}.sum"], f"{name}.root")
        self.add("Reciprocal", [f"{name}.root"], f"{name}.factor")
        self.add("Mul", [source, f"{name}.factor"], f"{name}.unit")
        return self.add("Mul", [self.norm_constants(name, False)[0], f"{name}.unit"], name)

    def centred(self, source, name):
        """A LayerNorm in pieces."""
        self.add("ReduceMean", [source, *self.last()], f"{name}.mean", keepdims=1, **self.last_attribute())
        self.add("Sub", [source, f"{name}.mean"], f"{name}.centred")
        self.add("Pow", [f"{name}.centred", self.number("two", 2)], f"{name}.square")
        self.add("ReduceMean", [f"{name}.square", *self.last()], f"{name}.variance", keepdims=1, **self.last_attribute())
        self.add("Add", [f"{name}.variance", self.number("epsilon", 1e-5)], f"{name}.sum")
        self.add("Sqrt", [f"{name}.sum"], f"{name}.root")
        self.add("Div", [f"{name}.centred", f"{name}.root"], f"{name}.unit")
        scale, bias = self.norm_constants(name, True)
        self.add("Mul", [f"{name}.unit", scale], f"{name}.scaled")
        return self.add("Add", [f"{name}.scaled", bias], name)

    def last(self):
        return [] if self.opset < 18 else [self.number("last", [-1], np.int64)]

    def last_attribute(self):
        return {"axes": [-1]} if self.opset < 18 else {}

    def number(self, name, value, dtype=np.float32):
        if not any(one.name == name for one in self.initializers):
            self.constant(name, np.array(value, dtype))
        return name

    def matmul(self, source, name, width_in, width_out):
        weight = self.random.normal(0, 1 / np.sqrt(width_in), (width_in, width_out)).astype(np.float32)
        return self.add("MatMul", [source, self.constant(f"{name}.weight", weight)], name)

    def block(self, x, name, norm, linear=None, gamma=False):
        linear = linear or self.linear
        hidden = linear(norm(x, f"{name}.norm"), f"{name}.up", WIDTH, INNER)
        made = linear(self.add("Tanh", [hidden], f"{name}.act"), f"{name}.down", INNER, WIDTH)
        if gamma:
            made = self.add("Mul", [made, self.table(f"{name}.gamma", WIDTH)], f"{name}.scaled")
        return self.add("Add", [x, made], f"{name}.out")

    def tokens(self):
        return {"ids": self.random.integers(0, WORDS, (6, 1, TOKENS), dtype=np.int64)}

    def of_tokens(self, result, width, *more):
        return (self.model([("ids", INT64, [1, TOKENS])], [(result, FLOAT, [1, TOKENS, width]), *more]), self.tokens())


@case(layers=5)
def tied_embeddings(b):
    """An RMSNorm in pieces; the embedding is multiplied by a number, and turned over it is the head."""
    b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "words")
    x = b.add("Mul", ["words", b.number("size", np.sqrt(WIDTH))], "x")
    for i in range(2):
        x = b.block(x, f"b{i}", b.rms, b.matmul)
    b.add("Transpose", ["embed"], "head", perm=[1, 0])
    b.add("MatMul", [b.rms(x, "final"), "head"], "logits")
    return b.of_tokens("logits", WORDS)


@case(layers=5, opset=23)
def rms_operators(b):
    def norm(source, name):
        return b.add("RMSNormalization", [source, b.norm_constants(name, False)[0]], name, axis=-1, epsilon=1e-5)
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    for i in range(2):
        x = b.block(x, f"b{i}", norm, b.matmul)
    b.matmul(norm(x, "final"), "logits", WIDTH, WORDS)
    return b.of_tokens("logits", WORDS)


@case(layers=9)
def rows_and_positions(b):
    """GPT-2: learned positions, an attention, Gemm between two Reshapes, norms that share constants with nobody."""
    def conv1d(source, name, width_in, width_out):
        b.add("Reshape", [source, b.number(f"rows{width_in}", [-1, width_in], np.int64)], f"{name}.rows")
        b.add("Gemm", [f"{name}.rows", b.table(f"{name}.weight", width_in, width_out), b.table(f"{name}.bias", width_out)],
              f"{name}.product")
        return b.add("Reshape", [f"{name}.product", b.number(f"all{width_out}", [1, TOKENS, width_out], np.int64)], name)
    b.add("Gather", [b.table("words", WORDS, WIDTH), "ids"], "w")
    x = b.add("Add", ["w", b.table("places", TOKENS, WIDTH)], "x")
    for i in range(2):
        conv1d(b.norm(x, f"a{i}.norm"), f"a{i}.in", WIDTH, 3 * WIDTH)
        b.add("Split", [f"a{i}.in", b.number("thirds", [WIDTH] * 3, np.int64)], [f"a{i}.{part}" for part in "qkv"], axis=2)
        b.add("Transpose", [f"a{i}.k"], f"a{i}.turned", perm=[0, 2, 1])
        b.add("MatMul", [f"a{i}.q", f"a{i}.turned"], f"a{i}.raw")
        b.add("Mul", [f"a{i}.raw", b.number("less", 0.02)], f"a{i}.scores")
        b.add("Softmax", [f"a{i}.scores"], f"a{i}.shares", axis=-1)
        b.add("MatMul", [f"a{i}.shares", f"a{i}.v"], f"a{i}.mixed")
        x = b.add("Add", [conv1d(f"a{i}.mixed", f"a{i}.o", WIDTH, WIDTH), x], f"a{i}.sum")
        x = b.block(x, f"b{i}", b.norm, conv1d)
    b.matmul(b.norm(x, "final"), "logits", WIDTH, WORDS)
    return b.of_tokens("logits", WORDS)


@case(layers=13, opset=18)
def grouped_queries(b):
    """Llama's, as ONNX Runtime's builder writes it: GroupQueryAttention with its caches, and norms in pieces."""
    heads, groups, size = 4, 2, 8
    lengths = [b.constant(name, np.array(value, np.int32)) for name, value in (("lengths", [TOKENS - 1]), ("total", TOKENS))]
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    caches = []
    for i in range(2):
        read = b.rms(x, f"a{i}.norm")
        q, k, v = (b.matmul(read, f"a{i}.{part}", WIDTH, width * size) for part, width in zip("qkv", (heads, groups, groups)))
        past = [f"past.{i}.key", f"past.{i}.value"]
        present = [f"present.{i}.key", f"present.{i}.value"]
        b.add("GroupQueryAttention", [q, k, v, *past, *lengths], [f"a{i}.mixed", *present], domain="com.microsoft",
              num_heads=heads, kv_num_heads=groups)
        caches += zip(past, present)
        x = b.block(b.add("Add", [x, b.matmul(f"a{i}.mixed", f"a{i}.o", heads * size, WIDTH)], f"a{i}.out"), f"b{i}", b.rms, b.matmul)
    b.matmul(b.rms(x, "final"), "logits", WIDTH, WORDS)
    shape = [1, groups, TOKENS, size]
    empty = [1, groups, 0, size]
    model = b.model([("ids", INT64, [1, TOKENS]), *((past, FLOAT, empty) for past, _ in caches)],
                    [("logits", FLOAT, [1, TOKENS, WORDS]), *((present, FLOAT, shape) for _, present in caches)],
                    domains=["com.microsoft"])
    return model, {**b.tokens(), **{past: np.zeros((6, *empty), np.float32) for past, _ in caches}}


@case(layers=5)
def norms_in_pieces(b):
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    for i in range(2):
        x = b.block(x, f"b{i}", b.centred)
    b.linear(b.centred(x, "final"), "logits", WIDTH, WORDS)
    return b.of_tokens("logits", WORDS)


@case(layers=6)
def picture(b):
    """ViT with a class token and a scale for each channel behind each block; the head reads the first token."""
    b.conv("image", "patches", 3, WIDTH, size=3, strides=[2, 2])
    b.add("Reshape", ["patches", b.number("shape", [1, WIDTH, 16], np.int64)], "flat")
    b.add("Transpose", ["flat"], "places_first", perm=[0, 2, 1])
    b.add("Concat", [b.table("class", 1, 1, WIDTH), "places_first"], "with_class", axis=1)
    x = b.add("Add", ["with_class", b.table("positions", 1, 17, WIDTH)], "x")
    for i in range(2):
        x = b.block(x, f"b{i}", b.norm, gamma=True)
    b.add("Gather", [b.norm(x, "final"), b.number("zero", 0, np.int64)], "first", axis=1)
    b.add("Gemm", ["first", b.table("head", 7, WIDTH), b.table("head.bias", 7)], "logits", transB=1)
    return b.model([("image", FLOAT, [1, 3, 8, 8])], [("logits", FLOAT, [1, 7])]), {"image": b.normal(6, 1, 3, 8, 8)}


@case(layers=5)
def mean_of_places(b):
    """A head that reads the mean of all places."""
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    for i in range(2):
        x = b.block(x, f"b{i}", b.norm)
    b.add("ReduceMean", [b.norm(x, "final")], "pooled", axes=[1], keepdims=0)
    b.linear("pooled", "logits", WIDTH, 7)
    return b.model([("ids", INT64, [1, TOKENS])], [("logits", FLOAT, [1, 7])]), b.tokens()


@case(layers=6, products=1)
def features(b):
    """The last norm is the output, with its scale and bias."""
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    for i in range(3):
        x = b.block(x, f"b{i}", b.norm)
    return b.of_tokens(b.norm(x, "final"), WIDTH)


@case(layers=9, products=2)
def given_and_shown(b):
    """Embeddings come in, and the state behind a block goes out."""
    x = "embeddings"
    for i in range(4):
        x = b.block(x, f"b{i}", b.rms, b.matmul)
    b.matmul(b.rms(x, "final"), "logits", WIDTH, WORDS)
    return (b.model([("embeddings", FLOAT, [1, TOKENS, WIDTH])],
                    [("logits", FLOAT, [1, TOKENS, WORDS]), ("b1.out", FLOAT, [1, TOKENS, WIDTH])]),
            {"embeddings": b.normal(6, 1, TOKENS, WIDTH)})


@case(layers=9)
def sizes_at_run_time(b):
    """Batch and length have names; Reshapes compute their sizes."""
    def linear(source, name, width_in, width_out):
        b.add("Shape", [source], f"{name}.sizes")
        b.add("Slice", [f"{name}.sizes", b.number("at0", [0], np.int64), b.number("at2", [2], np.int64)], f"{name}.lead")
        b.add("Concat", [f"{name}.lead", b.number(f"width{width_out}", [width_out], np.int64)], f"{name}.shape", axis=0)
        b.add("Reshape", [source, b.number(f"rows{width_in}", [-1, width_in], np.int64)], f"{name}.rows")
        b.add("Gemm", [f"{name}.rows", b.table(f"{name}.weight", width_out, width_in), b.table(f"{name}.bias", width_out)],
              f"{name}.product", transB=1)
        return b.add("Reshape", [f"{name}.product", f"{name}.shape"], name)
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    for i in range(4):
        x = b.block(x, f"b{i}", b.norm, linear)
    b.matmul(b.norm(x, "final"), "logits", WIDTH, WORDS)
    return b.model([("ids", INT64, ["batch", "length"])], [("logits", FLOAT, ["batch", "length", WORDS])]), b.tokens()


def tried(folder, build, opset, *more):
    b = Transformer(5, opset)
    model, samples = build(b)
    for tensor in model.graph.initializer:  # two channels of what writes the stream
        if "down" in tensor.name or tensor.name in ("embed", "words"):
            value = onnx.numpy_helper.to_array(tensor).copy()
            value[..., [3, 20]] *= np.float32(8)
            tensor.CopyFrom(onnx.numpy_helper.from_array(value, tensor.name))
    onnx.save(model, folder / "net.onnx")
    np.savez(folder / "data.npz", **samples)
    done = vernier("fix", "net.onnx", "--int8", "--data", "data.npz", "--allow", "rotate-stream", "--no-latency", "--json", "-o",
                   "out", *more, folder=folder)
    return [row for row in json.loads(done.stdout)["explanation"]["repairs"] if row["id"] == "rotate-stream"]


@pytest.mark.parametrize("name", CASES)
def test_stream_is_turned(name, tmp_path):
    build, layers, products, opset = CASES[name]
    rows = tried(tmp_path, build, opset)
    assert len(rows) == 1, rows
    assert rows[0].get("neutral_db", 0) >= 100, rows[0]
    assert len(rows[0]["layers"]) == layers, rows[0]
    assert (f"{products} product" in rows[0]["why"]) == (products > 0), rows[0]["why"]


def test_encoder_and_decoder_are_two_streams(tmp_path):
    def build(b):
        x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
        y = b.add("Gather", ["embed", "ids"], "y")
        for i in range(2):
            x = b.block(x, f"e{i}", b.rms, b.matmul)
        encoded = b.rms(x, "encoded")
        for i in range(2):
            read = b.matmul(encoded, f"c{i}.v", WIDTH, INNER)
            asked = b.matmul(b.rms(y, f"c{i}.norm"), f"c{i}.q", WIDTH, INNER)
            b.add("Mul", [read, asked], f"c{i}.mixed")
            y = b.add("Add", [y, b.matmul(f"c{i}.mixed", f"c{i}.o", INNER, WIDTH)], f"c{i}.out")
            y = b.block(y, f"d{i}", b.rms, b.matmul)
        b.matmul(b.rms(y, "final"), "logits", WIDTH, WORDS)
        return b.of_tokens("logits", WORDS)
    rows = tried(tmp_path, build, 17)
    assert sorted(len(row["layers"]) for row in rows) == [6, 9], rows
    assert all(row["neutral_db"] >= 100 for row in rows), rows


def test_norms_behind_the_additions_are_a_reason(tmp_path):
    def build(b):
        x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
        for i in range(2):
            hidden = b.add("Tanh", [b.linear(b.norm(x, f"b{i}.norm"), f"b{i}.up", WIDTH, INNER)], f"b{i}.act")
            x = b.add("Add", [x, b.norm(b.linear(hidden, f"b{i}.down", INNER, WIDTH), f"b{i}.after")], f"b{i}.out")
        b.linear(b.norm(x, "final"), "logits", WIDTH, WORDS)
        return b.of_tokens("logits", WORDS)
    rows = tried(tmp_path, build, 17)
    assert len(rows) == 1 and not rows[0]["accepted"]
    assert "the matrix would need 2 products" in rows[0]["why"], rows[0]["why"]


def large_stream(b, norm):
    """As T5's: the second block writes values beyond float16."""
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    for i in range(3):
        x = b.block(x, f"b{i}", norm, b.matmul)
    b.matmul(norm(x, "final"), "logits", WIDTH, WORDS)
    model, samples = b.of_tokens("logits", WORDS)
    change_table(model, "b1.down.weight", lambda values: values * np.float32(1e5))
    return model, samples


def change_table(model, name, change):
    """Puts `change(values)` in the place of an initializer."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(onnx.numpy_helper.from_array(change(onnx.numpy_helper.to_array(tensor)), name))


def accepted(repair, model, samples, folder):
    """The report of `fix` in FP16, which has to take the repair, and the repair's row in it."""
    onnx.save(model, folder / "net.onnx")
    np.savez(folder / "data.npz", **samples)
    done = vernier("fix", "net.onnx", "--fp16", "--data", "data.npz", "--no-latency", "--json", "-o", "out", folder=folder)
    report = json.loads(done.stdout)
    rows = [row for row in report["explanation"]["repairs"] if row["id"] == repair]
    assert len(rows) == 1 and rows[0]["accepted"], rows
    return report, rows[0]


@pytest.mark.parametrize("norm", ["norm", "rms"])
def test_stream_beyond_float16_is_scaled(norm, tmp_path):
    b = Transformer(5)
    model, samples = large_stream(b, getattr(b, norm))
    report, row = accepted("scale-stream", model, samples, tmp_path)
    assert float(row["neutral_db"]) >= 100, row  # "inf": exact
    figures = report["repaired"]["outputs"][0]
    assert figures["nonfinite"] == 0 and figures["sqnr_db"] > 50, figures
    overflow = [cause for cause in report["explanation"]["causes"] if cause["id"] == "overflow"]
    assert any("scale-stream" in cause["repairs"] for cause in overflow), overflow


def test_mean_in_front_of_layer_norms_is_taken_out(tmp_path):
    b = Transformer(5)
    x = b.add("Gather", [b.table("embed", WORDS, WIDTH), "ids"], "x")
    for i in range(2):
        x = b.block(x, f"b{i}", b.norm)
    b.linear(b.norm(x, "final"), "logits", WIDTH, WORDS)
    model, samples = b.of_tokens("logits", WORDS)
    change_table(model, "embed", lambda values: values + np.float32(500))
    report, _ = accepted("centre-stream", model, samples, tmp_path)
    gain = report["repaired"]["outputs"][0]["sqnr_db"] - report["all_low"]["outputs"][0]["sqnr_db"]
    assert gain > 20, gain
    causes = [cause for cause in report["explanation"]["causes"] if cause["id"] == "large-mean"]
    assert causes and all("centre-stream" in cause["repairs"] for cause in causes), causes
