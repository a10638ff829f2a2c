"""Reports of jobs, as objects."""
from __future__ import annotations

import difflib
import json
import math
import os
import re
from typing import Any, Iterable

from . import _core, _html
from ._errors import InputError, report_in_python_words
from ._model import Model


def _near(name: str, known: Iterable[str]) -> str:
    """ ": did you mean 'share'?" if one of the names is that near."""
    near = difflib.get_close_matches(name, list(known), 1, 0.85)
    return f": did you mean {near[0]!r}?" if near else ""


class Record(dict):
    """A dict with its members as attributes. Unmeasured values are absent: ``record.get(name)`` returns None."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            near = _near(name, self)
            raise AttributeError(
                f"no field {name!r}{near}" if near else f"{name!r} was not measured; this record has: {', '.join(self)}"
            ) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


class Table(list):
    """Rows of equal kind. ``pandas.DataFrame(table)`` and ``polars.DataFrame(table)`` accept it."""

    def column(self, name: str) -> list[Any]:
        """The values of one column; None if a row does not have it. A misspelt name raises KeyError."""
        known = {key for row in self for key in row}
        if name not in known and (near := _near(name, known)):
            raise KeyError(f"no column {name!r}{near}")
        return [row.get(name) for row in self]

    def _repr_html_(self) -> str:
        return _html.table(self)


_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _number(key: str, value: str) -> Any:
    """JSON has no infinity, so it is written as a string."""
    unit = key == "figures" or key.endswith(("_db", "_error", "damage", "mse", "cosine", "metric", "min", "max", "value"))
    return _NUMBERS.get(value, value) if unit else value


def _records(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        # Figures of tasks have names of their own.
        return Record({name: _records(item, key if key == "figures" else name) for name, item in value.items()})
    if isinstance(value, list):
        items = [_records(item, key) for item in value]
        return Table(items) if items and all(isinstance(item, Record) for item in items) else items
    if isinstance(value, str):
        return _number(key, value)
    return value


class Report:
    """The report of a job. Its fields are attributes with the names of report.json. Errors are in dB (``..._db``), times in
    the unit of their name, shares from 0 to 1.

    ``print(report)`` prints the text of the command; a notebook shows a summary.
    """

    def __init__(self, told: tuple[str, str, Any, str]) -> None:
        self._json, self._text, model, self._plan = told
        self._fields: Record = _records(json.loads(self._json))
        for said in ("warnings", "notes"):
            if said in self._fields:
                self._fields[said] = [report_in_python_words(text) for text in self._fields[said]]
        #: The typed model of the job; None if it made none.
        self.model: Model | None = None if model is None else Model(model)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self._fields and (near := _near(name, [key for key in dir(self) if not key.startswith("_")])):
            raise AttributeError(f"no field {name!r}{near}")
        return getattr(self._fields, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    @property
    def passed(self) -> bool | None:
        """Whether all limits are met; None without limits."""
        return self._fields.get("passed")

    def get(self, name: str, default: Any = None) -> Any:
        """A field, or ``default`` if it was not measured."""
        return self._fields.get(name, default)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain dicts and lists; infinities are floats."""
        return self._fields

    def to_json(self) -> str:
        """The text of report.json."""
        return self._json

    def __str__(self) -> str:
        # Command lines to paste are for a shell.
        text = re.sub(r":?\n(?: *\$ .*(?:\n|$))+", ".\n", self._text)
        return report_in_python_words(text)

    def __repr__(self) -> str:
        first = str(self).strip().split("\n")[0]
        return f"<{type(self).__name__}: {first[:90]}{'...' if len(first) > 90 else ''}>"

    def __reduce__(self) -> Any:
        return type(self), ((self._json, self._text, None if self.model is None else self.model, self._plan),)

    def _repr_html_(self) -> str:
        return _html.text(str(self))


