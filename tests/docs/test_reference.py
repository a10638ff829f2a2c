"""The generated pages of docs/reference are those of the program, and its schemas hold real files.

    VERNIER_PROGRAM=build/release/apps/vernier/vernier .deps/venv/bin/python -m pytest tests/docs/test_reference.py
"""
import json
import re
import subprocess

import documents
import jsonschema
import pytest
from test_options import load_script

SCRIPT = load_script("update_reference")


def test_what_is_generated_is_what_would_be():
    for name, text in SCRIPT.files().items():
        assert (SCRIPT.FOLDER / name).read_text(encoding="utf-8") == text, f"{name}: scripts/update_reference writes it anew"


def test_names_are_unique():
    data = json.loads(SCRIPT.output("completion", "json"))
    for kind in ("causes", "repairs", "exit_codes", "outcomes", "errors"):
        names = [each["id"] for each in data[kind]]
        assert len(names) == len(set(names)) and all(each["text"] for each in data[kind]), kind


def test_rows_can_be_linked():
    for page in ("causes", "repairs", "codes", "errors", "defects"):
        text = (SCRIPT.FOLDER / f"{page}.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (?!---|cause|repair|exit code|outcome|kind|code \|)(.*?) \|", text, re.MULTILINE)
        anchors = re.findall(r'<a id="([\w-]+)"></a>', text)
        assert rows and all(row.startswith("<a id=") for row in rows) and len(anchors) == len(set(anchors)), page


def test_every_error_code_is_raised_by_a_test():
    """And has a page with a cure, which `vernier help` prints."""
    errors = json.loads(SCRIPT.output("completion", "json"))["errors"]
    tests = documents.ROOT / "tests"
    raised = {code for path in [*tests.rglob("*.test"), *tests.rglob("test_*.py")]
              for code in re.findall(r"help (E\d{3})|\"(E\d{3})\"", path.read_text(encoding="utf-8")) for code in code if code}
    assert len(errors) > 40 and {each["id"] for each in errors} == raised
    for each in errors:
        assert each["why"] and each["cure"] and each["command"], each["id"]
        assert each["text"] in SCRIPT.output("help", each["id"]) and each["command"] in SCRIPT.output("help", each["id"])


def commands_of(command):
    """(words, options) of each command below this one."""
    if not command["commands"]:
        yield command["name"], {name for option in command["options"] for name in re.findall(r"--[\w-]+", option["names"])}
    for each in command["commands"]:
        yield from commands_of(each)


def test_commands_of_error_pages_can_be_given():
    data = json.loads(SCRIPT.output("completion", "json"))
    known = dict(commands_of(data))
    every = set.union(*known.values())
    for each in data["errors"]:
        command = each["command"]
        if command == "vernier --help":
            continue
        name = max((name for name in known if f"{command} ".startswith(f"{name} ")), key=len, default=None)
        assert name or not command.startswith("vernier "), command
        for option in re.findall(r"--[a-z][\w-]*", command if name else ""):
            assert option in known[name], command
        for option in re.findall(r"--[a-z][\w-]*", f"{each['why']} {each['cure']}"):
            assert option in every, (each["id"], option)


def test_every_code_is_used():
    """In the header, its page, and at least one place that raises it."""
    header = (documents.ROOT / "include/vernier/error_code.h").read_text(encoding="utf-8")
    named = dict(re.findall(r"^  (\w+) = (\d{3}),", header, re.MULTILINE))
    sources = [path.read_text(encoding="utf-8") for folder in ("src", "apps") for path in (documents.ROOT / folder).rglob("*.[ch]*")]
    used = {name for source in sources for name in re.findall(r"ErrorCode::(\w+)", source)}
    assert set(named) - used == {"Usage", "Input"}  # of an Error that names its kind alone


@pytest.mark.parametrize("arguments", [
    ("diagnose", "--int8", "--min-sqnr", "20"),
    ("debug precision", "--int8", "--min-sqnr", "20"),
    ("diagnose", "--int8", "--target", "onnxruntime"),
    ("fix", "--fp16", "--min-sqnr", "40"),
    ("fix", "--int8", "--min-sqnr", "200"),
], ids=" ".join)
def test_schemas_hold_real_files(arguments, tmp_path):
    digits = documents.ROOT / "examples/digits"
    command, *options = arguments
    program = subprocess.run([SCRIPT.program(), *command.split(), digits / "digits.onnx", "--data", digits / "test.npz", "--samples", "20",
                              "-q", "-o", tmp_path, *options], capture_output=True, text=True)
    assert program.returncode in (0, 1), program.stderr
    for name in ("report", "plan"):
        file = tmp_path / f"{name}.json"
        if name == "report" or file.exists():
            schema = json.loads(SCRIPT.output("help", f"{name}-schema"))
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.validate(json.loads(file.read_text(encoding="utf-8")), schema, jsonschema.Draft202012Validator)


def test_schemas_hold_reports_of_other_commands(tmp_path):
    digits = documents.ROOT / "examples/digits"
    model, data = digits / "digits.onnx", ("--data", digits / "test.npz", "--samples", "5", "-q")
    half = tmp_path / "half.onnx"
    subprocess.run([SCRIPT.program(), "convert", model, "--fp16", "-o", half, "-q"], check=True)
    for name, *arguments in (("verify", model, half), ("pipeline", "--stage", f"float:{model}", "--stage", f"half:{half}")):
        done = subprocess.run([SCRIPT.program(), name, *arguments, *data, "-o", tmp_path / name], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        schema = json.loads(SCRIPT.output("help", f"{name}-schema"))
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads((tmp_path / name / "report.json").read_text(encoding="utf-8")), schema, jsonschema.Draft202012Validator)


def test_schemas_refuse_what_is_none():
    schema = json.loads(SCRIPT.output("help", "report-schema"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"kind": "vernier diagnose", "version": 1}, schema)
