"""Two views of each example, for contrastive learning: the same signal or picture, changed at random.

What is drawn follows from seed, epoch and batch alone, so that a resumed run sees the same views.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least, check_one_of


@dataclass(frozen=True)
class ViewBatch:
    """Two views of each example."""

    first: Float[Tensor, "batch numbers"]
    second: Float[Tensor, "batch numbers"]

    @property
    def count(self) -> int:
        """The number of examples."""
        return len(self.first)

    @property
    def size(self) -> int:
        """The number of examples; none of them is padding."""
        return len(self.first)

    def to(self, device: torch.device | str) -> "ViewBatch":
        """The same batch on another device."""
        return ViewBatch(self.first.to(device), self.second.to(device))

    def shares(self, count: int) -> list["ViewBatch"]:
        """A batch cannot be split: every example is compared with every other."""
        return [self]


@dataclass(frozen=True, kw_only=True)
class Viewing:
    """How a view differs from its example; every view draws its own amounts."""

    shift: float = 0.15
    """moved along each axis by at most this share of its length"""
    edges: Literal["zeros", "wrapped"] = "zeros"
    """what comes in where an example is moved: zeros, or what goes out at the other end"""
    stretch: float = 0.2
    """stretched or shrunk along each axis by at most this share"""
    gain: float = 0.2
    """multiplied by a factor between 1 - gain and 1 + gain"""
    noise: float = 0.1
    """the standard deviation of the noise that is added"""
    mask: float = 0.1
    """the share of a stretch, in each axis, that is set to zero"""
    tilt: float = 0.0
    """a straight line is added along each axis, from one end to the other at most this much up or down"""
    trend: Literal["kept", "removed"] = "kept"
    """removed: the straight line that fits an example best along each axis is taken from it before it is moved"""

    def __post_init__(self) -> None:
        check_one_of("views", ("zeros", "wrapped"), edges=self.edges)
        check_one_of("views", ("kept", "removed"), trend=self.trend)
        check_at_least("views", 0, shift=self.shift, gain=self.gain, noise=self.noise, mask=self.mask, tilt=self.tilt)
        if not 0 <= self.stretch < 1 or not self.mask < 1:
            raise ConfigError(f"views: stretch ({self.stretch}) and mask ({self.mask}) must be below 1")

    def __call__(
        self, rows: NDArray[np.float32], shape: tuple[int, ...], draw: np.random.Generator
    ) -> NDArray[np.float32]:
        """A view of each row, which has this shape: a signal or a picture."""
        if len(shape) not in (1, 2):
            raise ConfigError(f"views: examples must be signals or pictures of one channel, but have {list(shape)}")
        moved, count = rows.reshape(-1, *shape), len(rows)
        for axis, length in enumerate(shape, start=1):
            if self.trend == "removed":
                moved = _leveled(moved, axis)
            moved = self._moved(moved, axis, length, draw)
        factor = 1 + self.gain * draw.uniform(-1, 1, (count, 1))
        changed = moved.reshape(count, -1) * factor + self.noise * draw.normal(size=(count, moved[0].size))
        return changed.astype(np.float32)

    def _moved(self, rows: NDArray[Any], axis: int, length: int, draw: np.random.Generator) -> NDArray[Any]:
        """Rows shifted and stretched along an axis, by linear interpolation, and a stretch of it set to zero."""
        count = len(rows)
        scale = 1 + self.stretch * draw.uniform(-1, 1, (count, 1))
        away = self.shift * length * draw.uniform(-1, 1, (count, 1))
        at = (np.arange(length) - (length - 1) / 2) / scale + (length - 1) / 2 - away
        low = np.floor(at).astype(np.int64)
        part, places = at - low, (low, low + 1)
        if self.edges == "wrapped":
            places = (low % length, (low + 1) % length)
        inside = [(place >= 0) & (place < length) for place in places]
        sides = [np.where(within, share, 0.0) for within, share in zip(inside, (1 - part, part), strict=True)]
        if self.mask:
            first = draw.integers(0, length, (count, 1))
            hidden = (np.arange(length) - first) % length < round(self.mask * length)
            sides = [np.where(hidden, 0.0, side) for side in sides]
        turned = np.moveaxis(rows, axis, 1)
        spread = (slice(None), slice(None), *[None] * (turned.ndim - 2))
        row = np.arange(count)[:, None]
        both = zip(places, sides, strict=True)
        made = sum(turned[row, place.clip(0, length - 1)] * side[spread] for place, side in both)
        if self.tilt:
            line = self.tilt * draw.uniform(-1, 1, (count, 1)) * np.linspace(-0.5, 0.5, length)
            made = made + line[spread]
        return np.moveaxis(np.asarray(made), 1, axis)


def _leveled(rows: NDArray[Any], axis: int) -> NDArray[Any]:
    """Rows without their slope along an axis, x - b t with b = Σ t x / Σ t² and t centered; their mean stays."""
    turned = np.moveaxis(rows, axis, 1)
    along = np.arange(turned.shape[1]) - (turned.shape[1] - 1) / 2
    across = turned.reshape(*turned.shape[:2], -1).mean(2)
    slopes = across @ along / max(float(along @ along), 1e-12)
    line = (slopes[:, None] * along).reshape(*turned.shape[:2], *[1] * (turned.ndim - 2))
    return np.moveaxis(turned - line, 1, axis)