class DiagnoseReport(Report):
    """The report of diagnose() or fix()."""

    @property
    def passed(self) -> bool | None:
        """Whether the result meets the requirement, the labels' limit or the metric's; None without any of them, or if the
        search was stopped early."""
        if self.get("requirement") is None and self.get("kept") is None or self.get("interrupted"):
            return None
        return _core.outcome(self._json) == 0

    @property
    def kept_layers(self) -> list[str]:
        """Layers that have to stay in high precision. Empty if none has to, if no choice of layers helps, or without a
        search."""
        kept = self.get("kept")
        return [] if kept is None or kept.end == "impossible" else list(kept.layers)

    @property
    def plan(self) -> str:
        """The text of plan.json: the format of every layer and the scale of every tensor. Empty without a result. If the
        network was repaired, the plan is for the repaired network, which the command alone writes (float.onnx)."""
        return self._plan

    def to_html(self) -> str:
        """The page, one file that works offline."""
        return _core.report_page(self._json)

    def deploy(self, file: str | os.PathLike[str] = "model.onnx") -> str:
        """How to deploy the result on each engine, in Markdown, for a model saved as ``file``."""
        document = json.loads(self._json)
        if self.model is not None:
            document["typed"]["file"] = os.fspath(file)
            document["files"] = {"model": os.fspath(file)}
        return _core.deploy_markdown(json.dumps(document))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the files of the command: report.json, report.html and, with a result, model.onnx, plan.json, deploy.md.
        Removes those of an earlier report. Raises InputError if a file cannot be written."""
        try:
            self._save(folder)
        except OSError as error:
            raise InputError(f"cannot write {os.fspath(folder)}: {error.strerror or error}") from error

    def _save(self, folder: str | os.PathLike[str]) -> None:
        os.makedirs(folder, exist_ok=True)
        for name in ("model.onnx", "plan.json", "deploy.md"):  # no model of an earlier answer stays in the folder
            if self.model is None and os.path.exists(old := os.path.join(folder, name)):
                os.remove(old)
        document = json.loads(self._json)
        places = {"report": "report.json", "page": "report.html"}
        if self.model is not None:
            places |= {"model": "model.onnx", "plan": "plan.json", "deploy": "deploy.md"}
            self.model.save(os.path.join(folder, "model.onnx"))
            document["typed"]["file"] = os.path.join(folder, "model.onnx")
        document["files"] = {name: os.path.join(folder, place) for name, place in places.items()}
        written = _core.report_json(json.dumps(document))
        files = {"report.json": written, "report.html": _core.report_page(written)}
        if self.model is not None:
            files |= {"plan.json": self._plan, "deploy.md": _core.deploy_markdown(written)}
        for name, text in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def _repr_html_(self) -> str:
        return _html.report(self)

    def plot(self, kind: str = "damage", ax: Any = None, *, layer: str | None = None, role: str | None = None) -> Any:
        """Draws with matplotlib into ``ax`` or a new figure, and returns the axes.

        Args:
            kind: "damage": the error that each layer alone adds to the output (dB), in graph order. "pareto": accuracy
                against cost of the sets that the search tried, with the requirement. Without a search: the most
                damaging layers, kept one after the other. "histograms": how the values of a layer use its format, in
                float32 and with everything low (``diagnose(pictures=True)``).
            layer: of "histograms"; None: the worst counted layer.
            role: of "histograms": "input" (as the layer reads it), "weight" or "output"; None: the first counted one.

        Values that are not finite are drawn at the edge with a label. Raises UsageError if the report does not have the
        measurements.
        """
        from . import _plots

        return _plots.plot(self, kind, ax, layer, role)


class VerifyReport(Report):
    """The report of verify()."""

    @property
    def passed(self) -> bool | None:
        """Whether the requirement is met; None without one. False if an engine refuses the file, if it has no layer in low
        precision, or if the float model is itself quantized."""
        if self.get("outcome") in ("refused", "nothing-left", "no-float-model"):
            return False
        return self.figures.get("passed")

