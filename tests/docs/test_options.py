"""The table of options (apps/table) and what follows from it agree: the command line, the structs, Python, docs/options.md.

    VERNIER_PROGRAM=build/release/apps/vernier/vernier .deps/venv/bin/python -m pytest tests/docs/test_options.py
"""
import importlib.util
import re
from importlib.machinery import SourceFileLoader

import documents
import pytest


def load_script(name):
    loader = SourceFileLoader(name, str(documents.ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


SCRIPT = load_script("update_options")


@pytest.fixture(scope="module")
def data():
    return SCRIPT.read()


def test_what_is_generated_is_what_would_be(data):
    pages = {documents.ROOT / "docs" / name: text for name, text in SCRIPT.reference(data).items()}
    assert set(pages) == {documents.ROOT / "docs/options.md", *documents.ROOT.glob("docs/options/*.md")}
    pages[documents.ROOT / "docs/python-api.md"] = SCRIPT.python_api(list(SCRIPT.functions_of(data)))
    for path, text in (pages | {SCRIPT.PACKAGE / "_calls.py": SCRIPT.calls(data)}).items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: scripts/update_options writes it anew"


def test_every_row_is_an_option_of_a_command(data):
    taken = {name for node in SCRIPT.commands(data) for option in node["options"] for name in re.findall(r"-[\w-]+", option["names"])}
    rows = [row for row in data["table"] if row["names"]]
    assert len(rows) > 100
    for row in rows:
        assert set(row["names"].split(" ")[0].split(",")) <= taken, row["names"]


def test_no_two_rows_with_a_member_share_a_name_and_a_struct(data):
    seen = set()
    for row in data["table"]:
        if row["names"] and row["options"] != "SearchOptions":  # the older commands have --mode for a direction
            assert (row["options"], row["names"]) not in seen, row["names"]
            seen.add((row["options"], row["names"]))


def test_help_tells_the_default_of_the_struct(data):
    """Where the help names one number or one word; the library's own default of --options is 0."""
    held = 0
    for row in data["table"]:
        told = re.search(r"\(default: (-?[\w.]+)\)$", row["help"])
        if told and row["kind"] in ("count", "whole", "number", "word") and row["default"] != "" and "--options" not in row["names"]:
            nothing = row["kind"] == "number" and told[1] in ("never", "none")
            assert row["default"] == ("0" if nothing else told[1]), row["names"]
            held += 1
    assert held > 20


def test_every_argument_of_python_is_told_and_taken(data):
    jobs = {job for row in data["table"] for job in row["jobs"].split()}
    text = (SCRIPT.PACKAGE / "_calls.py").read_text(encoding="utf-8")
    assert jobs == set(re.findall(r"^def (\w+)\(", text, re.MULTILINE))
    for row in data["table"]:
        assert bool(row["jobs"]) <= bool(row["doc"] and row["type"] and row["initial"]), row["argument"]
