"""Runs the text cases of *.test against the program.

    python -m pytest tests/cli/test_cli.py --cases tests/cli/usage.test --program build/release/apps/vernier/vernier

VERNIER_UPDATE_GOLDEN=1 writes golden files instead of comparing with them; review the diff.

A file of cases is made of lines. '#' starts a comment line. A case:

    == A missing file is the input's fault           the name, a sentence
    $ {vernier} verify {tmp}/none.onnx b.onnx        a command, run by bash in an empty folder of the case's own
    exit 3                                           its exit code; 0 when there is no such line
    out: text                                        stdout contains this text
    err: text                                        stderr does
    no out: text, no err: text                       it does not
    out~ regex, err~ regex                           a match somewhere in it, ^ and $ at every line
    out empty, err empty
    out golden: help/diagnose.txt                    stdout is that file of tests/golden
    out json: expression                             stdout is one JSON document `j` of which the expression holds
    file: path, no file: path                        it exists, and is not empty; it does not
    interrupt after TEXT                             SIGINT is sent as soon as stderr contains TEXT ...
    interrupt twice after TEXT                       ... twice, half a second apart
    terminate after TEXT                             SIGTERM is sent then
    kill after TEXT                                  SIGKILL is sent then: exit -9
    on a terminal                                    stdout and stderr are a terminal; both arrive as stdout

A case may have several commands; each line belongs to the command above it. The lines that start with '$ ' before the
program is tested can prepare files. A case that needs what a machine may lack says so:

    needs: shared                                    {shared} is there
    needs: dot                                       Graphviz is there
    needs: speed                                     no sanitizer: it would take a minute, and others run the same code

Placeholders: {vernier} {python} {examples} {shared} {cases} (this folder) {tmp} (the case's own folder) and
{unprivileged}, a prefix without which root may write into folders that are closed to writing. Programs find nothing
of the outer NO_COLOR and TERM.
"""
import json
import multiprocessing
import os
import pathlib
import pty
import re
import runpy
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GOLDEN = HERE.parent / "golden"
SHARED = pathlib.Path(os.environ.get("VERNIER_SHARED", ROOT.parent / "shared"))
SECONDS = 300  # for one command


class Case:
    def __init__(self, name, where):
        self.name, self.where, self.needs, self.steps = name, where, [], []


class Step:
    def __init__(self, command, line):
        self.command, self.line = command, line
        self.exit, self.checks, self.interrupts, self.after, self.terminal = 0, [], 0, "", False


CHECK = re.compile(r"(no )?(out|err)(: | golden: | json: |~ )(.*)|(out|err) empty|(no )?file: (.*)")


def read_cases(path):
    cases = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{path.name}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("== "):
            cases.append(Case(line[3:], where))
            continue
        assert cases, f"{where}: a case starts with '== '"
        case = cases[-1]
        if line.startswith("needs: "):
            case.needs.append(line[7:])
            continue
        if line.startswith("$ "):
            case.steps.append(Step(line[2:], where))
            continue
        assert case.steps, f"{where}: no command above"
        step = case.steps[-1]
        if line.startswith("exit "):
            step.exit = int(line[5:])
        elif line == "on a terminal":
            step.terminal = True
        elif match := re.fullmatch(r"(interrupt|terminate|kill) (twice )?after (.*)", line):
            step.signal = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM, "kill": signal.SIGKILL}[match.group(1)]
            step.interrupts, step.after = (2 if match.group(2) else 1), match.group(3)
        else:
            assert CHECK.fullmatch(line), f"{where}: not understood: {line}"
            step.checks.append((where, line))
    for case in cases:
        assert case.steps, f"{case.where}: a case without a command"
    return cases


def pytest_generate_tests(metafunc):
    paths = [pathlib.Path(p) for p in metafunc.config.getoption("--cases") or sorted(HERE.glob("*.test"))]
    cases = [case for path in paths for case in read_cases(path)]
    assert cases, f"no cases in {paths}"
    metafunc.parametrize("case", cases, ids=[case.name.replace(" ", "_") for case in cases])


