"""bias(i, j) = (uᵀk_j + (q_i + v)ᵀ W r(i - j)) / √d, with r the sinusoidal vector of a distance

Together with the scaled dot product qᵀk/√d these are the four terms of Dai et al., Transformer-XL, 2019,
https://arxiv.org/abs/1901.02860. (q_i + v)ᵀ W r is computed once for each distance and shifted into place row by row:
no vector is held for each pair.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.part import PerHead, Sizes
from regard.attention.position import Bias, Waves, distances, sinusoid
from regard.base.errors import ConfigError, check_one_of


@dataclass(frozen=True)
class TransformerXL(Bias):
    """Transformer-XL's relative positions: a learned score between the query and the distance."""

    scale: float | None = None
    """the scale of the score; by default 1/√width"""
    waves: Waves = "turns"
    """whether sines and cosines stand by turns, or all sines before all cosines (halves, as in XLNet's files)"""
    relative = True

    def __post_init__(self) -> None:
        check_one_of("transformer_xl", ("turns", "halves"), waves=self.waves)

    def build(self, sizes: Sizes) -> "DistanceWeights":
        if sizes.query_width != sizes.key_width:
            raise ConfigError(
                "transformer_xl: queries and keys must have one width, "
                f"but have {sizes.query_width} and {sizes.key_width}"
            )
        return DistanceWeights(sizes.heads, sizes.query_width, sizes.width, self.scale, self.waves)


class DistanceWeights(PerHead, Bias):
    """u and v, [heads, width of a head], and W, [heads, width, width of a head]."""

    relative = True

    def __init__(
        self, heads: int, head_width: int, width: int, scale: float | None = None, waves: Waves = "turns"
    ) -> None:
        super().__init__()
        self.waves = waves
        self.scale = head_width**-0.5 if scale is None else scale
        self.content = nn.Parameter(torch.empty(heads, head_width).normal_(std=0.02))
        self.position = nn.Parameter(torch.empty(heads, head_width).normal_(std=0.02))
        self.weight = nn.Parameter(torch.empty(heads, width, head_width).normal_(std=width**-0.5))

    def forward(self, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        if not (query_at.numel() and key_at.numel()):
            return query.new_zeros(())
        nearest, farthest = int(query_at.min() - key_at.max()), int(query_at.max() - key_at.min())
        span = torch.arange(farthest, nearest - 1, -1, device=query.device)
        known = sinusoid(span, self.weight.shape[1], waves=self.waves).to(query) @ self.weight
        wanted = (query + self.position[:, None]) @ known.mT
        if _runs(query_at) and _runs(key_at):
            by_distance = shifted(wanted, key.shape[2])
        else:
            apart = farthest - distances(query_at, key_at)
            by_distance = wanted.gather(-1, apart.expand(*wanted.shape[:3], key.shape[2]))
        return (by_distance + (key @ self.content.unsqueeze(-1)).mT) * self.scale


def shifted(wanted: Float[Tensor, "batch heads query span"], keys: int) -> Float[Tensor, "batch heads query keys"]:
    """Row i of the result begins at column (queries - 1 - i): the relative shift, by views alone."""
    queries, span = wanted.shape[2:]
    if queries == 1:
        return wanted
    flat = wanted.flatten(2)[..., queries - 1 : queries - 1 + queries * (span - 1)]
    return flat.unflatten(2, (queries, span - 1))[..., :keys]


def _runs(at: Int[Tensor, "*batch positions"]) -> bool:
    """Whether the positions are of all sequences alike, one after the other."""
    return at.dim() == 1 and bool((at[1:] - at[:-1] == 1).all())
