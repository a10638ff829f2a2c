"""Builds the documents as a site, as scripts/site does, and reads it as a browser would that was handed a folder."""
import html
import html.parser
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SILENT = {"pre", "code", "script", "style", "title"}  # whose text is not read as prose
EMPTY = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(html.parser.HTMLParser):
    """Links, what the page loads, anchors, and the prose of its main part."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors, self.prose = [], [], set(), []
        self.open, self.main = [], None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and "canonical" not in values.get("rel", ""):
            self.loaded.append(values["href"])
        elif "src" in values:
            self.loaded.append(values["src"])
        if "id" in values:
            self.anchors.add(values["id"])
        if tag not in EMPTY:
            self.open.append(tag)
        if values.get("role") == "main":
            self.main = len(self.open)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass
        if self.main and len(self.open) < self.main:
            self.main = None

    def handle_data(self, data):
        if self.main and not SILENT & set(self.open):
            self.prose.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run([ROOT / "scripts/site", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    # 404.html is for servers, and links from their root.
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def entries(nav):
    for entry in nav:
        (value,) = entry.values()
        yield from entries(value) if isinstance(value, list) else [value]


def test_every_document_is_listed_once_and_linked_from_the_first_page():
    listed = list(entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    assert len(listed) == len(set(listed))
    documents = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    outside = {"CHANGELOG.md", "CONTRIBUTING.md", "tests/peers/README.md", *(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*/README.md"))}
    assert set(listed) == documents | outside
    first = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    missing = [name for name in listed if f"]({name})" not in first and f"](../{name})" not in first]
    assert missing == ["index.md"]


def test_links_lead_to_files_and_places_of_the_site(site, pages):
    for path, page in pages.items():
        for target in page.links:
            address = urllib.parse.urlsplit(target)
            if address.scheme:
                continue
            file = (path.parent / urllib.parse.unquote(address.path)).resolve() if address.path else path
            assert file.is_file() and site in file.parents, f"{path.relative_to(site)}: {target}"
            if address.fragment and file in pages:
                assert address.fragment in pages[file].anchors, f"{path.relative_to(site)}: {target}"


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        for target in page.loaded:
            address = urllib.parse.urlsplit(target)
            assert not address.scheme and not address.netloc, f"{path.relative_to(site)} loads {target}"
            assert (path.parent / address.path).is_file(), f"{path.relative_to(site)}: no {target}"
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", path.read_text(encoding="utf-8")), path


def test_nothing_of_the_notation_is_left_in_the_text(site, pages):
    """MkDocs reads Markdown more strictly than others do: a list wants an empty line above it."""
    left = re.compile(r"^\s*(?:[-*]|\|) .*|```.*|\]\(.*|\*\*.*")
    for path, page in pages.items():
        for text in page.prose:
            for line in text.splitlines():
                assert not left.search(line), f"{path.relative_to(site)}: {line}"


@pytest.mark.parametrize("words, page", [("--min-sqnr", "precision-search.html"), ("calibration cache", "guides/calibration.html"),
                                         ("exit codes", "contract.html"), ("qqqqqq", None)])
def test_the_search_works_in_a_folder(site, tmp_path, words, page):
    if not CHROMIUM:
        pytest.skip("chromium is not installed: apt-get install chromium")
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=20000",
                           f"--user-data-dir={tmp_path}", (site / "search.html").as_uri() + "?q=" + urllib.parse.quote_plus(words)],
                          capture_output=True, text=True, timeout=120)
    results = done.stdout.split('id="mkdocs-search-results"', 1)[1]
    found = [html.unescape(target) for target in re.findall(r'<article><h3><a href="([^"]+)"', results)]
    if page is None:
        assert not found and "No results found" in results
    else:
        assert any(page in target for target in found[:3]), found[:5]
