"""Pictures of attention: weights, masks, positions, normalizers.

Each function gives a matplotlib Figure that belongs to no global state; `save` writes it.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer
from regard.attention.part import Sizes
from regard.attention.position import Position
from regard.base.errors import ShapeError, UsageError, check_at_least
from regard.base.files import replacing
from regard.inspection.pictures.panels import (
    by_distance,
    caption,
    curves,
    few_enough_to_write,
    mask_cells,
    scale,
    short,
    weight_cells,
    write_values,
)
from regard.inspection.pictures.style import INK, QUIET, SEEN, finish, label_axes, new_figure, plain_axes, spelled
from regard.inspection.pictures.views import Array, PositionView, view_mask, view_normalizer, view_position

ENDINGS = (".png", ".svg")


def heat_map(
    weights: ArrayLike,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    title: str = "",
    note: str = "",
) -> Figure:
    """Attention weights, queries downward and keys across, with their tokens where these are known."""
    matrix = np.asarray(weights, dtype=float)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ShapeError(f"heat_map: weights must be [query, key], but have the shape {list(matrix.shape)}")
    if not np.isfinite(matrix).all():
        raise ShapeError("heat_map: weights must be finite numbers, but some are not")
    for name, tokens, size in (("rows", rows, matrix.shape[0]), ("columns", columns, matrix.shape[1])):
        if tokens is not None and len(tokens) != size:
            raise ShapeError(f"heat_map: there are {len(tokens)} tokens for {size} {name}")
    figure, ax = _canvas(matrix, rows)
    mesh = weight_cells(ax, matrix)
    label_axes(ax, rows, columns)
    if few_enough_to_write(matrix):
        write_values(ax, mesh, matrix)
    else:
        scale(ax, mesh)
    _title(ax, title)
    caption(ax, [note] if note else [])
    return finish(figure)


def mask_picture(mask: Mask, length: int, *, title: str = "") -> Figure:
    """A mask over the first `length` positions: who may look where."""
    check_at_least("mask_picture", 1, length=length)
    views = view_mask(mask, length)[:8]
    side = _side(length, length)
    figure = new_figure(side * len(views) + 0.9, side + 1.0)
    for index, keep in enumerate(views):
        ax = figure.add_subplot(1, len(views), index + 1)
        mask_cells(ax, keep, gap=_gap(length))
        label_axes(ax, inches=side)
        _title(ax, title if index == 0 else "")
        caption(ax, [f"may look: {int(keep.sum()):,} of {keep.size:,} pairs ({keep.mean():.0%})"], mark=SEEN)
    return finish(figure)


def position_picture(position: Position, length: int, sizes: Sizes, *, title: str = "") -> Figure:
    """Position encodings: the vectors and their dot products, or the bias added to the logits of each head."""
    check_at_least("position_picture", 1, length=length)
    view = view_position(position, length, sizes)
    notes = ["fresh weights, before any training"] if view.learned else []
    if view.vectors is not None:
        figure = _vectors_picture(view, view.vectors, notes)
    elif len(view.pairs) > 1:
        figure = _heads_picture(view, notes)
    else:
        figure = _distances_picture(view, notes)
    _title(figure.axes[0], title)
    return finish(figure)


def normalizer_picture(
    normalizers: Mapping[str, Normalizer], *, slope: float = 3.0, keys: int = 25, title: str = ""
) -> Figure:
    """The weights that each normalizer gives to keys whose logits rise evenly from -slope to slope."""
    check_at_least("normalizer_picture", 2, keys=keys)
    if not normalizers:
        raise UsageError("normalizer_picture: there is no normalizer to draw")
    logits = np.linspace(-slope, slope, keys)
    figure = new_figure(7.2, 4.2)
    ax = figure.add_subplot()
    curves(ax, logits, {name: view_normalizer(part, logits) for name, part in normalizers.items()})
    ax.set_ylim(bottom=0)
    ax.set_xlabel("logit", color=QUIET, fontsize=8.5, labelpad=8)
    ax.set_ylabel("weight", color=QUIET, fontsize=8.5, labelpad=8)
    ax.legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper left", bbox_to_anchor=(1.0, 1.02), handlelength=1.8)
    _title(ax, title)
    return finish(figure)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write the picture as .png or .svg, by the file name's suffix, atomically."""
    path = Path(path)
    check_name(path)
    kind = path.suffix.lower()[1:]
    settings: dict[str, Any] = {"metadata": {"Date": None}} if kind == "svg" else {}
    with replacing(path) as file, rc_context({"svg.hashsalt": "regard"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"(?s).*Glyph .* missing")
        figure.savefig(file, format=kind, bbox_inches="tight", pad_inches=0.3, **settings)
    return path


def check_name(path: Path) -> None:
    """Raise an error if no picture can be written there; called before the picture is made."""
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path}: a picture's name ends in .png or .svg")
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder '{path.parent}'")


