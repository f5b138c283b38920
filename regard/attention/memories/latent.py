"""key'(s) = Σ_t w(s, t) key(t), value'(s) = Σ_t w(s, t) value(t), w(s, ·) = softmax_t(latent(s) · key(t) / √d)

A few learned queries attend to all that is written; later queries read their outputs. Lee et al., Set
Transformer, 2019, https://arxiv.org/abs/1810.00825; Jaegle et al., Perceiver, 2021,
https://arxiv.org/abs/2103.03206. The softmax is an online softmax, so pairs may come one by one.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from regard.attention.memory import Memory, MixedMemory, nothing_written
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Latent(MixedMemory):
    """`slots` keys and values that learned queries read from all that was written, whatever its length."""

    slots: int
    """the number of learned queries that read what was written"""

    def __post_init__(self) -> None:
        check_at_least("latent", 1, slots=self.slots)

    def build(self, sizes: Sizes) -> "LatentQueries":
        return LatentQueries(sizes.key_heads, self.slots, sizes.key_width)


class LatentQueries(nn.Module, MixedMemory):
    """The learned queries, [heads, slots, width]."""

    def __init__(self, heads: int, slots: int, width: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.empty(heads, slots, width).normal_())

    def start(self, reading: Reading) -> Memory:
        return _Latent(self.queries)


@dataclass(frozen=True, eq=False)
class _Latent(MixedMemory):
    queries: Tensor
    length: int = 0
    highest: Tensor | None = None
    """the highest logit so far, [batch, heads, slots, 1]"""
    total: Tensor | None = None
    """Σ exp(logit - highest), [batch, heads, slots, 1]"""
    pairs: Tensor | None = None
    """Σ exp(logit - highest) [key; value], [batch, heads, slots, width]"""

    def extend(self, key: Tensor, value: Tensor, keep: Tensor | None = None) -> Self:
        if key.shape[2] == 0:
            return self
        logits = self.queries @ key.mT * self.queries.shape[-1] ** -0.5
        if keep is not None:
            logits = logits.masked_fill(~keep[:, None, None], torch.finfo(logits.dtype).min)
        highest = logits.detach().amax(-1, keepdim=True)
        if self.highest is not None:
            highest = torch.maximum(highest, self.highest)
        shares = (logits - highest).exp()
        if keep is not None:
            shares = shares.masked_fill(~keep[:, None, None], 0.0)
        total, pairs = shares.sum(-1, keepdim=True), shares @ torch.cat([key, value], dim=-1)
        if self.highest is not None:
            before = (self.highest - highest).exp()
            total, pairs = total + self.total * before, pairs + self.pairs * before
        return replace(self, length=self.length + key.shape[2], highest=highest, total=total, pairs=pairs)

    def blended(self) -> tuple[Tensor, Tensor]:
        if self.total is None or self.pairs is None:
            raise nothing_written(self)
        width = self.queries.shape[-1]
        pairs = self.pairs / self.total.masked_fill(self.total == 0, 1.0)
        return pairs[..., :width], pairs[..., width:]

    def reorder(self, batch: Tensor) -> Self:
        highest, total, pairs = (
            None if tensor is None else tensor[batch] for tensor in (self.highest, self.total, self.pairs)
        )
        return replace(self, highest=highest, total=total, pairs=pairs)
