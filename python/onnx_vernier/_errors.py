"""Exceptions. Answers of a job, such as a bad layer or a missed requirement, are values, not exceptions."""
from __future__ import annotations

import re

from . import _core


class Error(RuntimeError):
    """Vernier could not go on.

    ``hint`` tells how to fix it, or is empty. ``kind`` is "usage", "input", "backend" or "internal". ``subject`` is the
    argument at fault, such as "min_sqnr", or empty. ``remedies`` are the arguments and functions that the hint names.
    ``code`` is the error code, such as "E301": ``vernier help E301`` explains it.
    """

    kind = "internal"
    code = "E700"

    def __init__(self, what: str, hint: str = "", code: str = "") -> None:
        self.code = code or type(self).code
        arguments = [mark for mark in _MARKED.findall(what) if not mark.startswith("vernier ")]
        self.subject = _said(arguments[0]) if arguments else ""
        self.remedies = [_said(mark) for mark in _MARKED.findall(hint)]
        self.hint = in_python_words(hint)
        super().__init__(in_python_words(what))

    def __str__(self) -> str:
        what = super().__str__()
        return f"{what} (hint: {self.hint})" if self.hint else what


class UsageError(Error, ValueError):
    """Arguments contradict each other, or have no meaning."""

    kind = "usage"
    code = "E200"


class InputError(Error, ValueError):
    """A model, samples or files cannot be used."""

    kind = "input"
    code = "E300"


class BackendError(Error):
    """ONNX Runtime or an engine is missing, refuses or fails."""

    kind = "backend"
    code = "E400"


class InternalError(Error):
    """A fault of Vernier, not of your input."""

    kind = "internal"


class Interrupted(Error):
    """A job was ended from outside; Ctrl-C raises KeyboardInterrupt instead."""

    kind = "interrupted"
    code = ""


def _arguments() -> dict[str, str]:
    """Maps options of the command, which texts of the library hold as ‹name›, to arguments of this package. In all other
    names dashes become underscores."""
    said = {"min": "min_metric", "max": "max_metric"}
    for _, argument, kind, names, off, *_ in _core.TABLE:
        for name in re.findall(r"--([\w-]+)", names.split(" ")[0]):
            said.setdefault(name, f"{argument}={not off}" if kind == "flag" and argument != name.replace("-", "_") else argument)
    return said


_ARGUMENTS = _arguments()

# Commands that are functions of this package.
_COMMANDS = {
    "calibrate": "calibrate()",
    "calibrate --target onnxruntime -o ranges.json": 'calibrate(target="onnxruntime")',
    "calibrate MODEL --data SOURCE": "calibrate(model, samples)",
    "calibrate MODEL --data SOURCE -o ranges.json": 'calibrate(model, samples, output="ranges.json")',
    "check data": "check_data()",
    "check lint": "lint()",
    "convert": "quantize()",
    "data diff": "compare()",
    "eval": "evaluate()",
    "fix": "fix()",
    "inspect engine": "inspect_engine()",
    "inspect model": "inspect()",
    "inspect model MODEL --show layers": "inspect(model, nodes=True)",
    "inspect model MODEL --show weights": "inspect(model, weights=True)",
    "quantize": "quantize()",
    "run MODEL --onnxrt": "run(model, samples, simulated=False)",
    "verify": "verify()",
}

_MARKED = re.compile("‹([^‹›]*)›")


def _said(marked: str) -> str:
    """The name in this package of a placeholder in texts of the library, passed without guillemets."""
    if not marked.startswith("vernier "):
        return _ARGUMENTS.get(marked, marked.replace("-", "_"))
    command = marked.removeprefix("vernier ")
    # Others keep their name, which ends before arguments and options.
    return _COMMANDS.get(command) or f"the command's '{re.split(' (?=[A-Z-])', command)[0]}'"


def in_python_words(text: str) -> str:
    """A text of the library, with its placeholders replaced by arguments and functions of this package."""
    return _MARKED.sub(lambda mark: _said(mark[1]), text)


# Phrases of reports, which are written for the command.
_OF_REPORTS = (
    ("Nothing was written. Pass -o FOLDER for", "report.save(folder) writes"),
    ("vernier inspect model MODEL --show layers", "inspect(model, nodes=True)"),
    ("vernier calibrate MODEL --data SOURCE", "calibrate(model, samples)"),
    ("vernier check data", "check_data()"),
    ("vernier check lint", "lint()"),
    (" (all of them with --top 0)", " (the report's tables have all)"),
    (" (all of them with --json)", " (the report's tables have all)"),
    (" (--top 0 shows all)", " (the report's tables have all)"),
    ("--top 0 lists all", "report.layers has all"),
    ("Run the same command again", "Call it again"),
    ("with -o FOLDER it is written as a model", "report.model is the model"),
    ("vernier eval", "evaluate()"),
    ("'vernier verify'", "verify()"),
    ("vernier verify", "verify()"),
)


def report_in_python_words(text: str) -> str:
    """The command's text of a report, which has no placeholders, with options replaced by arguments of this package."""
    for words, instead in _OF_REPORTS:
        text = text.replace(words, instead)
    return "\n".join(_line_in_python_words(line) for line in text.split("\n"))


def _line_in_python_words(line: str) -> str:
    """A cell of a table that becomes shorter or longer leaves the next column where it was."""
    cells = re.split("( {2,})", line)
    for i in range(0, len(cells), 2):
        before = len(cells[i])
        cells[i] = re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", lambda option: _said(option[1]), cells[i])
        if i + 1 < len(cells) and len(cells[i]) != before:
            cells[i + 1] = " " * max(2, len(cells[i + 1]) + before - len(cells[i]))
    return "".join(cells)
