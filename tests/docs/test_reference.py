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
    for kind in ("causes", "repairs", "exit_codes", "outcomes"):
        names = [each["id"] for each in data[kind]]
        assert len(names) == len(set(names)) and all(each["text"] for each in data[kind]), kind


def test_rows_can_be_linked():
    for page in ("causes", "repairs", "codes", "defects"):
        text = (SCRIPT.FOLDER / f"{page}.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (?!---|cause|repair|exit code|outcome|kind)(.*?) \|", text, re.MULTILINE)
        anchors = re.findall(r'<a id="([\w-]+)"></a>', text)
        assert rows and all(row.startswith("<a id=") for row in rows) and len(anchors) == len(set(anchors)), page


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
