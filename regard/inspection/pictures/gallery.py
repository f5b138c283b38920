"""The gallery: a sheet of small pictures, one for each mask, position and normalizer.

Members are found in their folders. Required settings are filled in by their type;
a member that needs a tensor is left out.
"""

import dataclasses
import math
import textwrap
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from regard.attention.mask import MASKS
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS
from regard.base.catalog import Catalog
from regard.base.errors import RegardError
from regard.inspection.pictures.panels import bars, mask_cells, short, weight_cells
from regard.inspection.pictures.style import INK, LINE, LINES, QUIET, finish, new_figure
from regard.inspection.pictures.views import Array, sizes_of, view_mask, view_normalizer, view_position

COMPOSED = {
    "Local": "causal & window(4)",
    "Sparse Transformer": "causal & (window(4) | strided(4))",
    "Longformer": "window(3) | global_tokens(1)",
    "Big Bird": "window(2) | global_tokens(2) | random_blocks(2, 1, 16)",
    "Dilated": "window(8) & strided(2)",
    "Chunks": "causal & tiles(4)",
    "Swin, shifted": "tiles(2, shift=1, columns=4)",
    "All but oneself": "~window(1)",
}
"""well-known masks that are compositions of others"""

_SIDE, _GAP, _WORDS, _HEAD, _TOP = 1.55, 0.36, 0.8, 0.76, 1.45
"""inches: a tile, the space beside it, the words under it, a section's heading, the title"""
_MASK_LENGTH = 16
_POSITION_LENGTH = 36
_LOGITS = np.linspace(-2, 2, 17)


@dataclass(frozen=True)
class Tile:
    """One small picture."""

    name: str
    text: str
    draw: Callable[[Axes], object]


@dataclass(frozen=True)
class Section:
    """Pictures of one kind."""

    name: str
    text: str
    command: str
    """how to draw one of them large"""
    tiles: list[Tile]


def sections() -> list[Section]:
    """The sections of the gallery."""
    composed = 'regard draw mask "causal & window(4)"'
    places = "what a pair’s places add to its logit; learned ones before training"
    return [
        Section("Masks", "who may look where: queries go down, keys across", "regard draw mask causal", _mask_tiles()),
        Section("Composed", "masks joined with & | and ~", composed, _composed_tiles()),
        Section("Positions", places, "regard draw positions rotary", _position_tiles()),
        Section(
            "Normalizers",
            "the weights that evenly rising logits get",
            "regard draw normalizer softmax sparsemax",
            _normalizer_tiles(),
        ),
    ]


def sample_member(catalog: Catalog, name: str, length: int) -> tuple[str, Any] | None:
    """A member as written in a config, and the part itself; None if it needs a tensor or refuses its settings."""
    known = {"length": length, "count": 2, "rows": math.isqrt(length), "columns": math.isqrt(length)}
    member = catalog.get(name)
    hints = typing.get_type_hints(member)
    settings: dict[str, Any] = {}
    for field in dataclasses.fields(member):
        if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            hint = hints[field.name]
            if hint == tuple[int, ...]:
                settings[field.name] = tuple(
                    torch.randperm(length, generator=torch.Generator().manual_seed(0)).tolist()
                )
            elif hint is int or int in typing.get_args(hint):
                settings[field.name] = known.get(field.name, 4)
            elif hint is float:
                settings[field.name] = 0.5
            else:
                return None
    try:
        part = catalog.make({"name": name, **settings})
    except RegardError:
        return None
    written = ", ".join("…" if isinstance(value, tuple) else str(value) for value in settings.values())
    return (f"{name}({written})" if written else name), part


