"""Holds that README.md, docs/ and the READMEs of examples/ are true: what they tell to run runs, and prints what they
show. documents.py says how; scripts/update_docs writes the output of today into them.

    VERNIER_PROGRAM=build/release/apps/vernier/vernier .deps/venv/bin/python -m pytest tests/docs/test_docs.py
"""
import re

import pytest

import documents


def name_of(path):
    return str(path.relative_to(documents.ROOT))


@pytest.mark.parametrize("path", documents.DOCUMENTS, ids=name_of)
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


# The comparison itself: it must not be so forgiving that it holds nothing.

def test_a_number_that_moved_by_more_than_the_tolerance_is_a_difference():
    assert documents.differences(["met: 21.8 dB"], ["met: 21.9 dB"]) == []
    assert documents.differences(["met: 21.8 dB"], ["met: 22.8 dB"]) == ["shown 21.8, now 22.8"]


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
