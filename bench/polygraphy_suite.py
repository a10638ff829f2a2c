"""Polygraphy's own command-line tests, with `vernier` instead of `polygraphy`.

    python bench/polygraphy_suite.py TESTS [--program build/release/apps/vernier/vernier] [--known FILE] [--log FOLDER] [FILE ...]

TESTS is the folder tools/Polygraphy of a checkout of NVIDIA/TensorRT, which holds tests/; nothing of it comes into this repository. FILE: some of tests/tools/test_*.py
alone. The Python that runs this needs polygraphy 0.53.6, onnx, onnxruntime, onnx-graphsurgeon, pytest 8, pytest-console-scripts, pytest-timeout and pytest-virtualenv.

The tests run three times: first with Polygraphy's own program, then, those that passed, with ours under its name, then those that fail
with ours and the lines of WORDS: what passes now lacked words only. What a test reads or
writes itself with Polygraphy's Python package stays as it is. TensorRT and torch are empty stand-ins within the tests, so that their files can be imported:
a test that needs either fails with Polygraphy too, and does not count.
--known reads the first half from the results of an earlier run. --log keeps what failed, a file a test.
Writes bench/results/polygraphy_suite.json and docs/records/polygraphy.md, unless some files alone are asked for.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
from importlib.metadata import version

from paragraph import filled, headed

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "bench/results/polygraphy_suite.json", ROOT / "docs/records/polygraphy.md"
ASKED, FOUND = "POLYGRAPHY_SUITE_TESTS", "POLYGRAPHY_SUITE_RESULTS"


# ---- within pytest, which loads this file as a plugin

class StandIn(types.ModuleType):
    """A module that has any name, for imports at the head of a test file."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        part = StandIn(f"{self.__name__}.{name}")
        setattr(self, name, part)
        return part

    def __call__(self, *_, **__):
        return self


if ASKED in os.environ:
    for module_name, number in (("tensorrt", "10.9.0"), ("torch", "2.5.0")):
        sys.modules[module_name] = StandIn(module_name)
        sys.modules[module_name].__version__ = number
        sys.modules[module_name].__path__ = []


def pytest_collection_modifyitems(items):
    asked = json.loads(pathlib.Path(os.environ[ASKED]).read_text(encoding="utf-8"))
    if asked is not None:
        items[:] = [item for item in items if item.nodeid in asked]


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        with open(os.environ[FOUND], "a", encoding="utf-8") as file:
            text = report.longreprtext + "".join(part for _, part in report.sections) if report.failed else ""
            file.write(json.dumps([report.nodeid, report.outcome, text]) + "\n")


# ---- the two runs

# Lines that some tests look for in Polygraphy's log. Vernier does not print them.
WORDS = '''case " $* " in *" --no-onnxruntime-shape-inference "*) ;; *" --fold-constants "*)
  echo 'Inferred shapes in the model with `onnxruntime.tools.symbolic_shape_infer`' ;; esac
case " $* " in *" --load-debug-replay"*) echo 'Loading iteration information from debug replay' ;; esac
case " $* " in " debug "*) exec 2>&1 ;; esac
'''


def named(folder, program, words=""):
    """A folder with the program as polygraphy: by a script, not a link, because a program looks for its files beside itself."""
    names = folder / "bin"
    names.mkdir(parents=True, exist_ok=True)
    (names / "polygraphy").write_text(f'#!/bin/sh\n{words}exec {program} "$@"\n', encoding="utf-8")
    (names / "polygraphy").chmod(0o755)
    return names


def outcomes(tests, files, folder, program, asked, words=""):
    """Outcome and text of each test of `files`, with `program` as polygraphy."""
    # The checkout's own package would come before the installed one, so the tests stand in a folder without it.
    shutil.copytree(tests / "tests", folder / "tests")
    names = named(folder, program, words)
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    (folder / "found.jsonl").touch()
    here = pathlib.Path(__file__).resolve().parent
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {
        "PATH": f"{names}:{os.environ['PATH']}", "PYTHONPATH": f"{here}:{folder}", ASKED: str(folder / "asked.json"), FOUND: str(folder / "found.jsonl")}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "polygraphy_suite", "-p", "no:cacheprovider", "-W", "ignore", "--timeout", "300",
                    "--script-launch-mode", "subprocess", "--rootdir", ".", *(f"tests/tools/{name}" for name in files)],
                   cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL)
    found = {}
    for line in (folder / "found.jsonl").read_text(encoding="utf-8").splitlines():
        name, outcome, text = json.loads(line)
        if found.get(name, ("",))[0] != "failed":
            found[name] = (outcome, text)
    return found


