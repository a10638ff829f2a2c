"""Where an engine computes an operator of FP16 or BF16 in other steps than FP32: single operators, with values that those steps lose.

    python bench/hardware/extreme_values.py run RECORD PACKAGES   on a machine with a GPU; PACKAGES: folder of TensorRT-RTX's packages, or
                                                                 "onnxruntime" for ONNX Runtime's CUDA provider
    python bench/hardware/extreme_values.py table RECORD          operators that miss FP32 arithmetic, rounded once, by 6 dB and more

Simulation computes an operator in FP32 and rounds its result. Each network here is one operator between two Casts. Its inputs are large,
small, or around the ends of exponentials, and its result in FP32 fits into the format. The records are bench/results/engines/extremes*.npz;
docs/records/truth-tensorrt.md says what follows. Needs numpy, onnx, ml_dtypes and onnxruntime (`table` and `run`); `run` needs torch too, for memory on the
GPU. Evidence: run.
"""
import argparse
import concurrent.futures
import json
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SHAPE = (1, 4, 4, 8)
FORMATS = {"fp16": (np.float16, TensorProto.FLOAT16), "bf16": (ml_dtypes.bfloat16, TensorProto.BFLOAT16)}
SCALES = {"large": 3000.0, "exponents": 40.0, "usual": 3.0, "small": 1e-3, "tiny": 1e-4}
AXIS = [-1]

# Operator, attributes, further constants ("axes" and dtypes that are not the format's by their own).
PLAIN = ("Softplus Mish Elu Selu Gelu HardSwish HardSigmoid Sigmoid Tanh Erf Sinh Cosh Asinh Atan Softsign ThresholdedRelu Sin Cos").split()
OF_MAGNITUDES = ("Sqrt", "Log", "Reciprocal", "Acosh", "Atanh")
REDUCTIONS = ("ReduceLogSumExp", "ReduceLogSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMean", "ReduceSum")


def cases():
    found = {op: (op, {}, []) for op in (*PLAIN, *OF_MAGNITUDES)}
    found["Gelu tanh"] = ("Gelu", {"approximate": "tanh"}, [])
    found |= {op: (op, {"keepdims": 1}, [np.array(AXIS)]) for op in REDUCTIONS}
    found |= {op: (op, {"axis": -1}, []) for op in ("Softmax", "LogSoftmax")}
    found |= {f"LpNormalization {p}": ("LpNormalization", {"axis": -1, "p": p}, []) for p in (1, 2)}
    ones, channels = np.ones(SHAPE[-1], np.float32), np.ones(SHAPE[1], np.float32)
    found["LayerNormalization"] = ("LayerNormalization", {"axis": -1, "epsilon": 1e-5}, [ones])
    found["RMSNormalization"] = ("RMSNormalization", {"axis": -1, "epsilon": 1e-5}, [ones])
    found["InstanceNormalization"] = ("InstanceNormalization", {"epsilon": 1e-5}, [channels, 0 * channels])
    found["GroupNormalization"] = ("GroupNormalization", {"epsilon": 1e-5, "num_groups": 2}, [channels, 0 * channels])
    found["MeanVarianceNormalization"] = ("MeanVarianceNormalization", {"axes": [0, 2, 3]}, [])
    for name, variance in (("", 1.0), (" small variance", 1e-6), (" large variance", 1e5)):
        found["BatchNormalization" + name] = ("BatchNormalization", {"epsilon": 1e-5}, [channels, 0 * channels, 0 * channels, variance * channels])
    found["LRN"] = ("LRN", {"size": 3, "alpha": 1e-4}, [])
    found |= {f"{op} {p}": (op, {"p": p} | ({"kernel_shape": [4, 4]} if op == "LpPool" else {}), []) for op in ("LpPool", "GlobalLpPool") for p in (1, 2)}
    found["AveragePool"] = ("AveragePool", {"kernel_shape": [4, 4]}, [])
    found["GlobalAveragePool"] = ("GlobalAveragePool", {}, [])
    found["CumSum"] = ("CumSum", {}, [np.array(3)])
    found["Attention"] = ("Attention", {"scale": 0.01}, None)
    return found


def inputs_of(case, scale):
    """Values whose result in FP32 fits into FP16 or BF16 where it can."""
    op = cases()[case][0]
    values = np.random.default_rng(len(case)).normal(0, 1, SHAPE) * SCALES[scale]
    if op in OF_MAGNITUDES or op == "ReduceLogSum":
        values = np.abs(values) + (1 if op == "Acosh" else 0)
    if op == "Atanh":
        values = np.tanh(values)
    return values.astype(np.float32)


def network(case, form):
    """`form`: None for the operator in FP32 alone."""
    op, attributes, held = cases()[case]
    dtype, onnx_type = FORMATS.get(form, (np.float32, TensorProto.FLOAT))
    stored, names = [], ["a"]
    for place, value in enumerate(held or ()):
        stored.append(numpy_helper.from_array(value if value.dtype == np.int64 else value.astype(dtype), f"c{place}"))
        names.append(f"c{place}")
    if held is None:
        names = ["a", "a", "a"]
    nodes = [helper.make_node("Cast", ["x"], ["a"], to=onnx_type), helper.make_node(op, names, ["b"], name=op, **attributes),
             helper.make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(nodes, "one", [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], stored)
    opset = 23 if op in ("RMSNormalization", "Attention") else 21
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model)


