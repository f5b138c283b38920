"""Sprites: a shape in a small picture, made from known factors: shape, size, angle, x and y, as in dSprites.

Every combination of the factors comes once. A pixel is the share of it that the shape covers. After Matthey et al.,
2017, https://github.com/google-deepmind/dsprites-dataset
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from regard.base.errors import check_at_least
from regard.base.files import replacing
from regard.data.number_rows import RowSet, RowSource

_SHAPES = ("square", "ellipse", "triangle")
_NUMBERS = dict(enumerate("one two three four five six seven eight nine ten".split()))
_FINE = 3
"""points along each side of a pixel at which it is looked up"""


@dataclass(frozen=True)
class Sprites(RowSource):
    """All pictures of a square, an ellipse and a triangle, in some sizes, angles and places."""

    side: int = 16
    """the pixels of each side of a picture"""
    sizes: int = 3
    """how many sizes there are"""
    angles: int = 8
    """how many angles there are, of a whole turn"""
    places: int = 8
    """how many places there are along each axis"""

    names: ClassVar[tuple[str, ...]] = ("shape", "size", "angle", "x", "y")

    def __post_init__(self) -> None:
        check_at_least("sprites", 1, sizes=self.sizes, angles=self.angles, places=self.places)
        check_at_least("sprites", 8, side=self.side)

    def rows(self) -> RowSet:
        return _made(self)

    def captions(self) -> tuple[str, ...]:
        """Shape, size and place in words; not the angle, by which a square looks the same after a quarter of a turn."""
        found = self.rows().factors
        return () if found is None else tuple(map(self._caption, found.tolist()))

    def _caption(self, factors: list[int]) -> str:
        shape, size, _, x, y = factors
        sized = "small" if size == 0 and self.sizes > 1 else "large" if size == self.sizes - 1 else "middling"
        column = chr(ord("A") + x) if x < 26 else str(x + 1)
        return f"a {sized} {_SHAPES[shape]} in column {column} of row {_NUMBERS.get(y, y + 1)}"


@cache
def _made(how: Sprites) -> RowSet:
    counts = (3, how.sizes, how.angles, how.places, how.places)
    factors = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), -1).reshape(-1, 5)
    fine = (np.arange(how.side * _FINE) + 0.5) / (how.side * _FINE)
    pictures = np.concatenate(
        [_drawn(part, how, fine) for part in np.array_split(factors, max(1, len(factors) // 512))]
    )
    return RowSet(pictures, (how.side, how.side), factors[:, 0], factors.astype(np.int64), how.names)


def _drawn(factors: np.ndarray, how: Sprites, fine: np.ndarray) -> np.ndarray:
    """Pictures [examples, side²] of these factors."""
    shape, size, angle, x, y = (column[:, None, None] for column in factors.T)
    radius = 0.1 + 0.1 * (size / max(1, how.sizes - 1))
    turn = 2 * np.pi * angle / how.angles
    middle_x, middle_y = (0.25 + 0.5 * at / max(1, how.places - 1) for at in (x, y))
    across, down = (fine[None, None, :] - middle_x) / radius, (fine[None, :, None] - middle_y) / radius
    u = across * np.cos(turn) + down * np.sin(turn)
    v = down * np.cos(turn) - across * np.sin(turn)
    square = (np.abs(u) <= 0.8) & (np.abs(v) <= 0.8)
    ellipse = u**2 + (v / 0.55) ** 2 <= 1
    triangle = (v >= -0.6) & (np.abs(u) <= (1.0 - v) * 0.62)
    inside = np.where(shape == 0, square, np.where(shape == 1, ellipse, triangle)).astype(np.float32)
    cells = inside.reshape(len(factors), how.side, _FINE, how.side, _FINE).mean((2, 4))
    return cells.reshape(len(factors), -1)


def write_sprites(path: Path, how: Sprites = Sprites()) -> None:  # noqa: B008 a frozen value
    """Write all sprites with their factors, for `regard embed`, `probe` and `represent`."""
    found = how.rows()
    named: dict[str, Any] = {"factors": found.factors, "factor_names": np.array(how.names), "labels": found.labels}
    with replacing(path) as file:
        np.savez_compressed(file, inputs=found.inputs.reshape(-1, *found.shape), **named)