def reason_to_skip(need):
    if need == "shared":
        return None if SHARED.is_dir() else f"no shared files at {SHARED}"
    if need == "dot":
        return None if shutil.which("dot") else "no Graphviz: apt-get install graphviz"
    if need == "speed":
        return "under a sanitizer it takes a minute, and others run the same code" if os.environ.get("VERNIER_SANITIZE") else None
    raise AssertionError(f"unknown need: {need}")


def environment(folder):
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    # A hint that names an option of another command is a fault (apps/vernier/console/hint_options.h).
    return {**kept, "LC_ALL": "C.UTF-8", "VERNIER_SHARED": str(SHARED), "VERNIER_CHECK_HINTS": "1",
            "XDG_CACHE_HOME": str(folder / ".cache")}


def run_on_terminal(command, folder):
    """stdout and stderr of the command as one terminal of 80 columns shows them."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "-c", "stty cols 80; " + command], {**environment(folder), "TERM": "xterm"})
    output = b""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not chunk:
            break
        output += chunk
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output.decode(errors="replace").replace("\r\n", "\n"), ""


def send_interrupts(process, step, stderr_path):
    deadline = time.monotonic() + SECONDS
    while step.after not in stderr_path.read_text(encoding="utf-8", errors="replace"):
        assert process.poll() is None, f"{step.line}: it ended before stderr said '{step.after}'"
        assert time.monotonic() < deadline, f"{step.line}: stderr never said '{step.after}'"
        time.sleep(0.02)
    for _ in range(step.interrupts):
        process.send_signal(step.signal)
        time.sleep(0.5)


UNQUOTED = r"[\w\s./,:=+@%-]"
PLAIN = re.compile(rf"""(?:'[^']*'|"[^"$`\\]*"|{UNQUOTED})+""")


def python_arguments(command):
    """The arguments of a command that runs a Python script or `-c`. None if the command needs a shell."""
    if not command.startswith(f"{sys.executable} ") or not PLAIN.fullmatch(command):
        return None
    arguments = shlex.split(command)[1:]
    return arguments if arguments[0] == "-c" or arguments[0].endswith(".py") else None


def run_python(arguments, folder, out, err):
    """Runs a script in a fork of this process. Starting Python and importing ONNX would take most of the script's time."""
    import onnx  # noqa: F401: for the forks

    def script():
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment(folder))
        for number, file in ((1, out), (2, err)):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        if arguments[0] == "-c":
            sys.argv, sys.path[:0] = ["-c", *arguments[2:]], [""]
            exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})  # the cases are our own
        else:
            sys.argv, sys.path[:0] = arguments, [os.path.dirname(arguments[0])]
            runpy.run_path(arguments[0], run_name="__main__")

    process = multiprocessing.get_context("fork").Process(target=script)
    process.start()
    process.join(SECONDS)
    process.kill()  # if it still runs
    process.join()
    return process.exitcode


