"""What jobs found, as objects."""
from __future__ import annotations

import html
import json
import math
import os
import re
from typing import Any

from . import _core
from ._errors import report_in_python_words
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
        return _table_html(self, list(dict.fromkeys(key for row in self for key in row)))


_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def _number(key: str, value: str) -> Any:
    """JSON knows no infinity: it is written as a word."""
    unit = key.endswith(("_db", "_error", "damage", "mse", "cosine", "metric", "min", "max", "value"))
    return _NUMBERS.get(value, value) if unit else value


def _records(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return Record({name: _records(item, name) for name, item in value.items()})
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
        #: The typed model that the job made; None where it made none.
        self.model: Model | None = None if model is None else Model(model)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._fields, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

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
        return f"<pre style='white-space:pre-wrap'>{html.escape(str(self))}</pre>"


class DiagnoseReport(Report):
    """What diagnose() or fix() found."""

    @property
    def passed(self) -> bool | None:
        """Whether what decides (a requirement, labels, a metric) is met by the result, as it was measured; None where
        nothing decides, or a search was ended before it knew."""
        if self.get("requirement") is None and self.get("kept") is None:
            return None
        return _core.outcome(self._json) == 0

    @property
    def kept_layers(self) -> list[str]:
        """Layers that have to stay in high precision; empty where none has to, or nothing was searched."""
        kept = self.get("kept")
        return [] if kept is None else list(kept.layers)

    @property
    def plan(self) -> str:
        """plan.json of the result: the format of every layer and the scale of every tensor; empty without a result."""
        return self._plan

    def to_html(self) -> str:
        """The page: one file that needs nothing else."""
        return _core.report_page(self._json)

    def deploy(self) -> str:
        """How to deploy the result on each engine, in Markdown."""
        return _core.deploy_markdown(self._json)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes what the command writes: report.json, report.html and, with a result, model.onnx, plan.json, deploy.md."""
        os.makedirs(folder, exist_ok=True)
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
        rows = [
            {
                "layer": row.name,
                "operator": row.op_type,
                "format": row.format,
                "own error, dB": _db(row.get("own_sqnr_db")),
                "alone at the output, dB": _db(row.get("sensitivity_db")),
                "share": "" if row.get("share") is None else f"{100 * row.share:.1f} %",
                "kept": "yes" if row.get("kept") else "",
            }
            for row in self.layers[:12]
        ]
        answer = html.escape(str(self).strip().split("\n\n")[0])
        return f"<pre style='white-space:pre-wrap'>{answer}</pre>" + _table_html(rows, list(rows[0]) if rows else [])

    def plot(self, ax: Any = None) -> Any:
        """Damage over depth: what each layer alone costs at the output, in graph order. Draws into ``ax``, and gives it;
        matplotlib must be there."""
        import matplotlib.pyplot as pyplot

        axes = pyplot.subplots(figsize=(10, 3.5))[1] if ax is None else ax
        order = {node["name"]: place for place, node in enumerate(self.get("network", []))}
        rows = sorted(self.layers, key=lambda row: order.get(row.name, len(order)))
        values = [row.get("sensitivity_db", math.nan) for row in rows]
        finite = [value for value in values if math.isfinite(value)]
        colors = ["tab:red" if row.get("kept") else "tab:blue" for row in rows]
        axes.scatter(range(len(rows)), [min(value, max(finite, default=0)) for value in values], c=colors, s=14)
        axes.set_xlabel("layer, in graph order (red: kept)")
        axes.set_ylabel("SQNR of the output with\nthis layer alone low, dB")
        axes.invert_yaxis()
        return axes


class VerifyReport(Report):
    """What verify() found."""

    @property
    def passed(self) -> bool | None:
        """Whether the requirement is met; None without one."""
        return self.figures.get("passed")


def _db(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _table_html(rows: list[Any], columns: list[str]) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(row.get(column, '')))}</td>" for column in columns) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
