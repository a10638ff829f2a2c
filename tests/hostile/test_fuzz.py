"""Three hundred runs of fuzz.py, and proof that its commands do something where nothing is wrong."""
import os
import random
import subprocess
import sys

import pytest

import fuzz


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return fuzz.made_files(tmp_path_factory.mktemp("files"), os.environ["VERNIER_PROGRAM"])


def test_the_commands_read_their_files(files, tmp_path):
    """Each change tries one in four; `scripts/test --release` all."""
    every = [(path, command) for path, commands in files.items() for command in commands]
    if change := os.environ.get("VERNIER_SAMPLE"):
        every = random.Random(change).sample(every, len(every) // 4)
    refused = []
    for at, (path, command) in enumerate(every):
        _, words, outcome, _ = fuzz.attempt(path, command, tmp_path / str(at))
        if outcome.faults or outcome.code not in (0, 1, 5):
            refused.append((words, outcome.code, outcome.faults, outcome.output[-300:]))
    # float16 and quantized files are left as they are by some jobs, and labels have no float32 to judge: with their
    # reason. Operators on integer values have no pairs for 'debug loss' to look at, which is a matter of usage.
    assert len(refused) <= 0.1 * at, refused
    assert all(code in (2, 3) for _, code, _, _ in refused), refused


def test_nothing_breaks():
    done = subprocess.run([sys.executable, fuzz.__file__, "--program", os.environ["VERNIER_PROGRAM"], "--runs", "300"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
