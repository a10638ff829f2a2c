"""What jobs found, as objects."""
from __future__ import annotations

import json
import math
import os
import re
from typing import Any

from . import _core, _html
from ._errors import InputError, report_in_python_words
from ._model import Model


class Record(dict):
    """A dict whose members are attributes too. What was not measured is absent: ``record.get(name)`` gives None."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = ", ".join(self)
            raise AttributeError(f"no {name!r} was measured or known here; there are: {known}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


class Table(list):
    """Rows of equal kind. ``pandas.DataFrame(table)`` and ``polars.DataFrame(table)`` take it as it is."""

    def column(self, name: str) -> list[Any]:
        """The values of one column; None where a row has none."""
        return [row.get(name) for row in self]

    def _repr_html_(self) -> str:
        return _html.table(self)


_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _number(key: str, value: str) -> Any:
    """JSON knows no infinity: it is written as a word."""
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
    """What a job found. Fields are attributes, under the names that they have in report.json: all errors in dB
    (``..._db``), times in seconds or ms as their names say, shares from 0 to 1.

    ``print(report)`` gives the text of the command; a notebook shows a summary.
    """

    def __init__(self, told: tuple[str, str, Any, str]) -> None:
        self._json, self._text, model, self._plan = told
        self._fields: Record = _records(json.loads(self._json))
        for said in ("warnings", "notes"):
            if said in self._fields:
                self._fields[said] = [report_in_python_words(text) for text in self._fields[said]]
        #: The typed model that the job made; None where it made none.
        self.model: Model | None = None if model is None else Model(model)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._fields, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    @property
    def passed(self) -> bool | None:
        """Whether the limits that were given are kept; None without any, or where none can be given."""
        return self._fields.get("passed")

    def get(self, name: str, default: Any = None) -> Any:
        """A field, or ``default`` where it was not measured."""
        return self._fields.get(name, default)

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain dicts and lists; infinities are floats."""
        return self._fields

    def to_json(self) -> str:
        """The document that the command writes as report.json."""
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
    """What diagnose() or fix() found."""

    @property
    def passed(self) -> bool | None:
        """Whether what decides (a requirement, labels, a metric) is met by the result, as it was measured; None where
        nothing decides, or a search was ended before it knew."""
        if self.get("requirement") is None and self.get("kept") is None or self.get("interrupted"):
            return None
        return _core.outcome(self._json) == 0

    @property
    def kept_layers(self) -> list[str]:
        """Layers that have to stay in high precision; empty where none has to, no choice of layers helps, or nothing was
        searched."""
        kept = self.get("kept")
        return [] if kept is None or kept.end == "impossible" else list(kept.layers)

    @property
    def plan(self) -> str:
        """plan.json of the result: the format of every layer and the scale of every tensor; empty without a result."""
        return self._plan

    def to_html(self) -> str:
        """The page: one file that needs nothing else."""
        return _core.report_page(self._json)

    def deploy(self, file: str | os.PathLike[str] = "model.onnx") -> str:
        """How to deploy the result on each engine, in Markdown, for the model as it is saved in ``file``."""
        document = json.loads(self._json)
        if self.model is not None:
            document["typed"]["file"] = os.fspath(file)
            document["files"] = {"model": os.fspath(file)}
        return _core.deploy_markdown(json.dumps(document))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes what the command writes: report.json, report.html and, with a result, model.onnx, plan.json, deploy.md.
        Those of an earlier report are removed. Raises InputError where it cannot be written."""
        try:
            self._save(folder)
        except OSError as error:
            raise InputError(f"cannot write {os.fspath(folder)}: {error.strerror or error}") from error

    def _save(self, folder: str | os.PathLike[str]) -> None:
        os.makedirs(folder, exist_ok=True)
        for name in ("model.onnx", "plan.json", "deploy.md"):  # no model of another answer stays beside this one
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
        """A drawing with matplotlib, into ``ax`` or a new figure; gives the axes.

        Args:
            kind: "damage": what each layer alone costs at the output (dB), in graph order, damage upwards.
                "pareto": what keeping layers brings: sets that the search tried, and the requirement; without a search
                the curve of the most damaging layers kept one after the other. "histograms": how the values of a layer
                lie on the grid of its format (``diagnose(pictures=True)``), in float32 and with everything low.
            layer: of "histograms"; None: the worst one that was counted.
            role: of "histograms": "input" (as the layer reads it), "weight" or "output"; None: the first that was counted.

        Values that are not finite stand at the edge, and are named there. Raises UsageError where the report has not
        what is to be drawn.
        """
        from . import _plots

        return _plots.plot(self, kind, ax, layer, role)


class VerifyReport(Report):
    """What verify() found."""

    @property
    def passed(self) -> bool | None:
        """Whether the requirement is met; None without one. False if an engine refuses the file, and if the requirement is
        held against a reference that is quantized itself."""
        if self.get("outcome") in ("refused", "no-float-model"):
            return False
        return self.figures.get("passed")

