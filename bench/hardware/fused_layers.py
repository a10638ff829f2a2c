"""What an engine computes where it fuses a few layers: chains of layers in a low format, each a network of its own.

    python bench/hardware/fused_layers.py run RECORD PACKAGES   on a machine with a GPU; PACKAGES: folder of TensorRT-RTX's packages
    python bench/hardware/fused_layers.py table RECORD         what it gave, beside what the file says

`run` writes RECORD (.npz): the result of each chain, and the kernels that the engine made of it. `table` computes each chain in
NumPy, rounded behind every layer as the file says, and once more for each way in which a Clip may lose its limits. Networks and inputs
follow from the chain's name. The record is bench/results/engines/fused_layers.npz, docs/records/within-a-layer.md says what it shows, and
tests/engines/test_fused_layers.py holds the simulation against it. Needs numpy, onnx and ml_dtypes; `run` needs torch too, for memory on
the GPU. Evidence: run.
"""
import argparse
import concurrent.futures
import json
import math
import multiprocessing
import sys
import zlib

import ml_dtypes
import numpy as np

CHANNELS = 32
SAMPLES = 4
FORMATS = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp32": np.float32}
LIMITS = {"clip0_6": (0, 6), "clip-1_1": (-1, 1), "clip1_3": (1, 3), "clip0": (0, None), "clip_6": (None, 6)}
SIZES = (3, 4, 5, 7, 8, 10, 12, 14)
POOLS = ("AveragePool", "GlobalAveragePool", "ReduceMean")

LOW = ("bf16", "fp16")
FRONTS = ("Conv1", "Conv3", "Depthwise", "Conv1 Add", "MatMul", "")
BEHIND = ("f32", "AveragePool", "f32 AveragePool", "GlobalAveragePool", "ReduceMean", "MaxPool", "f32 MaxPool", "Softmax", "Conv1", "f32 Conv1",
          "f32 Conv3", "f32 Depthwise", "f32 ConvTranspose", "f32 GlobalAveragePool", "f32 ReduceMean", "f32 Add", "f32 Sigmoid", "f32 Softmax",
          "f32 MatMul", "f32 Flatten GemmAll", "f32 Resize", "f32 LRN", "pool_conv", "Max6", "Resize", "LRN")
BETWEEN = (*LIMITS, "Relu", "Min6", "Max0", "LeakyRelu", "HardSigmoid", "HardSwish", "Sigmoid", "Elu")
AROUND = ("Min6 Relu", "Relu Min6", "clip0_6 clip0_6", "Max0 Min6", "Min6 Max0")
PRODUCTS = ((6, 1), (6, 4), (6, 16), (16, 1), (16, 4), (16, 16), (12, 16), (24, 16), (6, 64), (16, 64), (12, 64), (24, 64), (16, 256), (24, 256))
INSIDE = ("Softmax", "LogSoftmax", "LayerNormalization", "InstanceNormalization", "Gelu", "Erf", "Sigmoid", "SiLU", "Tanh", "Softplus", "Exp",
          "Mish", "Elu", "PRelu", "Sqrt", "ReduceSum", "GlobalAveragePool", "LpNormalization", "HardSigmoid", "MatMul", "Flatten GemmAll")


def chains():
    """Names of all chains: format, size of the image, layers."""
    found = [(low, size, pool) for low in LOW for size in SIZES for pool in POOLS]
    found += [(low, 7, "Conv1 Relu", pool, "Flatten Gemm") for low in LOW for pool in POOLS]
    found += [(low, 7, front, "clip0_6", behind) for low in LOW for front in FRONTS for behind in BEHIND]
    found += [(low, 7, "Conv1", between, behind) for low in LOW for between in BETWEEN for behind in ("AveragePool", "f32 AveragePool", "f32")]
    found += [(low, 7, front, "clip0_6", behind) for low in LOW for front in ("ConvTranspose", "Conv1 Relu", "Conv1 Sigmoid", "Flatten GemmAll")
              for behind in ("AveragePool", "f32 AveragePool", "f32 Conv1", "f32") if "Flatten" not in front or behind == "f32"]
    found += [(low, 7, front, limit, behind) for low in LOW for front in ("", "MatMul", "Conv1 Add") for limit in ("clip0", "clip_6")
              for behind in ("f32", "AveragePool", "MatMul")]
    found += [(low, 7, front, around, behind) for low in LOW for front in ("Conv1", "Conv3", "Depthwise") for around in AROUND
              for behind in ("AveragePool", "MaxPool", "f32 AveragePool", "f32 Conv1", "f32")]
    found += [(low, 7, "Conv1 f32", between, "low", behind) for low in LOW for between in ("clip0_6", "Relu", "Sigmoid", "Add", "Softmax", "")
              for behind in ("AveragePool", "MaxPool", "Conv1", "f32 Conv1", "GlobalAveragePool", "")]
    found += [(low, size, inside) for low in LOW for size in (6, 16) for inside in INSIDE]
    found += [("fp32", 7, "Conv1 clip0_6", behind) for behind in ("AveragePool", "ReduceMean")]
    # Products of a constant: rows x inputs = 128 size^2.
    found += [(low, size, f"Rows{rows}", layer + str(columns), behind) for low in LOW for size, rows in PRODUCTS for layer in ("Product", "Linear", "Gemm")
              for columns in (10, 256) for behind in ("", "Relu")]
    found += [(low, size, f"Rows{rows}", "Scores", behind) for low in LOW for size, rows in PRODUCTS[-6:] for behind in ("", "Relu")]
    found += [(low, 7, "Conv1 f32", between, pool) for low in LOW for between in ("Sigmoid", "Relu", "clip0_6") for pool in ("AveragePool", "MaxPool")]
    return list(dict.fromkeys(" ".join(word for word in map(str, chain) if word) for chain in found))


