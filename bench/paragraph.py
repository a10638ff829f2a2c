"""Paragraphs of the pages in docs/ that benchmarks write."""
import textwrap


def filled(text):
    """Wrapped at 100 columns, as pages written by hand are."""
    return textwrap.fill(" ".join(text.split()), 100, subsequent_indent="  " if text.startswith("- ") else "", break_long_words=False,
                         break_on_hyphens=False)
