"""ONNX's own node tests, lowered by `vernier convert`, through NVIDIA's compiler, without a GPU: all of them, once a version.

    python bench/engine_nodes.py measure RECORD [--formats float16 int8 bfloat16 float8] [--capability 8.9]
    python bench/engine_nodes.py table RECORD

RECORD is bench/results/engines/nodes.json; docs/records/placement.md has its tables. What was measured is not measured again, so that a stopped run
goes on: delete RECORD for a new version. tests/engines/test_compiled_nodes.py asks some of them with every change. Needs
`scripts/bootstrap --with tensorrt-rtx`. Evidence: compiled, not run.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/diff"))
import test_lowered_nodes as nodes  # first: it sets what onnx reads when it is loaded
import onnx

FORMATS = ("float16", "int8", "bfloat16", "float8")
MOST_WORDS = 300
PLAIN = "float32"  # the test as it stands


def first_error(done):
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    return (errors or [f"error: exit {done.returncode}: {done.stderr[-200:]}"])[0][7:][:MOST_WORDS]


def compiled(arguments, file):
    """What came of one file: {} when each layer runs as the file says."""
    done = subprocess.run([nodes.PROGRAM, "inspect", "engine", file, "--python", arguments.python, "--compute-capability",
                           arguments.capability, "--json"], capture_output=True, text=True, env=nodes.ENVIRONMENT)
    if done.returncode:
        return {"exit": done.returncode, "refused": first_error(done).replace(str(file) + ": ", "")}
    report = json.loads(done.stdout)
    arguments.engine = "{name} {version}".format(**report["engine"])
    differ = sorted({f"{layer['operator']} asked in {layer['asked']} reads {' and '.join(layer['reads'])}" for layer in report["layers"]
                     if layer["differs"]})
    return {"differ": differ} if differ else {}


def lowered(arguments, folder, form, typed):
    typed.unlink(missing_ok=True)
    done = subprocess.run([nodes.PROGRAM, "convert", folder / "model.onnx", *nodes.FORMATS[form], "--data", folder / "test_data_set_0", "-o",
                           typed, "-qq"], capture_output=True, text=True, env=nodes.ENVIRONMENT)
    if done.returncode:
        return {"exit": done.returncode, "not_written": first_error(done).replace(str(folder), "...")}
    return compiled(arguments, typed)


def measure(arguments):
    path = pathlib.Path(arguments.record)
    record = json.loads(path.read_text()) if path.exists() else {"capability": arguments.capability, "onnx": onnx.__version__, "tests": {}}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for case in nodes.load_model_tests(kind="node"):
            row = record["tests"].setdefault(case.name, {})
            if row is None or "refused" in row.get(PLAIN, {}) or all(form in row for form in (PLAIN, *arguments.formats)):
                continue
            made = nodes.written(case, scratch)
            if made is None:
                record["tests"][case.name] = None  # no float32 input, or ONNX Runtime does not run it
                continue
            if PLAIN not in row:
                row[PLAIN] = compiled(arguments, made[0] / "model.onnx")
            for form in arguments.formats if "refused" not in row[PLAIN] else ():
                if form not in row:
                    row[form] = lowered(arguments, made[0], form, scratch / "typed.onnx")
            if hasattr(arguments, "engine"):
                record.update(engine=arguments.engine, date=datetime.date.today().isoformat())
            write(record, path)


def write(record, path):
    """A line for each test."""
    head = json.dumps({key: value for key, value in record.items() if key != "tests"})[1:-1]
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in record["tests"].items())
    path.write_text("{" + head + ', "tests": {\n' + rows + "\n}}\n")


def reason(words):
    """Words of the engine without what differs from test to test."""
    words = re.sub(r"^\S+ [\d.]+: its (parser|builder) refuses the file(?: at node '[^']*' \(\w+\))?: ", r"\1: ", words)
    words = re.sub(r"'[^']*'|\[[^\]]*\]", "...", words)
    return re.sub(r"-?\d+", "N", words)


def outcome(one):
    return "refused" if "refused" in one else "not written" if "not_written" in one else "other format" if "differ" in one else "as the file says"


OUTCOMES = ("as the file says", "other format", "refused", "not written")


def table(arguments):
    record = json.loads(pathlib.Path(arguments.record).read_text())
    rows = {name: row for name, row in record["tests"].items() if row}
    taken = {name: row for name, row in rows.items() if "refused" not in row[PLAIN]}
    forms = [form for form in FORMATS if all(form in row for row in taken.values())]
    print(f"{record['engine']} for compute capability {record['capability']}, node tests of ONNX {record['onnx']}, {record['date']}: of {len(rows)} tests "
          f"it takes {len(taken)} as they stand.\n")
    print("| what became of these | " + " | ".join(forms) + " |\n|---" * 1 + "|---" * len(forms) + "|")
    counts = {form: collections.Counter(outcome(row[form]) for row in taken.values()) for form in forms}
    for name in OUTCOMES:
        print(f"| {name} | " + " | ".join(str(counts[form][name]) for form in forms) + " |")
    for key, title in (("refused", "Refused, and why"), ("not_written", "Not written, and why"), ("differ", "In another format")):
        groups = collections.defaultdict(list)
        for name, row in taken.items():
            for form in forms:
                told = row[form].get(key, [])
                for words in [reason(told)] if isinstance(told, str) else told:
                    groups[form, words].append(name)
        if not groups:
            continue
        print(f"\n{title}\n\n| format | tests | words | such as |\n|---|---|---|---|")
        for (form, words), names in sorted(groups.items(), key=lambda item: (FORMATS.index(item[0][0]), -len(item[1]))):
            print(f"| {form} | {len(names)} | {words} | {names[0]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("measure")
    one.add_argument("record")
    one.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    one.add_argument("--capability", default="8.9")
    one.add_argument("--python", default=ROOT / ".deps/engines/bin/python")
    commands.add_parser("table").add_argument("record")
    arguments = parser.parse_args()
    {"measure": measure, "table": table}[arguments.command](arguments)


if __name__ == "__main__":
    main()
