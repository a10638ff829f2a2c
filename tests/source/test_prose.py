"""Checks pages, help, messages and docstrings with scripts/lib/prose.py, and tests its rules."""
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/lib/prose.py"
SPEC = importlib.util.spec_from_file_location("prose", SCRIPT)
PROSE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PROSE)


def found(text):
    return [fault for _, fault in PROSE.findings(text)]


def test_no_page_and_no_text_of_the_program_has_findings():
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text", [
    "the layer's own error", "a step of its scale", "the written model", "layers that share out samples", "int8 codes",
    "what is no requirement is this", "runs without a GPU here", "the engine that is there", "figures beside it",
    "all layers but for two", "it fails, else it passes", "Where no sample is given, it stops.", "Which layers these are is unknown.",
    "rounded to float16", "it takes an option", "the file gives two", "read otherwise than ONNX means", "a planted fault", "Five trtexec lines.",
])
def test_avoided_words_are_found(text):
    assert found(text)


@pytest.mark.parametrize("text", [
    "exit codes", "Start where you like.", "Where is the file?", "It is no longer slower.", "There is no GPU.",
    "It takes 3 s.", "the code `int8 codes here`", "```\nint8 codes here\n```", "<!-- beside\nbeside -->", "# What a dB means",
    "- [What a dB means](guides/decibels.md)", "| Where | Which |", "FP16 and INT8", "| int8 | float32 |",
    "<!-- not prose: the program prints it -->\n| codes | beside |\n| codes |\n",
])
def test_what_is_fine_is_not_found(text):
    assert found(text) == []


def test_sentences_may_have_thirty_words():
    assert found("word\n" * 30) == []
    assert found("word\n" * 31)[0].startswith("31 words")
    assert found("- " + "word\n" * 20 + "- " + "word\n" * 20) == []
    assert found("Word\n" * 20 + "end. " + "Word\n" * 20) == []
    assert found("`" + "word\n" * 40 + "`") == []


def test_lines_may_have_a_hundred_columns():
    assert found("word " * 20) == []
    assert found("word " * 20 + "word") == ["104 columns"]
    assert found("| " + "word " * 20 + "|") == []
    assert found("- [words](https://example.com/" + "word" * 30 + ")") == []


def test_cells_of_notebooks_are_checked(tmp_path):
    cells = [{"cell_type": "code", "source": ["here = 1"]}, {"cell_type": "markdown", "source": ["# Title\n", "\n", "word " * 25, "beside it"]}]
    (tmp_path / "one.ipynb").write_text(json.dumps({"cells": cells}))
    assert PROSE.findings_of(tmp_path / "one.ipynb") == [(2, "'beside': next to, compared with")]
    assert all(PROSE.ROOT / "examples/notebooks" / name in PROSE.pages() for name in ("digits.ipynb", "torchvision_like.ipynb"))


def test_prose_goes_on_below_what_is_none():
    assert PROSE.findings("<!-- not prose: a\nreason -->\n| codes |\n\nbeside it\n") == [(5, "'beside': next to, compared with")]


def test_findings_name_the_line():
    assert PROSE.findings("fine\n\na figure\nbeside it\n") == [(3, "'beside': next to, compared with")]


@pytest.mark.parametrize("text", [
    "it gives three figures", "here: no such file", "the file says so. it stands there", "What each pair costs", "word " * 31,
    "Args:\n    one: is no number\n    two: fine words here", "codes used", "own error", "Inherited", "the allowance",
])
def test_avoided_words_are_found_in_texts_of_the_program(text):
    assert PROSE.program_findings(text)


@pytest.mark.parametrize("text", [
    "there", "--no-codes", "<style>.here{border:1px solid black}</style>", "node '{here it is}' has no input", "float32 or int8, as named",
    "``here`` is one word of four", "word " * 20 + ". " + "word " * 20, "one: " + "word " * 20 + "\ntwo: " + "word " * 20,
])
def test_what_is_fine_is_not_found_in_texts_of_the_program(text):
    assert PROSE.program_findings(text) == []


def test_neighbouring_literals_of_cpp_are_one_text():
    source = '#include "a/b.h"\nf("one text ", // why\n  "of two");\ng("say \\"no\\"\\n" "twice"); R"(raw text here)";\n'
    assert list(PROSE.cpp_texts(source.replace(', //', ' //'))) == [(2, "one text of two"), (4, 'say "no"\ntwice')]


def test_texts_of_scripts_of_a_page_are_found():
    source = 'h("p", {}, "one text"); // "no text"\nf(`${many(n, "layer of two")} of ${a.b}`.match(/`+/g)); /* "none" */ g("done")\n'
    assert list(PROSE.js_texts(source)) == [(1, "p"), (1, "one text"), (2, "CODE of CODE"), (2, "layer of two"), (2, "done")]


def test_deploy_md_is_checked():
    assert any(page.name.startswith("deploy_") for page in PROSE.pages())


def test_values_in_python_texts_are_words():
    assert list(PROSE.python_texts('"""Docstring."""\nraise E(f"no {name!r} here")\n')) == [(1, "Docstring."), (2, "no CODE here")]
