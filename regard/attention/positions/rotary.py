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
        if self.pairs == "halves":
            left, right = vectors[..., :turned].chunk(2, dim=-1)
            parts = [left * cos - right * sin, left * sin + right * cos]
        else:
            left, right = vectors[..., :turned:2], vectors[..., 1:turned:2]
            both = torch.stack([left * cos - right * sin, left * sin + right * cos], dim=-1)
            parts = [both.flatten(-2)]
        return torch.cat([*parts, vectors[..., turned:]], dim=-1)

    def _waves(self, at: Tensor, width: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Cos and sin of each position's angles; those of one position, a decoding step, are kept for all layers."""
        if at.shape == (1,) and at.device.type == "cpu" and not _traced():
            return _waves_at(int(at), width, self.base, like.dtype, like.device)
        cos, sin = _turned(at, width, self.base)
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


@lru_cache(maxsize=4096)
def _waves_at(at: int, width: int, base: float, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    with torch.inference_mode(False):
        cos, sin = _turned(torch.tensor([at]), width, base)
        return cos.to(device, dtype), sin.to(device, dtype)
