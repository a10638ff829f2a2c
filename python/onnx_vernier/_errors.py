"""What can go wrong, as exceptions. What a job was asked to find out (a bad layer, a missed requirement) is a value."""
from __future__ import annotations

import re


class Error(RuntimeError):
    """Vernier could not go on.

    ``hint`` says what would help; empty when there is nothing to add. ``kind`` is "usage", "input", "backend" or
    "internal".
    """

    kind = "internal"

    def __init__(self, what: str, hint: str = "") -> None:
        self.hint = in_python_words(hint)
        super().__init__(in_python_words(what))

    def __str__(self) -> str:
        what = super().__str__()
        return f"{what} (hint: {self.hint})" if self.hint else what


class UsageError(Error, ValueError):
    """Arguments that contradict each other, or mean nothing."""

    kind = "usage"


class InputError(Error, ValueError):
    """A model, samples or files that cannot be what they should be."""

    kind = "input"


class BackendError(Error):
    """ONNX Runtime or an engine is missing, refuses or fails."""

    kind = "backend"


class InternalError(Error):
    """A fault of Vernier's, not of what it was given."""

    kind = "internal"


class Interrupted(Error):
    """A job was ended from outside; Ctrl-C raises KeyboardInterrupt instead."""

    kind = "interrupted"


# Options of the command that are called otherwise here; of all others dashes become underscores.
_ARGUMENTS = {
    "data": "samples",
    "calibration-data": "calibration_samples",
    "min-sqnr": "min_sqnr",
    "int8": 'low="int8"',
    "fp16": 'low="float16"',
    "bf16": 'low="bfloat16"',
    "fp8": 'low="float8e4m3fn"',
    "calibration": "calibration",
    "carry": "carry",
    "no-split": "share_out=False",
    "options": "alternatives",
    "samples": "limit",
}


# Commands that are functions here.
_COMMANDS = (
    ("Nothing was written: give -o FOLDER for", "report.save(folder) writes"),
    ("vernier inspect model MODEL --show layers", "inspect(model, nodes=True)"),
    ("vernier calibrate MODEL --data SOURCE", "calibrate(model, samples)"),
    ("vernier check data", "check_data()"),
    ("vernier check lint", "lint()"),
    ("--top 0 lists all", "report.layers has all"),
    ("with -o FOLDER it is written as a model", "report.model is the model"),
    ("'vernier verify'", "verify()"),
    ("vernier verify", "verify()"),
)


def in_python_words(text: str) -> str:
    """``text`` with the command's options and sub-commands as the arguments and functions that they are here."""
    for command, function in _COMMANDS:
        text = text.replace(command, function)

    def argument(match: re.Match[str]) -> str:
        name = match[1]
        return _ARGUMENTS.get(name, name.replace("-", "_"))

    return re.sub(r"(?<![\w-])--([a-z][a-z0-9-]*)", argument, text)
