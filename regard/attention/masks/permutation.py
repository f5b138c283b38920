"""keep(i, j) = rank(j) ≤ rank(i), or < where `strict`; rank is the index in the order

Any order of generating a sequence. Yang et al., XLNet, 2019, https://arxiv.org/abs/1906.08237: the
content stream is not strict, the query stream is.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.base.errors import ConfigError, ShapeError


@dataclass(frozen=True)
class Permutation(Mask):
    """A position may attend to what precedes it in the order, and to itself unless `strict`."""

    order: tuple[int, ...]
    """the positions in the order of generation"""
    strict: bool = False
    """a position does not attend to itself"""

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.order))):
            raise ConfigError(
                f"permutation: order must hold each of 0 … {len(self.order) - 1} once, but is {list(self.order)}"
            )

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        for name, at in (("query", rows), ("key", columns)):
            if at.numel() and int(at.max()) >= len(self.order):
                raise ShapeError(
                    f"permutation: a {name} stands at {int(at.max())}, but the order has {len(self.order)} positions"
                )
        rank = torch.tensor(self.order, device=rows.device).argsort()
        return rank[columns] < rank[rows] if self.strict else rank[columns] <= rank[rows]
