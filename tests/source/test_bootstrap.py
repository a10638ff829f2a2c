"""scripts/bootstrap where everything is made already, as at every start of scripts/quickstart and scripts/test but the first."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not (ROOT / ".deps/stamps/venv-tests").exists(), reason="bootstrap did not make this checkout's .deps")
def test_a_second_run_has_nothing_to_do():
    done = subprocess.run([ROOT / "scripts/bootstrap", "--tests"], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "VERNIER_SKIP_APT": "1", "VERNIER_PYTHON": sys._base_executable})
    assert (done.returncode, done.stderr) == (0, "")
