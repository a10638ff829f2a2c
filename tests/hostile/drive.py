"""Runs the program on files that nobody meant well, from outside and under limits, and says what went wrong: a signal,
an exit code that the contract does not name, no end, words of a library, an input that changed, a file left behind."""
import dataclasses
import hashlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

PROGRAM = os.environ["VERNIER_PROGRAM"]
SECONDS = float(os.environ.get("VERNIER_HOSTILE_SECONDS", 30))
BYTES = 8 << 30
# Done, not met, usage, input, backend (docs/contract.md): what a broken file may lead to. 70 is a defect of ours.
CODES = {0, 1, 2, 3, 4}
# A library's words for itself.
UNTRANSLATED = re.compile(r"json\.exception|google::protobuf|std::|\.cc:\d|terminate called|error: :|Sanitizer")
TEMPORARY = re.compile(r"\.(tmp|partial)|^\.")


@dataclasses.dataclass
class Outcome:
    command: list
    code: int | None  # None: it did not end
    output: str
    faults: list


def limits():
    if not os.environ.get("VERNIER_SANITIZE"):  # shadow memory is all of the address space
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def prints(folder):
    return {path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file()}


def run(command, inputs, folder, writes=None):
    """`command` in a fresh folder beside the files of the folder `inputs`, which it names as ../in/... `writes`: what files there that
    it writes itself begin with."""
    work = folder / "out"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    before = prints(inputs)
    faults = []
    running = subprocess.Popen([PROGRAM, *map(str, command)], cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limits)
    try:
        output = running.communicate(timeout=SECONDS)[0].decode(errors="replace")
        code = running.returncode
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        output, code = running.communicate()[0].decode(errors="replace"), None
        faults.append(f"did not end within {SECONDS:.0f} s")
    if code is not None and code not in CODES:
        faults.append(f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}")
    if said := UNTRANSLATED.search(output):
        faults.append(f"says '{said[0]}'")
    if code not in (0, 1, None) and "error:" not in output:
        faults.append(f"exit code {code} without an error")
    after = prints(inputs)
    changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    if any(writes is None or not path.name.startswith(writes) for path in changed):
        faults.append(f"inputs changed: {sorted(map(str, changed))}")
    left = [path.name for path in work.rglob("*") if TEMPORARY.search(path.name)]
    if left and code is not None:
        faults.append(f"left {left}")
    return Outcome(command, code, output, faults)


def commands_on_model(model):
    """One of each job, by name."""
    return {
        "diagnose": ["diagnose", model, "--int8", "-o", "diagnosis"],
        "fix": ["fix", model, "--fp16"],
        "convert": ["convert", model, "--fp16", "-o", "fp16.onnx"],
        "quantize": ["quantize", model, "-o", "q.onnx"],
        "calibrate": ["calibrate", model, "-o", "ranges.json"],
        "verify": ["verify", model, model],
        "run": ["run", model, "--onnxrt"],
        "debug loss": ["debug", "loss", model, model],
        "debug reduce": ["debug", "reduce", model, "-o", "reduced.onnx", "--mode", "bisect", "--check", "false"],
        "check lint": ["check", "lint", model],
        "check data": ["check", "data", model],
        "inspect model": ["inspect", "model", model, "--show", "layers"],
        "inspect capability": ["inspect", "capability", model],
        "inspect sparsity": ["inspect", "sparsity", model],
        "inspect visual": ["inspect", "model", model, "--visual", "graph.dot"],
        "surgeon sanitize": ["surgeon", "sanitize", model, "--fold-constants", "-o", "clean.onnx"],
        "surgeon extract": ["surgeon", "extract", model, "--outputs", "y", "-o", "part.onnx"],
    }
