"""The steps of a Transformer's decoder in few and large operations: the numbers of the plain path, sooner.

`packed(model)` gives what steps the model. For a Transformer or GPT of the usual parts this is a `Packed`, whose
`start` and `step` equal the model's own up to rounding; every other model steps by itself. What is done differently:

- Nothing is moved when hypotheses part. The hypotheses of a sentence share one shelf, on which each step puts one pair
  of key and value for each of them. A bias says whose past a pair is: 0 in the rows of those that come from it, -∞ in
  the others'. Parting means to pick rows of this bias, the same for all layers, instead of all keys and values.
- So the queries of a sentence meet its keys in one matrix product, for its own past as for the source.

`PACK = False` goes back to the plain path.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self, TypeGuard

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear

from regard.attention.masks.causal import Causal
from regard.attention.memories.growing import Growing
from regard.attention.multihead import MultiHead
from regard.attention.normalizers.softmax import Softmax
from regard.attention.position import Position, PositionVectors
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.attention.scores.dot import Dot
from regard.attention.scores.scaled_dot import ScaledDot
from regard.layers.block import Block
from regard.layers.feedforward import ACTIVATIONS
from regard.models.gpt import GptModel
from regard.models.model import Model, State, fitting
from regard.models.transformer import TransformerModel

PACK = True
_ROOM = 16


def packed(model: Model, tokens: Int[Tensor, "words"] | None = None) -> "Model | Packed":
    """What steps the model: a `Packed` where it gives the same numbers, or else the model.

    With `tokens`, a `Packed` gives logits of these alone.
    """
    return Packed(model, tokens) if PACK and _fits(model) else model


@dataclass(frozen=True, kw_only=True)
class PackedState(State):
    """What the layers remember, all in one tensor: [layers, key and value, sentences, heads, pairs, width]."""

    past: "_Shelf"
    seen: Float[Tensor, "sentences beams pairs"]
    """0 where a pair is of the hypothesis' past, else -∞"""
    source: Float[Tensor, "layers 2 sentences heads source width"] | None = None
    hidden: Float[Tensor, "sentences 1 source"] | None = None
    """-∞ at padding, else 0"""
    length: int = 0

    def pick_rows(self, rows: Int[Tensor, "rows"]) -> Self:
        """Rows of the same sentence in a new order, or each sentence's row repeated; the pairs stay where they are."""
        count, beams, pairs = self.seen.shape
        return replace(self, seen=self.seen.view(count * beams, pairs)[rows].view(count, len(rows) // count, pairs))

    def keep(self, sentences: Int[Tensor, "kept"]) -> Self:
        return self.pick_sentences(sentences)

    def pick_sentences(self, sentences: Int[Tensor, "kept"]) -> Self:
        return replace(
            self,
            sentences=len(sentences),
            past=self.past.pick(sentences, self.seen.shape[2]),
            seen=self.seen[sentences],
            source=None if self.source is None else self.source.index_select(2, sentences),
            hidden=None if self.hidden is None else self.hidden[sentences],
        )


class _Shelf:
    """Room for pairs, more than are there yet. States share it until two of them write to the same place."""

    def __init__(self, pairs: Float[Tensor, "layers 2 sentences heads room width"], filled: int = 0) -> None:
        self.pairs, self.filled = pairs, filled

    def room_for(self, more: int, seen: Tensor) -> "tuple[_Shelf, Tensor]":
        """A shelf with place for more pairs, and who sees what on it: itself, where nobody else has gone on from here.

        Where it is full, a larger one takes over what some hypothesis still sees. Since most hypotheses of a sentence
        soon have their past in common, that is little more than one pair for each position.
        """
        filled = seen.shape[2]
        if self.filled == filled and filled + more <= self.pairs.shape[4]:
            self.filled = filled + more
            return self, seen
        needed = (seen == 0).any(1)
        count = int(needed.sum(1).max()) if filled else 0
        order = needed.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :count]
        *outer, room, width = self.pairs.shape
        wider = self.pairs.new_empty(*outer, count + more + max(_ROOM, count // 2), width)
        first = torch.arange(0, self.pairs.numel() // width, room, device=order.device).view(*outer, 1)
        where = (first + order[:, None]).flatten()
        wider[..., :count, :] = self.pairs.view(-1, width).index_select(0, where).view(*outer, count, width)
        return _Shelf(wider, count + more), seen.gather(2, order[:, None].expand(-1, seen.shape[1], -1))

    def pick(self, sentences: Tensor, filled: int) -> "_Shelf":
        """The pairs of some sentences, on a shelf of their own."""
        return _Shelf(self.pairs.index_select(2, sentences), filled)


class Packed:
    """A model that is stepped in the packed way; it reads the model's weights where they are."""

    def __init__(self, model: TransformerModel | GptModel, tokens: Tensor | None = None) -> None:
        self.model = model
        self._output = model.output.forward if tokens is None else _output_of(model.output, tokens)
        self._layers = [_Layer(block) for block in model.decoder.blocks]
        self._norm = _normalize(model.decoder.norm)
        self._embedding = model.target
        self._shape = self._layers[0].heads, self._layers[0].width

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> PackedState:
        """As the model's: the source is read and projected once."""
        table = self._embedding.table.weight
        read = hidden = None
        if isinstance(self.model, TransformerModel) and source is not None and source_lengths is not None:
            rows, longest = source.shape
            padding = torch.arange(longest, device=source.device) >= source_lengths[:, None]
            hidden = table.new_zeros(rows, 1, longest).masked_fill_(padding[:, None], -torch.inf)
            encoded = self._encode(self.model, source, hidden)
            read = torch.stack([layer.remember(encoded) for layer in self._layers])
        shelf = _Shelf(table.new_empty(len(self._layers), 2, rows, self._shape[0], _ROOM, self._shape[1]))
        seen = table.new_empty(rows, 1, 0)
        return PackedState(sentences=rows, past=shelf, seen=seen, source=read, hidden=hidden)

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], PackedState]:
        """As the model's: the logits of the token that follows, and the state after this one."""
        x, after = self.advance(token, fitting(state, PackedState, token))
        return self._output(x), after

    def _encode(self, model: TransformerModel, source: Tensor, hidden: Tensor) -> Tensor:
        x = model.source(source).flatten(0, 1)
        layers = [_Layer(block) for block in model.encoder.blocks]
        bias = _for_heads(hidden, layers[0].heads, source.shape[1])
        for layer in layers:
            x = layer.feed(layer.read_all(x, bias))
        return _normalize(model.encoder.norm)(x).view(*source.shape, -1)

    def advance(self, token: Tensor, before: PackedState) -> tuple[Float[Tensor, "rows width"], PackedState]:
        """What the output turns into logits, and the state after this token."""
        count, beams, _ = before.seen.shape
        past, seen = before.past.room_for(beams, before.seen)
        heads, written, filled = self._shape[0], seen.shape[2], past.filled
        own = torch.full((beams, beams), -torch.inf, device=token.device, dtype=seen.dtype).fill_diagonal_(0.0)
        seen = torch.cat([seen, own.expand(count, -1, -1)], dim=2)
        bias = _for_heads(seen, heads, beams)
        hidden = None if before.hidden is None else _for_heads(before.hidden, heads, beams)
        x = self._embed(token, before.length)
        for at, layer in enumerate(self._layers):
            x = layer.read_past(x, past.pairs[at], written, filled, bias)
            if before.source is not None and hidden is not None:
                x = layer.read_source(x, before.source[at], hidden)
            x = layer.feed(x)
        return self._norm(x), replace(before, past=past, seen=seen, length=before.length + 1)

    def _embed(self, token: Tensor, at: int) -> Tensor:
        embedding = self._embedding
        x = embedding.table.weight[token] * embedding.scale
        if isinstance(embedding.positions, Sinusoidal):
            return x.add_(_waves(embedding.positions, at, x.shape[1]).to(x))
        if isinstance(embedding.positions, PositionVectors):
            return x.add_(embedding.positions.vectors(token.new_tensor([at]), x.shape[1]).to(x))
        return x


class _Layer:
    """A `Block` as it steps."""

    def __init__(self, block: Block) -> None:
        attention, cross, feedforward = block.self_attention, block.cross, block.feedforward
        self.heads, self.width = attention.heads, attention.projections.split[0] // attention.heads
        self._scale = _scale(attention)
        self._project, self._merge = attention.projections.joint.forward, attention.output.forward
        if cross is not None:
            self._query, self._source = cross.projections.query.forward, cross.projections.source.forward
            self._merge_read, self._source_scale = cross.output.forward, _scale(cross)
        self._inner, self._outer = feedforward.inner.forward, feedforward.outer.forward
        self._activate = ACTIVATIONS[feedforward.activation]
        self._norms = {name: _normalize(norm) for name, norm in block.norms.items()}
        self._before = block.norm == "before"

    def remember(self, encoded: Float[Tensor, "sentences source width"]) -> Tensor:
        """Keys and values of the source, [2, sentences, heads, source, width]."""
        made: Tensor = self._source(encoded)
        return made.unflatten(-1, (2, self.heads, self.width)).permute(2, 0, 3, 1, 4)

    def read_all(self, x: Float[Tensor, "positions width"], bias: Tensor) -> Tensor:
        """Every position of a sentence reads from all of them, as in an encoder."""
        query, pairs = self._project_both(x, bias.shape[1])
        return self._leave("self_attention", x, self._merge(self._attend(query, pairs, bias, self._scale)))

    def read_past(self, x: Tensor, pairs: Tensor, written: int, filled: int, bias: Tensor) -> Tensor:
        """Put the new pairs down, then read all of one's own."""
        query, pairs[:, :, :, written:filled] = self._project_both(x, filled - written)
        read = self._attend(query, pairs[:, :, :, :filled], bias, self._scale)
        return self._leave("self_attention", x, self._merge(read))

    def read_source(self, x: Tensor, pairs: Tensor, bias: Tensor) -> Tensor:
        """Read the source, which the hypotheses of a sentence share."""
        query = self._query(self._enter("cross", x))
        return self._leave("cross", x, self._merge_read(self._attend(query, pairs, bias, self._source_scale)))

    def feed(self, x: Tensor) -> Tensor:
        """The feed-forward branch."""
        return self._leave("feedforward", x, self._outer(self._activate(self._inner(self._enter("feedforward", x)))))

    def _project_both(self, x: Tensor, beams: int) -> tuple[Tensor, Tensor]:
        """Queries, and keys and values as [2, sentences, heads, beams, width]."""
        made = self._project(self._enter("self_attention", x))
        own = self.heads * self.width
        pairs = made[:, own:].view(-1, beams, 2, self.heads, self.width)
        return made[:, :own], pairs.permute(2, 0, 3, 1, 4)

    def _attend(self, query: Tensor, pairs: Tensor, bias: Tensor, scale: float) -> Tensor:
        """softmax(query keyᵀ · scale + bias) value, one product for each sentence and head."""
        rows, beams = query.shape[0], bias.shape[1]
        query = query.view(-1, beams, self.heads, self.width).transpose(1, 2).reshape(-1, beams, self.width)
        key, value = pairs.flatten(1, 2)
        weights = torch.baddbmm(bias, query, key.mT, alpha=scale).softmax(-1)
        read = torch.bmm(weights, value).view(-1, self.heads, beams, self.width)
        return read.transpose(1, 2).reshape(rows, -1)

    def _enter(self, name: str, x: Tensor) -> Tensor:
        return self._norms[name](x) if self._before else x

    def _leave(self, name: str, x: Tensor, change: Tensor) -> Tensor:
        x = change.add_(x)
        return x if self._before else self._norms[name](x)


@lru_cache(maxsize=4096)
def _waves(positions: Sinusoidal, at: int, width: int) -> Tensor:
    with torch.inference_mode(False):
        return positions.vectors(torch.tensor([at]), width).float()


def _for_heads(bias: Tensor, heads: int, beams: int) -> Tensor:
    """The bias of each sentence, repeated for each of its heads and hypotheses."""
    count, _, pairs = bias.shape
    return bias[:, None].expand(count, heads, beams, pairs).reshape(count * heads, beams, pairs)


def _output_of(output: nn.Linear, tokens: Tensor) -> Callable[[Tensor], Tensor]:
    weight, bias = output.weight[tokens], None if output.bias is None else output.bias[tokens]
    return lambda x: linear(x, weight, bias)


def _normalize(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    if not isinstance(norm, nn.LayerNorm):
        return lambda x: x
    shape, weight, bias, eps = norm.normalized_shape, norm.weight, norm.bias, norm.eps
    return lambda x: layer_norm(x, shape, weight, bias, eps)


def _scale(attention: MultiHead) -> float:
    """What the dot products are multiplied with."""
    width = attention.projections.split[0] // attention.heads
    return float(attention.reading.score.factors(torch.empty(0, width), torch.empty(0, width))[2])


def _fits(model: Model) -> TypeGuard[TransformerModel | GptModel]:
    """Whether the model's decoder has the usual parts, and nobody watches them."""
    if not isinstance(model, TransformerModel | GptModel):
        return False
    positions = model.target.positions
    placed = type(positions) is Position or (isinstance(positions, PositionVectors) and positions.join == "add")
    encoder = model.encoder.blocks if isinstance(model, TransformerModel) else []
    decoder = all(isinstance(block.self_attention.mask, Causal) for block in model.decoder.blocks)
    masked = any(block.self_attention.mask is not None for block in encoder)
    return placed and decoder and not masked and all(map(_usual, [*encoder, *model.decoder.blocks]))


def _usual(block: Block) -> bool:
    attentions = [one for one in (block.self_attention, block.cross) if one is not None]
    unmasked = block.cross is None or block.cross.mask is None
    return block.shortcut is None and unmasked and all(map(_plain_heads, attentions))


def _plain_heads(attention: MultiHead) -> bool:
    reading, (query, key, value) = attention.reading, attention.projections.split
    return (
        isinstance(reading.score, Dot | ScaledDot)
        and isinstance(reading.normalizer, Softmax)
        and type(reading.positions) is Position
        and isinstance(attention.memory, Growing)
        and query == key == value
        and not reading._forward_hooks
    )
