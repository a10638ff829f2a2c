"""Is the simulation true? Figures of typed files, simulated and measured on real kernels.

    compare.py prepare FOLDER        here: typed files, samples, reference outputs and simulated figures (needs vernier);
                                     with FORM ... behind it (int8-ov ...) those alone, beside the figures that are there
    compare.py measure FOLDER        where the GPU is: FOLDER/gpu.json (needs PyTorch and onnx, not vernier)
    compare.py engines FOLDER        here: FOLDER/engines.json, INT8 on ONNX Runtime's and OpenVINO's integer kernels
    compare.py table FOLDER          the table of docs/records/truth.md

The reference is the float32 file in ONNX Runtime. SQNR pools energy over samples, per output; the worst output is compared.
"""
import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NETWORKS = ["espcn-superres", "mobilenetv2-imagenet", "ppocr-en-rec", "resnet8-cifar", "rfb320-face", "squeezenet-imagenet",
            "stories260k", "style-candy", "vit-cifar", "yolox-nano"]
GPU_FORMATS = ["fp16", "bf16", "fp8", "int8"]
TARGETS = {"int8": "tensorrt", "int8-ort": "onnxruntime", "int8-ov": "openvino"}
SAMPLES = {"style-candy": 1, "resnet8-cifar": 20, "vit-cifar": 20, "stories260k": 20, "ppocr-en-rec": 20, "rfb320-face": 8,
           "squeezenet-imagenet": 8}  # else 4: what can be carried to a machine with a GPU


def sqnr(reference, got):
    """{output: dB} of lists of {output: array}."""
    figures = {}
    for name in reference[0]:
        if not np.issubdtype(reference[0][name].dtype, np.floating):
            continue
        signal = sum(float((r[name].astype(np.float64) ** 2).sum()) for r in reference)
        noise = sum(float(((r[name].astype(np.float64) - g[name]) ** 2).sum()) for r, g in zip(reference, got))
        figures[name] = 10 * np.log10(signal / noise) if noise > 0 else float("inf")
    return figures


def samples_of(path):
    """The feeds of a .npz with arrays <sample>/<input>."""
    arrays = np.load(path)
    feeds = {}
    for key in arrays.files:
        index, name = key.split("/", 1)
        feeds.setdefault(int(index), {})[name] = arrays[key]
    return [feeds[index] for index in sorted(feeds)]


def save_samples(path, feeds):
    np.savez_compressed(path, **{f"{i}/{name}": array for i, feed in enumerate(feeds) for name, array in feed.items()})


def known(path):
    """What an earlier run recorded."""
    return json.loads(path.read_text()) if path.exists() else {}


def vernier(*arguments):
    program = os.environ.get("VERNIER", str(ROOT / "build/release/apps/vernier/vernier"))
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def prepare(folder, forms):
    sys.path.insert(0, str(ROOT / "bench"))
    import networks
    import onnxruntime

    folder.mkdir(parents=True, exist_ok=True)
    tools = networks.shared_inputs()
    simulated = known(folder / "simulated.json")
    for network in NETWORKS:
        model = networks.model_file(network)
        arrays = tools.load(network, SAMPLES.get(network, 4))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        names = [o.name for o in session.get_outputs()]
        feeds = [{name: array} for array in arrays]
        save_samples(folder / f"{network}.inputs.npz", feeds)
        save_samples(folder / f"{network}.reference.npz", [dict(zip(names, session.run(None, feed))) for feed in feeds])
        data = folder / f"{network}.data.npz"
        np.savez(data, **{f"sample_{i}": array for i, array in enumerate(arrays)})
        for form in forms:
            typed = folder / f"{network}.{form}.onnx"
            try:
                vernier("convert", model, "--" + form.split("-")[0], "--target", TARGETS.get(form, "tensorrt"), "--data", data,
                        "-o", typed)
                report = json.loads(vernier("verify", model, typed, "--data", data, "--json"))
                simulated[f"{network} {form}"] = {o["name"]: float(o["sqnr_db"]) for o in report["figures"]["outputs"]}
            except (RuntimeError, KeyError) as problem:
                simulated[f"{network} {form}"] = {"problem": str(problem)[-300:]}
        data.unlink()
        print(network, {form: simulated[f"{network} {form}"] for form in forms}, flush=True)
    (folder / "simulated.json").write_text(json.dumps(simulated, indent=1))


