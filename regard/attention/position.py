"""Positional encodings: they tell attention, which by itself ignores order, the position of each token.

They act in one of two ways. They `place` vectors: at the model's input, at the input of each layer's
projections, or on queries, keys and values. Or they are a `Bias`: a number added to the logit of each pair.
"""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.part import Part
from regard.base.catalog import Catalog
from regard.base.errors import ConfigError

POSITIONS = Catalog("regard.attention.positions", optional=True)

Role = Literal["input", "projection", "query", "key", "value"]
Join = Literal["add", "concatenate"]
Layers = Literal["first", "first_layer", "every"]
Waves = Literal["turns", "halves"]
"""whether sines and cosines stand by turns, or all sines before all cosines"""


class Position(Part):
    """A positional encoding."""

    relative: bool = False
    """relative positions: moving all queries and keys by the same distance changes no logit"""
    limit: int | None = None
    """the number of positions; None: unlimited"""

    def place(self, vectors: Tensor, at: Tensor, role: Role) -> Tensor:
        """Encode positions into vectors, [batch, length, width] or [batch, heads, length, width]."""
        return vectors

    def widened(self, width: int, role: Role) -> int:
        """The width that vectors of `width` have after `place`."""
        return width


class PositionVectors(Position):
    """Position embeddings: a vector for each position, joined to the vectors at that position.

    | join        | layers | what happens                                                       |
    |-------------|--------|--------------------------------------------------------------------|
    | add         | first  | x + p at the model's input                                         |
    | concatenate | first  | [x; p] at the model's input                                        |
    | add         | every  | q + p, k + p, v + p after the projections of each layer            |
    | concatenate | every  | [x; p] before the projections of each layer                        |

    With layers = first_layer, what `every` does in each layer happens in the first alone.
    """

    join: Join
    """add: the position's vector is added; concatenate: it is put beside, and `width` says how wide it is"""
    layers: Layers
    """first: positions enter once, at the model's input; first_layer: on queries, keys and values of the first layer;
    every: on those of each layer"""
    width: int | None
    """the width of p where it is concatenated"""

    def check(self, name: str) -> None:
        """Raise an error if a needed width is missing."""
        if self.join == "concatenate" and self.width is None:
            raise ConfigError(f"{name}: join='concatenate' needs width=…, how wide the vectors put beside are")

    def vectors(self, at: Int[Tensor, "*batch length"], width: int) -> Float[Tensor, "*batch length width"]:
        """P at each of the positions; this is what a new member writes."""
        raise self.unbuilt()

    def place(self, vectors: Tensor, at: Tensor, role: Role) -> Tensor:
        if not self._acts(role):
            return vectors
        if self.join == "concatenate":
            beside = self.vectors(at, self.width or 0).to(vectors)
            return torch.cat([vectors, beside.expand(*vectors.shape[:-1], -1)], dim=-1)
        if vectors.dim() == 3:
            return vectors + self.vectors(at, vectors.shape[-1]).to(vectors)
        heads, width = vectors.shape[1], vectors.shape[3]
        wide = self.vectors(at, heads * width).to(vectors)
        return vectors + wide.unflatten(-1, (heads, width)).transpose(-3, -2)

    def widened(self, width: int, role: Role) -> int:
        return width + (self.width or 0) if self.join == "concatenate" and self._acts(role) else width

    def _acts(self, role: Role) -> bool:
        if self.layers == "first":
            return role == "input"
        return role == "projection" if self.join == "concatenate" else role in ("query", "key", "value")


class Bias(Position):
    """A position bias, added to the logits."""

    reads_values: bool = False
    """whether `output` adds to the attention output, so that the weights themselves are needed"""

    def __call__(
        self,
        query: Float[Tensor, "batch heads query width"],
        key: Float[Tensor, "batch heads key key_width"],
        query_at: Int[Tensor, "*positions query"],
        key_at: Int[Tensor, "*key_positions key"],
    ) -> Float[Tensor, "..."]:
        """The bias of the logits; broadcasts to [batch, heads, query, key]."""
        return self.forward(query, key, query_at, key_at)

    def forward(self, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        """The formula; this is what a new bias writes."""
        raise self.unbuilt()

    def output(self, weights: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        """The term added to the output, [batch, heads, query, value_width], given the weights."""
        raise self.unbuilt()


def distances(query_at: Int[Tensor, "*batch query"], key_at: Int[Tensor, "*key_batch key"]) -> Int[Tensor, "..."]:
    """Query position - key position, [query, key], or [batch, 1, query, key] for positions with a batch axis."""
    apart = query_at[..., :, None] - key_at[..., None, :]
    return apart[:, None] if apart.dim() == 3 else apart


def from_table(table: Float[Tensor, "heads entries"], index: Int[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Each head's entry for each pair: [heads, query, key], or [batch, heads, query, key]."""
    if index.dim() == 2:
        return table[:, index]
    return table[:, index[:, 0]].transpose(0, 1)


def sinusoid(
    at: Int[Tensor, "*batch"] | Float[Tensor, "*batch"],
    width: int,
    base: float = 10_000.0,
    first: int = 0,
    waves: Waves = "turns",
) -> Float[Tensor, "*batch width"]:
    """Sin and cos of at / base^(2(j + first)/width), j = 0, 1, …; in float64, so far positions stay exact.

    They stand by turns, or all sines before all cosines (halves).
    """
    steps = torch.arange((width + 1) // 2, device=at.device, dtype=torch.float64) + first
    angles = at.unsqueeze(-1).double() * base ** (-2 * steps / width)
    if waves == "halves":
        return torch.cat([angles.sin(), angles.cos()], dim=-1)[..., :width]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., :width]
