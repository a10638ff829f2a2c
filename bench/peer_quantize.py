"""One network through another quantizer, judged as vernier judges, as one line of JSON; called by compare_fix.py and
placements.py.

    python bench/peer_quantize.py METHOD MODEL.onnx CALIBRATION JUDGING [--needs OUTPUT:DB ...] [--limit SECONDS] [--keep FILE.onnx]

METHOD is one of METHODS; those of NNCF need a Python with nncf, openvino, onnx and onnxruntime, those of ModelOpt one with
nvidia-modelopt's ONNX part and onnxruntime. Samples are files of bench/networks.py. A figure is the signal-to-noise ratio of the worst output over all
judging samples together: the sum of squares of the float network's output over the sum of squares of what is off. OpenVINO's models run in
OpenVINO, ONNX files in ONNX Runtime without graph optimizations, each beside the float network in the same program.
"""
import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time

os.environ.setdefault("OPENVINO_TELEMETRY_OPT_OUT", "1")
import numpy as np
import onnx
import onnx.version_converter

CAP_DB = 200.0
WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
FLOAT32 = {"INFERENCE_PRECISION_HINT": "f32"}  # where a processor has bfloat16, OpenVINO would use it


class OutOfTime(Exception):
    pass


def real_inputs(path):
    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def feeds_of(file, model):
    loaded = np.load(file)
    name = real_inputs(model)[0].name
    if isinstance(loaded, np.ndarray):
        return [{name: sample} for sample in loaded]
    if loaded.files[0].startswith("sample_"):
        return [{name: loaded[key]} for key in loaded.files]
    return [{key: np.asarray(loaded[key][i]) for key in loaded.files} for i in range(len(loaded[loaded.files[0]]))]


def db(energy, noise):
    if not math.isfinite(noise):
        return -CAP_DB
    return CAP_DB if noise == 0 else min(CAP_DB, 10 * math.log10(energy / noise)) if energy else -CAP_DB


def judge(references, run, feeds):
    """Output -> dB over all samples; references: a dictionary of outputs for each sample."""
    energy, noise = {}, {}
    for reference, feed in zip(references, feeds):
        got = run(feed)
        for name, ref in reference.items():
            energy[name] = energy.get(name, 0.0) + float(np.sum(ref**2))
            noise[name] = noise.get(name, 0.0) + float(np.sum((got[name].astype(np.float64) - ref) ** 2))
    return {name: round(db(energy[name], noise[name]), 3) for name in energy if energy[name]}


def doubles(run, feeds):
    return [{name: value.astype(np.float64) for name, value in run(feed).items()} for feed in feeds]


# NNCF, in OpenVINO

def openvino_run(model):
    import openvino as ov

    compiled = ov.compile_model(model, "CPU", FLOAT32)
    names = {port: port.any_name for port in compiled.outputs}

    def run(feed):
        return {names[port]: value for port, value in compiled(feed).items()}
    return run


def nncf_quantize(args, calibration, judging, more):
    import nncf
    import openvino as ov

    answer = nncf.quantize(ov.Core().read_model(args.model), nncf.Dataset(calibration), **more)
    references = doubles(openvino_run(ov.Core().read_model(args.model)), judging)
    return {"outputs": judge(references, openvino_run(answer), judging), "version": f"NNCF {nncf.__version__}, OpenVINO {ov.__version__.split('-')[0]}"}


def nncf_on_onnx(args, calibration, judging):
    """NNCF on the ONNX file itself: Q/DQ in ONNX, judged without an engine's own transformations."""
    import nncf

    model = onnx.load(args.model)
    if next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")) < 13:  # what NNCF takes
        model = onnx.version_converter.convert_version(model, 13)
    references = doubles(onnxruntime_run(args.model), judging)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "int8.onnx"
        onnx.save(nncf.quantize(model, nncf.Dataset(calibration)), out)
        return {"outputs": judge(references, onnxruntime_run(out), judging), "version": f"NNCF {nncf.__version__}"}


def accuracy_control(args, calibration, judging):
    """Layers that NNCF itself takes back until the needs are met on the judging samples, on which ours searches too."""
    import nncf
    import openvino as ov
    from nncf_search import reverted_operations

    said = reverted_operations()
    needs = {name: float(value) for name, value in (need.rsplit(":", 1) for need in args.needs)}
    references = doubles(openvino_run(ov.Core().read_model(args.model)), judging)
    evaluations = 0

    def above(compiled, data):
        """dB beyond what is needed, of the output that has least."""
        nonlocal evaluations
        indices, each = [], []
        names = {port: port.any_name for port in compiled.outputs}
        energy, noise = dict.fromkeys(needs, 0.0), dict.fromkeys(needs, 0.0)
        for index, feed in data:
            got = {names[port]: value for port, value in compiled(feed).items()}
            own = {}
            for name in needs:
                ref = references[index][name]
                parts = float(np.sum(ref**2)), float(np.sum((got[name].astype(np.float64) - ref) ** 2))
                energy[name], noise[name] = energy[name] + parts[0], noise[name] + parts[1]
                own[name] = db(*parts) - needs[name]
            indices.append(index)
            each.append(min(own.values()))
        evaluations += len(indices) == len(judging)
        return min(db(energy[name], noise[name]) - needs[name] for name in needs), each

    validation = nncf.Dataset(list(enumerate(judging)), lambda item: item[1])
    float_model = ov.Core().read_model(args.model)
    start = above(ov.compile_model(float_model, "CPU", FLOAT32), list(enumerate(judging)))[0]
    evaluations = 0
    try:
        answer = nncf.quantize_with_accuracy_control(float_model, nncf.Dataset(calibration), validation, validation_fn=above,
                                                     max_drop=start, drop_type=nncf.DropType.ABSOLUTE)
    finally:
        signal.alarm(0)
    outputs = judge(references, openvino_run(answer), judging)
    return {"outputs": outputs, "kept": said.kept, "of": said.of, "met": all(outputs[name] >= needs[name] for name in needs),
            "evaluations": evaluations}


