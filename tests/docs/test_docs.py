"""Holds that README.md, docs/ and the READMEs of examples/ are true: what they tell to run runs, and prints what they
show. documents.py says how; scripts/update_docs writes the output of today into them.

    VERNIER_PROGRAM=build/release/apps/vernier/vernier .deps/venv/bin/python -m pytest tests/docs/test_docs.py
"""
import importlib
import json
import re

import pytest

import documents


def name_of(path):
    return str(path.relative_to(documents.ROOT))


# The first pages are tried at each change.
FIRST = {"README.md", "docs/quick-start.md"}
PAGES = [path if name_of(path) in FIRST else pytest.param(path, marks=pytest.mark.sampled) for path in documents.DOCUMENTS]


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_what_the_document_shows_is_what_happens(path, tmp_path):
    wrong = []
    for block, command, shown, actual in documents.run_document(path, tmp_path):
        wrong += [f"{name_of(path)}:{block.line}: $ {command}\n   {line}"
                  for line in documents.differences(shown, actual)]
    assert not wrong, "\n".join(["scripts/update_docs writes the new output; review the diff.", *wrong])


@pytest.mark.parametrize("path", documents.DOCUMENTS, ids=name_of)
def test_every_block_with_a_command_says_what_it_is(path):
    for block in documents.blocks_of(path.read_text(encoding="utf-8")):
        commands = [line for line in block.lines if line.startswith("$ ") or line.startswith("./scripts/")]
        assert not commands or block.language in documents.RUNNABLE or block.not_run, (
            f"{name_of(path)}:{block.line}: neither run nor marked with <!-- not run: REASON -->")


@pytest.mark.parametrize("path", documents.DOCUMENTS, ids=name_of)
def test_links_to_files_lead_to_files(path):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (path.parent / target).exists(), f"{name_of(path)}: no {target}"


def test_no_page_is_longer_than_150_lines():
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in documents.DOCUMENTS if "examples" not in path.parts}
    assert not {name: length for name, length in lengths.items() if length > 150}


# README.md: one screen that says what it is, and figures that were measured.

def test_entries_of_the_changelog_are_short():
    text = (documents.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)
    assert len(entries) > 100
    assert not [entry for entry in entries if entry.count("\n") > 1]


def test_readme_fits_a_screen_before_its_first_heading():
    lines = (documents.ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert next(number for number, line in enumerate(lines) if line.startswith("## ")) <= 45


@pytest.mark.parametrize("name", ["README.md", "docs/benchmarks.md"])
def test_figures_are_those_of_the_record_that_is_linked(name):
    path = documents.ROOT / name
    rows = re.findall(r"^\| (.+) \| \[.+\]\(((?:docs/)?records/[^)]*)\) \|$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 3
    for cells, page in rows:
        text = (path.parent / page).read_text(encoding="utf-8").replace("\n", " ")
        for number in re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-])|\d{4}-\d\d-\d\d", re.sub(r"`[^`]*`", "", cells)):
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)", text), f"{page} has no {number}: {cells}"


def test_the_page_of_decibels_is_what_its_record_says(monkeypatch):
    monkeypatch.syspath_prepend(documents.ROOT / "bench")
    decibels = importlib.import_module("decibels")
    assert decibels.PAGE.read_text(encoding="utf-8") == decibels.page(json.loads(decibels.RESULTS.read_text(encoding="utf-8")))


def test_what_is_above_a_block_is_read():
    block = documents.blocks_of("<!-- with a.onnx=b/c.onnx -->\n<!-- exit code 1: missed -->\n```sh\nx a.onnx\n```\n")[0]
    assert (block.files, block.answers, block.not_run, block.line) == ({"a.onnx": "b/c.onnx"}, (0, 1), "", 3)


@pytest.mark.parametrize("code", [0, 1, 2])
def test_an_exit_code_is_a_failure_unless_the_document_says_so(tmp_path, code):
    for above, expected in ("", (0,)), ("<!-- exit code 1: missed -->\n", (0, 1)):
        document = tmp_path / "d.md"
        document.write_text(f"{above}```sh\nbash -c 'exit {code}'\ntrue\n```\n", encoding="utf-8")
        folder = tmp_path / f"folder{len(expected)}"
        folder.mkdir()
        if code in expected:
            assert list(documents.run_document(document, folder)) == []
        else:
            with pytest.raises(AssertionError, match=f"exit code {code}"):
                list(documents.run_document(document, folder))


# The comparison itself: it must not be so forgiving that it holds nothing.

def test_a_number_that_moved_by_more_than_the_tolerance_is_a_difference():
    assert documents.differences(["met: 21.8 dB"], ["met: 21.9 dB"]) == []
    assert documents.differences(["met: 21.8 dB"], ["met: 22.8 dB"]) == ["shown 21.8, now 22.8"]


def test_one_of_500_samples_is_no_difference():
    assert documents.differences(["top-5 -7.20"], ["top-5 -7.00"]) == []


def test_another_word_is_a_difference():
    assert documents.differences(["Keep 1 of 19 layers"], ["Keep 1 of 19 nodes"]) != []


def test_a_missing_line_is_a_difference():
    assert documents.differences(["a", "b"], ["a"]) != []


def test_times_and_hashes_are_no_difference():
    shown = ["m (sha256 1a2b)", "Latency of one sample", "  x  1 ms", "", "Time  1 s: load 1,", "      verify 2", "Next"]
    now = ["m (sha256 9f00)", "Latency of one sample", "  x  9 ms", "", "Time  17 s: load 9, verify 8", "Next"]
    assert documents.differences(shown, now) == []


def test_lines_left_out_stay_left_out():
    assert documents.trimmed(["a 1", "...", "c 2", "..."], ["a 5", "b", "c 7", "d"]) == ["a 5", "...", "c 7", "..."]


def test_a_cut_that_no_longer_fits_is_an_error():
    with pytest.raises(AssertionError, match="no line like this"):
        documents.trimmed(["a", "...", "gone", "..."], ["a", "b"])
