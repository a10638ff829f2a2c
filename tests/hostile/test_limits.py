"""What the system or another process may do meanwhile: streams that are closed, limits for files, memory, stacks and
descriptors, signals, a file that becomes shorter, pipes among the program's own files, two jobs with one cache. Each
ends with an answer, or with an error that says what it was."""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples/digits"
MODEL, DATA = DIGITS / "digits.onnx", DIGITS / "calib.npz"
PROGRAM = os.environ["VERNIER_PROGRAM"]
SECONDS = 120
needs_plain_memory = pytest.mark.skipif("VERNIER_SANITIZE" in os.environ, reason="shadow memory is all of the address space")


def vernier(*arguments, folder, before=None, **options):
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), **options.pop("env", {})}
    return subprocess.run([PROGRAM, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=SECONDS,
                          preexec_fn=before, env=environment, stdin=subprocess.DEVNULL, **options)


def linear(path, seed, size=32, external=False):
    """y = relu(x A) B."""
    random = np.random.default_rng(seed)
    weights = [numpy_helper.from_array(random.normal(0, 1 / np.sqrt(size), (size, size)).astype(np.float32), f"{path.stem}.{name}")
               for name in ("a", "b")]
    names = [f"{path.stem}.{name}" for name in ("product", "relu", "y")]
    nodes = [helper.make_node("MatMul", ["x", weights[0].name], [names[0]], name=names[0]),
             helper.make_node("Relu", [names[0]], [names[1]], name=names[1]),
             helper.make_node("MatMul", [names[1], weights[1].name], [names[2]], name=names[2])]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
    graph = helper.make_graph(nodes, "linear", [value("x")], [value(names[2])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path, save_as_external_data=external, location=path.name + ".data", size_threshold=0)
    np.savez(path.with_suffix(".npz"), x=np.random.default_rng(7).normal(0, 1, (8, 1, size)).astype(np.float32))
    return path, path.with_suffix(".npz")


# An archive says what its members' checksums are.

JOBS = {
    "diagnose": ["diagnose", "--int8", "--min-sqnr", "20"],
    "fix": ["fix", "--int8", "--min-sqnr", "20"],
    "calibrate": ["calibrate", "-o", "ranges.json"],
    "convert": ["convert", "--int8", "-o", "o.onnx"],
    "quantize": ["quantize", "-o", "o.onnx"],
    "check data": ["check", "data"],
    "debug precision": ["debug", "precision", "--int8", "--min-sqnr", "20"],
}


@pytest.mark.parametrize("deflated", [False, True])
@pytest.mark.parametrize("job", JOBS)
def test_one_changed_value_of_an_archive_is_an_error(job, deflated, tmp_path):
    """numpy.savez stores: nothing but the checksum tells a changed value from an intact one."""
    model, data = linear(tmp_path / "m.onnx", 1)
    samples = np.load(data)["x"]
    (np.savez_compressed if deflated else np.savez)(data, x=np.concatenate([samples] * 10))
    damaged = bytearray(data.read_bytes())
    damaged[len(damaged) // 2] ^= 0x10
    data.write_bytes(damaged)
    words = JOBS[job]
    at = 2 if words[0] in ("check", "debug") else 1
    done = vernier(*words[:at], model, *words[at:], "--data", data, folder=tmp_path)
    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search("checksum|unpacked", done.stderr), done.stderr


# Streams.

@pytest.mark.parametrize("log", [[], ["--log-file", "log.txt"]])
def test_a_closed_standard_output_is_an_error(log, tmp_path):
    done = subprocess.run(["/bin/sh", "-c", '"$@" >&-', "sh", PROGRAM, "inspect", "model", str(MODEL), *log],
                          cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 3, done.stderr
    assert "error:" in done.stderr
    if log:
        # The result is logged with a time; what was meant for stdout did not go into that file.
        assert not re.search(r"^ *operators", (tmp_path / "log.txt").read_text(), re.MULTILINE)


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path):
    done = subprocess.run(["/bin/sh", "-c", '"$@" <&- >&- 2>&-', "sh", PROGRAM, "convert", str(MODEL), "--fp16", "-o", "o.onnx"],
                          cwd=tmp_path, timeout=SECONDS)
    assert done.returncode in (0, 3)
    if (tmp_path / "o.onnx").exists():
        onnx.checker.check_model(onnx.load(tmp_path / "o.onnx"))


def test_a_removed_working_folder_is_named(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(["/bin/sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", PROGRAM, "convert", str(MODEL), "--fp16", "-o", "o.onnx"],
                          cwd=gone, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 3, done.stderr
    assert "working folder" in done.stderr and "filesystem error" not in done.stderr, done.stderr


# Limits.

def test_a_limit_for_the_size_of_files_is_an_error(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it, and what it starts would inherit that
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
    for command in (["convert", MODEL, "--fp16", "-o", "o.onnx"], ["calibrate", MODEL, "--data", DATA, "-o", "r.json"],
                    ["diagnose", MODEL, "--int8", "--data", DATA, "-o", "out"]):
        done = vernier(*command, folder=tmp_path, before=limit)
        assert done.returncode == 3, (done.returncode, done.stderr)
        assert "File too large" in done.stderr, done.stderr


@pytest.mark.parametrize("kilobytes", [64, 256, 1024])
def test_a_small_stack_is_enough(kilobytes, tmp_path):
    size = kilobytes << 10
    for command in (["diagnose", MODEL, "--int8", "--data", DATA, "--min-sqnr", "20"], ["check", "lint", MODEL],
                    ["run", MODEL, "--onnxrt"]):
        done = vernier(*command, folder=tmp_path, before=lambda: resource.setrlimit(resource.RLIMIT_STACK, (size, size)))
        assert done.returncode in (0, 1), (command, done.returncode, done.stderr)


@needs_plain_memory
@pytest.mark.parametrize("command", [["check", "lint"], ["convert", "--fp16", "-o", "o.onnx"], ["inspect", "model"]])
def test_too_little_memory_is_never_the_fault_of_the_file(command, tmp_path):
    """From far too little to enough: an answer or an error, and no finding about a model that is as it should be."""
    at = 2 if command[0] in ("check", "inspect") else 1
    ends = set()
    for megabytes in (24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 320, 512):
        size = megabytes << 20
        done = vernier(*command[:at], MODEL, *command[at:], folder=tmp_path,
                       before=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
        if done.returncode == 127 or "error while loading shared libraries" in done.stderr:
            continue  # the system's loader had too little for the program itself
        assert done.returncode in (0, 3, 4), (megabytes, done.returncode, done.stdout, done.stderr)
        assert done.returncode == 0 or "error:" in done.stderr, (megabytes, done.stderr)
        ends.add(done.returncode)
    assert 0 in ends or 4 in ends


def test_too_few_descriptors_are_told_as_that(tmp_path):
    seen = False
    for count in range(4, 24):
        done = vernier("diagnose", MODEL, "--int8", "--data", DATA, "-o", f"out{count}", folder=tmp_path,
                       before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count)))
        if done.returncode == 127 or "error while loading shared libraries" in done.stderr:
            continue
        assert done.returncode in (0, 3, 4, 130), (count, done.returncode, done.stderr)
        if done.returncode:
            assert "error:" in done.stderr and "room" not in done.stderr, done.stderr
            seen = seen or "Too many open files" in done.stderr
    assert seen
    lint = [vernier("check", "lint", MODEL, folder=tmp_path,
                    before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))) for count in range(4, 16)]
    assert all(done.returncode != 1 for done in lint), [(done.returncode, done.stdout) for done in lint]


# Signals.

@pytest.mark.parametrize("sent", [[signal.SIGHUP], [signal.SIGHUP, signal.SIGHUP], [signal.SIGTERM]])
def test_a_terminal_that_goes_leaves_what_was_measured(sent, tmp_path):
    model, data = linear(tmp_path / "m.onnx", 1)
    np.savez(data, x=np.random.default_rng(1).normal(0, 1, (20000, 1, 32)).astype(np.float32))
    running = subprocess.Popen([PROGRAM, "diagnose", model, "--int8", "--data", data, "--min-sqnr", "60", "-v", "--no-cache", "--json",
                                "--no-split"],
                               cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while "local error" not in line and "evaluation" not in line and "sensitivit" not in line:
        line = running.stderr.readline()
        assert line, "it ended before it was interrupted"
    for each in sent:
        running.send_signal(each)
        time.sleep(0.02)
    out, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 130, (running.returncode, err[-2000:])
    assert '"interrupted": true' in out, err[-2000:]


# Files that change or are none.

def test_external_data_that_become_shorter_end_the_job_with_their_name(tmp_path):
    model, _ = linear(tmp_path / "m.onnx", 1, size=1024, external=True)
    (tmp_path / "loader.py").write_text(
        "import numpy, os\n"
        "def load_data():\n"
        "    for i in range(8):\n"
        f"        if i == 4: os.truncate({str(tmp_path / 'm.onnx.data')!r}, 0)\n"
        "        yield {'x': numpy.full((1, 1024), i, numpy.float32)}\n")
    done = vernier("verify", model, model, "--data", tmp_path / "loader.py:load_data", "--python", sys.executable, folder=tmp_path)
    assert done.returncode == 3, (done.returncode, done.stdout, done.stderr)
    assert "m.onnx.data" in done.stderr, done.stderr


def test_pipes_among_the_programs_own_files_stop_nothing(tmp_path):
    diagnose = ["diagnose", MODEL, "--int8", "--data", DATA, "--min-sqnr", "20"]
    precision = ["debug", "precision", MODEL, "--int8", "--data", DATA, "--min-sqnr", "20"]
    calibrate = ["calibrate", MODEL, "--data", DATA, "-o", "ranges.json"]
    commands = (diagnose, precision, calibrate, diagnose, precision)
    for command in commands:
        assert vernier(*command, folder=tmp_path).returncode in (0, 1)
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        for name in (path, path.with_name(path.name + ".1"), path.with_name(path.name + ".best.json")):
            name.unlink(missing_ok=True)
            os.mkfifo(name)
    for command in commands:
        done = vernier(*command, folder=tmp_path)
        assert done.returncode in (0, 1), done.stderr
    assert all(path.is_fifo() for path in kept)


# Two jobs at a time.

def steps(path):
    return dict(line.rsplit(": ", 1) for line in path.read_text().splitlines()[1:])


def test_two_loops_of_checks_do_not_read_each_others_candidates(tmp_path):
    """Both would write polygraphy_debug.onnx, and one would be judged by the other's candidate."""
    reduce = ["debug", "reduce", MODEL, "--mode", "bisect"]
    first = subprocess.Popen([PROGRAM, *map(str, reduce), "-o", "a.onnx", "--check", "sh", "-c", "sleep 1; false"], cwd=tmp_path,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    candidate = tmp_path / "polygraphy_debug.onnx"
    deadline = time.monotonic() + SECONDS
    while not candidate.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    second = vernier(*reduce, "-o", "b.onnx", "--check", "false", folder=tmp_path)
    beside = vernier(*reduce, "-o", "c.onnx", "--iter-artifact", "other.onnx", "--check", "false", folder=tmp_path)
    first.terminate()
    first.wait(timeout=SECONDS)
    assert beside.returncode == 0, beside.stderr
    assert second.returncode == 2 and "another job" in second.stderr, (second.returncode, second.stderr)


@pytest.mark.parametrize("name", ["both.cache", "both.json"])
def test_two_jobs_with_one_calibration_cache_lose_nothing(name, tmp_path):
    models = [linear(tmp_path / f"{letter}.onnx", seed) for seed, letter in enumerate("mn")]
    for _ in range(3):
        (tmp_path / name).unlink(missing_ok=True)
        running = [subprocess.Popen([PROGRAM, "convert", model, "--int8", "--data", data, "--calibration-cache", name, "-o",
                                     f"{model.stem}-int8.onnx"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
                   for model, data in models]
        ends = [(job.communicate(timeout=SECONDS)[1], job.returncode)[::-1] for job in running]
        said = [text for code, text in ends if code == 3]
        assert all(code in (0, 3) for code, _ in ends), ends
        assert all(name in text for text in said), ends
        if not said:
            assert name == "both.cache"
            held = steps(tmp_path / name)
            assert "x" in held and {"m.relu", "n.relu"} <= held.keys(), held
    for path in tmp_path.iterdir():
        assert not path.name.endswith(".tmp")
