"""The attention blocks of the Set Transformer.

    MAB(X, Y)  = norm(H + relu(W H)),  H = norm(X + attention(X, Y, Y))
    SAB(X)     = MAB(X, X)                          every element attends to every other: n² pairs
    ISAB(X)    = MAB(X, MAB(I, X))                  by way of m induced points I, which are learned: n·m pairs
    PMA(X)     = MAB(S, relu(W X))                  k learned seeds S attend to the set, which pools it

Lee et al., 2019, https://arxiv.org/abs/1810.00825. None of them knows an order: SAB and ISAB commute with permutations
of the set, PMA does not see them. What `keep` leaves out, padding, is seen by nobody.

With softmax, PMA reads a weighted mean: a set and the same set twice over are one to it. With `normalizer = "sigmoid"`
it reads a weighted sum, which grows with the set, so that sums and counts can be told.
"""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention.multihead import Attention

SetNorm = Literal["layer", "none"]


class AttentionBlock(nn.Module):
    """MAB: the elements of one set attend to those of another."""

    def __init__(self, width: int, heads: int, norm: SetNorm = "layer", normalizer: Any = "softmax") -> None:
        super().__init__()
        self.attention = Attention(heads=heads, normalizer=normalizer).build(width, width)
        self.feed = nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) if norm == "layer" else nn.Identity() for _ in range(2))

    def forward(
        self,
        x: Float[Tensor, "batch query width"],
        source: Float[Tensor, "batch key width"],
        keep: Bool[Tensor, "batch key"] | None = None,
    ) -> Float[Tensor, "batch query width"]:
        """MAB(x, source); `keep` says which elements of the source are no padding."""
        seen = None if keep is None else keep[:, None, None]
        hidden = self.norms[0](x + self.attention(x, source, keep=seen))
        output: Tensor = self.norms[1](hidden + self.feed(hidden).relu())
        return output


class SelfAttentionBlock(nn.Module):
    """SAB: the elements of a set attend to each other."""

    def __init__(self, width: int, heads: int, norm: SetNorm = "layer") -> None:
        super().__init__()
        self.block = AttentionBlock(width, heads, norm)

    def forward(
        self, x: Float[Tensor, "batch size width"], keep: Bool[Tensor, "batch size"] | None = None
    ) -> Float[Tensor, "batch size width"]:
        """SAB(x)."""
        output: Tensor = self.block(x, x, keep)
        return output


class InducedBlock(nn.Module):
    """ISAB: the elements of a set attend to each other by way of a few induced points."""

    def __init__(self, width: int, heads: int, points: int, norm: SetNorm = "layer") -> None:
        super().__init__()
        self.points = nn.Parameter(torch.empty(points, width))
        nn.init.xavier_uniform_(self.points)
        self.gather, self.spread = (AttentionBlock(width, heads, norm) for _ in range(2))

    def forward(
        self, x: Float[Tensor, "batch size width"], keep: Bool[Tensor, "batch size"] | None = None
    ) -> Float[Tensor, "batch size width"]:
        """ISAB(x); the induced points see no padding."""
        output: Tensor = self.spread(x, self.gather(self.points.expand(len(x), -1, -1), x, keep))
        return output


class AttentionPooling(nn.Module):
    """PMA: learned seeds attend to a set."""

    def __init__(
        self, width: int, heads: int, seeds: int = 1, norm: SetNorm = "layer", normalizer: Any = "softmax"
    ) -> None:
        super().__init__()
        self.seeds = nn.Parameter(torch.empty(seeds, width))
        nn.init.xavier_uniform_(self.seeds)
        self.feed = nn.Linear(width, width)
        self.block = AttentionBlock(width, heads, norm, normalizer)

    def forward(
        self, x: Float[Tensor, "batch size width"], keep: Bool[Tensor, "batch size"] | None = None
    ) -> Float[Tensor, "batch seeds width"]:
        """PMA(x); of an empty set the seeds read zeros."""
        output: Tensor = self.block(self.seeds.expand(len(x), -1, -1), self.feed(x).relu(), keep)
        return output