# ---- the lines of its examples

def lines_of(readme):
    """The commands in a page's bash blocks, each on one line."""
    for block in re.findall(r"```bash\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL):
        for line in re.sub(r"\\\s*\n\s*", " ", block).splitlines():
            if re.match(r"\s*(polygraphy|python3|diff)\b", line):
                yield line.strip()


def examples(tests, folder, program):
    """Exit code and output of each line; the lines of a page run one after another in its folder."""
    shutil.copytree(tests / "examples", folder / "examples")
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | {"PATH": f"{named(folder, program)}:{os.environ['PATH']}"}
    found = {}
    for readme in sorted((folder / "examples/cli").rglob("README.md")):
        for number, line in enumerate(lines_of(readme)):
            process = subprocess.run(["bash", "-c", line], cwd=readme.parent, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                     check=False)
            found[f"{readme.parent.relative_to(folder / 'examples/cli')} {number}: {line}"] = (process.returncode, process.stdout + process.stderr)
    return found


def lacks_a_module(code, text):
    """Polygraphy says which module it lacks: TensorRT or TensorFlow. 1 without a traceback is an answer."""
    return "is required but could not be imported" in text or code not in (0, 1) or (code == 1 and "Traceback" in text)


# ---- what does not pass, and why

REASONS = (
    (r"test_fold_constants\[", "the test looks for the log line of ONNX Runtime's Python script for symbolic shapes, which Vernier does not run; the "
                               "model is folded alike"),
    (r"test_can_isolate_node\[.*bisect", "Vernier's result is smaller than the test expects: one node"),
    (r"test_reduce_custom_data_multibranch_input\[.*True", "Vernier checks the whole model first; it passes, so there is nothing to reduce"),
    (r"test_reduce_with_replay", "the test looks for the check's output on stdout, where Vernier prints the result alone"),
    (r"test_empty_nodes_renaming|test_custom_op", "nodes without a name are called by operator and place, as in all reports"),
    (r"test_fp_to_fp16", "Vernier leaves a network of Identity alone in FP32: two casts would gain nothing"),
    (r"test_version", "the test compares with Polygraphy's own version line"),
    (r"test_polygraphy_run_gen_script", "refused: the command line is the script"),
    (r"TestLogging|test_int8_calibration_base_class", "refused: the command names no runner, so nothing would run"),
    (r"test_0_iterations|test_custom_tolerance", "refused: with 0 iterations nothing would be compared"),
    (r"test_shard", "refused: Vernier does not split models over devices"),
    (r"test_multi_attention_head_shard", "refused: Vernier does not split models over devices"),
    (r"test_override_shapes_partial_inputs", "refused: the name is not an input of the model"),
)


def short(name):
    return name.removeprefix("tests/tools/")


def reason_of(name):
    return next((why for pattern, why in REASONS if re.search(pattern, name)), "")


def table(rows, head):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def page(result):
    files = [(name, counts["tests"], counts["pass"], counts["words"]) for name, counts in result["files"].items()]
    files.append(("all", *(sum(row[column] for row in files) for column in (1, 2, 3))))
    reasons = {}
    for name, why in result["others"].items():
        reasons.setdefault(why or "no reason given", []).append(name)
    names = [(why, len(tests), f"`{tests[0].split('::')[-1].split('[')[0]}`") for why, tests in sorted(reasons.items(), key=lambda item: -len(item[1]))]
    return "\n".join([
        *headed("Polygraphy's own tests", PAGE),
        filled("For users of Polygraphy: its command-line tests and the commands in its examples, run with `vernier` instead of "
               f"`polygraphy`. The table counts tests that Polygraphy {result['polygraphy']} itself passes without TensorRT. "
               "`bench/polygraphy_suite.py` runs them and writes this page from `bench/results/polygraphy_suite.json`. The page for those who move "
               "lists [the differences](../migration/from-polygraphy.md)."), "",
        table(files, ("file", "Polygraphy passes", "Vernier passes", "only words differ")), "",
        filled("Only words differ: the test passes once the script prints the line of Polygraphy's log that the test looks for, and moves stderr to "
               "stdout for `debug`. The tests of `test_script.py` call no program, so they say nothing about Vernier."), "",
        filled(f"Of the {result['examples']['lines']} commands in its examples that run without TensorRT and TensorFlow, {result['examples']['same']} end "
               "with the same exit code."), "",
        "## Tests that do not pass", "",
        table(names, ("why", "tests", "one of them")), ""]
        + (["## Commands that do not", "", table([(f"`{line}`",) for line in result["examples"]["others"]], ("command",)), ""]
           if result["examples"]["others"] else []))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", type=pathlib.Path, nargs="?")
    parser.add_argument("--only-page", action="store_true", help="write the page from the results that are there")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/apps/vernier/vernier")
    parser.add_argument("--known", type=pathlib.Path, help="results of Polygraphy's own run; written if missing")
    parser.add_argument("--log", type=pathlib.Path)
    options = parser.parse_args()
    if options.only_page:
        PAGE.write_text(page(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")
        return
    files = options.files or sorted(path.name for path in (options.tests / "tests/tools").glob("test_*.py"))
    with tempfile.TemporaryDirectory() as folder:
        if options.known and options.known.exists():
            passing = json.loads(options.known.read_text(encoding="utf-8"))
        else:
            (folder_of_theirs := pathlib.Path(folder) / "theirs").mkdir()
            theirs = outcomes(options.tests, files, folder_of_theirs, shutil.which("polygraphy"), None)
            passing = sorted(name for name, (outcome, _) in theirs.items() if outcome == "passed")
            if options.known:
                options.known.write_text(json.dumps(passing, indent=0), encoding="utf-8")
        passing = [name for name in passing if short(name).split("::")[0] in files]
        (folder_of_ours := pathlib.Path(folder) / "ours").mkdir()
        ours = outcomes(options.tests, files, folder_of_ours, options.program.resolve(), passing)
        failed = [name for name in passing if ours.get(name, ("missing",))[0] != "passed"]
        (folder_of_words := pathlib.Path(folder) / "words").mkdir()
        alike = outcomes(options.tests, files, folder_of_words, options.program.resolve(), failed, WORDS) if failed else {}
        lines = None
        if not options.files:
            lines = {who: examples(options.tests, pathlib.Path(folder) / f"examples_{who}", program)
                     for who, program in (("theirs", shutil.which("polygraphy")), ("ours", options.program.resolve()))}
    if options.log:
        options.log.mkdir(parents=True, exist_ok=True)
        for name, (outcome, text) in ours.items():
            if outcome != "passed":
                (options.log / re.sub(r"[^A-Za-z0-9_.-]+", "_", short(name))).write_text(text, encoding="utf-8")
    for name in failed:
        print(short(name), "(words only)" if alike.get(name, ("",))[0] == "passed" else "")
    print(len(passing) - len(failed), "of", len(passing), "pass;", sum(outcome == "passed" for outcome, _ in alike.values()), "lack words only")
    if lines is None:
        return
    counted = [line for line, (code, text) in lines["theirs"].items() if not lacks_a_module(code, text)]
    different = [line for line in counted if lines["ours"][line][0] != lines["theirs"][line][0]]
    if options.log:
        (options.log / "examples").write_text("\n".join(f"{line}\n{lines['ours'][line]}" for line in different), encoding="utf-8")
    result = {"polygraphy": version("polygraphy"), "onnx": version("onnx"), "onnxruntime": version("onnxruntime"),
              "files": {file: {"tests": len(tests), "pass": sum(name not in failed for name in tests),
                               "words": sum(alike.get(name, ("",))[0] == "passed" for name in tests)}
                        for file in files if (tests := [name for name in passing if short(name).startswith(f"{file}::")])},
              "others": {short(name): reason_of(name) for name in failed},
              "examples": {"lines": len(counted), "same": len(counted) - len(different), "others": different}}
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(result), encoding="utf-8")


if __name__ == "__main__":
    main()
