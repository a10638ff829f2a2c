"""What the differential tests share: running the program, ONNX Runtime without optimizations, and SQNR."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared"))
PROGRAM = os.environ.get("VERNIER_PROGRAM", str(ROOT / "build/release/apps/vernier/vernier"))
SIMULATE = os.environ.get("VERNIER_SIMULATE", str(ROOT / "build/release/tests/diff/simulate_cli"))
LIBRARY = next(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*"))
# The program runs scripts with the first Python of PATH: this one, which has NumPy.
PATH = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
ENVIRONMENT = {"VERNIER_ORT_LIBRARY": str(LIBRARY), **os.environ, "PATH": PATH}


def all_kernels(target):
    """Everything that has a kernel on codes, however small."""
    return ["--target", target, *(["--even-if-slower"] if target == "onnxruntime" else [])]


def run(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


def vernier(*words):
    """The JSON document that a command prints."""
    return json.loads(run(PROGRAM, *words, "--json"))


def session(model, optimize=False):
    """A file or a message, on one thread, as its nodes stand; or optimized, but without integer kernels, as the program
    measures.
    """
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def optimized_session(path, folder, entries=()):
    """As a user runs the file, and the graph that ONNX Runtime made of it. Kernels in blocked layouts, the last level, are bound to
    one machine and cannot be written. `entries`: of the session's configuration.
    """
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    for name, value in entries:
        options.add_session_config_entry(name, value)
    options.log_severity_level = 4
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return made, onnx.load(folder / "optimized.onnx").graph


def with_outputs(model, tensors):
    """A copy whose outputs also list float32 tensors of the graph."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for name in tensors:
        copy.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    return copy


def evaluate(model, feed, tensors=()):
    """Values by name of the outputs and of the tensors named."""
    running = session(with_outputs(model, tensors) if tensors else model)
    names = [output.name for output in running.get_outputs()]
    return dict(zip(names, running.run(names, feed)))


def simulate(path, feed, folder, tensors=()):
    """The same of the simulated file."""
    given = onnx.GraphProto()
    for name, value in feed.items():
        given.initializer.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    source, target = pathlib.Path(folder) / "in.pb", pathlib.Path(folder) / "out.pb"
    source.write_bytes(given.SerializeToString())
    run(SIMULATE, path, source, target, *tensors)
    made = onnx.GraphProto()
    made.ParseFromString(target.read_bytes())
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in made.initializer}


def sqnr_db(pairs):
    """Pooled over (ref, got) pairs."""
    signal = sum(float(np.sum(np.square(ref, dtype=np.float64))) for ref, _ in pairs)
    noise = sum(float(np.sum(np.square(ref.astype(np.float64) - got))) for ref, got in pairs)
    return 10 * np.log10(signal / noise) if noise > 0 else np.inf


def evaluated(session, feed, names):
    """Outputs, and parts of outputs, which are named like 'output[:,:,4:]'."""
    outputs = [name.partition("[")[0] for name in names]
    values = dict(zip(dict.fromkeys(outputs), session.run(list(dict.fromkeys(outputs)), feed)))
    return [values[output][part(name)] for output, name in zip(outputs, names)]


def part(name):
    """The index that the words behind a name stand for."""
    _, bracket, axes = name.partition("[")
    if not bracket:
        return ...
    return tuple(slice(*(int(end) if end else None for end in axis.split(":"))) for axis in axes.rstrip("]").split(","))


def figures(section):
    """SQNR in dB by output, or part of one, of a section of a report."""
    return {output["name"]: float(output["sqnr_db"]) for output in section["outputs"]}


def same_figures(a, b, tolerance_db=0.1):
    assert a.keys() == b.keys()
    for name in a:
        assert a[name] == b[name] or abs(a[name] - b[name]) < tolerance_db, f"{name}: {a[name]} dB against {b[name]} dB"