def measure(folder):
    import onnx
    import torch

    sys.path.insert(0, str(HERE))
    from torch_kernels import Kernels

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    results = {"machine": torch.cuda.get_device_name() if device.type == "cuda" else platform.processor(),
               "torch": torch.__version__, "figures": {}}
    for network in NETWORKS:
        if not (folder / f"{network}.inputs.npz").exists():
            continue
        feeds, reference = (samples_of(folder / f"{network}.{part}.npz") for part in ("inputs", "reference"))
        for form in GPU_FORMATS:
            typed = folder / f"{network}.{form}.onnx"
            if not typed.exists():
                continue
            try:
                figures = {}
                for part, rounded in (("sqnr_db", False), ("rounded_sqnr_db", True)):
                    kernels = Kernels(onnx.load(str(typed)), device, rounded)
                    with torch.no_grad():
                        figures[part] = sqnr(reference, [kernels.run(feed) for feed in feeds])
                figures["real_products"] = kernels.matrix_products
            except Exception as problem:  # one operator that is not there must not cost the other networks
                figures = {"problem": f"{type(problem).__name__}: {problem}"[:300]}
            results["figures"][f"{network} {form}"] = figures
            print(network, form, figures, flush=True)
    (folder / "gpu.json").write_text(json.dumps(results, indent=1))


def engines(folder):
    """The same files on CPU engines that have integer kernels."""
    import onnxruntime
    import openvino

    core = openvino.Core()
    results = {"onnxruntime": onnxruntime.__version__, "openvino": openvino.__version__,
               "figures": known(folder / "engines.json").get("figures", {})}
    for network in NETWORKS:
        feeds, reference = (samples_of(folder / f"{network}.{part}.npz") for part in ("inputs", "reference"))
        for form in TARGETS:
            typed = str(folder / f"{network}.{form}.onnx")
            if not os.path.exists(typed):
                continue
            figures = {}
            levels = onnxruntime.GraphOptimizationLevel
            for engine, level in (("onnxruntime, off", levels.ORT_DISABLE_ALL), ("onnxruntime", levels.ORT_ENABLE_ALL)):
                options = onnxruntime.SessionOptions()
                options.log_severity_level, options.graph_optimization_level = 3, level
                try:
                    session = onnxruntime.InferenceSession(typed, options, providers=["CPUExecutionProvider"])
                    names = [o.name for o in session.get_outputs()]
                    figures[engine] = sqnr(reference, [dict(zip(names, session.run(None, feed))) for feed in feeds])
                except Exception as problem:
                    figures[engine] = {"problem": str(problem)[:300]}
            try:
                compiled = core.compile_model(typed, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
                got = []
                for feed in feeds:
                    done = compiled(feed)
                    got.append({name: done[i] for i, name in enumerate(names)})
                figures["openvino"] = sqnr(reference, got)
            except Exception as problem:
                figures["openvino"] = {"problem": str(problem)[:300]}
            results["figures"][f"{network} {form}"] = figures
            print(network, form, figures, flush=True)
    (folder / "engines.json").write_text(json.dumps(results, indent=1))


def worst(figures):
    if figures is None or "problem" in figures:
        return None
    return min((value for value in figures.values() if value is not None), default=None)


def text(value):
    return "-" if value is None else "exact" if value == float("inf") else f"{value:.1f}"


def table(folder):
    simulated = json.loads((folder / "simulated.json").read_text())
    gpu = json.loads((folder / "gpu.json").read_text())
    print(f"{gpu['machine']}, PyTorch {gpu['torch']}\n")
    print("| network | " + " | ".join(f"{form}: simulated | GPU, float32 rounded once | GPU" for form in GPU_FORMATS)
          + " |")
    print("|---|" + "---|" * (3 * len(GPU_FORMATS)))
    for network in NETWORKS:
        cells = []
        for form in GPU_FORMATS:
            key = f"{network} {form}"
            measured = gpu["figures"].get(key, {})
            cells += [text(worst(simulated.get(key))), text(worst(measured.get("rounded_sqnr_db"))),
                      text(worst(measured.get("sqnr_db")))]
        print(f"| {network} | " + " | ".join(cells) + " |")
    if not (folder / "engines.json").exists():
        return
    cpu = json.loads((folder / "engines.json").read_text())
    print(f"\nONNX Runtime {cpu['onnxruntime']}, OpenVINO {cpu['openvino']}\n")
    engines_run = ["onnxruntime, off", "onnxruntime", "openvino"]
    head = "ONNX Runtime, optimizations off | ONNX Runtime | OpenVINO"
    print("| network | " + " | ".join(f"target {target}: simulated | {head}" for target in TARGETS.values()) + " |")
    print("|---|" + "---|" * 4 * len(TARGETS))
    for network in NETWORKS:
        cells = []
        for form in TARGETS:
            key = f"{network} {form}"
            figures = cpu["figures"].get(key, {})
            cells += [text(worst(simulated.get(key)))] + [text(worst(figures.get(engine))) for engine in engines_run]
        print(f"| {network} | " + " | ".join(cells) + " |")


def main():
    jobs = {"measure": measure, "engines": engines, "table": table}
    if len(sys.argv) > 2 and sys.argv[1] == "prepare":
        prepare(pathlib.Path(sys.argv[2]), sys.argv[3:] or GPU_FORMATS + ["int8-ort", "int8-ov"])
    elif len(sys.argv) == 3 and sys.argv[1] in jobs:
        jobs[sys.argv[1]](pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
