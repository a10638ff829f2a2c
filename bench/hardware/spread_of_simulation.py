"""How far a simulated figure moves when the inputs get noise of a fortieth of an 8-bit step of their range:

    python bench/hardware/spread_of_simulation.py FOLDER NETWORK FORM

FORM: bf16, fp16, fp8, int8. FOLDER/spread_of_simulation.json gets the undisturbed figure and those of 8 draws, in dB.
Needs vernier (VERNIER names the program), and VERNIER_SHARED.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1])]
import compare
import networks
from explain_differences import DRAWS, NOISE


def figure(model, typed, arrays, scratch):
    data = scratch / "data.npz"
    np.savez(data, **{f"sample_{i}": array for i, array in enumerate(arrays)})
    report = json.loads(compare.vernier("verify", model, typed, "--data", data, "--json"))
    return min(float(output["sqnr_db"]) for output in report["figures"]["outputs"])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, network, form = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    model, arrays = networks.model_file(network), networks.shared_inputs().load(network, compare.SAMPLES.get(network, 4))
    path = folder / "spread_of_simulation.json"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        typed, data = scratch / "typed.onnx", scratch / "calibration.npz"
        np.savez(data, **{f"sample_{i}": array for i, array in enumerate(arrays)})
        compare.vernier("convert", model, "--" + form, "--target", "tensorrt", "--data", data, "-o", typed)
        plain, spread = figure(model, typed, arrays, scratch), []
        for seed in range(DRAWS):
            noise = np.random.default_rng(seed)
            spread.append(figure(model, typed, [(a + noise.uniform(-1, 1, a.shape) * NOISE * np.ptp(a)).astype(a.dtype)
                                                for a in arrays], scratch))
    results = {**compare.known(path), f"{network} {form}": {"undisturbed": plain, "spread": sorted(spread)}}
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(network, form, results[f"{network} {form}"])


if __name__ == "__main__":
    main()
