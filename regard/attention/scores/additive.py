"""score(q, k) = uᵀ tanh(W₁ k + W₂ q) = uᵀ tanh(W [q; k]),  W = [W₂ W₁]

The two spellings are one function: the joint matrix is the two others side by side. Bahdanau et al., 2015,
https://arxiv.org/abs/1409.0473. With a leaky rectifier outside instead of tanh inside it is the score of
graph attention, Veličković et al., 2018, https://arxiv.org/abs/1710.10903
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.part import PerHead, Sizes, by_head
from regard.attention.score import Score
from regard.base.errors import check_at_least, check_one_of


@dataclass(frozen=True)
class Additive(Score):
    """A small network over query and key together; `hidden` is its width, by default that of a query."""

    hidden: int | None = None
    """the width of the network; by default that of a query"""
    spelling: Literal["split", "joint"] = "split"
    """two matrices, or one over query and key side by side"""
    squash: Literal["tanh", "leaky"] = "tanh"
    """uᵀ tanh(…), or leaky_relu(uᵀ …)"""

    def __post_init__(self) -> None:
        check_at_least("additive", 1, hidden=1 if self.hidden is None else self.hidden)
        check_one_of("additive", ("split", "joint"), spelling=self.spelling)
        check_one_of("additive", ("tanh", "leaky"), squash=self.squash)

    def build(self, sizes: Sizes) -> "AdditiveWeights":
        hidden = self.hidden or sizes.query_width
        return AdditiveWeights(sizes.heads, sizes.query_width, sizes.key_width, hidden, self.spelling, self.squash)


class AdditiveWeights(PerHead, Score):
    """The matrices, [heads, width, hidden], and the vector u, [heads, hidden]."""

    equal_widths = False

    def __init__(
        self, heads: int, query_width: int, key_width: int, hidden: int, spelling: str = "split", squash: str = "tanh"
    ) -> None:
        super().__init__()
        self.query_width, self.squash = query_width, squash
        shapes = {"split": {"query_weight": query_width, "key_weight": key_width}}
        for name, width in shapes.get(spelling, {"weight": query_width + key_width}).items():
            bound = (query_width + key_width) ** -0.5
            self.register_parameter(name, nn.Parameter(torch.empty(heads, width, hidden).uniform_(-bound, bound)))
        self.readout = nn.Parameter(torch.empty(heads, hidden).uniform_(-(hidden**-0.5), hidden**-0.5))

    query_weight: Tensor
    key_weight: Tensor
    weight: Tensor

    def matrices(self) -> tuple[Tensor, Tensor]:
        """W₂ for queries and W₁ for keys, however they are stored."""
        if "weight" in self._parameters:
            return self.weight[:, : self.query_width], self.weight[:, self.query_width :]
        return self.query_weight, self.key_weight

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        for_query, for_key = self.matrices()
        together = by_head(query, for_query).unsqueeze(-2) + by_head(key, for_key).unsqueeze(-3)
        if self.squash == "leaky":
            return F.leaky_relu(torch.einsum("bhqkd,hd->bhqk", together, self.readout), 0.2)
        return torch.einsum("bhqkd,hd->bhqk", together.tanh(), self.readout)

    def floats_per_pair(self, width: int) -> int:
        return 2 * self.readout.shape[-1]
