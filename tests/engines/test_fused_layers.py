"""The simulation of limits that TensorRT-RTX loses, against what the engine gave of the same files: a record of
bench/hardware/fused_layers.py (run, with 1.6.1 on an H100), so that no engine is needed here."""
import base64
import functools
import io
import json
import os
import pathlib
import subprocess
import sys
import zlib

import numpy as np
import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/hardware"))
import fused_layers

PROGRAM = os.environ["VERNIER_PROGRAM"]
RECORD = np.load(ROOT / "bench/results/engines/fused_layers.npz")
# A Gemm over many inputs is wrong by itself, and so is what is computed in float32 between low layers.
LIMITED = [chain for chain in fused_layers.chains()
           if chain in RECORD and " clip" in chain and " f32 clip" not in chain and "GemmAll" not in chain]
# Where nothing is lost: as far apart as two ways of rounding the same layers.
ALIKE_DB = {"bf16": 40, "fp16": 55, "fp32": 65}


def vernier(*arguments, codes=(0,)):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode in codes, done.stderr
    return done


def written(chain, folder):
    model, images = fused_layers.network(chain)
    onnx.save(model, folder / "chain.onnx")
    np.savez(folder / "chain.npz", input=images[None])
    return folder / "chain.onnx", folder / "chain.npz"


def simulated(model, data, folder):
    vernier("run", model, "--sim", "--accumulate", "float16", "--data", data, "--save-outputs", folder / "sim.json")
    runs = json.loads((folder / "sim.json").read_text())["lst"][0][1]
    return np.load(io.BytesIO(base64.b64decode(runs[0]["outputs"]["output"]["values"]["array"])))


def found(model):
    report = json.loads(vernier("check", "placement", model, "--target", "tensorrt", "--json", codes=(0, 1)).stdout)
    return {finding["rule"] for finding in report["findings"]}


@functools.cache
def differs(chain):
    right = fused_layers.part(fused_layers.computed(chain))
    return fused_layers.sqnr(right, RECORD[chain].astype(np.float64)) < 25


def test_the_record_has_both_kinds():
    wrong = [chain for chain in LIMITED if differs(chain)]
    assert len(LIMITED) > 300 and 60 < len(wrong) < 120


@pytest.mark.sampled
@pytest.mark.parametrize("chain", [chain for chain in LIMITED if not chain.startswith("fp32") and (differs(chain) or zlib.crc32(chain.encode()) % 4 == 0)])
def test_what_the_engine_gives_is_simulated(chain, tmp_path):
    model, data = written(chain, tmp_path)
    got = fused_layers.part(simulated(model, data, tmp_path)).astype(np.float64)
    assert fused_layers.sqnr(RECORD[chain].astype(np.float64), got) >= ALIKE_DB[chain.split()[0]]
    assert bool(found(model) & {"lost-upper-limit", "absent-limit"}) == differs(chain)


@pytest.mark.sampled
@pytest.mark.parametrize("low", ["bf16", "fp16"])
@pytest.mark.parametrize("layer", ["Linear256", "Gemm256"])
def test_products_have_the_noise_that_the_engine_gives_them(low, layer, tmp_path):
    """Each figure is of at most 256 values: on average they are alike."""
    apart = []
    for size, rows in fused_layers.PRODUCTS:
        chain = f"{low} {size} Rows{rows} {layer} Relu"
        model, data = written(chain, tmp_path)
        right = fused_layers.part(fused_layers.computed(chain, inputs_alone=True))
        engine = fused_layers.sqnr(right, RECORD[chain].astype(np.float64))
        figure = fused_layers.sqnr(right, fused_layers.part(simulated(model, data, tmp_path)).astype(np.float64))
        if rows > 1:
            apart.append(figure - engine)
        elif layer == "Gemm256":  # one row, which is summed in float32
            assert engine == pytest.approx(figure, abs=0.1)
    assert abs(np.mean(apart)) < 1 and np.std(apart) < 2.5, apart


@pytest.mark.sampled
@pytest.mark.parametrize("low", ["bf16", "fp16"])
@pytest.mark.parametrize("behind", ["AveragePool", "MaxPool", "Conv3"])
@pytest.mark.parametrize("limits", ["clip0_6", "clip0", "clip_6", "Max0 Min6"])
def test_what_is_written_has_no_such_place(low, limits, behind, tmp_path):
    model, data = written(f"fp32 7 Conv1 {limits} {behind}", tmp_path)
    kept = [node.name + ":float32" for node in onnx.load(model).graph.node if node.op_type == "Conv"][1:]
    vernier("convert", model, f"--{low}", "--target", "tensorrt", "--data", data, *(["--layer-precisions", *kept] if kept else []), "-o",
            tmp_path / "typed.onnx", "-qq")
    assert not found(tmp_path / "typed.onnx")
    report = json.loads(vernier("verify", model, tmp_path / "typed.onnx", "--data", data, "--accumulate", "float16", "--json").stdout)
    assert report["figures"]["outputs"][0]["sqnr_db"] > ALIKE_DB[low]
