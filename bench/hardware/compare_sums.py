"""What sums in float16 make of whole networks: simulated figures beside those of TensorRT-RTX.

    compare_sums.py measure FOLDER   FOLDER/sums.json: typed files of each network over 4 samples, by `vernier verify` with sums in
                                     float32 and as TensorRT-RTX, the latter also over inputs that are disturbed by a fortieth of
                                     an 8-bit step of their range, and float32 itself with --tf32 (needs vernier and ../shared)
    compare_sums.py table FOLDER     the table of docs/records/truth.md; FOLDER/exact_sums.json is exact_sums.py's

The engine's figures were measured with TensorRT-RTX 1.6.1 on an H200, which it does not support, over the same 4 samples against
float64 for single layers and the float32 file for networks; they stand here as they were reported.
"""
import json
import pathlib
import sys
import tempfile

import compare
import numpy as np

ENGINE = {
    "fp16": {"squeezenet-imagenet": [42.2], "espcn-superres": [60.9], "vit-cifar": [54.2], "mobilenetv2-imagenet": [44.9],
             "rfb320-face": [67.6, 68.2], "stories260k": [58.4], "resnet8-cifar": [48.2], "yolox-nano": [37.5]},
    "bf16": {"squeezenet-imagenet": [24.3], "resnet8-cifar": [34.8], "espcn-superres": [48.2], "vit-cifar": [45.1],
             "stories260k": [42.5]},
}
NETWORKS = list(ENGINE["fp16"])
SAMPLES = 4
DRAWS = 8
NOISE = 1 / 40 / 255  # of the range of the input


def figures_of(run):
    return [round(output["sqnr_db"], 1) for output in run["outputs"]]


def spread_of(model, typed, arrays, scratch):
    """Least and most of each output, over draws of noise on the inputs; integer inputs have none."""
    if not np.issubdtype(arrays.dtype, np.floating):
        return None
    runs = []
    for seed in range(DRAWS):
        noise = np.random.default_rng(seed).uniform(-1, 1, arrays.shape) * NOISE * np.ptp(arrays)
        np.save(scratch / "disturbed.npy", (arrays + noise).astype(arrays.dtype))
        report = compare.vernier("verify", model, typed, "--data", scratch / "disturbed.npy", "--json")
        runs.append(figures_of(json.loads(report)["other_sums"]["figures"]))
    return [[min(output), max(output)] for output in zip(*runs)]


def measure(folder):
    sys.path.insert(0, str(compare.ROOT / "bench"))
    import networks

    record = {}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for network in NETWORKS:
            model, data = networks.model_file(network), networks.make(scratch, network, SAMPLES)
            record[network] = {}
            for form in ENGINE:
                typed = scratch / f"{network}.{form}.onnx"
                compare.vernier("convert", model, f"--{form}", "-o", typed)
                report = json.loads(compare.vernier("verify", model, typed, "--data", data, "--json"))
                record[network][form] = {"float32": figures_of(report["figures"]),
                                         "measured": figures_of(report["other_sums"]["figures"]),
                                         "disturbed": spread_of(model, typed, np.load(data), scratch)}
            report = json.loads(compare.vernier("verify", model, model, "--data", data, "--tf32", "--json"))
            record[network]["tf32"] = figures_of(report["figures"])
            print(network, record[network], flush=True)
    (folder / "sums.json").write_text(json.dumps(record, indent=1) + "\n")


def text(figures):
    return " and ".join(f"{figure:.1f}" for figure in figures)


def table(folder):
    record = json.loads((folder / "sums.json").read_text())
    exact = json.loads((folder / "exact_sums.json").read_text())
    print("| network | format | simulated, sums in float32 | simulated, as TensorRT-RTX | the same, disturbed | float16 sums, exact "
          "| TensorRT-RTX 1.6.1 on an H200 | apart |")
    print("|---|---|---|---|---|---|---|---|")
    for form, engine in ENGINE.items():
        for network, measured in engine.items():
            simulated = record[network][form]
            apart = max((abs(a - b) for a, b in zip(simulated["measured"], measured)))
            spread = " and ".join(f"{low:.1f} to {high:.1f}" for low, high in simulated["disturbed"] or [])
            print(f"| {network} | {form} | {text(simulated['float32'])} | {text(simulated['measured'])} | {spread or '-'} "
                  f"| {text(exact[network]) if form == 'fp16' else '-'} | {text(measured)} | {apart:.1f} |")
    low = min(min(record[network]["tf32"]) for network in NETWORKS)
    high = max(max(record[network]["tf32"]) for network in NETWORKS)
    print(f"\nfloat32 with --tf32: {low:.1f} to {high:.1f} dB; TensorRT-RTX, float32: 66 to 76 dB")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("measure", "table"):
        sys.exit(__doc__)
    {"measure": measure, "table": table}[sys.argv[1]](pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()
