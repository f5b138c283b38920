"""RoPE: (x₁, x₂) at position i ↦ (x₁ cos iθ - x₂ sin iθ, x₁ sin iθ + x₂ cos iθ), for pairs with θ_j = base^(-2j/d)

Rotating query and key by their positions makes their dot product depend on the distance alone.
Su et al., RoFormer, 2021, https://arxiv.org/abs/2104.09864
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from regard.attention.position import Position, Role
from regard.base.errors import ConfigError, ShapeError, check_one_of

_ROWS = 256
_KEPT = 2**15
"""positions up to here are looked up in a table, which grows by _ROWS"""


@dataclass(frozen=True)
class Rotary(Position):
    """Rotary embedding: queries and keys are rotated by an angle proportional to their position."""

    base: float = 10_000.0
    """the longest wavelength is about 2π · base positions"""
    pairs: Literal["halves", "neighbors"] = "halves"
    """dimension j is paired with j + d/2, or with j + 1"""
    share: float = 1.0
    """the share of each head's dimensions that is rotated"""
    relative = True

    def __post_init__(self) -> None:
        check_one_of("rotary", ("halves", "neighbors"), pairs=self.pairs)
        if not 0 < self.share <= 1:
            raise ConfigError(f"rotary: share must be above 0 and at most 1, but is {self.share}")

    def place(self, vectors: Tensor, at: Tensor, role: Role) -> Tensor:
        if role not in ("query", "key"):
            return vectors
        width = int(vectors.shape[-1])
        turned = round(width * self.share)
        if turned % 2:
            raise ShapeError(f"rotary: turns pairs, but {turned} of the head's {width} dimensions are to be turned")
        cos, sin = self._waves(at, turned, vectors)
        own = vectors[..., :turned]
        if self.pairs == "halves":
            left, right = own.chunk(2, dim=-1)
            made = (own * cos).addcmul_(torch.cat([right, left], dim=-1), sin)
        else:
            left, right = own[..., ::2], own[..., 1::2]
            made = torch.stack([left * cos - right * sin, left * sin + right * cos], dim=-1).flatten(-2)
        return made if turned == width else torch.cat([made, vectors[..., turned:]], dim=-1)

    def waves(self, at: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Cos and sin of the angles of positions, each [*positions, width / 2]."""
        return _turned(at, width, self.base)

    def _waves(self, at: Tensor, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Cos and sin of each position's angles; on a CPU, those of the first positions are kept for all layers.

        Where halves are paired, each has as many numbers as are turned: cos, cos and -sin, sin.
        """
        if at.dim() == 1 and at.numel() and at.device.type == "cpu" and not at.is_floating_point() and not _traced():
            first, last = (int(one) for one in torch.aminmax(at))
            if first >= 0 and last < _KEPT:
                rows = last + 1 + -(last + 1) % _ROWS
                cos, sin = _table(rows, width, self.base, self.pairs == "halves", like.dtype)
                return cos[at], sin[at]
        cos, sin = self.waves(at, width)
        if self.pairs == "halves":
            cos, sin = _for_halves(cos, sin)
        if cos.dim() == 3:  # a place for the heads
            cos, sin = cos[:, None], sin[:, None]
        return cos.to(like), sin.to(like)


def _traced() -> bool:
    """Whether the program is being recorded, where a position must not become a constant."""
    return torch.compiler.is_compiling() or bool(torch._C._get_tracing_state())


def _turned(at: Tensor, width: int, base: float) -> tuple[Tensor, Tensor]:
    speeds = base ** (-torch.arange(0, width, 2, device=at.device, dtype=torch.float64) / width)
    angles = at.unsqueeze(-1).double() * speeds
    return angles.cos(), angles.sin()


def _for_halves(cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)


@lru_cache(maxsize=64)
def _table(rows: int, width: int, base: float, halves: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The waves of the first positions."""
    with torch.inference_mode(False):
        cos, sin = _turned(torch.arange(rows), width, base)
        return tuple(one.to(dtype) for one in (_for_halves(cos, sin) if halves else (cos, sin)))  # type: ignore[return-value]
