"""Plots of reports. Only this module imports matplotlib, and only for a plot."""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ._errors import UsageError, report_in_python_words

# As on the page: blue is float32 and what is kept, orange is low. Of Okabe and Ito: colour-blind eyes tell them apart, and
# shapes differ as well.
_FLOAT, _LOW, _LINE = "#0072B2", "#D55E00", "#777777"
_METRICS = {
    "min-sqnr": "SQNR of the output, dB",
    "max-abs-error": "largest error of the output",
    "max-mse": "mean squared error of the output",
    "min-cosine": "cosine of the output",
    "min-top1-agreement": "top-1 agreement with the float model, share",
}


def plot(report: Any, kind: str, ax: Any, layer: str | None, role: str | None) -> Any:
    if kind not in _KINDS:
        raise UsageError(f"kind={kind!r} is not one of {', '.join(_KINDS)}")
    for argument, value in (("layer", layer), ("role", role)):
        if kind != "histograms" and value is not None:
            raise UsageError(f"{argument}={value!r} is of kind=\"histograms\"", "leave it out")
    draw = _KINDS[kind](report) if kind != "histograms" else _histograms(report, layer, role)
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise UsageError("plots need matplotlib, which is not installed", "pip install matplotlib") from None
        ax = pyplot.subplots(figsize=(9, 3.6), layout="constrained")[1]
    draw(ax)
    return ax


def _damage(report: Any) -> Any:
    """The error that each layer alone adds to the output, in graph order."""
    order = {node["name"]: place for place, node in enumerate(report.get("network", []))}
    rows = sorted(report.get("layers", []), key=lambda row: order.get(row.name, len(order)))
    measured = [(place, row) for place, row in enumerate(rows) if row.get("sensitivity_db") is not None]
    if not measured:
        raise UsageError("no layer was measured alone", "bisect and linear searches do not measure single layers")
    limit = _limit(report) if _metric(report) == "min-sqnr" else None

    def draw(ax: Any) -> None:
        scale = _Edges([row.sensitivity_db for _, row in measured] + ([] if limit is None else [limit]))
        for name, color, marker, kept in (("low", _LOW, "o", False), ("kept", _FLOAT, "D", True)):
            mine = [(place, row) for place, row in measured if bool(row.get("kept")) is kept]
            if mine:
                places, values = [place for place, _ in mine], [scale.at(row.sensitivity_db) for _, row in mine]
                ax.vlines(places, scale.high, values, color=color, alpha=0.35, linewidth=1)
                ax.scatter(places, values, c=color, marker=marker, s=22, label=f"{name} ({len(mine)})", zorder=3)
        _line(ax, limit, "required of all together", " dB")
        ax.set_ylim(scale.high, scale.low)  # damage upwards
        scale.name_ends(ax, low="not finite", high="no damage")
        named: list[tuple[int, float]] = []
        for place, row in sorted(measured, key=lambda each: each[1].sensitivity_db)[:3]:
            value, right = scale.at(row.sensitivity_db), place > 0.6 * len(rows)
            near = any(abs(place - x) < 0.3 * len(rows) and abs(value - y) < 0.06 * (scale.high - scale.low) for x, y in named)
            if row.sensitivity_db < math.inf and not near:
                named.append((place, value))
                ax.annotate(_short(row.name), (place, value), xytext=(-6 if right else 6, 0), textcoords="offset points",
                            fontsize=8, va="center", ha="right" if right else "left")
        ax.set_xlim(-0.5 - 0.02 * len(rows), len(rows) - 0.5 + 0.02 * len(rows))
        _whole_numbers(ax)
        ax.set_xlabel("layer, in graph order")
        ax.set_ylabel("SQNR of the output with\nthis layer alone low, dB")
        ax.set_title(f"Damage over depth: {_title(report)}", fontsize=10)
        _legend(ax)

    return draw


