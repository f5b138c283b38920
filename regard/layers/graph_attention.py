"""Graph attention: what GAT and GATv2 share. Each node attends to itself and to the nodes that have an edge to it."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.attention.score import Score
from regard.base.errors import ConfigError, check_at_least
from regard.layers.dropout import check_share
from regard.layers.message import Merge, Message, Neighbors


@dataclass(frozen=True)
class GraphHeads(Message):
    """Settings of graph attention."""

    heads: int = 1
    """the number of attention heads"""
    dropout: float = 0.0
    """dropout of attention weights, that is, of edges"""

    def __post_init__(self) -> None:
        where = type(self).__name__.lower()
        check_at_least(where, 1, heads=self.heads)
        check_share(f"{where}: dropout", self.dropout)

    @property
    @abstractmethod
    def score(self) -> Score:
        """How queries and keys are compared."""


class GraphAttention(nn.Module):
    """Attention heads, whose outputs are put side by side (each of width / heads) or averaged (each of full width)."""

    def __init__(self, design: GraphHeads, output_width: int, merge: Merge) -> None:
        super().__init__()
        self.heads, self.merge = design.heads, merge
        self.each = output_width if merge == "mean" else _part(output_width, design.heads)
        sizes = Sizes(
            width=output_width,
            heads=self.heads,
            key_heads=self.heads,
            query_width=self.each,
            key_width=self.each,
            value_width=self.each,
        )
        self.reading = Reading(design.score.build(sizes), Softmax(), dropout=design.dropout)
        self.bias = nn.Parameter(torch.zeros(output_width))

    @abstractmethod
    def sides(self, x: Tensor) -> tuple[Float[Tensor, "nodes all_heads"], Float[Tensor, "nodes all_heads"]]:
        """The queries, and the keys, which are also the values."""

    def forward(self, x: Float[Tensor, "nodes width"], neighbors: Neighbors) -> Float[Tensor, "nodes output_width"]:
        """The formula; `record` sees the attention weights as [1, heads, nodes, nodes]."""
        query, key = (self._split(side) for side in self.sides(x))
        heads = self.reading(query, key, key, mask=neighbors.seen)[0].transpose(0, 1)
        merged: Tensor = heads.mean(1) if self.merge == "mean" else heads.flatten(1)
        return merged + self.bias

    def _split(self, side: Tensor) -> Float[Tensor, "1 heads nodes each"]:
        return side.unflatten(1, (self.heads, self.each)).transpose(0, 1)[None]


def _part(width: int, heads: int) -> int:
    if width % heads:
        near = heads * max(1, round(width / heads))
        raise ConfigError(f"model.width ({width}) must be a multiple of the heads ({heads}), for example {near}")
    return width // heads
