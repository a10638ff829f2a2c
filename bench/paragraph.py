"""Paragraphs of the pages in docs/ that benchmarks write."""
import textwrap


def filled(text):
    """Wrapped at 100 columns, as pages written by hand are."""
    return textwrap.fill(" ".join(text.split()), 100, subsequent_indent="  " if text.startswith("- ") else "", break_long_words=False,
                         break_on_hyphens=False)


def write_pages(page, text, parts):
    """Writes `text` to `page`, except what begins at a heading of `parts`, {"## heading": (file, title, opening)}, which goes to a page of its own."""
    starts = sorted((text.index(f"\n{heading}\n") + 1, *part) for heading, part in parts.items())
    ends = [start for start, *_ in starts[1:]] + [len(text)]
    others = [f"[{title.lower()}]({file})" for _, file, title, _ in starts]
    page.write_text(text[:starts[0][0]] + filled(f"More of this record: {', '.join(others)}.") + "\n", encoding="utf-8")
    for (start, file, title, opening), end in zip(starts, ends):
        whole = f"# {title}\n\n{filled(opening)}\n\n{text[start:end]}"
        page.with_name(file).write_text(whole.rstrip() + "\n", encoding="utf-8")