def _vectors_picture(view: PositionView, vectors: Array, notes: list[str]) -> Figure:
    length, width = vectors.shape
    side = _side(length, length)
    across = max(0.9, min(side * width / length, 6.0))
    figure = new_figure(side + across + 2.4, side + 1.0)
    grid = figure.add_gridspec(1, 2, width_ratios=(side, across), wspace=0.12)
    pairs, placed = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    scale(pairs, weight_cells(pairs, view.pairs[0], _gap(length)))
    label_axes(pairs, inches=side)
    caption(pairs, [f"{view.reading}: how much position i has in common with position j", *notes])
    weight_cells(placed, vectors, _gap(max(length, width)))
    label_axes(placed, inches=min(side, across))
    placed.set(xlabel="component", ylabel="position", aspect="auto")
    caption(placed, ["the vectors themselves"])
    return figure


def _heads_picture(view: PositionView, notes: list[str]) -> Figure:
    shown = view.pairs[:8]
    length = shown.shape[-1]
    side = 2.6
    across = min(len(shown), 4)
    down = -(-len(shown) // across)
    figure = new_figure(across * (side + 0.35) + 1.2, down * (side + 0.55) + 0.6)
    limits = float(shown.min()), float(shown.max())
    axes = [figure.add_subplot(down, across, index + 1) for index in range(len(shown))]
    for head, (ax, pairs) in enumerate(zip(axes, shown, strict=True)):
        mesh = weight_cells(ax, pairs, _gap(length), limits)
        label_axes(ax, inches=side * 0.8)
        if head % across:
            ax.set(ylabel="", yticks=[])
        reach = f"{short(float(pairs.min()))} … {short(float(pairs.max()))}"
        caption(ax, [f"head {head + 1}:  {reach}", *(notes if head == (down - 1) * across else [])])
    scale(axes[across - 1], mesh)
    return figure


def _distances_picture(view: PositionView, notes: list[str]) -> Figure:
    length = view.pairs.shape[-1]
    side = _side(length, length)
    figure = new_figure(side * 2 + 2.0, side + 1.0)
    grid = figure.add_gridspec(1, 2, width_ratios=(1, 1), wspace=0.08)
    pairs, line = figure.add_subplot(grid[0]), figure.add_subplot(grid[1])
    scale(pairs, weight_cells(pairs, view.pairs[0], _gap(length)))
    label_axes(pairs, inches=side)
    caption(pairs, [view.reading, *notes])
    apart, means = by_distance(view.pairs[0])
    curves(line, apart, {"mean": means}, marked=False)
    plain_axes(line)
    line.axvline(0, color=QUIET, linewidth=0.6, zorder=1)
    line.set_box_aspect(0.6)
    line.set_anchor("NW")
    line.set_xlabel("key − query", color=QUIET, fontsize=8.5, labelpad=6)
    line.set_title("mean by distance", loc="left", color=QUIET, fontsize=8.5, pad=8)
    return figure


def _canvas(matrix: Array, rows: Sequence[str] | None) -> tuple[Figure, Axes]:
    """A figure in which a matrix of this size, with these names beside it, can be read."""
    height, width = matrix.shape
    longest = max(height, width)
    cell = 0.44 if longest <= 16 else max(0.2, 7.0 / longest) if longest <= 64 else 12.0 / longest
    names = 0.07 * max((len(spelled(token)) for token in rows), default=0) if rows else 0.3
    figure = new_figure(max(width * cell, 1.2) + names + 0.8, max(height * cell, 0.5) + 1.2)
    return figure, figure.add_subplot()


def _side(*lengths: int) -> float:
    """The side in inches of a square picture of so many cells."""
    return float(np.clip(max(lengths) * 0.22, 2.4, 5.2))


def _gap(length: int) -> float:
    return 1.0 if length <= 24 else 0.5


def _title(ax: Axes, text: str) -> None:
    if text:
        ax.set_title(text, loc="left", fontsize=11.5, color=INK, fontweight="bold", pad=10)