def _pareto(report: Any) -> Any:
    """Accuracy against cost of the sets that were tried, and the requirement."""
    kept = report.get("kept")
    if kept is None:
        return _curve(report)
    metric, limit = _metric(report), _limit(report)
    by_cost = bool(kept.get("pareto"))
    points = [
        (point.cost if by_cost else len(point.layers), point.get("metric"), point.get("damage"),
         point.damage <= 1 if by_cost else point.verdict == "good", bool(point.get("front")))
        for point in (kept.pareto if by_cost else kept.get("tests", []))
        if by_cost or point.verdict in ("good", "bad")
    ]
    # Several limits: the share of the allowance says it for all.
    shares = limit is None and report.get("requirement") is not None or any(value is None for _, value, *_ in points)
    points = [(cost, damage if shares else value, passes, front) for cost, value, damage, passes, front in points]
    points = [point for point in points if point[1] is not None and not math.isnan(point[1])]
    if not by_cost:
        furthest = max(4, 3 * len(kept.layers))  # keeping everything tells nothing
        points = [point for point in points if point[0] <= furthest]
    if not points:
        raise UsageError("no set of layers was tried", "the search was ended before it tried one")
    if shares:
        limit = 1.0

    def draw(ax: Any) -> None:
        if shares:
            ax.set_yscale("log")
        scale = _Edges([value for _, value, *_ in points] + ([] if limit is None else [limit]), logarithmic=shares)
        front = sorted((cost, value) for cost, value, _, on_it in points if on_it and math.isfinite(value))
        if len(front) > 1:
            ax.step(*zip(*front), where="post", color=_FLOAT, alpha=0.5, linewidth=1.2, label="best for its cost")
        for passes, color, marker, name in ((True, _FLOAT, "o", "passes"), (False, _LOW, "x", "misses")):
            mine = [(cost, scale.at(value)) for cost, value, fine, _ in points if fine is passes]
            if mine:
                ax.scatter(*zip(*mine), c=color, marker=marker, s=36, label=f"a set that {name}", zorder=3)
        _line(ax, limit, "the limit" if shares else "required", " dB" if metric == "min-sqnr" and not shares else "")
        ax.set_ylim(scale.low, scale.high)
        scale.name_ends(ax, low="not finite" if not shares else "exact", high="exact" if not shares else "not finite")
        unit = {"time": "\u00b5s", "macs": "multiply-accumulates"}.get(kept.cost_unit, kept.cost_unit)
        ax.set_xlabel(f"cost of what is kept, {unit}" if by_cost and kept.cost_unit != "layers" else "kept layers")
        most = max(cost for cost, *_ in points)
        if not by_cost or kept.cost_unit == "layers":
            _whole_numbers(ax)
            most = max(most, 1)
        ax.set_xlim(-0.04 * (most or 1), 1.04 * (most or 1))
        ax.set_ylabel("share of the allowed error" if shares else _METRICS.get(metric) or _objective(kept))
        ax.set_title(f"Sets that were tried: {_title(report)}", fontsize=10)
        _legend(ax)

    return draw


def _curve(report: Any) -> Any:
    """Without a search: the most damaging layers kept, one after the other."""
    points = report.get("curve", [])
    if not points:
        raise UsageError("no set of layers was tried", "pass a requirement, such as min_sqnr=20, to search")

    def draw(ax: Any) -> None:
        told = {name: [(point.kept, point[name]) for point in points if point.get(name) is not None and not math.isnan(point[name])]
                for name in ("predicted_sqnr_db", "measured_sqnr_db")}
        scale = _Edges([value for each in told.values() for _, value in each])
        if told["predicted_sqnr_db"]:
            ax.plot([kept for kept, _ in told["predicted_sqnr_db"]], [scale.at(value) for _, value in told["predicted_sqnr_db"]],
                    "--", color=_LINE, linewidth=1.2, label="predicted from single layers")
        if told["measured_sqnr_db"]:
            ax.scatter([kept for kept, _ in told["measured_sqnr_db"]], [scale.at(value) for _, value in told["measured_sqnr_db"]],
                       c=_FLOAT, s=36, label="measured", zorder=3)
        ax.set_ylim(scale.low, scale.high)
        scale.name_ends(ax, low="not finite", high="exact")
        _whole_numbers(ax)
        ax.set_xlabel("kept layers, most damaging first")
        ax.set_ylabel(_METRICS["min-sqnr"])
        ax.set_title(f"Accuracy against cost: {_title(report)}", fontsize=10)
        _legend(ax)

    return draw


