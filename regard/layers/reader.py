"""Single-head attention of recurrent models: a state attends to other states.

    a = normalizer(score(W_q query, W_k state_j)),  read = Σ_j a_j W_v state_j

There are projections only if `width` or `hidden` is set; otherwise the states themselves are queries, keys and values.
With `hidden`, each W is a small network instead, W_2 tanh(W_1 x + b_1) + b_2, which makes contexts out of states.
Bahdanau et al., 2015, https://arxiv.org/abs/1409.0473; Luong et al., 2015, https://arxiv.org/abs/1508.04025
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.core import weights_of
from regard.attention.mask import Mask
from regard.attention.memories.growing import Growing
from regard.attention.memory import Memory, PairMemory, nothing_written
from regard.attention.normalizer import NORMALIZERS
from regard.attention.part import Sizes, positions_of
from regard.attention.reading import Reading
from regard.attention.score import SCORES
from regard.base.errors import ConfigError, check_at_least
from regard.layers.dropout import check_share
from regard.layers.perceptron import Perceptron

Combine = Literal["tanh", "concatenate"]


@dataclass(frozen=True, kw_only=True)
class SingleHead:
    """Settings of a recurrent model's attention."""

    score: Annotated[Any, SCORES] = "dot"
    """how well a state that is read fits the state that reads"""
    normalizer: Annotated[Any, NORMALIZERS] = "softmax"
    """turns scores into attention weights"""
    width: int | None = None
    """the width of projected queries, keys and values; None: no projections"""
    hidden: int | None = None
    """the width of a hidden tanh layer in each projection, which is then a small network, as wide as `width` or else as
    this; None: linear projections"""
    dropout: float = 0.0
    """dropout of attention weights"""

    def __post_init__(self) -> None:
        check_share("attention: dropout", self.dropout)
        if self.hidden is not None:
            check_at_least("attention", 1, hidden=self.hidden)
        for name, catalog in (("score", SCORES), ("normalizer", NORMALIZERS)):
            object.__setattr__(self, name, catalog.make(getattr(self, name), f"attention.{name}"))

    def build(self, width: int, source_width: int) -> "Reader":
        """Build the layer for queries of `width` over states of `source_width`."""
        return Reader(self, width, source_width)


class Reader(nn.Module):
    """Single-head attention of states to states."""

    def __init__(self, design: SingleHead, width: int, source_width: int) -> None:
        super().__init__()
        projected = design.width or design.hidden
        query_width, key_width = projected or width, projected or source_width
        self.width, self.value_width = width, key_width
        sizes = Sizes(
            width=width,
            heads=1,
            key_heads=1,
            query_width=query_width,
            key_width=key_width,
            value_width=self.value_width,
        )
        self.reading = Reading(design.score.build(sizes), design.normalizer.build(sizes), dropout=design.dropout)
        if self.reading.score.equal_widths and query_width != key_width:
            raise ConfigError(
                f"attention.score: {type(design.score).__name__} compares vectors of one width, but the queries have "
                f"{query_width} and the keys {key_width}; set attention.width to project both, or use bilinear or "
                "additive"
            )
        self.projections = nn.ModuleDict()
        if projected is not None:
            for name, size in (("query", width), ("key", source_width), ("value", source_width)):
                self.projections[name] = (
                    nn.Linear(size, projected, bias=False)
                    if design.hidden is None
                    else Perceptron(size, design.hidden, projected, activation="tanh")
                )

    def forward(
        self,
        x: Float[Tensor, "batch query width"],
        source: Float[Tensor, "batch key source_width"],
        *,
        keep: Bool[Tensor, "..."] | Mask | None = None,
        at: Int[Tensor, "query"] | None = None,
        source_at: Int[Tensor, "key"] | None = None,
    ) -> Float[Tensor, "batch query value_width"]:
        """The context that each state in x reads from the source, under the mask `keep`."""
        query, key, value = self._project("query", x), self._project("key", source), self._project("value", source)
        read: Tensor = self.reading(query, key, value, keep, at, source_at)
        return read[:, 0]

    def remember(
        self,
        source: Float[Tensor, "batch key source_width"],
        keep: Bool[Tensor, "batch key"] | None = None,
        memory: PairMemory | None = None,
    ) -> PairMemory:
        """Project the source once into keys and values for all later reads; appended to `memory` if given."""
        memory = self.start() if memory is None else memory
        return memory.extend(self._project("key", source), self._project("value", source), keep)

    def start(self) -> PairMemory:
        """An empty memory."""
        return Growing().start(self.reading)

    def read(self, x: Float[Tensor, "batch query width"], memory: Memory) -> Float[Tensor, "batch query value_width"]:
        """The context that each state in x reads from the memory; zeros if the memory is empty."""
        if not memory.length:
            return x.new_zeros(*x.shape[:2], self.value_width)
        return memory.read(self.reading, self._project("query", x), positions_of(x.shape[1], x))[:, 0]

    def weights(self, x: Float[Tensor, "batch query width"], memory: PairMemory) -> Float[Tensor, "batch query key"]:
        """The attention weights with which `read` reads, without dropout."""
        if memory.key is None or memory.value is None:
            raise nothing_written(memory)
        kept = None if memory.kept is None else memory.kept[:, None, None]
        query = self._project("query", x)
        call = self.reading.call(query, memory.key, memory.value, kept, positions_of(x.shape[1], x), memory.at)
        return weights_of(replace(call, dropout=0.0))[:, 0]

    def _project(self, name: str, x: Tensor) -> Tensor:
        return (self.projections[name](x) if name in self.projections else x)[:, None]


class Joining(nn.Module):
    """Joins a state and the context it read: [state; read], or tanh(W [state; read])."""

    def __init__(self, width: int, read_width: int, combine: Combine) -> None:
        super().__init__()
        self.map = nn.Linear(width + read_width, width, bias=False) if combine == "tanh" else None
        self.width = width if combine == "tanh" else width + read_width

    def forward(
        self, state: Float[Tensor, "*batch width"], read: Float[Tensor, "*batch read_width"]
    ) -> Float[Tensor, "*batch joined"]:
        """The joined vector."""
        both = torch.cat([state, read], dim=-1)
        return both if self.map is None else self.map(both).tanh()
