"""What one operator costs in ONNX Runtime's CPU provider, in float32 and on codes: the table that `--target onnxruntime`
places quantization by (src/plan/kernel_times.cpp).

    python bench/kernel_times.py [--threads 1] [--json bench/results/kernel_times.json]

Each case is one node. On codes: uint8 in, DequantizeLinear, operator, QuantizeLinear, uint8 out, which the runtime fuses
into one kernel; the float one beside it, in turns, and the time of an empty session taken off. The times of a class are
fitted by what its cases count: multiply-accumulates, gathered (elements of data that all results read, one for each
position of a convolution's kernel), results, and the call itself, each with a coefficient of 0 or more in nanoseconds, by
least squares of the relative errors.
"""
import argparse
import json
import pathlib
import statistics
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8
SCALE = np.float32(1 / 32)


def weight(name, shape, quantized, axis):
    """Initializers and nodes that give `name`; on codes with a scale for each place along `axis`."""
    values = np.random.default_rng(0).normal(0, 1, shape).astype(np.float32)
    if not quantized:
        return [numpy_helper.from_array(values, name)], []
    codes = np.clip(np.rint(values * 40), -127, 127).astype(np.int8)
    scales = np.full(shape[axis], 1 / 40, np.float32)
    return ([numpy_helper.from_array(codes, f"{name}.codes"), numpy_helper.from_array(scales, f"{name}.scale"),
             numpy_helper.from_array(np.zeros(shape[axis], np.int8), f"{name}.zero")],
            [helper.make_node("DequantizeLinear", [f"{name}.codes", f"{name}.scale", f"{name}.zero"], [name], axis=axis)])


def model(operator, inputs, weights, quantized, chain=1, **attributes):
    """`inputs`: shapes of activations. `weights`: shapes of constants, one for each node of a chain; [] for none. In a chain
    the first input goes from node to node."""
    nodes, initializers, infos, names = [], [], [], []
    initializers += [numpy_helper.from_array(SCALE, "scale"), numpy_helper.from_array(np.uint8(128), "zero")]
    for i, shape in enumerate(inputs):
        name = f"x{i}"
        infos.append(helper.make_tensor_value_info(name, UINT8 if quantized else FLOAT, shape))
        if quantized:
            nodes.append(helper.make_node("DequantizeLinear", [name, "scale", "zero"], [f"{name}.float"]))
            name += ".float"
        names.append(name)
    for i in range(chain):
        if weights:
            constants, makers = weight(f"w{i}", weights[i], quantized, axis=0 if operator == "Conv" else 1)
            initializers += constants
            nodes += makers
        result = "y" if i == chain - 1 else f"t{i}"
        made = f"{result}.made" if quantized else result
        nodes.append(helper.make_node(operator, [*names, *([f"w{i}"] if weights else [])], [made], name=f"n{i}", **attributes))
        if quantized:
            nodes.append(helper.make_node("QuantizeLinear", [made, "scale", "zero"], [result if i == chain - 1 else f"{result}.codes"]))
            if i < chain - 1:
                nodes.append(helper.make_node("DequantizeLinear", [f"{result}.codes", "scale", "zero"], [result]))
        names[0] = result
    return wrap(nodes, infos, UINT8 if quantized else FLOAT, initializers)


def wrap(nodes, infos, kind, initializers=()):
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", kind, None)], list(initializers))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 8
    return made


def converter(operator, shape):
    into = operator == "DequantizeLinear"
    nodes = [helper.make_node(operator, ["x0", "scale", "zero"], ["y"])]
    return wrap(nodes, [helper.make_tensor_value_info("x0", UINT8 if into else FLOAT, shape)], FLOAT if into else UINT8,
                [numpy_helper.from_array(SCALE, "scale"), numpy_helper.from_array(np.uint8(128), "zero")])


