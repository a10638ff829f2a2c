"""Why engines differ from the simulation: what each cell over 1 dB in the table of docs/records/truth.md comes from.

    explain_differences.py measure FOLDER      FOLDER is what compare.py prepare made: FOLDER/explained.json
    explain_differences.py table FOLDER        the tables of docs/records/truth.md

Three questions, each of the worst output and of what its Softmax reads, where it has one:

  spread    how far the figure of one file on one engine moves when edges of steps move by a fortieth of a step: noise on the
            inputs and on the scales of activations, ONNX Runtime without optimizations, 8 draws. Engines whose figures lie within
            it differ by no more than codes on the edge of two steps
  kernels   OpenVINO with the kernels of this machine, and with those of one whose products take unsigned by signed codes only
            (ONEDNN_MAX_CPU_ISA=AVX512_CORE_VNNI)
  changed   the same network with one thing changed that means the same to the file: int8 behind Concat as uint8 with zero point
            128; vit-cifar's class token as a constant. And one that does not: every channel with the first channel's bias

Needs onnxruntime, openvino, onnx and numpy, and VERNIER_SHARED.
"""
import io
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
import compare
import foreign_files
import networks

# Where an engine is 1 dB or more from the simulation.
CELLS = {"vit-cifar": ["int8-ort"], "yolox-nano": ["int8"], "rfb320-face": ["int8"], "resnet8-cifar": ["int8", "int8-ort", "int8-ov"],
         "squeezenet-imagenet": ["int8", "int8-ort", "int8-ov"], "ppocr-en-rec": ["int8", "int8-ort", "int8-ov"]}
DRAWS = 8
NOISE = 1 / 255 / 40  # of the range of a sample; twice that of a scale moves the edge of the outermost step by as much
VNNI = "AVX512_CORE_VNNI"


# The changes. Each returns the model, or None where it has no place.

def constants(model):
    return {value.name: value for value in model.graph.initializer}


def behind(model, tensor):
    """The node that made a tensor, through those that hand it on."""
    made = {output: node for node in model.graph.node for output in node.output}
    while tensor in made and made[tensor].op_type in ("Identity", "Dropout"):
        tensor = made[tensor].input[0]
    return made.get(tensor)


def unsigned_behind_concat(model):
    stored, changed = constants(model), 0
    for node in model.graph.node:
        maker = behind(model, node.input[0]) if node.op_type == "QuantizeLinear" else None
        if maker is None or maker.op_type != "Concat":
            continue
        zero = numpy_helper.to_array(stored[node.input[2]])
        if zero.dtype == np.int8:
            stored[node.input[2]].CopyFrom(numpy_helper.from_array((zero.astype(np.int32) + 128).astype(np.uint8), node.input[2]))
            changed += 1
    return model if changed else None


def constant_token(model):
    stored = constants(model)
    for node in model.graph.node:
        maker = behind(model, node.input[0]) if node.op_type == "Concat" else None
        if maker is None or maker.op_type != "Add":
            continue
        token = next((name for name in maker.input if name in stored), None)
        zeros = next((behind(model, name) for name in maker.input if name not in stored), None)
        if token is not None and zeros is not None and zeros.op_type == "ConstantOfShape":
            model.graph.initializer.append(
                numpy_helper.from_array(numpy_helper.to_array(stored[token]).reshape(1, 1, -1), "token"))
            node.input[0] = "token"
            return model
    return None


def first_bias(model):
    if constant_token(onnx.ModelProto.FromString(model.SerializeToString())) is None:
        return None
    stored = constants(model)
    conv = next(node for node in model.graph.node if node.op_type == "Conv")
    maker = behind(model, conv.input[2])
    codes, scale = (numpy_helper.to_array(stored[name]) for name in maker.input[:2])
    model.graph.initializer.append(
        numpy_helper.from_array(np.full(codes.shape, (codes * scale).flat[0], np.float32), "first_bias"))
    conv.input[2] = "first_bias"
    return model


CHANGES = {"uint8 behind Concat": unsigned_behind_concat, "constant class token": constant_token,
           "the first channel's bias": first_bias}


# The engines: lists of arrays of one tensor, one for each sample.

def with_output(model, tensor):
    if tensor not in {value.name for value in model.graph.output}:
        model.graph.output.append(onnx.ValueInfoProto(name=tensor))
    return model.SerializeToString()


def by_onnxruntime(data, tensor, feeds, optimized):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level = 4
    run = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return [run.run([tensor], feed)[0].astype(np.float64) for feed in feeds]


