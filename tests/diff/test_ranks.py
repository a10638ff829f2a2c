"""Several ranks answer what one answers, with each MPI whose plug-in was built; a rank that fails ends the job; a search that was
killed goes on.

The network and its images are the digits example's: a search of several dozen evaluations that takes a second.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from typed_files import ENVIRONMENT, PROGRAM, ROOT

PLUGINS = pathlib.Path(PROGRAM).resolve().parents[2] / "lib" / "vernier"
DIGITS = ROOT / "examples" / "digits"
# As root, and on machines with fewer cores than ranks, Open MPI wants to be asked twice.
START = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"],
         "mpich": ["mpirun.mpich", "-n", "2"]}
DIAGNOSE = ["diagnose", str(DIGITS / "digits.onnx"), "--data", str(DIGITS / "test.npz"), "--calibration-data",
            str(DIGITS / "calib.npz"), "--int8", "--min-sqnr", "30", "--threads", "1", "--no-latency"]
# Several ranks measure no options, and keep nothing for a later run.
ALONE = ["--no-options", "--no-cache"]


def start(mpi):
    if not (PLUGINS / f"libvernier_{mpi}.so").exists():
        lacks(f"no plug-in for {mpi}: its compiler command (mpicc.{mpi}) was not there when this was built")
    if shutil.which(START[mpi][0]) is None:
        lacks(f"{START[mpi][0]} is not on this machine")
    return START[mpi]


def lacks(what):
    """Skips; in CI, fails."""
    say = f"{what} (scripts/bootstrap --with mpi)"
    if os.environ.get("CI"):
        pytest.fail(say)
    pytest.skip(say)


def run(words, code=0, folder=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=folder, timeout=120,
                          env={**ENVIRONMENT, "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"})
    assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def answer(report):
    """What of a report does not tell how long something took, or how it was called."""
    for name in ("phases", "command", "machine", "files"):
        report.pop(name, None)
    report.get("typed", {}).pop("file", None)
    return report


@pytest.mark.parametrize("mpi", START)
def test_several_ranks_answer_as_one(mpi, tmp_path):
    words = start(mpi)
    run([PROGRAM, *DIAGNOSE, *ALONE, "-o", tmp_path / "one"])
    one = answer(json.loads((tmp_path / "one/report.json").read_text()))
    assert one["kept"]["layers"]
    for ranks in ("2", "5"):
        done = run([*words[:-1], ranks, PROGRAM, *DIAGNOSE, *ALONE, "-o", tmp_path / ranks])
        assert done.stdout.count("Figures, compared with the FP32 model") == 1, "each rank printed"
        assert one == answer(json.loads((tmp_path / ranks / "report.json").read_text())), f"{ranks} ranks"
        assert (tmp_path / "one/model.onnx").read_bytes() == (tmp_path / ranks / "model.onnx").read_bytes()


@pytest.mark.parametrize("mpi", START)
@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse", "auto"])
def test_ranges_of_two_ranks_are_those_of_one(mpi, method, tmp_path):
    words = start(mpi)
    for name, before in (("one", []), ("two", words)):
        run([*before, PROGRAM, "calibrate", DIGITS / "digits.onnx", "--data", DIGITS / "calib.npz", "--method", method, "-o",
             tmp_path / f"{name}.json"])
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize("mpi", START)
def test_mpirun_is_no_terminal(mpi, monkeypatch):
    monkeypatch.setitem(ENVIRONMENT, "TERM", "xterm")
    done = run([*start(mpi), PROGRAM, "verify", DIGITS / "digits.onnx", DIGITS / "digits.onnx", "--data", DIGITS / "test.npz"])
    assert "exact" in done.stdout and "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("mpi", START)
def test_commands_that_gain_nothing_run_once(mpi, tmp_path):
    assert run([*start(mpi), PROGRAM, "inspect", "model", DIGITS / "digits.onnx"]).stdout.count("graph ") == 1
    assert "vernier" in run([*start(mpi), PROGRAM, "--version"]).stdout


@pytest.mark.parametrize("mpi", START)
def test_an_error_is_printed_once_with_its_exit_code(mpi, tmp_path):
    done = run([*start(mpi), PROGRAM, "verify", DIGITS / "digits.onnx", "none.onnx", "--data", DIGITS / "test.npz"], code=3)
    assert done.stderr.count("error: ") == 1 and "none.onnx" in done.stderr
    done = run([*start(mpi), PROGRAM, "verify", DIGITS / "digits.onnx"], code=2)
    assert done.stderr.count("error: ") == 1


@pytest.mark.parametrize("set_to, wanted", [(None, "ob1"), ("^cm", "^cm")])
def test_on_one_machine_open_mpi_looks_for_no_network(set_to, wanted, tmp_path, monkeypatch):
    words = start("openmpi")
    monkeypatch.delitem(ENVIRONMENT, "OMPI_MCA_pml", raising=False)
    if set_to:
        monkeypatch.setitem(ENVIRONMENT, "OMPI_MCA_pml", set_to)
    script = tmp_path / "told.py"
    script.write_text("import os\ndef load_data():\n    raise ValueError('told ' + os.environ.get('OMPI_MCA_pml', 'nothing'))\n")
    done = run([*words, PROGRAM, "calibrate", DIGITS / "digits.onnx", "--data", script], code=3)
    assert f"told {wanted}" in done.stderr


LOADER = """
import os
import numpy as np
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", "0")))