def expected(case, scale, form):
    """FP32 arithmetic between the rounded input and the rounded result."""
    import onnxruntime

    dtype = FORMATS[form][0]
    values = inputs_of(case, scale).astype(dtype).astype(np.float32)
    session = onnxruntime.InferenceSession(network(case, None).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": values})[0].astype(dtype).astype(np.float32)


def on_onnxruntime(case, form, folder):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")  # its CPU kernels compute in FP32
    try:
        session = onnxruntime.InferenceSession(network(case, form).SerializeToString(), options, providers=["CUDAExecutionProvider"])
    except Exception as error:  # it has its own kinds
        return print(f"refused: {str(error).splitlines()[0][:120]}")
    for scale in SCALES:
        np.save(f"{folder}/{scale}.npy", session.run(None, {"x": inputs_of(case, scale)})[0])


def on_engine(case, form, folder, packages):
    """Writes the engine's results of one operator, a file for each scale; words of a refusal on standard output."""
    if packages == "onnxruntime":
        return on_onnxruntime(case, form, folder)
    sys.path.insert(0, packages)
    import tensorrt_rtx_bindings as trt
    import torch

    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    definition = builder.create_network(0)
    parser = trt.OnnxParser(definition, logger)
    if not parser.parse(network(case, form).SerializeToString()):
        return print(f"refused: {parser.get_error(0).desc()[:120]}")
    plan = builder.build_serialized_network(definition, builder.create_builder_config())
    if plan is None:
        return print("refused: not built")
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    stream = torch.cuda.Stream()
    for scale in SCALES:
        given = torch.from_numpy(inputs_of(case, scale)).cuda()
        result = torch.zeros(tuple(engine.get_tensor_shape("y")), dtype=torch.float32, device="cuda")
        context.set_tensor_address("x", given.data_ptr())
        context.set_tensor_address("y", result.data_ptr())
        torch.cuda.synchronize()
        if not context.execute_async_v3(stream.cuda_stream):
            return print("refused: not run")
        stream.synchronize()
        np.save(f"{folder}/{scale}.npy", result.cpu().numpy())


def judged(right, got):
    fits = np.isfinite(right)
    lost = int((fits & ~np.isfinite(got)).sum())
    both = fits & np.isfinite(got)
    error = float(((right[both].astype(np.float64) - got[both]) ** 2).sum())
    power = float((right[both].astype(np.float64) ** 2).sum())
    return {"values": int(right.size), "beyond the format": int((~fits).sum()), "not finite": lost,
            "db": None if power == 0 or error == 0 else round(10 * np.log10(power / error), 1)}


def rounding_db(case, scale, form):
    """What one rounding of the result costs: the figure of an operator that is computed as simulated is as good, or nearly so."""
    import onnxruntime

    dtype = FORMATS[form][0]
    values = inputs_of(case, scale).astype(dtype).astype(np.float32)
    exact = onnxruntime.InferenceSession(network(case, None).SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": values})[0]
    return judged(exact, exact.astype(dtype).astype(np.float32))["db"]


def run(arguments):
    values, refused = {}, {}

    def one(job):  # a process of its own: the compiler may crash
        case, form = job
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, __file__, "one", case, form, folder, arguments.packages], capture_output=True, text=True)
            words = [line for line in done.stdout.splitlines() if line.startswith("refused")]  # beside what the engine prints
            if done.returncode or words:
                refused[f"{case} {form}"] = words[-1] if words else f"refused: ended with {done.returncode}"
                return
            values.update({f"{case} {scale} {form}": np.load(f"{folder}/{scale}.npy") for scale in SCALES})

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(one, [(case, form) for case in cases() for form in FORMATS]))
    import torch

    if arguments.packages == "onnxruntime":
        import onnxruntime

        engine = f"ONNX Runtime {onnxruntime.__version__}, CUDA"
    else:
        sys.path.insert(0, arguments.packages)
        import tensorrt_rtx_bindings as trt

        engine = f"TensorRT-RTX {trt.__version__}"
    about = {"engine": engine, "gpu": torch.cuda.get_device_name(), "refused": dict(sorted(refused.items()))}
    np.savez_compressed(arguments.record, about=json.dumps(about), **dict(sorted(values.items())))


def table(arguments):
    record = np.load(arguments.record)
    about = json.loads(str(record["about"]))
    networks = [name for name in record if name != "about"]
    print(f"{about['engine']} on {about['gpu']}: {len(networks)} networks\n")
    print("| operator | values | format | not finite | engine, dB | one rounding, dB |\n|---|---|---|---|---|---|")
    for name in networks:
        case, scale, form = name.rsplit(" ", 2)
        found, once = judged(expected(case, scale, form), record[name]), rounding_db(case, scale, form)
        if found["not finite"] or (found["db"] is not None and (once is None or found["db"] < once - 6)):
            print(f"| {case} | {scale} | {form} | {found['not finite'] or ''} | {found['db']} | {once} |")
    print()
    for name, words in about["refused"].items():
        print(name, words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, function in (("run", run), ("table", table)):
        command = commands.add_parser(name)
        command.add_argument("record")
        if name == "run":
            command.add_argument("packages")
        command.set_defaults(function=function)
    one = commands.add_parser("one")
    for name in ("case", "form", "folder", "packages"):
        one.add_argument(name)
    one.set_defaults(function=lambda given: on_engine(given.case, given.form, given.folder, given.packages))
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