class Timed:
    def __init__(self, made, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(1)
        self.feeds = {}
        for put in self.session.get_inputs():
            values = random.normal(0, 1, put.shape)
            self.feeds[put.name] = (np.clip(values * 32 + 128, 0, 255).astype(np.uint8) if "uint8" in put.type
                                    else values.astype(np.float32))
        binding = self.session.io_binding()
        for name, value in self.feeds.items():
            binding.bind_cpu_input(name, value)
        binding.bind_output("y")
        self.binding = binding
        self.session.run_with_iobinding(binding)
        start = time.perf_counter()
        self.session.run_with_iobinding(binding)
        once = max(time.perf_counter() - start, 1e-6)
        self.runs = max(1, int(0.01 / once))
        self.times = []

    def round(self):
        start = time.perf_counter()
        for _ in range(self.runs):
            self.session.run_with_iobinding(self.binding)
        self.times.append((time.perf_counter() - start) / self.runs)

    def median(self):
        return statistics.median(self.times)


def cases():
    """(class, (multiply-accumulates, gathered, results), float models, models on codes): one model, or a long chain of
    nodes and a short one, of which the difference is the time of two nodes. What changes layouts for the first and the
    last of a chain is no part of it."""
    def pair(kind, counts, operator, inputs, weights=(), **attributes):
        return (kind, counts, [model(operator, inputs, weights, False, **attributes)],
                [model(operator, inputs, weights, True, **attributes)])

    def conv(kind, channels, out, kernel, sides, group=1):
        """There and back: the counts are the mean of both."""
        positions = int(np.prod(sides))
        window = kernel ** len(sides)
        shapes = [[out, channels // group, *[kernel] * len(sides)], [channels, out // group, *[kernel] * len(sides)]]
        attributes = {"pads": [kernel // 2] * 2 * len(sides), "group": group}
        gathered = (channels + out) / 2 * window * positions
        counts = (out * channels // group * window * positions, gathered, (channels + out) / 2 * positions)
        return (kind, counts, *([model("Conv", [[1, channels, *sides]], [shapes[i % 2] for i in range(chain)], quantized, chain, **attributes)
                                 for chain in (3, 1)] for quantized in (False, True)))

    def first(kind, channels, out, kernel, side):
        positions = side * side
        taps = channels * kernel ** 2
        return pair(kind, (out * taps * positions, taps * positions, out * positions), "Conv", [[1, channels, side, side]],
                    [[out, channels, kernel, kernel]], pads=[kernel // 2] * 4)
    for channels, out, kernel, side in [(3, 32, 3, 112), (3, 64, 7, 112), (3, 16, 9, 200), (3, 16, 9, 400),
                                        (3, 16, 3, 400), (4, 32, 3, 64), (1, 16, 3, 96)]:
        yield first("Conv of few channels", channels, out, kernel, side)
    for channels, out, kernel, side in [(16, 16, 9, 100), (16, 32, 3, 104), (12, 16, 3, 104), (32, 32, 3, 56), (32, 8, 3, 56),
                                        (64, 8, 5, 56), (64, 64, 3, 56), (64, 64, 3, 28), (128, 128, 3, 14), (64, 128, 5, 28),
                                        (256, 256, 3, 7), (16, 16, 9, 400), (32, 32, 3, 200), (16, 32, 3, 400)]:
        yield conv("Conv", channels, out, kernel, (side, side))
    for channels, out, kernel, side in [(16, 3, 9, 400), (64, 3, 5, 56), (32, 3, 3, 200), (16, 4, 9, 200), (64, 1, 3, 112)]:
        yield first("Conv of few results", channels, out, kernel, side)
    for channels, out, side in [(32, 64, 56), (96, 24, 56), (160, 320, 14), (16, 64, 104), (64, 64, 52), (256, 64, 26),
                                (512, 256, 13), (32, 16, 104), (320, 1280, 7), (64, 4, 40)]:
        yield conv("Conv, pointwise", channels, out, 1, (side, side))
    for channels, kernel, side in [(32, 3, 56), (96, 3, 56), (192, 3, 28), (576, 3, 14), (64, 5, 28), (16, 3, 104)]:
        yield conv("Conv, depthwise", channels, channels, kernel, (side, side), channels)
    for channels, groups, side in [(64, 4, 28), (128, 2, 28), (128, 8, 28), (128, 4, 14)]:
        yield conv("Conv, grouped", channels, channels, 3, (side, side), groups)
    for channels, groups, side in [(128, 32, 28), (64, 8, 56), (256, 32, 14), (64, 16, 28)]:
        yield conv("Conv, narrow groups", channels, channels, 3, (side, side), groups)
    for channels, out, kernel, length in [(32, 32, 3, 400), (64, 64, 3, 200), (128, 128, 3, 100), (1, 64, 25, 2000), (80, 256, 5, 300)]:
        yield conv("Conv, one dimension", channels, out, kernel, (length,))
    for rows, inner, columns in [(197, 192, 192), (64, 192, 768), (197, 768, 192), (16, 64, 64), (128, 512, 512), (64, 16, 16),
                                 (64, 16, 48), (200, 32, 128)]:
        yield pair("MatMul", (rows * inner * columns, rows * inner, rows * columns), "MatMul", [[1, rows, inner]], [[inner, columns]])
    for inner, columns in [(1280, 1000), (64, 512), (288, 288), (768, 288), (64, 64), (512, 10)]:
        yield pair("MatMul of a vector", (inner * columns, inner, columns), "MatMul", [[1, inner]], [[inner, columns]])
    for heads, rows, inner, columns in [(3, 197, 64, 197), (3, 197, 197, 64), (8, 64, 32, 64), (4, 64, 8, 64)]:
        yield pair("MatMul of activations", (heads * rows * inner * columns, heads * rows * inner, heads * rows * columns), "MatMul",
                   [[1, heads, rows, inner], [1, heads, inner, columns]])
    for shape in ([1, 32, 56, 56], [1, 96, 28, 28], [1, 197, 192], [1, 197, 768], [1, 16, 8, 8], [1, 16, 16]):
        counts = (0, 0, int(np.prod(shape)))
        for operator in ("Add", "Mul"):
            yield pair(operator, counts, operator, [shape, shape])
        for operator in ("Sigmoid", "LeakyRelu"):
            yield pair(operator, counts, operator, [shape])
        yield pair("Softmax", counts, "Softmax", [shape], axis=-1)
        if len(shape) == 4:
            yield pair("GlobalAveragePool", (0, counts[2], 0), "GlobalAveragePool", [shape])
            yield pair("AveragePool", counts, "AveragePool", [shape], kernel_shape=[3, 3], pads=[1] * 4)
            yield pair("MaxPool", counts, "MaxPool", [shape], kernel_shape=[3, 3], pads=[1] * 4)
            yield pair("Transpose", counts, "Transpose", [shape], perm=[0, 2, 3, 1])
        yield ("SiLU", counts, [silu(shape)], [])
        for operator in ("QuantizeLinear", "DequantizeLinear"):
            yield (operator, counts, [converter(operator, shape)], [])


def silu(shape):
    """x sigmoid(x), which the runtime makes one kernel of in float32."""
    nodes = [helper.make_node("Sigmoid", ["x0"], ["gate"]), helper.make_node("Mul", ["x0", "gate"], ["y"])]
    return wrap(nodes, [helper.make_tensor_value_info("x0", FLOAT, shape)], FLOAT)


def fitted(counts, times):
    """Coefficients of 0 or more for times, by least squares of the relative errors: those that would be negative are left
    out, the most negative one first."""
    counts = np.hstack([np.array(counts, float), np.ones((len(counts), 1))])
    times = np.maximum(np.array(times, float), 1)
    chosen = [i for i in range(counts.shape[1]) if counts[:, i].any()]
    while True:
        found = np.linalg.lstsq(counts[:, chosen] / times[:, None], np.ones(len(times)), rcond=None)[0]
        if min(found) >= 0 or len(chosen) == 1:
            break
        chosen.pop(int(np.argmin(found)))
    result = np.zeros(counts.shape[1])
    result[chosen] = found
    return [round(float(value), 5) for value in result]


def measured(threads, rounds):
    cases_of = {}
    empty = Timed(wrap([helper.make_node("Identity", ["x0"], ["y"])],
                       [helper.make_tensor_value_info("x0", FLOAT, [1])], FLOAT), threads)
    for kind, counts, *models in cases():
        timed = [[Timed(each, threads) for each in of_side] for of_side in models]
        for _ in range(rounds):
            empty.round()
            for of_side in timed:
                for each in of_side:
                    each.round()
        times = []
        for of_side in filter(None, timed):
            medians = [each.median() for each in of_side]
            times.append(1e9 * ((medians[0] - medians[1]) / 2 if len(medians) == 2 else medians[0] - empty.median()))
        cases_of.setdefault(kind, []).append((counts, [max(value, 0) for value in times]))
    rows = {}
    for kind, of_kind in cases_of.items():
        counts = [each for each, _ in of_kind]
        rows[kind] = {"cases": [{"counts": list(each), "ns": [round(t) for t in times]} for each, times in of_kind]}
        for i, name in enumerate(("float", "codes")[:len(of_kind[0][1])]):
            rows[kind][name] = fitted(counts, [times[i] for _, times in of_kind])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows = measured(options.threads, options.rounds)
    for kind, row in rows.items():
        print(f"{kind:24}", " | ".join(f"{name} " + " ".join(f"{v:9.5f}" for v in row[name]) for name in ("float", "codes") if name in row))
        for case in row["cases"]:
            estimates = [sum(c * v for c, v in zip([*case["counts"], 1], row[name])) for name in ("float", "codes") if name in row]
            print("    ", case["counts"], " ".join(f"{t / 1000:.1f}" for t in case["ns"]), "estimated",
                  " ".join(f"{t / 1000:.1f}" for t in estimates))
    if options.json:
        processor = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
        options.json.write_text(json.dumps({"processor": processor, "onnxruntime": onnxruntime.__version__,
                                            "threads": options.threads, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
