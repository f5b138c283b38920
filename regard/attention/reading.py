"""Attention with its parts chosen: the module between the projections, and the one that `record` watches."""

from typing import Any

from torch import Tensor, nn

from regard.attention.backend import Backend, BackendChoice
from regard.attention.core import attend, explain
from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer
from regard.attention.position import Bias, Position
from regard.attention.score import Score


class Reading(nn.Module):
    """`attend` with score, normalizer and positions fixed; all of them built."""

    def __init__(
        self,
        score: Score,
        normalizer: Normalizer,
        positions: Position | None = None,
        dropout: float = 0.0,
        backend: str | Backend | None = None,
    ) -> None:
        super().__init__()
        self.score, self.normalizer = score, normalizer
        self.positions = Position() if positions is None else positions
        self.dropout, self.backend = dropout, backend

    def parts(self) -> dict[str, Any]:
        """The arguments of `attend` that do not change from call to call."""
        return {
            "score": self.score,
            "normalizer": self.normalizer,
            "bias": self.positions if isinstance(self.positions, Bias) else None,
            "dropout": self.dropout if self.training else 0.0,
        }

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        keep: Tensor | Mask | None = None,
        query_at: Tensor | None = None,
        key_at: Tensor | None = None,
    ) -> Tensor:
        """What each head reads, [batch, heads, query, value width]."""
        attended = attend(
            query, key, value, keep=keep, query_at=query_at, key_at=key_at, backend=self.backend, **self.parts()
        )
        return attended.output

    def explain(self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor | Mask | None = None) -> BackendChoice:
        """Which backend `forward` would take for queries and keys in order, and why."""
        return explain(query, key, value, keep=keep, backend=self.backend, **self.parts())
