"""Attention with given parts: the module between the projections, which `record` hooks."""

from typing import Any

from torch import Tensor, nn

from regard.attention.backend import Backend, BackendChoice, backend_choice_of, choose
from regard.attention.call import Call
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

    def call(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        keep: Tensor | Mask | None = None,
        query_at: Tensor | None = None,
        key_at: Tensor | None = None,
        mask: Mask | None = None,
    ) -> Call:
        """The arguments of `attend`."""
        return Call(
            query,
            key,
            value,
            score=self.score,
            normalizer=self.normalizer,
            mask=mask,
            keep=keep,
            bias=self.positions if isinstance(self.positions, Bias) else None,
            query_at=query_at,
            key_at=key_at,
            dropout=self.dropout if self.training else 0.0,
            backend=self.backend,
        )

    def forward(self, *sides: Any, **settings: Any) -> Tensor:
        """The output of each attention head, [batch, heads, query, value width]; takes the arguments of `call`."""
        call = self.call(*sides, **settings)
        return choose(call)(call).output

    def backend_choice(self, *sides: Any, **settings: Any) -> BackendChoice:
        """Which backend `forward` would choose, and why."""
        return backend_choice_of(self.call(*sides, **settings))
