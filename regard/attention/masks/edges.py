"""keep(i, j) = there is an edge from j to i

Veličković et al., Graph Attention Networks, 2018, https://arxiv.org/abs/1710.10903
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.base.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Edges(Mask):
    """A node may attend to the nodes that have an edge to it; memory grows with the edges, not with all pairs."""

    pairs: Tensor
    """the edges as (from, to), [2, edges]"""
    _codes: Tensor = field(init=False, repr=False)
    _nodes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.pairs.dim() != 2 or self.pairs.shape[0] != 2 or self.pairs.is_floating_point():
            found = f"{list(self.pairs.shape)} of {self.pairs.dtype}"
            raise ShapeError(f"edges: pairs must be whole numbers of shape [2, edges], but are {found}")
        nodes = int(self.pairs.max()) + 1 if self.pairs.numel() else 0
        seen, looking = self.pairs.long()
        object.__setattr__(self, "_nodes", nodes)
        object.__setattr__(self, "_codes", torch.unique(looking * nodes + seen))

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        inside = (rows < self._nodes) & (columns < self._nodes)
        wanted = (rows * self._nodes + columns).contiguous()
        codes = self._codes.to(wanted.device)
        if codes.numel() == 0:
            return torch.zeros_like(wanted, dtype=torch.bool)
        found = torch.searchsorted(codes, wanted).clamp(max=codes.numel() - 1)
        return inside & (codes[found] == wanted)