# ModelOpt, in ONNX Runtime

def onnxruntime_run(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda feed: dict(zip(names, session.run(names, feed)))


class Reader:
    """What ONNX Runtime's calibration asks for the next sample, and from the first again for the next pass."""

    def __init__(self, feeds):
        self.feeds = feeds
        self.rewind()

    def rewind(self):
        self.rest = iter(self.feeds)

    def get_next(self):
        return next(self.rest, None)

    def get_first(self):
        return self.feeds[0]


def newer(path, folder):
    """Files older than IR 4 list initializers as inputs too, which ModelOpt ends at: such a one said to be newer."""
    model = onnx.load(path)
    if model.ir_version >= 4:
        return path
    model.ir_version = 8
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    onnx.save(model, pathlib.Path(folder) / "newer.onnx")
    return str(pathlib.Path(folder) / "newer.onnx")


def name_in(model, tensor):
    """The name, as vernier gives one to what has none, of the weighted node whose result becomes `tensor` in the float model."""
    makers = {output: (index, node) for index, node in enumerate(onnx.load(model, load_external_data=False).graph.node) for output in node.output}
    while makers[tensor][1].op_type not in WEIGHTED:
        tensor = makers[tensor][1].input[0]
    index, node = makers[tensor]
    return node.name or f"{node.op_type}_{index}"


def modelopt_quantize(args, calibration, judging, method):
    import importlib.metadata

    from modelopt.onnx.quantization import quantize
    from onnxruntime.quantization.calibrate import CalibrationDataReader

    class Samples(Reader, CalibrationDataReader):
        pass

    # It leaves files of its own where it runs.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        out = pathlib.Path(folder) / "int8.onnx"
        quantize(newer(args.model, folder), quantize_mode="int8", calibration_data_reader=Samples(calibration), calibration_method=method,
                 calibration_eps=["cpu"], high_precision_dtype="fp32", output_path=str(out), log_level="ERROR")
        outputs = judge(doubles(onnxruntime_run(args.model), judging), onnxruntime_run(out), judging)
        graph = onnx.load(out).graph
        if args.keep:
            shutil.copyfile(out, args.keep)
    codes = {node.output[0] for node in graph.node if node.op_type == "DequantizeLinear"}
    weighted = [node for node in graph.node if node.op_type in WEIGHTED]
    return {"outputs": outputs, "version": f"ModelOpt {importlib.metadata.version('nvidia-modelopt')}",
            "left": [name_in(args.model, node.output[0]) for node in weighted if node.input[0] not in codes], "weighted": len(weighted)}


def mixed():
    import nncf

    return {"fast_bias_correction": False, "preset": nncf.QuantizationPreset.MIXED}


def transformer():
    import nncf

    return {"fast_bias_correction": False, "model_type": nncf.ModelType.TRANSFORMER}


METHODS = {
    "nncf": lambda *a: nncf_quantize(*a, {}),
    "nncf-accurate-bias": lambda *a: nncf_quantize(*a, {"fast_bias_correction": False}),
    "nncf-accurate-bias-mixed": lambda *a: nncf_quantize(*a, mixed()),
    "nncf-transformer": lambda *a: nncf_quantize(*a, transformer()),
    "nncf-onnx": nncf_on_onnx,
    "nncf-accuracy-control": accuracy_control,
    "modelopt-max": lambda *a: modelopt_quantize(*a, "max"),
    "modelopt-entropy": lambda *a: modelopt_quantize(*a, "entropy"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("method", choices=METHODS)
    parser.add_argument("model")
    parser.add_argument("calibration")
    parser.add_argument("judging")
    parser.add_argument("--needs", nargs="*", default=[])
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--keep", help="where ModelOpt's file goes")
    args = parser.parse_args()
    args.model, args.calibration, args.judging = map(os.path.abspath, (args.model, args.calibration, args.judging))
    args.keep = args.keep and os.path.abspath(args.keep)

    def out_of_time(*_):
        raise OutOfTime

    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(args.limit)
    start, start_cpu = time.perf_counter(), time.process_time()
    try:
        result = METHODS[args.method](args, feeds_of(args.calibration, args.model), feeds_of(args.judging, args.model))
        result["db"] = round(min(result["outputs"].values()), 2)
    except OutOfTime:
        result = {"failed": f"no answer within {args.limit} s"}
    except Exception as error:  # whatever a peer says of a network that it does not take is its answer
        said = re.sub(r"Exception from |Check '\w+' failed at |\S+\.cpp:\d+:", "", f"{type(error).__name__}: {error}")
        result = {"failed": " ".join(said.split())[:200]}
    signal.alarm(0)
    result.update(seconds=round(time.perf_counter() - start, 2), cpu_seconds=round(time.process_time() - start_cpu, 2))
    print("RESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
