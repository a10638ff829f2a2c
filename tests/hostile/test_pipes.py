"""A pipe that nobody writes to, in the place of every kind of file that the program reads: it is refused at once."""
import os
import pathlib
import re

import pytest

import drive

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples/digits"
MODEL, DATA = DIGITS / "digits.onnx", DIGITS / "calib.npz"
PIPES = {end: f"../in/pipe{end}" for end in ("", ".onnx", ".npz", ".npy", ".json", ".jsonl", ".py", ".cache", ".csv", ".yaml", ".pb")}
LOSS = ["--int8", "--min-sqnr", "20"]
COMMANDS = {
    "model": ["diagnose", PIPES[".onnx"], "--int8"],
    "model to run": ["run", PIPES[".onnx"], "--onnxrt"],
    "model to lint": ["check", "lint", PIPES[".onnx"]],
    "model to cut": ["surgeon", "extract", PIPES[".onnx"], "--outputs", "y", "-o", "part.onnx"],
    **{f"samples{end}": ["diagnose", MODEL, "--int8", "--data", PIPES[end]] for end in ("", ".npz", ".npy", ".json", ".py", ".pb")},
    "calibration samples": ["diagnose", MODEL, "--int8", "--data", DATA, "--calibration-data", PIPES[".npz"]],
    "loader script": ["run", MODEL, "--onnxrt", "--data-loader-script", PIPES[".py"]],
    "network script": ["convert", MODEL, "--fp16", "-o", "o.onnx", "--trt-network-func-script", PIPES[".py"]],
    "postprocess script": ["run", MODEL, "--onnxrt", "--postprocess-func-script", PIPES[".py"]],
    "metric script": ["diagnose", MODEL, "--int8", "--data", DATA, "--metric-script", PIPES[".py"], "--min", "0.5"],
    "cache": ["convert", MODEL, "--int8", "-o", "o.onnx", "--data", DATA, "--calib", PIPES[".cache"]],
    "cache to diagnose": ["diagnose", MODEL, "--int8", "--data", DATA, "--calib", PIPES[".json"]],
    "overrides": ["quantize", MODEL, "--data", DATA, "-o", "o.onnx", "--tensor-overrides", PIPES[".json"]],
    "plan": ["convert", MODEL, "--plan", PIPES[".json"], "-o", "o.onnx"],
    "labels": ["eval", MODEL, "--data", DATA, "--task", "classification", "--labels", PIPES[".npy"]],
    "golden": ["run", MODEL, "--onnxrt", "--golden", PIPES[".json"]],
    "journal": ["diagnose", MODEL, *LOSS, "--data", DATA, "--journal", PIPES[".jsonl"]],
    "journal to resume": ["diagnose", MODEL, *LOSS, "--data", DATA, "--journal", PIPES[".jsonl"], "--resume"],
    "replay": ["debug", "reduce", MODEL, "-o", "o.onnx", "--load-debug-replay", PIPES[".json"], "--check", "true"],
    "report": ["report", PIPES[".json"]],
    "reports": ["report", "--diff", PIPES[".json"], PIPES[".json"]],
    "saved results": ["data", "merge", PIPES[".json"], PIPES[".json"], "-o", "o.json"],
    "saved arrays": ["data", "concat", PIPES[".npz"], "-o", "o.npz"],
    "stages": ["pipeline", PIPES[".yaml"]],
    "data to inspect": ["inspect", "data", PIPES[".npz"]],
    "data to convert": ["data", "to-input", PIPES[".json"], "-o", "o.json"],
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_is_refused(name, tmp_path):
    inputs = tmp_path / "in"
    inputs.mkdir()
    for end in PIPES:
        os.mkfifo(inputs / f"pipe{end}")
    outcome = drive.run(COMMANDS[name], inputs, tmp_path)
    assert not outcome.faults, outcome.output
    assert outcome.code in (1, 2, 3), outcome.output  # 1: lint's finding
    assert re.search("a pipe|not a regular file|neither a file nor a folder", outcome.output), outcome.output
    assert all((inputs / f"pipe{end}").is_fifo() for end in PIPES)
