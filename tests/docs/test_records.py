"""Each record in docs/records begins with its figure, peer, machine, date and state, and docs/benchmarks.md links it.

    .deps/venv/bin/python -m pytest tests/docs/test_records.py
"""
import re

import documents
import pytest

RECORDS = sorted((documents.ROOT / "docs/records").glob("*.md"))
STATES = {"quiet", "busy", "unrecorded", "counts"}  # docs/benchmarks.md explains them


@pytest.mark.parametrize("page", RECORDS, ids=lambda page: page.stem)
def test_a_record_begins_with_its_figure(page):
    title, line, rest = page.read_text(encoding="utf-8").split("\n\n", 2)
    line = " ".join(line.split())
    assert title.startswith("# ") and line.startswith("**Record:** "), page
    parts = line.removeprefix("**Record:** ").split(" · ")
    assert len(parts) == 5, line
    figure, peer, machine, date, state = parts
    assert figure and peer and machine and re.fullmatch(r"2\d{3}-\d\d-\d\d", date) and state in STATES, line
    # The page has the same figures: one that was measured again has to change the line as well.
    for number in re.findall(r"\d[\d.,]*\d", f"{figure} {peer}"):
        assert number in rest, f"{page.name}: {number} is not on the page"
    dates = re.findall(r"2\d{3}-\d\d-\d\d", rest)
    assert not dates or date in dates or page.stem in ("foreign-files",), f"{page.name}: {date} is none of {sorted(set(dates))}"


def test_benchmarks_link_every_record():
    text = (documents.ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert [page.name for page in RECORDS if f"(records/{page.name}" not in text] == []
