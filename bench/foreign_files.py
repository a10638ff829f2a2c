"""`debug loss`, `check placement`, `check lint` and `inspect model` on Q/DQ files that other tools wrote.

    python bench/foreign_files.py [--build build/release] [--work FOLDER] [--peers PYTHON ...] [FILE ...]

The files are made by bench/foreign_makers.py, each maker in the first of the Pythons that has its tool: this one, which has ONNX
Runtime's quantizer, and those given by --peers (environments with nvidia-modelopt, torch, nncf from PyPI). FILE: some of them
alone. Ranges are learned on 12 samples, everything is measured on 12 others. Asserted of each file:

  no defect is found in it, and lint finds no error; every Q/DQ pair that is run has its error, every weight that the float
  file has too; every figure is a number, and no layer's own error is so large that another must be meant; each layer of the float file is compared or listed with the reason
  the output's SQNR agrees with ONNX Runtime's own run of both files without optimizations; behind a Softmax, where a few undecided
  samples hold all the noise, that of its input does; files in float16 are left out, which ONNX Runtime's CPU kernels do not round
  a defect planted into it is named, at the node where it is: a missing quantizer, another scale, a wrong axis, a wrong type
  of a zero point

Writes bench/results/foreign_files.json; `compare_calibration.py --only page` puts its table into docs/records/foreign-files.md.
Needs onnxruntime, onnx and numpy, and VERNIER_SHARED.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import foreign_makers
import networks
from paragraph import filled

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results/foreign_files.json"
SAMPLES = 24
AGREE_DB = 0.3  # codes on the edge of two steps fall to either side in another order of sums


def answer(vernier, *words):
    done = subprocess.run([str(word) for word in (vernier, *words, "--json", "-qq")], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def inputs(folder):
    """Every second sample calibrates, the others judge."""
    for network in foreign_makers.NETWORKS:
        parts = {part: folder / part / f"{network}.npy" for part in ("calibration", "judged")}
        if all(path.exists() for path in parts.values()):
            continue
        samples = networks.samples_of(network, SAMPLES)
        for first, path in enumerate(parts.values()):
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, np.stack(samples[first::2]))
    pictures = folder / "judged/cifar.npy"  # of the networks trained here
    if not pictures.exists():
        images = np.load(networks.SHARED / "data/cifar10/images_u8_nhwc.npy").transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
        np.save(pictures, images[:60, None])


def make(folder, names, pythons):
    """Every file that is not there yet; those that nobody can make are left out."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    for python in pythons:
        missing = [name for name in names if not (files / f"{name}.onnx").exists()]
        if missing:
            subprocess.run([python, pathlib.Path(foreign_makers.__file__), files, folder / "calibration", *missing], check=False)
    return [name for name in names if (files / f"{name}.onnx").exists()]


def float_file_of(folder, name):
    _, _, network = name.partition("_")
    return networks.model_file(network) if network else folder / "files" / f"{name}_float.onnx"


def data_of(folder, name):
    return folder / "judged" / f"{name.partition('_')[2] or 'cifar'}.npy"


# ONNX Runtime's own word on a file.

def session(model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options,
                                        providers=["CPUExecutionProvider"])


def with_output(path, tensor):
    import onnx

    model = onnx.load(path)
    if tensor not in {value.name for value in model.graph.output}:
        model.graph.output.append(onnx.ValueInfoProto(name=tensor))
    return model.SerializeToString()


def measured(float_file, file, data, ref, got):
    """SQNR in dB of a tensor of one file against one of the other, over all samples."""
    runs = [session(with_output(float_file, ref)), session(with_output(file, got))]
    name = runs[0].get_inputs()[0].name
    signal = noise = 0.0
    for sample in np.load(data):
        exact, low = (run.run([tensor], {name: sample})[0].astype(np.float64) for run, tensor in zip(runs, (ref, got)))
        signal, noise = signal + np.sum(exact**2), noise + np.sum((exact - low.reshape(exact.shape))**2)
    return float(10 * np.log10(signal / noise))


def softmax_input(path, output):
    """What the Softmax reads that makes an output, directly or behind nodes that round or reshape it; None without one."""
    import onnx

    made = {name: node for node in onnx.load(path).graph.node for name in node.output}
    while output in made and made[output].op_type in ("QuantizeLinear", "DequantizeLinear", "Cast", "Reshape", "Identity"):
        output = made[output].input[0]
    return made[output].input[0] if output in made and made[output].op_type == "Softmax" else None


# Defects, planted into any file. Each returns the node where it must be found.

def pairs_of(model):
    """(QuantizeLinear, DequantizeLinear) nodes of activations."""
    made = {output: node for node in model.graph.node for output in node.output}
    return [(made[node.input[0]], node) for node in model.graph.node
            if node.op_type == "DequantizeLinear" and node.input[0] in made
            and made[node.input[0]].op_type == "QuantizeLinear" and not constant_of(model, made[node.input[0]].input[0])]


