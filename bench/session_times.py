"""What making sessions takes of the phases of a diagnosis, for a program of any commit: session_times.c is its ONNX Runtime and counts."""
import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime

from networks import ROOT
from passes import SENSITIVITY, understood

ENDED = re.compile(r"info: (.+): [0-9.]+ s\n")  # a phase, as --verbose tells it
PHASES = {**dict.fromkeys(SENSITIVITY, "effect"), "search": "search"}


@dataclasses.dataclass
class Sessions:
    """Of one phase; CPU seconds are those of all threads."""
    made: int = 0
    making_s: float = 0  # in ONNX Runtime
    running_s: float = 0  # the same, with the operators that we hand it
    cpu_s: float = 0


def build(folder):
    """The library that counts."""
    library = pathlib.Path(folder) / "session_times.so"
    words = ["cc", "-O2", "-fPIC", "-shared", f"-I{ROOT}/.deps/onnxruntime/include", ROOT / "bench/session_times.c", "-o", library]
    subprocess.run(words, check=True)
    return library


def rows_of(path):
    """Per kind of call: begin and end in seconds of the clock, CPU seconds of its thread. And the clock beside what the process had used."""
    lines = [line.split() for line in path.read_text().splitlines()]
    calls = {what: np.array([line[1:4] for line in lines if line[0] == what], float).reshape(-1, 3) for what in ("made", "run")}
    used = np.array([[float(line[i]), float(line[i + 3])] for line in lines for i in (1, 2)])
    return calls, used[np.argsort(used[:, 0])]


def sessions_of(library, program, words):
    """One diagnosis: by phase what it made and ran while it measured single layers, and searched."""
    real, = pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*")
    with tempfile.TemporaryDirectory() as folder:
        times = pathlib.Path(folder) / "times"
        environment = {**os.environ, "VERNIER_ORT_LIBRARY": str(library), "SESSION_TIMES_OF": str(real), "SESSION_TIMES": str(times)}
        with subprocess.Popen([program, "diagnose", *understood(program, words), "--verbose", "-o", "out"], cwd=folder, env=environment, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True) as running:
            phases, began = [], time.monotonic()
            for line in running.stderr:
                if ended := ENDED.fullmatch(line):
                    phases.append((ended[1], began, time.monotonic()))  # one begins where the one before ended
                    began = phases[-1][2]
        calls, used = rows_of(times)
    by_phase = {"effect": Sessions(), "search": Sessions()}
    for name, begin, end in phases:
        if name not in PHASES:
            continue
        result = by_phase[PHASES[name]]
        made, run = (rows[(rows[:, 1] > begin) & (rows[:, 1] <= end)] for rows in (calls["made"], calls["run"]))
        result.made += len(made)
        result.making_s += float(made[:, 2].sum())
        result.running_s += float(run[:, 2].sum())
        result.cpu_s += float(np.interp(end, *used.T) - np.interp(begin, *used.T))
    assert all(result.cpu_s > 0 for result in by_phase.values()), f"{program} told other phases: {phases}"
    return by_phase
