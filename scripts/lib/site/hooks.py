"""What MkDocs is told to do differently: mkdocs.yml at the root names this file.

Pages link to each other and to files of the repository as they lie in it, so that the links work wherever the repository is
shown. The site holds docs/ at its root, and the few files outside of docs/ beside that, under the same path: pages that PAGES
names, and every file that a page links to.
"""
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCS = "docs/"
PAGES = ["CHANGELOG.md", "CONTRIBUTING.md", "tests/peers/README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*/README.md"))]
# Only the site can show docstrings.
DOCSTRINGS = """
## Docstrings

::: onnx_vernier

::: onnx_vernier.formats

::: onnx_vernier.polygraphy
"""
LINK = re.compile(r"(\]\()([^)\s#]+)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def in_repository(uri):
    """Where a file of the site lies in the repository."""
    return DOCS + uri if (ROOT / DOCS / uri).exists() else uri


def in_site(path):
    return path.removeprefix(DOCS)


def linked(source, target):
    """The file of the repository that `target` in the page `source` means, both as the repository has them; None: no file of it."""
    if re.match(r"[a-z]+:", target):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return path if (ROOT / path).is_file() else None


def rewritten(markdown, source):
    """The page with its links as the site needs them. Code is left alone."""
    folder = posixpath.dirname(in_site(source)) or "."

    def link(match):
        path = linked(source, match[2])
        return match[0] if path is None else match[1] + posixpath.relpath(in_site(path), folder)

    parts, at = [], 0
    for fence in FENCED.finditer(markdown):
        parts += [LINK.sub(link, markdown[at:fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, LINK.sub(link, markdown[at:])])


def on_files(files, config):
    for page in PAGES:
        files.append(File.generated(config, page, abs_src_path=str(ROOT / page)))
    for source in [in_repository(page.src_uri) for page in files.documentation_pages()]:
        for match in LINK.finditer((ROOT / source).read_text(encoding="utf-8")):
            path = linked(source, match[2])
            if path and not files.get_file_from_path(in_site(path)):
                files.append(File.generated(config, in_site(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri == "python-api.md":
        markdown += DOCSTRINGS
    return rewritten(markdown, in_repository(page.file.src_uri))


def on_post_build(config):
    """The index of the search as a script: a page that is opened from a folder may load scripts, and no other files."""
    search = pathlib.Path(config.site_dir, "search")
    index = (search / "search_index.json").read_text(encoding="utf-8")
    (search / "search_index.js").write_text(f"const searchIndex = {index};\n", encoding="utf-8")
    for unused in ("search_index.json", "worker.js"):
        (search / unused).unlink()
