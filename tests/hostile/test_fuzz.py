"""Runs of fuzz.py, and proof that its commands do something where nothing is wrong."""
import os
import random

import pytest

import fuzz


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return fuzz.made_files(tmp_path_factory.mktemp("files"), os.environ["VERNIER_PROGRAM"])


def test_the_commands_read_their_files(files, tmp_path):
    """Each change tries one in six; `scripts/test --release` all."""
    every = [(path, command) for path, commands in files.items() for command in commands]
    if change := os.environ.get("VERNIER_SAMPLE"):
        every = random.Random(change).sample(every, len(every) // 6)
    refused = []
    for at, (path, command) in enumerate(every):
        _, words, outcome, _ = fuzz.attempt(path, command, tmp_path / str(at))
        if outcome.faults or outcome.code not in (0, 1, 5):
            refused.append((words, outcome.code, outcome.faults, outcome.output[-300:]))
    # float16 and quantized files are left as they are by some jobs, and labels have no float32 to judge: with their
    # reason. Operators on integer values have no pairs for 'debug loss' to look at, which is a matter of usage.
    assert len(refused) <= 0.1 * at, refused
    assert all(code in (2, 3) for _, code, _, _ in refused), refused


@pytest.mark.sampled
@pytest.mark.parametrize("index", range(300))
def test_nothing_breaks(index, files, tmp_path):
    path, words, outcome, _ = fuzz.one(1, index, files, tmp_path)
    assert not outcome.faults, (path.name, words, outcome.faults, outcome.output[-400:])