def constant_of(model, tensor):
    """The initializer of this name, or the value of the Constant node that makes it."""
    for value in model.graph.initializer:
        if value.name == tensor:
            return value
    for node in model.graph.node:
        if tensor in node.output and node.op_type == "Constant":
            return next(attribute.t for attribute in node.attribute if attribute.name == "value")
        if tensor in node.output and node.op_type == "Identity":
            return constant_of(model, node.input[0])
    return None


def weighted_reader(model, tensor):
    """The Conv, Gemm or MatMul that reads `tensor`, through casts, as its first input."""
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm", "MatMul") and node.input[0] == tensor:
            return node
        if node.op_type == "Cast" and node.input[0] == tensor and (found := weighted_reader(model, node.output[0])):
            return found
    return None


def missing_quantizer(model):
    for quantize, dequantize in pairs_of(model):
        reader = weighted_reader(model, dequantize.output[0])
        if reader is not None and reader.input[0] == dequantize.output[0]:
            reader.input[0] = quantize.input[0]
            return reader.name or None
    return False


def new_constant(model, value):
    import onnx

    name = f"planted_{len(model.graph.initializer)}"
    model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    return name


def other_scale(model):
    import onnx

    for _, dequantize in pairs_of(model):
        scale = onnx.numpy_helper.to_array(constant_of(model, dequantize.input[1]))
        dequantize.input[1] = new_constant(model, scale * scale.dtype.type(3))
        return dequantize.name or None
    return False


def wrong_axis(model):
    """The scales of a square weight along its other dimension; of another, along one that is not as long."""
    for node in model.graph.node:
        scale = constant_of(model, node.input[1]) if node.op_type == "DequantizeLinear" else None
        if scale is None or len(scale.dims) != 1 or scale.dims[0] < 2:
            continue
        reader = next((n for n in model.graph.node if n.op_type in ("Conv", "Gemm", "MatMul") and node.output[0] in n.input[1:2]), None)
        if reader is None:
            continue
        given = [attribute for attribute in node.attribute if attribute.name == "axis"]
        for attribute in given:
            attribute.i = 1 - attribute.i
        if not given:
            import onnx

            node.attribute.append(onnx.helper.make_attribute("axis", 0))
        return node.name or None
    return False


def zero_point_type(model):
    import onnx

    for _, dequantize in pairs_of(model):
        zero = constant_of(model, dequantize.input[2]) if len(dequantize.input) > 2 else None
        if zero is None or zero.data_type not in (onnx.TensorProto.INT8, onnx.TensorProto.UINT8):
            continue
        values = onnx.numpy_helper.to_array(zero)
        dequantize.input[2] = new_constant(model, values.astype(np.uint8 if values.dtype == np.int8 else np.int8))
        return dequantize.name or None
    return False


DEFECTS = {"missing-quantizer": missing_quantizer, "other-scale": other_scale, "wrong-axis": wrong_axis,
           "zero-point-type": zero_point_type}


def planted(vernier, folder, name):
    """Which defects were named: True, or what was said instead; None where the file has no place for one."""
    import onnx

    outcome = {}
    for kind, plant in DEFECTS.items():
        model = onnx.load(folder / "files" / f"{name}.onnx")
        node = plant(model)
        if node is False:
            outcome[kind] = None
            continue
        path = folder / "planted.onnx"
        onnx.save(model, path)
        try:
            found = answer(vernier, "debug", "loss", float_file_of(folder, name), path, "--data", data_of(folder, name), "--samples", 1)
            said = [(defect["kind"], defect["node"]) for defect in found["defects"]]
        except AssertionError as error:
            outcome[kind] = str(error)
            continue
        named = any(found == kind and (node is None or at == node) for found, at in said)
        outcome[kind] = True if named else f"said {said}, planted at {node}"
    return outcome


def findings(vernier, file, target):
    """How many; None where ONNX Runtime refuses a file in FP8, so that there is no optimized graph."""
    try:
        return len(answer(vernier, "check", "placement", file, "--target", target)["findings"])
    except AssertionError as error:
        if target == "onnxruntime" and "fp8" in file.name and "exit 4" in str(error):
            return None
        raise


def finite(value):
    return value is None or isinstance(value, str) or np.isfinite(value)