def _histograms(report: Any, layer: str | None, role: str | None) -> Any:
    """How the values of a tensor use its format."""
    pictures = report.get("pictures", [])
    if not pictures:
        raise UsageError(
            "no values of layers were counted",
            "pass pictures=True; layers that stay high, and layers in sub-graphs, are not counted",
        )
    if layer is None:
        layer = pictures[0].layer
    found = next((each for each in pictures if each.layer == layer), None)
    if found is None:
        raise UsageError(f"no values of {layer!r} were counted", "only the worst layers are counted: " + ", ".join(each.layer for each in pictures))
    tensor = next((each for each in found.tensors if role is None or each.role == role), None)
    if tensor is None:
        there = ", ".join(dict.fromkeys(each.role for each in found.tensors))
        raise UsageError(f"role={role!r}: no tensor of {layer!r} with this role was counted", f"one of {there}")
    form = next((row.format for row in report.get("layers", []) if row.name == layer), "")

    def draw(ax: Any) -> None:
        bins = len(tensor.reference)
        width = (tensor.last - tensor.first) / bins if bins else 0
        edges = [tensor.first + place * width for place in range(bins + 1)]
        ax.stairs(tensor.reference, edges, fill=True, color=_FLOAT, alpha=0.35, label="float32")
        ax.stairs(tensor.low, edges, color=_LOW, linewidth=1.4, label="all low")
        if any(tensor.reference) or any(tensor.low):
            ax.set_yscale("log")
            ax.set_ylim(bottom=0.5)
        for place, (name, value) in enumerate((("ends of the grid", tensor.get("clip_low")), ("ends of the grid", tensor.get("clip_high")),
                                               ("smallest above zero", tensor.get("smallest")))):
            if value is not None and math.isfinite(value):
                label = name if place != 1 or tensor.get("clip_low") is None else None
                ax.axvline(value, color=_LINE, linestyle=":" if place == 2 else "--", linewidth=1, label=label)
        unit = "log2 of the magnitude" if tensor.logarithmic else "value"
        ax.set_xlabel(f"{unit} of the {tensor.role}, {_short(tensor.tensor)}")
        ax.set_ylabel("values")
        told = [form] if form else []
        if tensor.get("step") is not None:
            told.append(f"step {tensor.step:.3g}")
        if tensor.logarithmic and tensor.get("reference_zeros", 0) != tensor.get("low_zeros", 0):
            told.append(f"zeros: {tensor.reference_zeros:,} in float32, {tensor.low_zeros:,} low")
        if tensor.get("low_nonfinite"):
            told.append(f"{tensor.low_nonfinite:,} not finite")
        ax.set_title(f"{_short(layer)}: {', '.join(told)}", fontsize=10)
        _legend(ax)

    return draw


_KINDS = {"damage": _damage, "pareto": _pareto, "histograms": _histograms}


class _Edges:
    """Ends of an axis, with space for infinities beyond all finite values."""

    def __init__(self, values: Iterable[float], logarithmic: bool = False) -> None:
        listed = list(values)
        finite = [value for value in listed if math.isfinite(value) and (not logarithmic or value > 0)]
        least, most = min(finite, default=1.0), max(finite, default=1.0)
        self._finite = bool(finite)
        if logarithmic:
            pad = max(most / least, 10.0) ** 0.12
            self.low, self.high = least / pad, most * pad
            self._under, self._over = least / pad**0.6, most * pad**0.6
        else:
            pad = (most - least or max(abs(most) * 0.1, 1.0)) * 0.12
            self.low, self.high = least - pad, most + pad
            self._under, self._over = least - pad * 0.6, most + pad * 0.6
        self.has_low = any(value == -math.inf or (logarithmic and value <= 0) for value in listed)
        self.has_high = any(value == math.inf for value in listed)

    def at(self, value: float) -> float:
        return min(max(value, self._under), self._over)

    def name_ends(self, ax: Any, low: str, high: str) -> None:
        """Labels the ends, if values are drawn at them."""
        for there, value, text in ((self.has_low, self._under, low), (self.has_high, self._over, high)):
            if there:
                ax.axhline(value, color=_LINE, linewidth=0.5, alpha=0.5)
                ax.text(1.005, value, text, transform=ax.get_yaxis_transform(), fontsize=8, va="center", color=_LINE)


def _metric(report: Any) -> str | None:
    wanted = report.get("requirement")
    return None if wanted is None else wanted.metric


def _limit(report: Any) -> float | None:
    """The limit of the requirement; None without one, or with several."""
    limits = (report.get("requirement") or {}).get("limits", [])
    return limits[0].value if len(limits) == 1 else None


def _objective(kept: Any) -> str:
    """The name of the figure from labels or from a user's function."""
    words = report_in_python_words(kept.get("objective") or "metric").split()
    lines = [""]
    for word in words:
        lines[-1:] = [f"{lines[-1]} {word}".strip()] if len(lines[-1]) + len(word) < 34 else [lines[-1], word]
    return "\n".join(lines[:3])


def _line(ax: Any, value: float | None, name: str, unit: str) -> None:
    if value is not None:
        ax.axhline(value, color=_LINE, linestyle="--", linewidth=1.2, label=f"{name}: {value:g}{unit}")


def _whole_numbers(ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _legend(ax: Any) -> None:
    ax.grid(axis="y", alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8, framealpha=0.8, edgecolor="none", loc="best")


def _title(report: Any) -> str:
    low = " ".join(report.low) if isinstance(report.get("low"), list) else str(report.get("low", ""))
    return f"{_short(str(report.get('model_file', '')).rsplit('/', 1)[-1])}, {low}"


def _short(name: str, most: int = 40) -> str:
    """Names differ at their ends."""
    return name if len(name) <= most else name[: most // 3] + "\u2026" + name[-(most - most // 3 - 1):]