def run_command(step, command, folder, out, err):
    arguments = None if step.interrupts else python_arguments(command)
    if arguments:
        return run_python(arguments, folder, out, err)
    # A signal has to reach the program, not a shell around it.
    line = f"exec {command}" if step.interrupts else command
    process = subprocess.Popen(["bash", "-c", line], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                               stdout=out, stderr=err)
    try:
        if step.interrupts:
            send_interrupts(process, step, folder.parent / "stderr")
        process.wait(SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode


def run_step(step, command, folder):
    if step.terminal:
        return run_on_terminal(command, folder)
    outer = folder.parent
    with open(outer / "stdout", "w+b") as out, open(outer / "stderr", "w+b") as err:
        code = run_command(step, command, folder, out, err)
    texts = [(outer / name).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr")]
    return code, *texts


def words(text):
    return " ".join(text.split())


def check(line, replace, out, err, folder):
    """None, or what is wrong."""
    match = CHECK.fullmatch(line)
    negated, stream, how, wanted, empty, no_file, path = match.groups()
    if empty:
        text = out if empty == "out" else err
        return None if text == "" else f"std{empty} is not empty"
    if path is not None:
        file = folder / replace(path)
        there = file.exists() and (file.is_dir() or file.stat().st_size > 0)
        return None if there != bool(no_file) else f"{file} is {'there' if there else 'missing or empty'}"
    text = out if stream == "out" else err
    if how == ": ":
        # How long the path of a checkout is decides where the program breaks its lines.
        found = replace(wanted) in text or words(replace(wanted)) in words(text)
    elif how == "~ ":
        found = re.search(replace(wanted), text, re.MULTILINE) is not None
    elif how == " json: ":
        found = bool(eval(wanted, {"j": json.loads(text)}))  # the cases are our own
    else:
        golden = GOLDEN / wanted
        if os.environ.get("VERNIER_UPDATE_GOLDEN") == "1":
            golden.parent.mkdir(parents=True, exist_ok=True)
            golden.write_text(text, encoding="utf-8")
        found = golden.exists() and text == golden.read_text(encoding="utf-8")
    return None if found != bool(negated) else f"std{stream} is not as wanted"


# Raw, or escaped as in a name of the user's.
MARKS = re.compile(r"[‹›]|\\u\{?(?:2039|203A)", re.IGNORECASE)


def marked(case, out, err, folder):
    """Where a text of the library was not put into words of the command (vernier/marks.h): in every case."""
    if any(MARKS.search(step.command) for step in case.steps):
        return []
    texts = [("stdout", out), ("stderr", err)]
    for file in folder.rglob("*.*"):
        if file.suffix in (".json", ".jsonl", ".html", ".md", ".xml", ".csv", ".txt") and file.is_file():
            texts.append((file.name, file.read_text(encoding="utf-8", errors="replace")))
    return [f"{where} has a mark: {text[max(0, found.start() - 60):found.end() + 60]}" for where, text in texts
            if (found := MARKS.search(text))]


def without_code(command, code, err):
    """Errors name their page: `vernier help E301`, and the first digit of the code is the exit code's."""
    if code not in (2, 3, 4, 70) or "{vernier}" not in command or not re.search(r"^error: ", err, re.MULTILINE):
        return []
    digit = str(code)[0]
    return [] if re.search(rf"vernier help E{digit}\d\d\b", err) else [f"no code E{digit}.. in stderr"]


def test_case(case, request, tmp_path):
    for need in case.needs:
        if reason := reason_to_skip(need):
            pytest.skip(reason)
    folder = tmp_path / "work"
    folder.mkdir()
    program = pathlib.Path(request.config.getoption("--program")).resolve()
    emulator = request.config.getoption("--emulator")
    places = {"vernier": f"{emulator} {program}".lstrip(), "python": sys.executable, "examples": ROOT / "examples", "shared": SHARED,
              "cases": HERE, "tmp": folder,
              "unprivileged": "setpriv --bounding-set=-dac_override --inh-caps=-all" if os.geteuid() == 0 else ""}

    def replace(text):
        return re.sub(r"\{(\w+)\}", lambda m: str(places[m.group(1)]) if m.group(1) in places else m.group(0), text)

    for step in case.steps:
        command = replace(step.command)
        code, out, err = run_step(step, command, folder)
        wrong = [f"{where}: {line}: {problem}" for where, line in step.checks
                 if (problem := check(line, replace, out, err, folder))]
        if code != step.exit:
            wrong.insert(0, f"{step.line}: exit code {code}, wanted {step.exit}")
        wrong += marked(case, out, err, folder)
        wrong += without_code(step.command, code, err)
        assert not wrong, "\n".join([*wrong, f"$ {command}", "-- stdout", out[-4000:], "-- stderr", err[-4000:]])
