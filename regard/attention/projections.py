"""The linear projections before attention: queries x W^Q, keys s W^K and values s W^V."""

import torch.nn.functional as F
from torch import Tensor, nn

from regard.base.errors import ShapeError


class Projections(nn.Module):
    """W^Q, W^K and W^V, stacked so that one product computes all that have the same input.

    Self-attention has all three in `joint`. Cross-attention has W^Q in `query`, and W^K and W^V in `source`.
    """

    def __init__(
        self, width: int, source_width: int | None, query_width: int, key_width: int, value_width: int, bias: bool
    ) -> None:
        super().__init__()
        self.split = [query_width, key_width, value_width]
        if source_width is None:
            self.joint = nn.Linear(width, sum(self.split), bias)
            blocks = [self.joint.weight[a:b] for a, b in self._ranges()]
        else:
            self.query = nn.Linear(width, query_width, bias)
            self.source = nn.Linear(source_width, key_width + value_width, bias)
            blocks = [self.query.weight, self.source.weight[:key_width], self.source.weight[key_width:]]
        for block in blocks:
            nn.init.xavier_uniform_(block)
        for linear in self.children():
            if isinstance(linear, nn.Linear) and linear.bias is not None:
                nn.init.zeros_(linear.bias)

    @property
    def is_joint(self) -> bool:
        """Whether the layer was made for self-attention."""
        return "joint" in self._modules

    def of_both(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of the same vectors."""
        if not self.is_joint:
            return self.of_query(x), *self.of_source(x)
        query, key, value = self.joint(_fitting(x, self.joint.in_features)).split(self.split, dim=-1)
        return query, key, value

    def of_query(self, x: Tensor) -> Tensor:
        """Queries alone."""
        return self._linear("query", x, 0, self.split[0])

    def of_source(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values alone."""
        key, value = self._linear("source", source, self.split[0], None).split(self.split[1:], dim=-1)
        return key, value

    def _linear(self, name: str, x: Tensor, start: int, stop: int | None) -> Tensor:
        if not self.is_joint:
            linear = self.get_submodule(name)
            return linear(_fitting(x, linear.in_features))
        bias = None if self.joint.bias is None else self.joint.bias[start:stop]
        return F.linear(_fitting(x, self.joint.in_features), self.joint.weight[start:stop], bias)

    def _ranges(self) -> list[tuple[int, int]]:
        query, key, value = self.split
        return [(0, query), (query, query + key), (query + key, query + key + value)]


def _fitting(x: Tensor, width: object) -> Tensor:
    if x.dim() != 3:
        raise ShapeError(f"attention: the input must be [batch, length, width], but has the shape {list(x.shape)}")
    if x.shape[-1] != width:
        raise ShapeError(f"attention: the input has width {x.shape[-1]}, but the layer takes {width}")
    return x