def checked(vernier, folder, name):
    """What the program says of a file, and everything that is wrong with that."""
    file, float_file, data = folder / "files" / f"{name}.onnx", float_file_of(folder, name), data_of(folder, name)
    wrong = []
    loss = answer(vernier, "debug", "loss", float_file, file, "--data", data)
    wrong += [f"defect in a sound file: {defect}" for defect in loss["defects"]]
    for pair in loss["quantizers"]:
        if pair["sqnr_db"] is None and pair["format"] != "int32":
            wrong.append(f"no error of {pair['tensor']}")
    for row in loss["tensors"]:
        for key in ("sqnr_db", "own_sqnr_db", "propagated_db"):
            if not finite(row[key]):
                wrong.append(f"{key} of {row['tensor']} is {row[key]}")
        if row["own_sqnr_db"] is not None and float(row["own_sqnr_db"]) < 5:
            wrong.append(f"{row['tensor']} against {row['quantized_tensor']}: {row['own_sqnr_db']:.1f} dB of its own, hardly the same layer")
        if row["own_sqnr_db"] is None:
            wrong.append(f"{row['tensor']} has no error of its own")
    unexplained = [line for line in loss["not_compared"] if "merged into the next layer" not in line]
    wrong += [f"not compared: {line}" for line in unexplained]
    row = {"file": name, "samples": loss["samples"], "pairs": sum(not pair["weight"] for pair in loss["quantizers"]),
           "weights": sum(pair["weight"] for pair in loss["quantizers"]), "layers": len(loss["tensors"]),
           "merged": len(loss["not_compared"]) - len(unexplained), "by_structure": loss["matched_by_structure"]}
    worst = min(loss["outputs"], key=lambda output: float(output["sqnr_db"]))
    row["tensor"], row["sqnr_db"], got = worst["name"], float(worst["sqnr_db"]), worst["name"]
    inside = softmax_input(float_file, worst["name"])
    for tensor in loss["tensors"]:
        if tensor["tensor"] == inside:
            row["tensor"], row["sqnr_db"], got = inside, tensor["sqnr_db"], tensor["quantized_tensor"]
    row["measured_db"] = measured(float_file, file, data, row["tensor"], got)
    if abs(row["sqnr_db"] - row["measured_db"]) > AGREE_DB and "fp16" not in name:
        wrong.append(f"{row['tensor']} {row['sqnr_db']:.2f} dB, ONNX Runtime {row['measured_db']:.2f} dB")
    row["findings"] = {target: findings(vernier, file, target) for target in ("tensorrt", "onnxruntime", "openvino")}
    lint = answer(vernier, "check", "lint", file)
    wrong += [f"lint: {finding}" for finding in lint.get("findings", []) if finding.get("severity", finding.get("level")) == "error"]
    answer(vernier, "inspect", "model", file, "--show", "formats")
    row["planted"] = planted(vernier, folder, name)
    wrong += [f"planted {kind}: {said}" for kind, said in row["planted"].items() if isinstance(said, str)]
    return row, wrong


def page(rows):
    lines = ["## Q/DQ files of other tools", "",
             filled("`bench/foreign_files.py` makes and checks files that ONNX Runtime, ModelOpt and NNCF quantized, and networks trained with fake quantization in PyTorch and in "
                    "ModelOpt. `vernier debug loss` runs on samples that were not used to make them."), "",
             filled("- *simulated*: SQNR in dB of the worst output, in front of its Softmax if it has one."),
             filled("- *measured*: the same, both files run by ONNX Runtime without optimizations; its CPU kernels compute FP16 in FP32."),
             filled("- *merged*: layers of the float file that the other one has inside the next layer, which is compared."),
             filled("- *defects*: mistakes put into the file, and the number named at their node: a missing quantizer, another scale, a wrong axis, a wrong type of a zero point."),
             filled("- *findings*: places of pairs that an engine cannot fuse, for TensorRT, ONNX Runtime, OpenVINO."), "",
             "| file | pairs | constants | layers compared | merged | simulated | measured | defects | findings |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        defects = [said for said in row["planted"].values() if said is not None]
        lines.append(f"| {row['file'].replace('_', ', ', 1)} | {row['pairs']} | {row['weights']} | {row['layers']} | {row['merged']} | "
                     f"{row['sqnr_db']:.1f} | {row['measured_db']:.1f} | {sum(said is True for said in defects)} of {len(defects)} | "
                     f"{', '.join('-' if count is None else str(count) for count in row['findings'].values())} |")
    return lines + [""]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--work", help="a folder that is kept: files are made once")
    parser.add_argument("--peers", nargs="*", default=[], help="Pythons with the other tools")
    parser.add_argument("names", nargs="*", metavar="FILE")
    options = parser.parse_args()
    vernier = (ROOT / options.build / "apps/vernier/vernier").resolve()
    rows, bad = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.work or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        inputs(folder)
        wanted = options.names or foreign_makers.names()
        made = make(folder, wanted, [sys.executable, *options.peers])
        for name in made:
            try:
                row, wrong = checked(vernier, folder, name)
            except AssertionError as error:
                bad += 1
                print(f"{name}: {error}", flush=True)
                continue
            rows.append(row)
            bad += len(wrong)
            print(json.dumps(row), *wrong, sep="\n  ", flush=True)
    print(f"{len(rows)} files, {bad} things wrong; not made: {', '.join(sorted(set(wanted) - set(made))) or 'none'}")
    if not options.names:
        RESULTS.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
