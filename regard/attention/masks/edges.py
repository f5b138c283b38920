"""keep(i, j) = there is an edge from j to i

Veličković et al., Graph Attention Networks, 2018, https://arxiv.org/abs/1710.10903
"""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.base.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Edges(Mask):
    """A node may attend to the nodes that have an edge to it; memory grows with the edges, not with all pairs."""

    edges: Tensor
    """the edges as (from, to), [2, edges]; sorted by `to`, then by `from`, they are taken as they are"""
    _codes: Tensor = field(init=False, repr=False)
    _nodes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.edges.dim() != 2 or self.edges.shape[0] != 2 or self.edges.is_floating_point():
            found = f"{list(self.edges.shape)} of {self.edges.dtype}"
            raise ShapeError(f"edges: they must be whole numbers of shape [2, edges], but are {found}")
        nodes = int(self.edges.max()) + 1 if self.edges.numel() else 0
        seen, looking = self.edges.long()
        codes = looking * nodes + seen
        sorted_already = bool((codes[1:] > codes[:-1]).all())
        object.__setattr__(self, "_nodes", nodes)
        object.__setattr__(self, "_codes", codes if sorted_already else torch.unique(codes))

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        inside = (rows < self._nodes) & (columns < self._nodes)
        wanted = (rows * self._nodes + columns).contiguous()
        codes = self._codes.to(wanted.device)
        if codes.numel() == 0:
            return torch.zeros_like(wanted, dtype=torch.bool)
        found = torch.searchsorted(codes, wanted).clamp(max=codes.numel() - 1)
        return inside & (codes[found] == wanted)

    def pairs(self) -> Tensor:
        return self._pairs

    @cached_property
    def _pairs(self) -> Tensor:
        return torch.stack((self._codes // max(1, self._nodes), self._codes % max(1, self._nodes)))
