"""Multi-head attention: project, split into attention heads, add positions, attend, merge.

    head_h = attend(query W_h^Q, key W_h^K, value W_h^V),  output = [head_1; …; head_H] W^O

Each head has width d/H, so the number of weights does not depend on the number of heads. Vaswani et al., 2017,
https://arxiv.org/abs/1706.03762; with fewer key heads (GQA): Ainslie et al., 2023, https://arxiv.org/abs/2305.13245
"""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.backend import BackendChoice
from regard.attention.mask import MASKS, Mask
from regard.attention.memory import MEMORIES, Memory, MixedMemory, both
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.part import Sizes, positions_of
from regard.attention.position import POSITIONS, Position, Role
from regard.attention.projections import Projections
from regard.attention.reading import Reading
from regard.attention.score import SCORES, Score
from regard.base.errors import CombinationError, ConfigError, check_at_least


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Settings of multi-head attention; `build` makes the layer.

    >>> layer = Attention(heads=8, mask=masks.Causal() & masks.Window(128), positions="alibi").build(width=512)
    >>> output = layer(torch.randn(2, 100, 512))

    Parts are given as values, `Causal() & Window(128)`, or as they are written in a config,
    `"causal & window(128)"`.
    """

    heads: int = 8
    key_heads: int | None = None
    """grouped-query attention: key and value heads, each shared by heads / key_heads query heads; default `heads`"""
    width: int | None = None
    """the width of all query heads together, and of all key heads; by default that of the input"""
    value_width: int | None = None
    """the width of all value heads together; by default `width`"""
    score: Score | str | dict[str, Any] = "scaled_dot"
    mask: Mask | str | dict[str, Any] | None = None
    normalizer: Normalizer | str | dict[str, Any] = "softmax"
    positions: Position | str | dict[str, Any] | None = None
    memory: Memory | str | dict[str, Any] = "growing"
    bias: bool = True
    """whether the projections have a bias"""
    output_bias: bool | None = None
    """whether the output projection has one; by default as `bias` says"""
    dropout: float = 0.0
    """dropout of attention weights"""
    backend: str | None = None
    """by default the fastest that supports the call"""

    def __post_init__(self) -> None:
        check_at_least("attention", 1, heads=self.heads, key_heads=self.key_heads or 1)
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"attention: dropout must be at least 0 and below 1, but is {self.dropout}")
        if self.key_heads and self.heads % self.key_heads:
            raise ConfigError(f"attention: heads ({self.heads}) must be a multiple of key_heads ({self.key_heads})")

    def build(self, width: int, source_width: int | None = None) -> "MultiHead":
        """Build the layer for inputs of `width`; with `source_width`, cross-attention to a source of that width."""
        return MultiHead(self, width, source_width)


class MultiHead(nn.Module):
    """Multi-head attention; each attention head has its own projections. `Attention.build` makes it.

    >>> layer = Attention(heads=8, mask="causal").build(width=512)
    >>> isinstance(layer, MultiHead)
    True
    >>> output, memory = layer.advance(torch.randn(2, 1, 512), layer.start())
    """

    def __init__(self, design: Attention, width: int, source_width: int | None = None) -> None:
        super().__init__()
        self.heads, self.key_heads = design.heads, design.key_heads or design.heads
        query_width = _per_head("width", design.width or width, design.heads)
        value_width = _per_head("value_width", design.value_width or design.width or width, design.heads)
        sizes = Sizes(
            width=width,
            heads=self.heads,
            key_heads=self.key_heads,
            query_width=query_width,
            key_width=query_width,
            value_width=value_width,
        )
        self.mask: Mask | None = MASKS.make(design.mask, "attention.mask")
        positions = POSITIONS.make(design.positions, "attention.positions")
        self.reading = Reading(
            SCORES.make(design.score, "attention.score").build(sizes),
            NORMALIZERS.make(design.normalizer, "attention.normalizer").build(sizes),
            None if positions is None else positions.build(sizes),
            design.dropout,
            design.backend,
        )
        self.memory: Memory = MEMORIES.make(design.memory, "attention.memory").build(sizes)
        place = self.reading.positions.widened
        self.projections = Projections(
            place(width, "projection"),
            None if source_width is None else place(source_width, "projection"),
            self.heads * query_width,
            self.key_heads * query_width,
            self.key_heads * value_width,
            design.bias,
        )
        output_bias = design.bias if design.output_bias is None else design.output_bias
        self.output = nn.Linear(self.heads * value_width, width, output_bias)
        nn.init.xavier_uniform_(self.output.weight)
        if output_bias:
            nn.init.zeros_(self.output.bias)

    def forward(
        self,
        x: Float[Tensor, "batch query width"],
        source: Float[Tensor, "batch key source_width"] | None = None,
        *,
        keep: Bool[Tensor, "..."] | Mask | None = None,
        at: Int[Tensor, "*positions query"] | None = None,
        source_at: Int[Tensor, "*source_positions key"] | None = None,
    ) -> Float[Tensor, "batch query width"]:
        """Cross-attention of x to the source, or self-attention. `keep` is a further mask, most often for padding."""
        if source is None or (source is x and source_at is at):
            source_at = at
            query, key, value = self._project(x, at)
        else:
            query, (key, value) = self._project_query(x, at), self._project_source(source, source_at)
        if isinstance(self.memory, MixedMemory):
            return self._through_slots(query, key, value, keep)
        return self._merge(self.reading(query, key, value, keep, at, source_at, mask=self._own_mask()))

    def start(self) -> Memory:
        """An empty memory for `advance` or `remember`."""
        return self.memory.start(self.reading)

    def remember(
        self,
        source: Float[Tensor, "batch key source_width"],
        keep: Bool[Tensor, "batch key"] | None = None,
        memory: Memory | None = None,
    ) -> Memory:
        """Project the source's keys and values once for all later reads; appended to `memory` if given."""
        memory = self.start() if memory is None else memory
        at = positions_of(source.shape[1], source, first=memory.length)
        return memory.extend(*self._project_source(source, at), keep)

    def read(
        self,
        x: Float[Tensor, "batch query width"],
        memory: Memory,
        at: Int[Tensor, "*positions query"] | None = None,
    ) -> Float[Tensor, "batch query width"]:
        """Attention of x to a memory; by default its positions count from 0."""
        at = positions_of(x.shape[1], x) if at is None else at
        return self._merge(memory.read(self.reading, self._project_query(x, at), at, self.mask))

    def advance(
        self, x: Float[Tensor, "batch query width"], memory: Memory
    ) -> tuple[Float[Tensor, "batch query width"], Memory]:
        """One decoding step: the next positions are written to the memory (KV cache), then read from it."""
        at = positions_of(x.shape[1], x, first=memory.length)
        query, key, value = self._project(x, at)
        output, memory = memory.advance(self.reading, query, key, value, at, self.mask)
        return self._merge(output), memory

    def backend_choice(
        self, x: Tensor, source: Tensor | None = None, keep: Tensor | Mask | None = None
    ) -> BackendChoice:
        """Which backend `forward` would choose for these inputs, and why."""
        query, (key, value) = self._project_query(x, None), self._project_source(x if source is None else source, None)
        return self.reading.backend_choice(query, key, value, keep, mask=self._own_mask())

    def _project(self, x: Tensor, at: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = self.projections.of_both(self._place(x, at, "projection"))
        return self._query_heads(query, at), *self._source_heads(key, value, at)

    def _project_query(self, x: Tensor, at: Tensor | None) -> Tensor:
        return self._query_heads(self.projections.of_query(self._place(x, at, "projection")), at)

    def _project_source(self, source: Tensor, at: Tensor | None) -> tuple[Tensor, Tensor]:
        return self._source_heads(*self.projections.of_source(self._place(source, at, "projection")), at)

    def _query_heads(self, query: Tensor, at: Tensor | None) -> Tensor:
        return self._place(_split(query, self.heads), at, "query")

    def _source_heads(self, key: Tensor, value: Tensor, at: Tensor | None) -> tuple[Tensor, Tensor]:
        key, value = _split(key, self.key_heads), _split(value, self.key_heads)
        return self._place(key, at, "key"), self._place(value, at, "value")

    def _place(self, vectors: Tensor, at: Tensor | None, role: Role) -> Tensor:
        positions = self.reading.positions
        if type(positions).place is Position.place:
            return vectors
        return positions.place(vectors, positions_of(vectors.shape[-2], vectors) if at is None else at, role)

    def _merge(self, heads: Tensor) -> Tensor:
        merged: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return merged

    def _own_mask(self) -> Mask | None:
        """The layer's mask, with the reach of its memory."""
        return both(self.mask, self.memory.reach())

    def _through_slots(self, query: Tensor, key: Tensor, value: Tensor, keep: Tensor | Mask | None) -> Tensor:
        """Write to a memory of slots, then read it; of all masks, only those that hide whole keys are possible."""
        call = self.reading.call(query, key, value, keep, mask=self._own_mask())
        tensor = call.keep if isinstance(call.keep, Tensor) else None
        if not all(mask.keys_only for mask in call.masks) or (
            tensor is not None and any(size != 1 for size in tensor.shape[-3:-1])
        ):
            name = type(self.memory).__module__.rpartition(".")[2]
            raise CombinationError(
                f"attention: {name} memory blends all positions, so it goes with masks that hide whole keys, "
                "such as padding, and not with masks on pairs"
            )
        allowed = call.rows(slice(0, 1)).keep_tensor
        kept = None if allowed is None else allowed.expand(query.shape[0], 1, 1, -1)[:, 0, 0]
        memory = self.start().extend(key, value, kept)
        return self._merge(memory.read(self.reading, query, call.places[0]))


def _per_head(name: str, width: int, heads: int) -> int:
    if width % heads:
        near = heads * max(1, round(width / heads))
        raise ConfigError(f"attention: {name} ({width}) must be a multiple of heads ({heads}), for example {near}")
    return width // heads


def _split(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)
