"""Paragraphs of the pages in docs/ that benchmarks write."""
import textwrap


def filled(text):
    """Wrapped at 100 columns, as pages written by hand are."""
    return textwrap.fill(" ".join(text.split()), 100, subsequent_indent="  " if text.startswith("- ") else "", break_long_words=False,
                         break_on_hyphens=False)


def headed(title, page):
    """The lines that a record begins with: its title, and "**Record:** figure · peer · machine · date · state", which is written by hand and
    stays as it is. tests/docs/test_records.py compares it with the rest of the page."""
    former = page.read_text(encoding="utf-8").split("\n\n") if page.exists() else []
    return [f"# {title}", "", *(line for part in former[1:2] if part.startswith("**Record:**") for line in (part, ""))]


def write_pages(page, text, parts):
    """Writes `text` to `page`, except what begins at a heading of `parts`, {"## heading": (file, title, opening)}, which goes to a page of its own."""
    starts = sorted((text.index(f"\n{heading}\n") + 1, *part) for heading, part in parts.items())
    ends = [start for start, *_ in starts[1:]] + [len(text)]
    others = [f"[{title.lower()}]({file})" for _, file, title, _ in starts]
    page.write_text(text[:starts[0][0]] + filled(f"More of this record: {', '.join(others)}.") + "\n", encoding="utf-8")
    for (start, file, title, opening), end in zip(starts, ends):
        other = page.with_name(file)
        whole = "\n".join(headed(title, other)) + f"\n{filled(opening)}\n\n{text[start:end]}"
        other.write_text(whole.rstrip() + "\n", encoding="utf-8")
