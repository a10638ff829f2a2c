"""Opens pages in headless Chromium: they make no request, raise no error, and sort, filter and show what they should.

A copy of the page gets one more script at its end, which uses it as a reader would and leaves what it saw in the
document; Chromium prints the document.
"""
import copy
import html
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["VERNIER_PROGRAM"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\u202e{{data}}'\"&"


def needed(found, what):
    if not found:
        pytest.skip(f"{what} is not installed: apt-get install {what}")


def vernier(*arguments, codes=(0,)):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode in codes, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    digits = ROOT / "examples/digits"
    vernier("diagnose", digits / "digits.onnx", "--data", digits / "test.npz", "--samples", "40", "--int8",
            "--min-sqnr", "20", "-o", folder / "out")
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return json.loads((folder / "out/report.json").read_text(encoding="utf-8"))


def render(folder, report, name):
    source, page = folder / f"{name}.json", folder / f"{name}.html"
    source.write_text(json.dumps(report), encoding="utf-8")
    vernier("report", source, "-o", page, codes=(0, 1))
    return page


def use(page, script, seconds=60):
    """What `script` (the body of a function) returns at the end of `page`, and the errors and requests of the page."""
    text = page.read_text(encoding="utf-8")
    before = "<script>window.seen = []; addEventListener('error', e => seen.push(e.message));</script>"
    after = ("<script>const got = (() => {" + script + "})(); const pre = document.createElement('pre'); pre.id = 'got';"
             "pre.textContent = JSON.stringify({got, errors: window.seen,"
             " requests: performance.getEntriesByType('resource').map(e => e.name)});"
             "document.body.replaceChildren(pre);</script>")
    copy_of = page.with_suffix(".used.html")
    at = text.rindex("</body>")
    copy_of.write_text(text[:at].replace("<head>", "<head>" + before, 1) + after + text[at:], encoding="utf-8")
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--window-size=1200,900",
                           f"--user-data-dir={page.parent / 'profile'}", copy_of.as_uri()],
                          capture_output=True, text=True, timeout=seconds)
    found = re.search(r'<pre id="got">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    seen = json.loads(html.unescape(found.group(1)))
    assert seen["errors"] == [] and seen["requests"] == []
    return seen["got"]


READ = """
  const text = selector => [...document.querySelectorAll(selector)].map(e => e.textContent);
  const rows = () => text("#layers tbody tr td:nth-child(2)");
  const click = selector => document.querySelector(selector).dispatchEvent(new MouseEvent("click", {bubbles: true}));
"""


def test_what_the_engine_made_of_the_model_is_shown(folder, report):
    needed(CHROMIUM, "chromium")
    changed = copy.deepcopy(report)
    layer = {"operator": "Conv", "asked": "int8", "reads": ["float32"], "writes": ["float32"], "layers_in_kernel": 1}
    tensor = {"type": "float32", "layout": ""}
    changed["compiled"] = {
        "version": 1, "file": "out/model.onnx", "sha256": "", "evidence": "compiled, not run", "compiled_for": "compute capability 8.9",
        "engine": {"name": "TensorRT-RTX", "version": "1", "package": "p", "devices": [], "no_device": "", "compute_capabilities": []},
        "bytes": 1, "seconds": 1.0, "helpers": [1], "words": [], "notes": [],
        "layers": [{**layer, "name": HOSTILE, "kernel": 0, "differs": True}, {**layer, "name": "folded", "differs": False}],
        "kernels": [{"name": HOSTILE, "kind": "correlation", "tactic": "", "inputs": [{**tensor, "name": "x"}], "constants": [],
                     "outputs": [{**tensor, "name": "y"}], "nodes": [HOSTILE]},
                    {"name": "k", "kind": "kgen", "tactic": "", "inputs": [], "constants": [], "outputs": [], "nodes": []}]}
    seen = use(render(folder, changed, "compiled"), """
      const engine = document.getElementById("engine");
      return {text: engine.textContent, rows: engine.querySelectorAll("tbody tr").length};""")
    assert "TensorRT-RTX 1, compiled for compute capability 8.9, not run" in seen["text"]
    assert "2 kernels, 1 of which compute no layer" in seen["text"] and "1 layer in another format" in seen["text"]
    assert "in none by name" in seen["text"] and seen["rows"] == 1 + 2 + 2
    changed["compiled"]["refused"] = "no importer"
    assert "made nothing of the written model: no importer" in use(render(folder, changed, "refused"), """
      return document.getElementById("engine").textContent;""")


def test_the_page_shows_the_report_and_can_be_used(folder, report):
    needed(CHROMIUM, "chromium")
    got = use(folder / "out/report.html", READ + """
      const seen = {sections: text("h2"), first: rows(), boxes: document.querySelectorAll(".net .box").length,
        kept: document.querySelectorAll(".net .box.kept").length, answer: text("h1")[0],
        charts: document.querySelectorAll("#depth svg, #worst details[open] svg").length};
      const headings = [...document.querySelectorAll("#layers th button")];
      headings.find(b => b.textContent === "layer").click();
      seen.by_name = rows();
      seen.sorted = document.querySelector("#layers th[aria-sort]").getAttribute("aria-sort");
      headings.find(b => b.textContent === "layer").click();
      seen.by_name_down = rows();
      const search = document.querySelector("#layers input[type=search]");
      search.value = "GEMM";
      search.dispatchEvent(new Event("input"));
      seen.filtered = rows();
      search.value = "";
      search.dispatchEvent(new Event("input"));
      document.getElementById("only-kept").click();
      seen.only_kept = rows();
      document.querySelector("#layers tbody .layer").click();
      seen.without = text("#worst details[open]").join(" ");
      document.getElementById("only-kept").click();
      document.querySelectorAll("#layers tbody .layer")[3].click();
      seen.opened = text("#worst details[open] summary .name");
      const box = document.querySelector(".net .box");
      box.focus();
      box.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowDown", bubbles: true}));
      seen.moved = document.activeElement !== box && document.activeElement.classList.contains("box");
      const theme = document.documentElement.dataset.theme;
      document.getElementById("theme").click();
      seen.theme_changed = document.documentElement.dataset.theme !== theme;
      let csv = null;
      URL.createObjectURL = blob => { csv = blob; return "blob:none"; };
      HTMLAnchorElement.prototype.click = function() { seen.file = this.download; };
      [...document.querySelectorAll("button")].find(b => b.textContent === "Download CSV").click();
      seen.csv_type = csv.type;
      return seen;""")
    names = [row["name"] for row in report["layers"]]
    assert got["answer"].startswith("Keep 1 of 19 layers in float32")
    assert got["first"] == names
    assert got["by_name"] == sorted(names) and got["by_name_down"] == sorted(names, reverse=True)
    assert got["sorted"] == "ascending"
    assert got["filtered"] == [row["name"] for row in reversed(sorted(report["layers"], key=lambda r: r["name"]))
                               if row["op_type"] == "Gemm"]
    assert got["only_kept"] == report["kept"]["layers"]
    assert f'kept set without it{report["kept"]["certificate"][0]["metric"]:.1f} dB: fails' in got["without"].replace("at best ", "")
    assert got["boxes"] == len(report["network"]) and got["kept"] == 1
    assert got["charts"] >= 4
    assert sorted(names, reverse=True)[3] in got["opened"]
    assert got["moved"] and got["theme_changed"]
    assert got["file"] == "layers.csv" and got["csv_type"] == "text/csv"
    for section in ("Damage over depth", "The network", "Worst layers", "All layers", "Kept set", "Figures",
                    "Latency", "Reproduce"):
        assert section in got["sections"]


def test_hostile_names_are_shown_as_text(folder, report):
    needed(CHROMIUM, "chromium")
    bad = copy.deepcopy(report)
    worst = bad["layers"][0]["name"]
    bad = json.loads(json.dumps(bad).replace(json.dumps(worst)[1:-1], json.dumps(HOSTILE)[1:-1]))
    got = use(render(folder, bad, "hostile"), READ + """
      return {first: rows()[0], images: document.images.length, opened: text("#worst summary .name")[0]};""")
    shown = HOSTILE.replace("\u2028", "\\u{2028}").replace("\u202e", "\\u{202E}")
    assert got == {"first": shown, "images": 0, "opened": shown}


def test_the_table_of_layers_fits_a_window_of_1200_px(folder, report):
    needed(CHROMIUM, "chromium")
    full = copy.deepcopy(report)
    for row in full["layers"]:
        row.update(overflowed=12, saturated=0, subnormal=1234567, flushed=1234567, nan=0)  # as in float16
    got = use(render(folder, full, "full"), """
      const table = document.querySelector("#layers .scroll");
      return [innerWidth, document.querySelectorAll("#layers th").length, table.scrollWidth - table.clientWidth];""")
    assert got[0] == 1200 and got[1] == 14 and got[2] <= 1


@pytest.mark.parametrize("end, words", [("nothing-needed", "no layer has to be kept"), ("stopped", "stopped before")])
def test_the_end_of_a_search_is_said_in_words(folder, report, end, words):
    needed(CHROMIUM, "chromium")
    ended = copy.deepcopy(report)
    ended["kept"]["end"] = end
    text = use(render(folder, ended, end), "return document.getElementById('kept').textContent;")
    assert words in text and "nothing-needed" not in text


def test_causes_and_repairs_are_shown_where_there_are_some(folder, report):
    needed(CHROMIUM, "chromium")
    explained = copy.deepcopy(report)
    layer = report["layers"][0]["name"]
    explained["explanation"] = {
        "examined": [layer],
        "causes": [{"id": "absorption", "layer": layer, "tensor": "x", "confidence": 0.9,
                    "figures": [{"name": "largest", "value": 8192, "unit": ""}], "sentence": "adds small to large",
                    "repairs": ["keep-high"]}],
        "blame": [{"layer": layer, "weights": 0.8, "rounding": 1.0}],
        "repairs": [{"id": "weight-grid", "layers": [layer], "before_db": 12.1, "after_db": "inf", "accepted": True,
                     "why": "lies on a grid"}],
        "proposals": ["weight-grid"], "samples": 8}
    got = use(render(folder, explained, "causes"),
              READ + """return {why: text("#why")[0], worst: text("#worst details[open]")[0]};""")
    for place in got.values():
        assert "absorption" in place and "adds small to large" in place and "accepted" in place and "exact" in place
    assert "80 %" in got["worst"] and f"Weight {layer}.weight" in got["worst"]


def test_ten_thousand_layers_stay_usable(folder, report):
    needed(CHROMIUM, "chromium")
    big = copy.deepcopy(report)
    big["layers"] = [dict(report["layers"][0], name=f"layer_{i}", share=1 / (i + 2), kept=False) for i in range(10000)]
    big["explanation"] = {"examined": [], "causes": [], "blame": [], "proposals": [], "samples": 8,
                          "repairs": [{"id": "range", "layers": [f"layer_{i}"], "accepted": i >= 9990, "why": ""}
                                      for i in range(10000)]}
    big["network"] = [{"name": f"layer_{i}", "op_type": "Conv", "inputs": [i - 1] if i else []} for i in range(10000)]
    page = render(folder, big, "big")
    assert page.stat().st_size < 8_000_000
    got = use(page, READ + """
      const start = performance.now();
      [...document.querySelectorAll("#layers th button")].find(b => b.textContent === "layer").click();
      const search = document.querySelector("#layers input[type=search]");
      search.value = "layer_99";
      search.dispatchEvent(new Event("input"));
      const repairs = text("#why tbody td:nth-child(2)");
      click("#why button");
      return {ms: performance.now() - start, rows: rows().length, repairs, all: text("#why tbody tr").length, load: performance.timing.domInteractive - performance.timing.navigationStart,
              elements: document.querySelectorAll("*").length - document.querySelectorAll("#why *").length, boxes: document.querySelectorAll(".net .box").length};""",
              seconds=120)
    assert got["rows"] == 100 and got["boxes"] <= 300
    assert got["repairs"][:10] == [f"layer_{i}" for i in range(9990, 10000)], "what was accepted comes first"
    assert len(got["repairs"]) == 30 and got["all"] == 10000
    assert got["elements"] < 8000
    assert got["ms"] < 5000 and got["load"] < 20000  # on a busy machine; idle it is 50 ms and one second


@pytest.fixture(scope="module")
def stages(folder):
    """A pipeline of three stages; the last one is bad, and has a hostile name."""
    digits = ROOT / "examples/digits"
    vernier("run", digits / "digits.onnx", "--onnxrt", "--data", digits / "test.npz", "--save-outputs", folder / "saved.npz")
    vernier("convert", digits / "digits.onnx", "--data", digits / "calib.npz", "--int8", "-o", folder / "int8.onnx")
    vernier("pipeline", "--stage", f"saved:{folder / 'saved.npz'}", "--stage", f"float:{digits / 'digits.onnx'}",
            "--stage", f"{HOSTILE.replace(':', '')}:{folder / 'int8.onnx'}", "--data", digits / "test.npz",
            "-o", folder / "stages", codes=(1,))
    return folder / "stages/report.html"


def test_the_page_of_a_pipeline_shows_where_accuracy_is_lost(folder, stages):
    needed(CHROMIUM, "chromium")
    got = use(stages, READ + """
      const theme = document.documentElement.dataset.theme;
      document.getElementById("theme").click();
      return {sections: text("h2"), names: text("#stages tbody td:first-child > .name"),
        lost: text("#stages tr.lost .tag"), bars: document.querySelectorAll("#stages svg rect").length,
        bad: document.querySelectorAll("#stages svg rect.bars").length, commands: text("#advice pre").length,
        images: document.images.length, theme_changed: document.documentElement.dataset.theme !== theme};""")
    assert got["sections"] == ["Stages", "Reproduce"]
    assert got["names"][:2] == ["saved", "float"] and got["names"][2].startswith("</script><img src=x")
    assert got["lost"] == ["lost here"]
    assert (got["bars"], got["bad"], got["commands"], got["images"]) == (2, 1, 2, 0)
    assert got["theme_changed"]


@pytest.mark.parametrize("page", ["out", "stages"])
def test_the_html_is_valid(folder, stages, page):
    tidy = shutil.which("tidy")
    needed(tidy, "tidy")
    done = subprocess.run([tidy, "-errors", "-quiet", "--drop-empty-elements", "no", folder / page / "report.html"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_page_without_scripts_has_the_report_as_text(folder):
    text = (folder / "out/report.html").read_text(encoding="utf-8")
    inside = html.unescape(re.search(r"<noscript>.*?<pre>(.*?)</pre></noscript>", text, re.S).group(1))
    assert "Layers, most damaging first" in inside and "block4_expand_conv" in inside