def gallery_picture(shown: list[Section], columns: int = 8) -> Figure:
    """The sheet with all tiles."""
    rows = [-(-len(section.tiles) // columns) for section in shown]
    width = columns * (_SIDE + _GAP) - _GAP
    height = _TOP + sum(_HEAD + count * (_SIDE + _WORDS) for count in rows)
    figure = new_figure(width, height, layout=None)
    sheet = _Sheet(figure, width, height)
    sheet.write(0, 0.3, "Regard", size=26, weight="bold")
    sheet.write(0, 0.7, "output  =  normalizer( score(query, key) + bias,  keep )  @  value", size=11, color=QUIET)
    above = _TOP
    for section, count in zip(shown, rows, strict=True):
        sheet.rule(above - 0.36)
        sheet.write(0, above, section.name, size=13, weight="bold")
        sheet.write(_SIDE + _GAP, above, section.text, size=9.5, color=QUIET)
        sheet.write(width, above, section.command, size=9.5, color=LINES[0], align="right")
        for index, tile in enumerate(section.tiles):
            down, across = divmod(index, columns)
            _put(sheet, tile, across * (_SIDE + _GAP), above + 0.26 + down * (_SIDE + _WORDS))
        above += _HEAD + count * (_SIDE + _WORDS)
    return finish(figure)


@dataclass(frozen=True)
class _Sheet:
    """A figure that is measured in inches from its upper left corner."""

    figure: Figure
    width: float
    height: float

    def write(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        color: str = INK,
        weight: str = "normal",
        align: str = "left",
    ) -> None:
        place = x / self.width, 1 - y / self.height
        self.figure.text(*place, text, fontsize=size, color=color, fontweight=weight, ha=align, va="baseline")

    def rule(self, y: float) -> None:
        height = 1 - y / self.height
        self.figure.add_artist(Line2D([0, 1], [height, height], color=LINE, linewidth=0.8))

    def axes(self, x: float, y: float, side: float) -> Axes:
        lower = 1 - (y + side) / self.height
        return self.figure.add_axes((x / self.width, lower, side / self.width, side / self.height))


def _put(sheet: _Sheet, tile: Tile, x: float, y: float) -> None:
    ax = sheet.axes(x, y, _SIDE)
    tile.draw(ax)
    ax.set_xticks([])
    ax.set_yticks([])
    sheet.write(x, y + _SIDE + 0.2, tile.name, size=9, weight="bold")
    lines = textwrap.wrap(tile.text, 30, max_lines=3, placeholder=" …", break_long_words=False)
    for number, line in enumerate(lines):
        sheet.write(x, y + _SIDE + 0.36 + 0.135 * number, line, size=7.2, color=QUIET)


def _mask_tiles() -> list[Tile]:
    tiles = []
    for name in MASKS.names:
        found = sample_member(MASKS, name, _MASK_LENGTH)
        if found:
            keep = view_mask(found[1], _MASK_LENGTH)[0]
            tiles.append(Tile(found[0], _about(found[1]), partial(mask_cells, keep=keep, gap=0.6)))
    return tiles


def _composed_tiles() -> list[Tile]:
    tiles = []
    for name, written in COMPOSED.items():
        keep = view_mask(MASKS.make(written), _MASK_LENGTH)[0]
        tiles.append(Tile(name, written, partial(mask_cells, keep=keep, gap=0.6)))
    return tiles


def _position_tiles() -> list[Tile]:
    tiles = []
    for name in POSITIONS.names:
        found = sample_member(POSITIONS, name, _POSITION_LENGTH)
        if found:
            pairs = view_position(found[1], _POSITION_LENGTH, sizes_of(width=32, heads=4)).pairs[0]
            tiles.append(Tile(found[0], _about(found[1]), partial(weight_cells, weights=pairs, gap=0)))
    return tiles


def _normalizer_tiles() -> list[Tile]:
    tiles = [Tile("the logits", "one query, seventeen keys", partial(bars, values=_LOGITS, color=QUIET))]
    for name in NORMALIZERS.names:
        found = sample_member(NORMALIZERS, name, len(_LOGITS))
        if found:
            weights = view_normalizer(found[1], _LOGITS)
            tiles.append(Tile(found[0], _about(found[1]), partial(_weights_bars, weights=weights)))
    return tiles


def _weights_bars(ax: Axes, weights: Array) -> None:
    bars(ax, weights, LINES[0])
    ax.text(
        0.0, 0.98, f"up to {short(float(weights.max()))}", transform=ax.transAxes, va="top", fontsize=8, color=QUIET
    )


def _about(part: object) -> str:
    """The first line of a part's docstring."""
    return (type(part).__doc__ or "").strip().partition("\n")[0].replace("`", "")
