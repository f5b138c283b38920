"""Finished runs side by side: quality by budget while they were trained, by cost, and by the length of the source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from regard.inspection.pictures.cost_picture import Costs, draw_costs
from regard.inspection.pictures.style import INK, LINES, finish, new_figure, plain_axes

BudgetCurve = Sequence[tuple[float, float, float]]
"""step, seconds, value"""


@dataclass(frozen=True, kw_only=True)
class ComparisonRows:
    """What is drawn; a part that is empty has no row."""

    curves: Mapping[str, Sequence[BudgetCurve]] = field(default_factory=dict)
    """by name, a curve for each seed"""
    valid_metric: str = ""
    time: str = "seconds"
    """what the seconds of the curves are"""
    qualities: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """by name, mean and spread"""
    metric: str = ""
    costs: Costs = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """by name, the score of each group of lengths"""


def comparison_picture(rows: ComparisonRows) -> Figure:
    """A row of panels for each part: curves by steps and by seconds, quality by each cost, score by length."""
    kinds = [kind for kind in ("curves", "costs", "groups") if any(getattr(rows, kind).values())]
    figure = new_figure(8.4, 2.9 * len(kinds) + 0.3)
    parts: Sequence[Any] = list(figure.subfigures(len(kinds), 1, squeeze=False)[:, 0]) if kinds else []
    handles: dict[str, Any] = {}
    for part, kind in zip(parts, kinds, strict=True):
        panels = {"curves": _curves, "costs": _costs, "groups": _groups}[kind](part, rows)
        for axes in panels:
            handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    return finish(figure)


def _curves(part: Any, rows: ComparisonRows) -> Sequence[Any]:
    panels: Sequence[Any] = list(part.subplots(1, 2, sharey=True))
    for at, (name, curves) in enumerate(rows.curves.items()):
        for number, curve in enumerate(curves):
            steps, seconds, values = zip(*curve, strict=True)
            look = {"color": LINES[at % len(LINES)], "marker": "o", "markersize": 3, "linewidth": 1.5}
            for axes, budget in zip(panels, (steps, seconds), strict=True):
                axes.plot(budget, values, label=None if number else name, **look)
    for axes, label in zip(panels, ("training steps", rows.time), strict=True):
        axes.set_xlabel(label, fontsize=8.5)
        plain_axes(axes)
    panels[0].set_ylabel(rows.valid_metric)
    _head(part, f"{rows.valid_metric} on the dev set, by budget")
    return panels


def _costs(part: Any, rows: ComparisonRows) -> Sequence[Any]:
    panels: Sequence[Any] = list(part.subplots(1, len(rows.costs), sharey=True, squeeze=False)[0])
    draw_costs(panels, rows.qualities, rows.costs, rows.metric)
    _head(part, f"{rows.metric} by cost")
    return panels


def _groups(part: Any, rows: ComparisonRows) -> Sequence[Any]:
    axes = part.subplots()
    names = list(next(iter(rows.groups.values())))
    for at, (name, scores) in enumerate(rows.groups.items()):
        look = {"color": LINES[at % len(LINES)], "marker": "o", "linewidth": 2}
        axes.plot(range(len(names)), [scores.get(group, float("nan")) for group in names], label=name, **look)
    axes.set_xticks(range(len(names)), names)
    axes.set(xlabel="words in the source", ylabel=rows.metric)
    axes.set_ylim(bottom=0)
    plain_axes(axes)
    _head(part, f"{rows.metric} by the length of the source")
    return [axes]


def _head(part: Any, text: str) -> None:
    part.suptitle(text, x=0.02, ha="left", color=INK, fontsize=9.5, fontweight="bold")
