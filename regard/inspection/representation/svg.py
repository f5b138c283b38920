"""Drawings as SVG for a page that opens offline: curves with bands, points, and shaded tables; no script draws them.

Texts are escaped; what a mark stands for is its `<title>`, which browsers show beside the pointer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 12, 12, 34


@dataclass(frozen=True)
class Curve:
    """A line of points, each with the half of an interval around it; it has the color of its number."""

    name: str
    values: Sequence[float]
    margins: Sequence[float] = ()
    hue: int = 0


def hue(number: int) -> str:
    """A color for each number: neighbors differ most."""
    return f"hsl({round(224 + 137.508 * number) % 360} 58% 52%)"


def plot_curves(
    curves: Sequence[Curve],
    ticks: Sequence[str],
    label: str,
    *,
    width: int = 560,
    height: int = 300,
    top: float = 100.0,
) -> str:
    """Curves over equally spaced ticks, from 0 to `top`, with a legend below."""
    across = (width - _LEFT - _RIGHT) / max(1, len(ticks) - 1)
    down = (height - _TOP - _BOTTOM) / top

    def place(at: int, value: float) -> str:
        return f"{_LEFT + across * at:.1f},{height - _BOTTOM - down * min(max(value, 0.0), top):.1f}"

    parts = [_grid(width, height, top, down)]
    for at, tick in enumerate(ticks):
        x = _LEFT + across * at
        parts.append(f'<text x="{x:.1f}" y="{height - 16}" text-anchor="middle">{escape(tick)}</text>')
    parts.append(f'<text x="{(width + _LEFT) / 2:.0f}" y="{height - 2}" text-anchor="middle">{escape(label)}</text>')
    for curve in curves:
        color, values = hue(curve.hue), list(enumerate(curve.values))
        if curve.margins:
            up = [place(at, value + curve.margins[at]) for at, value in values]
            back = [place(at, value - curve.margins[at]) for at, value in reversed(values)]
            parts.append(f'<polygon points="{" ".join(up + back)}" fill="{color}" opacity="0.16"/>')
        line = " ".join(place(at, value) for at, value in values)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        for at, value in values:
            left, top_edge = place(at, value).split(",")
            shown = f"{curve.name}, {ticks[at]}: {value:.1f}"
            shown += f" ± {curve.margins[at]:.1f}" if curve.margins and curve.margins[at] else ""
            parts.append(
                f'<circle cx="{left}" cy="{top_edge}" r="3.5" fill="{color}"><title>{escape(shown)}</title></circle>'
            )
    return _framed(parts, width, height) + legend([(curve.name, hue(curve.hue)) for curve in curves])


def plot_points(
    places: Sequence[Sequence[float]], groups: Sequence[int], titles: Sequence[str], *, size: int = 300
) -> str:
    """Points in two dimensions, colored by group."""
    columns = list(zip(*places, strict=True))
    low, high = [min(column) for column in columns], [max(column) for column in columns]
    spread = max(max(high[0] - low[0], high[1] - low[1]), 1e-9)
    scale = (size - 20) / spread
    left, bottom = (size / 2 - scale * (above + below) / 2 for below, above in zip(low, high, strict=True))
    marks = []
    for (x, y), group, title in zip(places, groups, titles, strict=True):
        at = f'cx="{left + scale * x:.1f}" cy="{size - bottom - scale * y:.1f}"'
        marks.append(f'<circle {at} r="3" fill="{hue(group)}" opacity="0.75"><title>{escape(title)}</title></circle>')
    return _framed(marks, size, size)


def plot_shades(rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], most: float) -> str:
    """A table of shaded cells, from 0 to `most`, with the numbers in them."""
    cell, left, top = 54, 76, 26
    width, height = left + cell * len(columns) + 4, top + 24 * len(rows) + 4
    parts = []
    for at, name in enumerate(columns):
        parts.append(f'<text x="{left + cell * (at + 0.5)}" y="16" text-anchor="middle">{escape(name[:8])}</text>')
    for down, (name, row) in enumerate(zip(rows, values, strict=True)):
        y = top + 24 * down
        parts.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{escape(name[:10])}</text>')
        for at, value in enumerate(row):
            share = min(1.0, max(0.0, value / most if most else 0.0))
            box = f'x="{left + cell * at}" y="{y}" width="{cell - 2}" height="22"'
            parts.append(f'<rect {box} fill="hsl(224 58% 52%)" opacity="{0.06 + 0.8 * share:.2f}"/>')
            parts.append(f'<text x="{left + cell * (at + 0.48)}" y="{y + 15}" text-anchor="middle">{value:.2f}</text>')
    return _framed(parts, width, height)


def legend(entries: Sequence[tuple[str, str]]) -> str:
    """Names beside their colors."""
    dot = '<svg viewBox="0 0 10 10" width="10" height="10"><circle cx="5" cy="5" r="5" fill="{}"/></svg>'
    marks = (f"<span>{dot.format(color)} {escape(name)}</span>" for name, color in entries)
    return f'<p class="legend">{"".join(marks)}</p>'


def _grid(width: int, height: int, top: float, down: float) -> str:
    step = 10 ** math.floor(math.log10(top)) / (1 if top >= 5 * 10 ** math.floor(math.log10(top)) else 5)
    step = 20.0 if top == 100 else step
    lines: list[Any] = []
    for number in range(int(top / step) + 1):
        y = height - _BOTTOM - down * number * step
        lines.append(f'<line x1="{_LEFT}" x2="{width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number * step:g}</text>')
    return f'<g class="grid">{"".join(lines)}</g>'


def _framed(parts: Sequence[str], width: int, height: int) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{"".join(parts)}</svg>'