def random_of(chain):
    return np.random.default_rng(zlib.crc32(chain.encode()))


def part(result):
    """What of a result is recorded."""
    return result[:1, :8] if result.ndim == 4 else result[:16, :16]


def parts(chain):
    low, size, *layers = chain.split()
    return low, int(size), layers


def constants(chain):
    """By place in the chain: what its layers hold, float32."""
    low, size, layers = parts(chain)
    random, found = random_of(chain), {}
    for place, layer in enumerate(layers):
        scale = 3 / np.sqrt(CHANNELS)
        if layer in ("Conv1", "Conv3"):
            kernel = int(layer[-1])
            found[place] = [random.normal(0, scale / kernel, (CHANNELS, CHANNELS, kernel, kernel)), random.normal(0, 1, CHANNELS)]
        elif layer == "Depthwise":
            found[place] = [random.normal(0, 1.0, (CHANNELS, 1, 3, 3)), random.normal(0, 1, CHANNELS)]
        elif layer == "MatMul":
            found[place] = [random.normal(0, 3 / np.sqrt(size), (size, size))]
        elif layer in ("Gemm", "GemmAll"):
            inputs = CHANNELS * (1 if layer == "Gemm" else size * size)
            found[place] = [random.normal(0, 3 / np.sqrt(inputs), (inputs, 10)), random.normal(0, 1, 10)]
        elif layer[:4] == "Rows":
            inputs = SAMPLES * CHANNELS * size * size // int(layer[4:])
            continue
        elif layer.rstrip("0123456789") in ("Product", "Linear", "Gemm") and layer != "Gemm":
            columns = int(layer.lstrip("ProductLineaGm"))
            found[place] = [random.normal(0, 3 / np.sqrt(inputs), (inputs, columns)), random.normal(0, 1, columns)]
        elif layer == "ConvTranspose":
            found[place] = [random.normal(0, scale, (CHANNELS, CHANNELS, 1, 1)), random.normal(0, 1, CHANNELS)]
        elif layer == "LayerNormalization":
            found[place] = [random.normal(1, 0.2, size), random.normal(0, 0.2, size)]
        elif layer == "InstanceNormalization":
            found[place] = [random.normal(1, 0.2, CHANNELS), random.normal(0, 0.2, CHANNELS)]
        elif layer == "PRelu":
            found[place] = [random.normal(0.2, 0.05, (CHANNELS, 1, 1))]
        elif layer == "Add":
            found[place] = [random.normal(0, 2, (1, CHANNELS, size, size))]
        elif layer == "pool_conv":
            found[place] = [np.full((CHANNELS, 1, size, size), 1 / size**2)]
        elif layer == "pool_matmul":
            found[place] = [np.full((size * size, 1), 1 / size**2)]
        else:
            continue
        found[place] = [value.astype(np.float32) for value in found[place]]
    return found, random.normal(0.5, 1.5, (SAMPLES, CHANNELS, size, size)).astype(np.float32)


