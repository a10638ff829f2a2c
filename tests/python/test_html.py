"""What notebooks show: whole, escaped pieces of HTML, which say the answer."""
import html.parser
import math

import onnx
import onnx_vernier as vernier
import pytest

HOSTILE = "</td><script>alert(1)</script>&\"'"


class Read(html.parser.HTMLParser):
    """The text of a piece, and its cells by rows; fails where tags are not closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.words, self.classes = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert tag in ("div", "style", "p", "span", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "br", "pre"), tag
        self.classes += dict(attributes).get("class", "").split()
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("th", "td"):
            self.rows[-1][-1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)


def test_a_report_says_its_answer(model, images):
    samples = {"image": images}
    read = Read(vernier.diagnose(model, samples, low="int8", min_sqnr=30)._repr_html_())
    text = " ".join(read.words)
    assert "Keep 1 of 3 layers in FP32" in text and "SQNR at least 30 dB" in text and "met" in read.words
    assert ["against the float model", "output", "SQNR, dB", "worst sample, dB", "largest error"] in read.rows
    assert read.classes.count("kept") == 1
    kept, = (row for row in read.rows if "float32 (kept)" in row)
    assert kept[:3] == ["second", "Conv", "float32 (kept)"] and all(float(cell) == float(cell) for cell in kept[3:])
    missed = vernier.diagnose(model, samples, metric=lambda outputs, references: 1.0, max_metric=0.5)
    assert "missed" in Read(missed._repr_html_()).words
    assert "no requirement" in Read(vernier.diagnose(model, samples, low="int8")._repr_html_()).words
    assert "cosine at least 0.9 at scores" in Read(vernier.diagnose(model, samples, min_cosine={"scores": 0.9})._repr_html_()).words
    fixed = Read(vernier.fix(model, samples, low="int8", min_sqnr=30, cross_fit=False)._repr_html_())
    assert any(row[0] == "repaired, all low" for row in fixed.rows)
    judged = Read(vernier.diagnose(model, samples, metric=lambda outputs, references: 0.5, max_metric=1)._repr_html_())
    assert any("0.5" in word or "at most 1" in word for word in judged.words)


def test_names_are_text(model, images):
    named = onnx.ModelProto()
    named.CopyFrom(model)
    named.graph.name = HOSTILE
    for node in named.graph.node:
        node.name = HOSTILE + node.name
    report = vernier.diagnose(named, {"image": images}, low="int8", min_sqnr=30)
    read = Read(report._repr_html_())
    assert any(row[0].startswith("</td><script>") for row in read.rows)
    assert any(cell.startswith("</td><script>") for row in Read(report.layers._repr_html_()).rows for cell in row)
    Read(vernier.inspect(named)._repr_html_())


def test_tables():
    rows = vernier.Table([{"a": 1234567, "b": 0.123456, "c": "x" * 200}, {"a": True, "b": -math.inf, "d": None}])
    read = Read(rows._repr_html_())
    assert read.rows == [["a", "b", "c", "d"], ["1,234,567", "0.1235", "x" * 79 + "\u2026", ""], ["yes", "-inf", "", ""]]
    assert "2 rows" in read.words and read.classes.count("text") == 3
    assert "the first 200 of 1,000 rows" in Read(vernier.Table([{"a": 1}] * 1000)._repr_html_()).words
    assert "0 rows" in Read(vernier.Table()._repr_html_()).words


def test_other_reports_show_their_text(model, images):
    report = vernier.check_data(model, {"image": images})
    assert str(report).split("\n")[0] in " ".join(Read(report._repr_html_()).words)


def test_a_report_of_what_was_measured(model, images):
    def stop(text, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        vernier.diagnose(model, {"image": images}, min_sqnr=30, progress=stop)
    if (report := getattr(raised.value, "report", None)) is not None:
        Read(report._repr_html_())


def test_each_metric_has_its_words():
    from onnx_vernier import _core, _html, _plots
    assert set(_html._WANTED) == set(_core.WORDS["Metric"])
    assert set(_plots._METRICS) == set(_core.WORDS["Metric"])
