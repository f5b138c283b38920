"""The panels of a picture; each function draws into one pair of axes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, to_rgb
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from regard.inspection.pictures.style import (
    BELOW,
    INK,
    LINE,
    LINES,
    MASK,
    PAPER,
    QUIET,
    SIGNED,
    WEIGHT_COLORS,
    bare,
    fonts,
    plain_axes,
)
from regard.inspection.pictures.views import Array

_MOST_LINED = 40
"""cells along a side up to which there are lines between them"""
_MOST_WRITTEN = 16
"""cells along a side up to which their values are written"""


def cells(ax: Axes, values: Array, colors: Colormap, low: float, high: float, gap: float = 1.0) -> QuadMesh:
    """A matrix as squares, the first row on top, with thin lines of paper between them unless they are many."""
    height, width = values.shape
    lined = gap > 0 and max(height, width) <= _MOST_LINED
    mesh = ax.pcolormesh(
        np.arange(width + 1),
        np.arange(height + 1),
        values,
        cmap=colors,
        vmin=low,
        vmax=high,
        edgecolors=PAPER if lined else "face",
        linewidth=gap if lined else 0,
        antialiased=lined,
        rasterized=not lined,
    )
    ax.set_aspect("equal")
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.spines[:].set_visible(False)
    return mesh


def mask_cells(ax: Axes, keep: NDArray[np.bool_], gap: float = 1.0) -> QuadMesh:
    """A mask in two tones: dark where a query may look."""
    return cells(ax, keep.astype(float), MASK, 0.0, 1.0, gap)


def weight_cells(ax: Axes, weights: Array, gap: float = 1.0, limits: tuple[float, float] | None = None) -> QuadMesh:
    """Numbers as colors, 0 as paper, over their own range or the given one; two signs get a scale with two ends."""
    low, high = (float(weights.min()), float(weights.max())) if limits is None else limits
    most = max(abs(low), abs(high)) or 1.0
    if low >= 0:
        mesh = cells(ax, weights, WEIGHT_COLORS, 0.0, most, gap)
    elif high <= 0:
        mesh = cells(ax, weights, BELOW, -most, 0.0, gap)
    else:
        mesh = cells(ax, weights, SIGNED, -most, most, gap)
    ax.spines[:].set(visible=True, color=LINE, linewidth=0.6)
    return mesh


def few_enough_to_write(weights: Array) -> bool:
    """Whether the values of a matrix can be read in its cells."""
    return max(weights.shape) <= _MOST_WRITTEN


def write_values(ax: Axes, mesh: QuadMesh, weights: Array) -> None:
    """The value in each cell that has one, dark on light or light on dark."""
    whole = bool(np.all(weights == np.round(weights))) and float(np.abs(weights).max(initial=0)) < 1000
    for (row, column), value in np.ndenumerate(weights):
        text = f"{value:.0f}".replace("-", "−") if whole else short(float(value))
        if value == 0 or text == "0":
            continue
        red, green, blue = to_rgb(mesh.to_rgba(value))  # type: ignore[arg-type]
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.58
        color = PAPER if dark else INK
        ax.text(column + 0.5, row + 0.52, text, ha="center", va="center", fontsize=7.5, color=color)


def short(value: float) -> str:
    """A number in a few characters: .25, 1, −3.1, 2e+04."""
    size = abs(value)
    if size < 0.005:
        return "0"
    if size >= 9.95:
        text = f"{size:.0f}" if size < 1000 else f"{size:.0e}"
    elif size >= 0.995:
        text = f"{size:.1f}".removesuffix(".0")
    else:
        text = f"{size:.2f}".removeprefix("0")
    return f"−{text}" if value < 0 else text


def bars(ax: Axes, values: Array, color: str = LINES[0]) -> None:
    """The numbers of one query, a bar for each key, on a base line."""
    ax.bar(np.arange(len(values)), values, width=0.78, color=color, linewidth=0)
    ax.axhline(0, color=LINE, linewidth=0.8, zorder=0)
    ax.set_xlim(-0.6, len(values) - 0.4)
    low, high = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    ax.set_ylim(low * 1.02, (high or 1.0) * 1.02)
    bare(ax)


def curves(ax: Axes, over: Array, named: Mapping[str, Array], marked: bool = True) -> None:
    """One line for each name, with dots where the values are unless these are many."""
    few = marked and len(over) <= 48
    for index, (name, values) in enumerate(named.items()):
        color = LINES[index % len(LINES)]
        style = ("-", (0, (4, 1.5)), (0, (1, 1.2)))[index // len(LINES) % 3]
        ax.plot(
            over,
            values,
            color=color,
            linestyle=style,
            linewidth=1.8,
            marker="o" if few else None,
            markersize=4,
            markeredgecolor=PAPER,
            markeredgewidth=0.7,
            label=name,
            clip_on=False,
            zorder=3,
        )
    plain_axes(ax)


def by_distance(pairs: Array) -> tuple[Array, Array]:
    """The mean of each diagonal of a square matrix, from the farthest key before the query to the farthest after."""
    length = len(pairs)
    apart = np.arange(1 - length, length)
    return apart.astype(float), np.array([np.diagonal(pairs, offset).mean() for offset in apart])


def scale(ax: Axes, mesh: QuadMesh) -> None:
    """A color bar beside the upper half of the matrix."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    wide, tall = right - left, bottom - top
    across, down = max(wide, tall) / wide, min(1.0, 0.5 * max(wide, tall) / tall)
    beside = ax.inset_axes((1 + 0.03 * across, 1 - down, 0.022 * across, down))
    bar = ax.figure.colorbar(mesh, cax=beside, ticks=MaxNLocator(4))
    bar.outline.set_visible(False)
    beside.tick_params(length=0, labelsize=7.5, labelcolor=QUIET, pad=4, labelfontfamily=fonts()[0])


def caption(ax: Axes, lines: Sequence[str], mark: str | None = None) -> None:
    """A caption under the axes, aligned with their left edge, after a square of the color that it explains."""
    where: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "top", "fontsize": 8}
    if mark:
        ax.annotate("■", (0, 0), (0, -12), color=mark, **where)
    if lines:
        left = 12 if mark else 0
        ax.annotate("\n".join(lines), (0, 0), (left, -12), color=QUIET, linespacing=1.5, **where)