def load_data():
    for i in range(8):
        if rank == 1 and i == {broken}:
            raise RuntimeError("no disk here")
        yield {{"image": np.full((1, 1, 28, 28), i + {different} * rank, np.float32)}}
"""


@pytest.mark.parametrize("mpi", START)
def test_a_rank_that_fails_ends_the_job_with_its_message(mpi, tmp_path):
    words = start(mpi)
    model = DIGITS / "digits.onnx"
    shape = run([PROGRAM, "inspect", "model", model]).stdout.split("input   ")[1].split("[float32, ")[1].split("]")[0]
    name = run([PROGRAM, "inspect", "model", model]).stdout.split("input   ")[1].split(" [")[0]
    sides = [1 if not part.isdigit() else int(part) for part in shape.split("x")]
    text = LOADER.replace('"image"', repr(name)).replace("(1, 1, 28, 28)", repr(tuple(sides)))
    loader = tmp_path / "loader.py"
    loader.write_text(text.format(broken=4, different=0))
    done = run([*words, PROGRAM, "calibrate", model, "--data", loader], code=3)
    assert "rank 1: " in done.stderr and "no disk here" in done.stderr
    loader.write_text(text.format(broken=99, different=1))
    done = run([*words, PROGRAM, "calibrate", model, "--data", loader], code=3)
    assert "rank 1 has samples unlike that of rank 0" in done.stderr


@pytest.mark.parametrize("mpi", START)
def test_a_killed_search_goes_on(mpi, tmp_path):
    words = start(mpi)
    search = [PROGRAM, "debug", "precision", *DIAGNOSE[1:-1], "--mode", "linear", "--journal", tmp_path / "j.jsonl"]
    whole = run([*words, *search, "--json"])
    trials = (tmp_path / "j.jsonl").read_text().splitlines()
    assert len(trials) > 4
    (tmp_path / "j.jsonl").write_text("\n".join(trials[:3]) + "\n" + trials[3][:10])  # killed while it wrote the third trial
    again = run([*words, *search, "--resume", "--json"])
    one, two = json.loads(whole.stdout), json.loads(again.stdout)
    assert one["kept"]["layers"] == two["kept"]["layers"] and two["kept"]["recalled"] == 2
    assert len((tmp_path / "j.jsonl").read_text().splitlines()) == len(trials)


@pytest.mark.parametrize("mpi", START)
def test_kill_9_of_one_rank_ends_the_job(mpi, tmp_path):
    words = start(mpi)
    script = tmp_path / "slow.py"
    script.write_text("import time, numpy as np\ndef load_data():\n    time.sleep(60)\n    yield {}\n")
    job = subprocess.Popen([*words, PROGRAM, "calibrate", str(DIGITS / "digits.onnx"), "--data", str(script)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        victim = None
        for _ in range(200):
            time.sleep(0.05)
            found = [p for p in os.listdir("/proc") if p.isdigit() and is_rank(p, script)]
            if len(found) == 2:
                victim = int(found[1])
                break
        assert victim, "the ranks did not start"
        time.sleep(2)  # a rank that goes before it has joined is not always noticed by mpirun
        os.kill(victim, signal.SIGKILL)
        assert job.wait(timeout=20) != 0
    finally:
        job.kill()


def is_rank(process, script):
    try:
        words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0] == PROGRAM.encode() and str(script).encode() in words


def test_without_the_plug_in_a_rank_refuses(tmp_path):
    program = tmp_path / "vernier"
    shutil.copy(PROGRAM, program)
    done = subprocess.run([program, "--version"], capture_output=True, text=True,
                          env={**ENVIRONMENT, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"})
    assert done.returncode == 4 and "libopenmpi-dev" in done.stderr
