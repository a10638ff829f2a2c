"""Reports and tables in notebooks: pieces of HTML for light and dark themes, without scripts."""
from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

from ._errors import report_in_python_words

# Colours of text and ground are the notebook's own. Rules of a notebook for tables in outputs are overruled by the class.
_STYLE = """<style>
.vernier{font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif;color:inherit}
.vernier p,.vernier dl{max-width:60em}
.vernier p{margin:0 0 .5em}
.vernier .verdict{font-size:15px}
.vernier .badge{display:inline-block;padding:.05em .6em;margin-right:.5em;border-radius:.8em;color:#fff;font-weight:600;font-size:13px}
.vernier .met{background:#176b41}.vernier .missed{background:#a82a21}.vernier .measured{background:#526072}
.vernier dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;margin:0 0 .7em}
.vernier dt{opacity:.7;font-weight:400}.vernier dd{margin:0;overflow-wrap:anywhere}
.vernier .scroll{max-height:24em;overflow:auto;display:inline-block;max-width:100%;border:1px solid rgba(128,128,128,.35);border-radius:4px;margin:0 0 .5em}
.vernier table{border-collapse:collapse;margin:0;font-size:13px;font-variant-numeric:tabular-nums;color:inherit;border:0}
.vernier th,.vernier td{padding:.2em .8em;text-align:right;border:0;white-space:nowrap;background:transparent;color:inherit}
.vernier thead tr{border-bottom:1px solid rgba(128,128,128,.5)}
.vernier thead th{font-weight:600;vertical-align:bottom}
.vernier tbody tr{background:transparent;border-top:1px solid rgba(128,128,128,.15)}
.vernier table .text{text-align:left!important}.vernier tr.kept td{background:rgba(0,114,178,.16)}
.vernier .note{opacity:.7;font-size:12px;margin:0}
</style>"""
_WANTED = {
    "min-sqnr": "SQNR at least {} dB",
    "max-abs-error": "largest error at most {}",
    "max-mse": "mean squared error at most {}",
    "min-cosine": "cosine at least {}",
    "min-top1-agreement": "top-1 agreement at least {}",
}
_NOTE = (
    "local error: of the layer's output, with exact inputs; alone low: SQNR of the network's output with only this layer low; "
    "share: of the damage of all layers. report.layers is the whole table. See also report.plot(), report.to_html(), "
    "report.save(folder), print(report)"
)
_MOST_ROWS = 200


def report(found: Any) -> str:
    """The answer, the requirement, the figures, and the layers, worst first."""
    passed = found.passed
    badge = {True: ("met", "met"), False: ("missed", "missed")}.get(passed, ("measured", "no requirement"))
    if passed is None and found.get("interrupted"):
        badge = ("measured", "ended early")
    low = ", ".join(found.get("low", []))
    answer = " ".join(str(found).strip().split("\n\n")[0].split())
    facts = {
        "Model": str(found.get("model_file", "")).rsplit("/", 1)[-1],
        "Samples": f"{found.get('data', '')}; {found.get('samples', 0):,} decided",
        "Formats": f"{low}, where layers are kept {found.get('high', '')}; as {found.get('target', '')} places them",
        "Requirement": _requirement(found),
    }
    listed = "".join(f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in facts.items() if value)
    warnings = "".join(f"<p>\u26a0 {html.escape(text)}</p>" for text in found.get("warnings", []))
    return (
        f'<div class="vernier">{_STYLE}<p class="verdict"><span class="badge {badge[0]}">{badge[1]}</span>{html.escape(answer)}</p>'
        f"<dl>{listed}</dl>{_figures(found)}{_layers(found)}{warnings}"
        f'<p class="note">{_NOTE}</p></div>'
    )


def table(rows: Sequence[Any]) -> str:
    """All columns, and the first rows."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    shown = [[row.get(column) for column in columns] for row in rows[:_MOST_ROWS]]
    words = [any(isinstance(row[place], str) for row in shown) for place in range(len(columns))]
    count = f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"
    note = count if len(rows) <= _MOST_ROWS else f"the first {_MOST_ROWS} of {count}"
    made = _table(columns, ([_cell(value) for value in row] for row in shown), words)
    return f'<div class="vernier">{_STYLE}{made}<p class="note">{note}</p></div>'


def text(written: str) -> str:
    return f'<pre style="white-space:pre-wrap">{html.escape(written)}</pre>'


def _requirement(found: Any) -> str:
    wanted, kept = found.get("requirement"), found.get("kept")
    if wanted is None:
        return report_in_python_words(kept.objective) if kept is not None and kept.get("objective") else ""
    said = _WANTED.get(wanted.metric, wanted.metric + " {}")
    return "; ".join(said.format(f"{limit.value:g}") + (f" at {limit.output}" if limit.output else "") for limit in wanted.limits)


def _figures(found: Any) -> str:
    low = " ".join(found.get("low", []))
    rows = []
    for name, run in ((f"all {low}", "all_low"), ("repaired, all low", "repaired"), ("the typed model", "final_figures")):
        figures = found.get(run)
        for output in figures.outputs if figures is not None else ():
            top1 = output.get("top1_agreement")
            rows.append([name, output.name, _decibels(output.get("sqnr_db")), _decibels(output.get("worst_sqnr_db")),
                         _cell(output.get("max_abs_error")), "" if top1 is None else f"{100 * top1:.1f}"])
    if not rows:
        return ""
    columns = ["against the float model", "output", "SQNR, dB", "worst sample, dB", "largest error", "top-1 agreement, %"]
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return _table(columns, rows, [True, True]) + "<br>"


def _layers(found: Any) -> str:
    layers = found.get("layers", [])
    if not layers:
        return ""
    ladder = (found.get("kept") or {}).get("ladder") or {}
    raised = {row["layer"]: row["format"] for row in ladder.get("raised", [])}
    columns = ["layer, worst first", "operator", "runs in", "local error, dB", "alone low, dB", "share, %"]
    rows = [
        [
            row.name,
            row.op_type,
            f"{raised.get(row.name, found.get('high', ''))} (kept)" if row.get("kept") else row.format,
            _decibels(row.get("own_sqnr_db")),
            _decibels(row.get("sensitivity_db")),
            "" if row.get("share") is None else f"{100 * row.share:.1f}",
        ]
        for row in layers[:_MOST_ROWS]
    ]
    used = [place for place in range(len(columns)) if place < 3 or any(row[place] for row in rows)]
    made = _table([columns[place] for place in used], ([row[place] for place in used] for row in rows), [True] * 3,
                  ["kept" if row.get("kept") else "" for row in layers])
    more = f'<p class="note">the first {_MOST_ROWS} of {len(layers):,} layers</p>' if len(layers) > _MOST_ROWS else ""
    return made + more


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[bool], classes: Sequence[str] = ()) -> str:
    """``words``: the columns with text, which are aligned left. Columns beyond its end hold numbers."""
    sides = [' class="text"' if place < len(words) and words[place] else "" for place in range(len(columns))]
    head = "".join(f"<th{side}>{html.escape(column)}</th>" for column, side in zip(columns, sides))
    body = "".join(
        (f'<tr class="{classes[at]}">' if classes and classes[at] else "<tr>")
        + "".join(f"<td{side}>{html.escape(cell)}</td>" for cell, side in zip(row, sides)) + "</tr>"
        for at, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _decibels(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return f"{value:.1f}" if math.isfinite(value) else "exact" if value > 0 else "not finite"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    written = value if isinstance(value, str) else str(value)
    return written if len(written) <= 80 else written[:79] + "\u2026"
