"""score(q, k) = uᵀ tanh(W₁ k + W₂ q) = uᵀ tanh(W [q; k]),  W = [W₂ W₁]

The two spellings are one function: the joint matrix is the two others side by side. Bahdanau et al., 2015,
https://arxiv.org/abs/1409.0473. With a leaky rectifier outside instead of tanh inside it is the score of graph
attention (GAT), Veličković et al., 2018, https://arxiv.org/abs/1710.10903; with one inside, that of GATv2, Brody et
al., 2022, https://arxiv.org/abs/2105.14491. Without matrices of its own it compares queries and keys as they are.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.part import PerHead, Sizes, by_head
from regard.attention.score import Score
from regard.base.errors import ConfigError, check_at_least, check_one_of

Spelling = Literal["split", "joint", "bare"]
Squash = Literal["tanh", "leaky_inside", "leaky"]
_SLOPE = 0.2


@dataclass(frozen=True)
class Additive(Score):
    """A small network over query and key together; `hidden` is its width, by default that of a query."""

    hidden: int | None = None
    """the width of the network; by default that of a query"""
    spelling: Spelling = "split"
    """two matrices; one over query and key side by side; or none, uᵀ tanh(k + q)"""
    squash: Squash = "tanh"
    """uᵀ tanh(…), uᵀ leaky_relu(…) or leaky_relu(uᵀ …)"""

    def __post_init__(self) -> None:
        check_at_least("additive", 1, hidden=1 if self.hidden is None else self.hidden)
        check_one_of("additive", get_args(Spelling), spelling=self.spelling)
        check_one_of("additive", get_args(Squash), squash=self.squash)

    def build(self, sizes: Sizes) -> "AdditiveWeights":
        hidden = self.hidden or sizes.query_width
        if self.spelling == "bare" and not hidden == sizes.query_width == sizes.key_width:
            raise ConfigError(
                f"additive: without matrices, hidden must be the width of a query and of a key ({sizes.query_width} "
                f"and {sizes.key_width}), but is {hidden}"
            )
        return AdditiveWeights(sizes.heads, sizes.query_width, sizes.key_width, hidden, self.spelling, self.squash)


class AdditiveWeights(PerHead, Score):
    """The matrices, [heads, width, hidden], and the vector u, [heads, hidden]."""

    equal_widths = False

    def __init__(
        self, heads: int, query_width: int, key_width: int, hidden: int, spelling: str = "split", squash: str = "tanh"
    ) -> None:
        super().__init__()
        self.query_width, self.squash = query_width, squash
        shapes = {"split": {"query_weight": query_width, "key_weight": key_width}, "bare": {}}
        for name, width in shapes.get(spelling, {"weight": query_width + key_width}).items():
            bound = (query_width + key_width) ** -0.5
            self.register_parameter(name, nn.Parameter(torch.empty(heads, width, hidden).uniform_(-bound, bound)))
        self.readout = nn.Parameter(torch.empty(heads, hidden).uniform_(-(hidden**-0.5), hidden**-0.5))

    query_weight: Tensor
    key_weight: Tensor
    weight: Tensor

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        of_query, of_key = self.projected(query, key)
        return self._read(of_query.unsqueeze(-2) + of_key.unsqueeze(-3), "bhqkd,hd->bhqk")

    def along(self, query: Tensor, key: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        of_query, of_key = self.projected(query, key)
        return self._read(of_query[:, :, rows] + of_key[:, :, columns], "bhnd,hd->bhn")

    def matrices(self) -> tuple[Tensor, Tensor]:
        """W₂ for queries and W₁ for keys, however they are stored."""
        if "weight" in self._parameters:
            return self.weight[:, : self.query_width], self.weight[:, self.query_width :]
        return self.query_weight, self.key_weight

    def projected(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """W₂ q and W₁ k; without matrices, q and k."""
        if len(self._parameters) == 1:
            return query, key
        for_query, for_key = self.matrices()
        return by_head(query, for_query), by_head(key, for_key)

    def _read(self, together: Tensor, product: str) -> Tensor:
        """The vector u on what was made of query and key, squashed inside or outside."""
        if self.squash == "leaky":
            return F.leaky_relu(torch.einsum(product, together, self.readout), _SLOPE)
        inside = together.tanh() if self.squash == "tanh" else F.leaky_relu(together, _SLOPE)
        return torch.einsum(product, inside, self.readout)

    def floats_per_pair(self, width: int) -> int:
        return 2 * self.readout.shape[-1]