def by_openvino(data, tensor, feeds):
    import openvino

    core = openvino.Core()
    model = core.compile_model(core.read_model(io.BytesIO(data)), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    port = next(port for port in model.outputs if tensor in port.get_names())
    return [np.array(model(feed)[port], np.float64) for feed in feeds]


def decibels(reference, got):
    signal = sum((r**2).sum() for r in reference)
    noise = sum(((r - g.reshape(r.shape)) ** 2).sum() for r, g in zip(reference, got))
    return float(10 * np.log10(signal / noise)) if noise > 0 else float("inf")


def disturbed(model, tensor, feeds, seed):
    """What ONNX Runtime makes of the file with scales, and of feeds with values, that are a little different."""
    noise, stored = np.random.default_rng(seed), constants(model)
    for name in sorted({node.input[1] for node in model.graph.node if node.op_type == "QuantizeLinear"}):
        scale = numpy_helper.to_array(stored[name])
        stored[name].CopyFrom(numpy_helper.from_array((scale * (1 + 2 * NOISE * noise.uniform(-1, 1))).astype(scale.dtype), name))
    feeds = [{name: (array + noise.uniform(-1, 1, array.shape) * NOISE * np.ptp(array)).astype(array.dtype)
              for name, array in feed.items()} for feed in feeds]
    return by_onnxruntime(with_output(model, tensor), tensor, feeds, False)


def places(network, typed, output):
    """{place: the tensor's name in the float file and in the other}."""
    float_file = networks.model_file(network)
    found = {"output": (output, output)}
    inside = foreign_files.softmax_input(float_file, output), foreign_files.softmax_input(typed, output)
    return {**found, "in front of Softmax": inside} if None not in inside else found


def worst_output(folder, network, form):
    figures = json.loads((folder / "simulated.json").read_text())[f"{network} {form}"]
    return min(figures, key=figures.get)


def openvino_alone(folder, network, form, change, tensor):
    """In this process: where another one chose the kernels."""
    model = onnx.load(folder / f"{network}.{form}.onnx")
    model = CHANGES[change](model) if change else model
    feeds = compare.samples_of(folder / f"{network}.inputs.npz")
    np.savez(folder / "openvino.npz", *by_openvino(with_output(model, tensor), tensor, feeds))


def openvino_with(kernels, folder, network, form, change, tensor):
    environment = {**os.environ, **({"ONEDNN_MAX_CPU_ISA": kernels} if kernels else {})}
    subprocess.run([sys.executable, __file__, "openvino", folder, network, form, change, tensor], check=True, env=environment)
    arrays = np.load(folder / "openvino.npz")
    return [arrays[name] for name in arrays.files]


def one(folder, network, form):
    typed = folder / f"{network}.{form}.onnx"
    feeds = compare.samples_of(folder / f"{network}.inputs.npz")
    rows = {}
    for place, (exact, low) in places(network, typed, worst_output(folder, network, form)).items():
        reference = by_onnxruntime(with_output(onnx.load(networks.model_file(network)), exact), exact, feeds, False)
        data = with_output(onnx.load(typed), low)
        plain = by_onnxruntime(data, low, feeds, False)
        row = {"onnxruntime, off": decibels(reference, plain),
               "onnxruntime": decibels(reference, by_onnxruntime(data, low, feeds, True)),
               "spread": sorted(decibels(reference, disturbed(onnx.load(typed), low, feeds, seed)) for seed in range(DRAWS))}
        of_the_file = {kernels: openvino_with(kernels, folder, network, form, "", low) for kernels in ("", VNNI)}
        for kernels, got in of_the_file.items():
            row[f"openvino {kernels}".strip()] = decibels(reference, got)
        row["changed"] = {}
        for name, change in CHANGES.items():
            changed = change(onnx.load(typed))
            if changed is None:
                continue
            means = by_onnxruntime(with_output(changed, low), low, feeds, False)
            row["changed"][name] = {"onnxruntime, off": decibels(reference, means)}
            for kernels in ("", VNNI):
                row["changed"][name][f"openvino {kernels}".strip()] = decibels(
                    reference, openvino_with(kernels, folder, network, form, name, low))
            row["changed"][name]["the file in openvino against it"] = decibels(means, of_the_file[""])
        rows[place] = row
    return rows


def measure(folder):
    import onnxruntime
    import openvino

    path = folder / "explained.json"
    results = {"onnxruntime": onnxruntime.__version__, "openvino": openvino.__version__, "figures": compare.known(path).get("figures", {})}
    for network, forms in CELLS.items():
        for form in forms:
            key = f"{network} {form}"
            if key in results["figures"]:
                continue
            results["figures"][key] = one(folder, network, form)
            path.write_text(json.dumps(results, indent=1) + "\n")
            print(key, json.dumps(results["figures"][key]), flush=True)


def table(folder):
    results = json.loads((folder / "explained.json").read_text())
    engines = ["onnxruntime, off", "onnxruntime", "openvino", f"openvino {VNNI}"]
    cells = [(network, form) for network, forms in CELLS.items() for form in forms]
    print("| network | target | tensor | ONNX Runtime, optimizations off | disturbed, least to most | ONNX Runtime | OpenVINO, AMX | OpenVINO, VNNI |")
    print("|---|---|---|---|---|---|---|---|")
    for network, form in cells:
        places_of = results["figures"][f"{network} {form}"]
        for place, row in places_of.items():
            off, *others = (f"{row[engine]:.1f}" for engine in engines)
            print(f"| {network} | {compare.TARGETS[form]} | {place} | {off} | {row['spread'][0]:.1f} to {row['spread'][-1]:.1f} | "
                  + " | ".join(others) + " |")
    print("\n| network | target | changed | ONNX Runtime, optimizations off | OpenVINO, AMX | OpenVINO, VNNI | the file in OpenVINO against it |")
    print("|---|---|---|---|---|---|---|")
    for network, form in cells:
        places_of = results["figures"][f"{network} {form}"]
        for name, row in places_of["output"]["changed"].items():
            print(f"| {network} | {compare.TARGETS[form]} | {name} | "
                  + " | ".join(f"{row[column]:.1f}" for column in
                               ("onnxruntime, off", "openvino", f"openvino {VNNI}", "the file in openvino against it")) + " |")


def main():
    jobs = {"measure": measure, "table": table}
    if len(sys.argv) == 7 and sys.argv[1] == "openvino":
        openvino_alone(pathlib.Path(sys.argv[2]), *sys.argv[3:])
    elif len(sys.argv) == 3 and sys.argv[1] in jobs:
        jobs[sys.argv[1]](pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