def network(chain):
    """The chain as ONNX: float32 in and out, between them the format that it names."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    types = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16, "fp32": TensorProto.FLOAT}
    low, size, layers = parts(chain)
    held, images = constants(chain)
    nodes, stored = [], {}
    now = {"name": "input", "type": "fp32", "rank": 4}

    def constant(value, form):
        name = f"c{len(stored)}"
        stored[name] = numpy_helper.from_array(np.asarray(value).astype(FORMATS.get(form, np.int64)), name)
        return name

    def add(operator, *inputs, form=None, **attributes):
        name = f"t{len(nodes)}"
        nodes.append(helper.make_node(operator, [now["name"], *inputs], [name], name=f"{operator}_{len(nodes)}", **attributes))
        now.update(name=name, type=form or now["type"])

    def cast(form):
        if form != now["type"]:
            add("Cast", form=form, to=types[form])

    cast(low)
    for place, layer in enumerate(layers):
        form = now["type"]
        values = [constant(value, form) for value in held.get(place, ())]
        whole = [size, size]
        if layer in ("f32", "low"):
            cast("fp32" if layer == "f32" else low)
        elif layer in ("Conv1", "Conv3"):
            add("Conv", *values, kernel_shape=[int(layer[-1])] * 2, pads=[int(layer[-1]) // 2] * 4)
        elif layer == "Depthwise":
            add("Conv", *values, kernel_shape=[3, 3], pads=[1] * 4, group=CHANNELS)
        elif layer == "pool_conv":
            add("Conv", *values, kernel_shape=whole, group=CHANNELS)
        elif layer == "pool_matmul":
            add("Reshape", constant([SAMPLES, CHANNELS, size * size], "int64"))
            add("MatMul", *values)
            add("Reshape", constant([SAMPLES, CHANNELS, 1, 1], "int64"))
        elif layer in LIMITS:
            add("Clip", *("" if limit is None else constant(np.float32(limit), form) for limit in LIMITS[layer]))
        elif layer in ("Min6", "Max0", "Max6"):
            add(layer[:3], constant(np.float32(int(layer[3])), form))
        elif layer == "AveragePool" or layer == "MaxPool":
            add(layer, kernel_shape=whole)
        elif layer == "ReduceMean":
            add(layer, constant([2, 3], "int64"), keepdims=1)
        elif layer == "Reshape":
            add(layer, constant([SAMPLES, CHANNELS, size, size], "int64"))
        elif layer in ("Softmax", "LogSoftmax"):
            add(layer, axis=1)
        elif layer == "ReduceSum":
            add(layer, constant([2, 3], "int64"), keepdims=1)
        elif layer == "LpNormalization":
            add(layer, axis=1, p=2)
        elif layer == "GemmAll":
            add("Gemm", *values)
        elif layer[:4] == "Rows":
            add("Reshape", constant([int(layer[4:]), -1], "int64"))
        elif layer[:7] == "Product":
            add("MatMul", values[0])
        elif layer[:6] == "Linear":
            add("MatMul", values[0])
            add("Add", values[1])
        elif layer[:4] == "Gemm" and layer != "Gemm":
            add("Gemm", *values)
        elif layer == "Scores":  # of each row with each
            before = now["name"]
            add("Transpose", perm=[1, 0])
            turned, now["name"] = now["name"], before
            add("MatMul", turned)
        elif layer == "SiLU":
            before = now["name"]
            add("Sigmoid")
            add("Mul", before)
        elif layer in ("Sqrt", "Exp"):
            add({"Sqrt": "Abs", "Exp": "Neg"}[layer])
            add(layer)
        elif layer == "LRN":
            add(layer, size=3)
        elif layer == "Resize":
            add(layer, "", constant(np.float32([1, 1, 2, 2]), "fp32"), mode="nearest")
        else:
            add(layer, *values)
    cast("fp32")
    nodes[-1].output[0] = "output"
    if len(nodes) == 1 and not layers:
        raise ValueError(chain)
    out = helper.make_tensor_value_info("output", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "chain", [helper.make_tensor_value_info("input", TensorProto.FLOAT, images.shape)], [out],
                              list(stored.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model), images


def convolved(x, weight, bias, groups):
    """Stride 1, padded as far as the kernel is odd and smaller than the image."""
    kernel, size = weight.shape[2], x.shape[2]
    if kernel == size:
        return (x * weight[None, :, 0]).sum((2, 3), keepdims=True)
    edge = kernel // 2
    x = np.pad(x, ((0, 0), (0, 0), (edge, edge), (edge, edge)))
    total = 0
    for i in range(kernel):
        for j in range(kernel):
            part = x[:, :, i:i + size, j:j + size]
            total = total + (part * weight[None, :, 0, i, j][:, :, None, None] if groups > 1
                             else np.einsum("nchw,oc->nohw", part, weight[:, :, i, j]))
    return total + bias[None, :, None, None]


erf = np.vectorize(math.erf)
LOSSES = ("no upper limit", "no lower limit", "no limits")


def computed(chain, loss=None, inputs_alone=False):
    """The chain in float64, each layer's result rounded to its format. `loss`: how a Clip fails. `inputs_alone`: no results are rounded,
    inputs and constants are."""
    low, size, layers = parts(chain)
    held, x = constants(chain)
    form = FORMATS[low]

    def rounded(values):
        return np.asarray(values).astype(np.float32).astype(form).astype(np.float64)

    x = rounded(x)
    for place, layer in enumerate(layers):
        values = [rounded(value) for value in held.get(place, ())]
        if layer in ("f32", "low"):
            form = FORMATS["fp32" if layer == "f32" else low]
        elif layer in ("Conv1", "Conv3", "Depthwise"):
            x = convolved(x, *values, CHANNELS if layer == "Depthwise" else 1)
        elif layer == "pool_conv":
            x = convolved(x, *values, None, CHANNELS)
        elif layer == "pool_matmul":
            x = x.reshape(SAMPLES, CHANNELS, -1).dot(values[0])[..., None]
        elif layer == "MatMul":
            x = x @ values[0]
        elif layer[:4] == "Rows":
            x = x.reshape(int(layer[4:]), -1)
        elif layer[:7] == "Product":
            x = x @ values[0]
        elif layer[:6] == "Linear":
            x = x @ values[0]
            x = (x if inputs_alone else rounded(x)) + values[1]
        elif layer == "Scores":
            x = x @ x.T
        elif layer in ("Gemm", "GemmAll") or layer[:4] == "Gemm":
            x = x @ values[0] + values[1]
        elif layer == "ConvTranspose":
            x = convolved(x, values[0].transpose(1, 0, 2, 3), values[1], 1)
        elif layer == "Add":
            x = x + values[0]
        elif layer in LIMITS:
            least, most = LIMITS[layer]
            if least is not None and loss not in ("no lower limit", "no limits"):
                x = np.maximum(x, least)
            if most is not None and loss not in ("no upper limit", "no limits"):
                x = np.minimum(x, most)
        elif layer in ("Min6", "Max0", "Max6"):
            x = (np.minimum if layer[:3] == "Min" else np.maximum)(x, int(layer[3]))
        elif layer in POOLS:
            x = x.mean((2, 3), keepdims=True)
        elif layer == "MaxPool":
            x = x.max((2, 3), keepdims=True)
        elif layer == "Flatten":
            x = x.reshape(SAMPLES, -1)
        elif layer in ("Softmax", "LogSoftmax"):
            x = x - x.max(1, keepdims=True)
            x = x - np.log(np.exp(x).sum(1, keepdims=True))
            x = np.exp(x) if layer == "Softmax" else x
        elif layer in ("LayerNormalization", "InstanceNormalization"):
            axes, shape = ((3,), (-1,)) if layer[0] == "L" else ((2, 3), (-1, 1, 1))
            x = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)
            x = x * values[0].reshape(shape) + values[1].reshape(shape)
        elif layer == "LpNormalization":
            x = x / np.sqrt((x * x).sum(1, keepdims=True))
        elif layer == "ReduceSum":
            x = x.sum((2, 3), keepdims=True)
        elif layer == "PRelu":
            x = np.where(x < 0, x * values[0], x)
        elif layer == "SiLU":
            x = x * rounded(1 / (1 + np.exp(-x)))
        elif layer == "Sqrt":
            x = np.sqrt(np.abs(x))
        elif layer == "Exp":
            x = np.exp(-x)
        elif layer == "LRN":
            near = np.pad(x * x, ((0, 0), (1, 1), (0, 0), (0, 0)))
            x = x / (1 + 1e-4 / 3 * (near[:, :-2] + near[:, 1:-1] + near[:, 2:])) ** 0.75
        elif layer == "Resize":
            x = x.repeat(2, 2).repeat(2, 3)
        elif layer != "Reshape":
            x = {"Relu": lambda v: np.maximum(v, 0), "LeakyRelu": lambda v: np.where(v < 0, 0.01 * v, v), "Elu": lambda v: np.where(v < 0, np.expm1(v), v),
                 "HardSigmoid": lambda v: np.clip(0.2 * v + 0.5, 0, 1), "HardSwish": lambda v: v * np.clip(v / 6 + 0.5, 0, 1),
                 "Sigmoid": lambda v: 1 / (1 + np.exp(-v)), "Tanh": np.tanh, "Erf": erf, "Gelu": lambda v: v / 2 * (1 + erf(v / np.sqrt(2))),
                 "Softplus": lambda v: np.log1p(np.exp(v)), "Mish": lambda v: v * np.tanh(np.log1p(np.exp(v)))}[layer](x)
        x = x if inputs_alone else rounded(x)
    return x


def sqnr(right, got):
    error = float(((right - got) ** 2).sum())
    return 999.0 if error == 0 else 10 * np.log10(float((right**2).sum()) / error)


class Engine:
    """TensorRT-RTX, with torch for memory."""

    def __init__(self, packages):
        sys.path.insert(0, packages)
        import tensorrt_rtx_bindings as trt
        import torch

        class Log(trt.ILogger):
            def __init__(self):
                trt.ILogger.__init__(self)
                self.errors = []

            def log(self, severity, text):
                if severity <= trt.ILogger.Severity.ERROR:
                    self.errors.append(text)

        self.trt, self.torch, self.log = trt, torch, Log()
        self.about = f"TensorRT-RTX {trt.__version__} on {torch.cuda.get_device_name()}"

    def run(self, model, feed):
        """Results by name, and the kernels."""
        trt, torch = self.trt, self.torch
        self.log.errors.clear()
        builder = trt.Builder(self.log)
        net = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        parser = trt.OnnxParser(net, self.log)
        if not parser.parse(model):
            raise RuntimeError("; ".join(parser.get_error(i).desc() for i in range(parser.num_errors)))
        config = builder.create_builder_config()
        config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
        plan = builder.build_serialized_network(net, config)
        engine = plan and trt.Runtime(self.log).deserialize_cuda_engine(plan)
        if not engine:
            raise RuntimeError("; ".join(self.log.errors))
        context = engine.create_execution_context()
        places = {}
        for i in range(engine.num_io_tensors):
            name = engine.get_tensor_name(i)
            if name in feed:
                places[name] = torch.from_numpy(feed[name]).cuda().contiguous()
            else:
                places[name] = torch.zeros(tuple(engine.get_tensor_shape(name)), device="cuda")
            context.set_tensor_address(name, places[name].data_ptr())
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        if not context.execute_async_v3(stream.cuda_stream):
            raise RuntimeError("; ".join(self.log.errors))
        stream.synchronize()
        kernels = json.loads(engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON))["Layers"]
        return {name: place.cpu().numpy() for name, place in places.items() if name not in feed}, kernels


def start(packages):
    global engine
    engine = Engine(packages)


def about_engine():
    return engine.about


def one_chain(chain):
    model, images = network(chain)
    try:
        results, kernels = engine.run(model.SerializeToString(), {"input": images})
        return chain, part(results["output"]), [kernel["Name"] for kernel in kernels]
    except RuntimeError as error:
        return chain, None, str(error)[:300]


def packed(result):
    """In half the bytes where that loses no bit."""
    with np.errstate(over="ignore"):
        half = result.astype(np.float16)
    return half if np.array_equal(half.astype(result.dtype), result, equal_nan=True) else result


def save(path, about, results, said):
    """`said`: of each chain its kernels, or why there are none. One text, as an entry of the archive takes 400 bytes."""
    np.savez_compressed(path, about=about, said=json.dumps(said), **{chain: packed(result) for chain, result in results.items()})


def run(arguments):
    results, said = {}, {}
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(arguments.processes, spawn, start, (arguments.packages,)) as workers:
        for chain, result, words in workers.map(one_chain, chains()):
            said[chain] = words
            if result is not None:
                results[chain] = result
        about = workers.submit(about_engine).result()
    save(arguments.record, about, results, said)


def table(arguments):
    record = np.load(arguments.record)
    print(f"{record['about']}; SQNR in dB of what it gave, against the file and against the file without a limit\n")
    print(f"| format, size, layers | the file | {' | '.join(LOSSES)} |\n|---|---|{'---|' * len(LOSSES)}")
    for chain in chains():
        if chain not in record:
            print(f"| {chain} | refused |{' |' * len(LOSSES)}")
            continue
        got = record[chain].astype(np.float64)
        figures = [sqnr(part(computed(chain)), got)]
        if any(layer in LIMITS for layer in chain.split()):
            figures += [sqnr(part(computed(chain, loss)), got) for loss in LOSSES]
        print(f"| {chain} | " + " | ".join("equal" if value > 900 else f"{value:.1f}" for value in figures) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("record")
    one.add_argument("packages")
    one.add_argument("--processes", type=int, default=8)
    commands.add_parser("table").add_argument("record")
    arguments = parser.parse_args()
    {"run": run, "table": table}[arguments.command](arguments)


if __name__ == "__main__":
    main()
