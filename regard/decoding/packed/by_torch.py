"""A fast Transformer decoder for beam search: few, large operations, with the results of the model's own steps.

A `Packed` computes a Transformer, GPT or T5 of the usual parts (`packed.acceptance`); its `start` and `step` equal the
model's own up to rounding. The differences:

- Beam search does not reorder the KV cache. The hypotheses of a sentence share one cache, to which each step appends
  one key and value per hypothesis. A bias masks the pairs: 0 for the hypotheses whose past contains the pair, -∞ for
  the others. Reordering selects rows of this bias, the same for all layers, instead of all keys and values.
- So the queries of a sentence meet its keys in one matrix product, in self-attention as in cross-attention.
- A text that is given, such as a prompt, is read at once (`read`, prefill): its tokens are queries of one product, too.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.position import PositionVectors
from regard.attention.positions.buckets import BucketTable
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.decoding.packed.bucket_bias import BucketBias
from regard.decoding.packed.cache import Shelf
from regard.decoding.packed.layer import PackedLayer, normalization
from regard.decoding.words import ListedOutput, Words
from regard.layers.stack import Stack
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.gpt import GptModel
from regard.models.t5 import T5Model
from regard.models.transformer import TransformerModel
from regard.models.writer import State, fitting


@dataclass(frozen=True, kw_only=True)
class PackedState(State):
    """The KV caches of all layers: one for the past, and the keys and values of the source."""

    past: Shelf
    seen: Float[Tensor, "sentences beams pairs"]
    """0 where a pair belongs to the hypothesis' past, else -∞"""
    source: tuple[tuple[Tensor, Tensor], ...] = ()
    """keys and values for each layer, [sentences, heads, source, width]"""
    padding: Float[Tensor, "sentences 1 1 source"] | None = None
    """the padding mask of the source: -∞ at padding, else 0"""
    listed: ListedOutput | None = None
    length: int = 0
    in_order: bool = True
    """whether the pairs of every sentence are its one hypothesis, in the order of the text"""

    def pick_rows(self, rows: Int[Tensor, "rows"]) -> Self:
        """Reorder the rows of each sentence, or repeat them; the KV cache stays as it is."""
        count, beams, pairs = self.seen.shape
        seen = self.seen.view(count * beams, pairs)[rows].view(count, len(rows) // count, pairs)
        return replace(self, seen=seen, in_order=False)

    def keep(self, sentences: Int[Tensor, "kept"]) -> Self:
        return self.pick_sentences(sentences)

    def pick_sentences(self, sentences: Int[Tensor, "kept"]) -> Self:
        return replace(
            self,
            sentences=len(sentences),
            past=self.past.pick(sentences, self.seen.shape[2]),
            seen=self.seen[sentences],
            source=tuple((key[sentences], value[sentences]) for key, value in self.source),
            padding=None if self.padding is None else self.padding[sentences],
            listed=None if self.listed is None else self.listed.pick(sentences),
        )


class Packed:
    """The packed decoder of a model; it shares the model's weights."""

    limit: int | None = None
    """how many tokens the model can read in a row; None: any number"""

    def __init__(self, model: TransformerModel | T5Model | GptModel) -> None:
        self.model = model
        self._words: Words | None = None
        self._embedding = model.target
        self._output = getattr(model.output, "in_chunks", model.output.forward)
        self._output_scale = getattr(model.output, "scale", 1.0)

    def listing(self, words: Words) -> Self:
        """The same decoder, which computes the logits of these words alone."""
        made = copy(self)
        made._words = words
        return made

    @cached_property
    def _layers(self) -> list[PackedLayer]:
        return [PackedLayer(block) for block in self.model.decoder.blocks]

    @cached_property
    def _norm(self) -> Callable[[Tensor], Tensor]:
        return normalization(self.model.decoder.norm)

    @cached_property
    def _bias(self) -> BucketBias | None:
        return _bucket_bias(self.model.decoder)

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> PackedState:
        """As the model's: encode the source and project its keys and values once."""
        table = self._embedding.table.weight
        read: tuple[tuple[Tensor, Tensor], ...] = ()
        bias = None
        if isinstance(self.model, EncoderDecoder) and source is not None and source_lengths is not None:
            rows, longest = source.shape
            padding = torch.arange(longest, device=source.device) >= source_lengths[:, None]
            bias = table.new_zeros(rows, 1, 1, longest).masked_fill_(padding[:, None, None], -torch.inf)
            encoded = self._encode(self.model, source, bias)
            read = tuple(layer.remember(encoded) for layer in self._layers)
        shelf = Shelf.empty(table, len(self._layers), rows, self._layers[0].key_heads, self._layers[0].width)
        seen = table.new_empty(rows, 1, 0)
        listed = None if self._words is None else ListedOutput.of(self.model.output, self._words)
        return PackedState(sentences=rows, past=shelf, seen=seen, source=read, padding=bias, listed=listed)

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], PackedState]:
        """As the model's: the logits of the next token, and the new state.

        Logits may be padded with -∞. Finished hypotheses hold a placeholder id in `token`; it is never read.
        """
        x, after = self.advance(token, fitting(state, PackedState, token))
        return self._output(x) if after.listed is None else after.listed(x * self._output_scale), after

    def read(
        self, tokens: Int[Tensor, "sentences given"], state: State
    ) -> tuple[Float[Tensor, "positions width"], PackedState]:
        """Read several tokens of each sentence's one hypothesis at once: their hidden states, and the state after."""
        before = fitting(state, PackedState, tokens[:, 0])
        count, given = tokens.shape
        past, seen = before.past.room_for(given, before.seen)
        ahead = torch.full((given, given), -torch.inf, dtype=seen.dtype, device=seen.device).triu_(1)
        own = torch.cat([seen.expand(-1, given, -1), ahead.expand(count, -1, -1)], dim=2)
        x = self._through(tokens.flatten(), before, past, own, before.length)
        seen = torch.cat([seen, seen.new_zeros(count, 1, given)], dim=2)
        return x, replace(before, past=past, seen=seen, length=before.length + given)

    def logits(self, hidden: Float[Tensor, "rows width"]) -> Float[Tensor, "rows vocabulary"]:
        """The logits of hidden states; they may be padded with -∞."""
        made: Tensor = self._output(hidden)
        return made

    def _encode(self, model: EncoderDecoder, source: Tensor, bias: Tensor) -> Tensor:
        x = model.source(source).flatten(0, 1)
        table = _bucket_bias(model.encoder)
        bias = bias if table is None else bias + table.whole(source.shape[1])
        layers = [PackedLayer(block) for block in model.encoder.blocks]
        for layer in layers:
            x = layer.feed(layer.read_all(x, bias))
        return normalization(model.encoder.norm)(x).view(*source.shape, -1)

    def advance(self, token: Tensor, before: PackedState) -> tuple[Float[Tensor, "rows width"], PackedState]:
        """The hidden states, which the output layer turns into logits, and the state after this token."""
        count, beams, _ = before.seen.shape
        past, seen = before.past.room_for(beams, before.seen)
        own = _apart(beams, seen.dtype, seen.device).expand(count, -1, -1)
        seen = torch.cat([seen, own], dim=2)
        x = self._through(token, before, past, seen, None)
        return x, replace(before, past=past, seen=seen, length=before.length + 1)

    def _through(
        self, token: Tensor, before: PackedState, past: Shelf, seen: Tensor, first: int | None
    ) -> Float[Tensor, "rows width"]:
        """Through all layers: tokens at the next position or, from `first` on, at one position after the other."""
        count, rows, pairs_seen = seen.shape
        there = past.pairs.narrow(4, 0, pairs_seen)
        new, pairs = there[..., -rows:, :].unbind(), there.flatten(0, 1).unbind()
        place = torch.tensor([before.length]) if first is None else torch.arange(first, first + rows)
        place = place.to(token.device)
        bias = self._with_distances(seen, before, past, place)
        x = self._embed(token.clamp(max=self.model.output.out_features - 1), place, count)
        for at, layer in enumerate(self._layers):
            x = layer.read_past(x, new[at], pairs[2 * at], pairs[2 * at + 1], bias, place)
            if before.padding is not None:
                x = layer.read_source(x, *before.source[at], before.padding, rows)
            x = layer.feed(x)
        return self._norm(x)

    def _with_distances(self, seen: Tensor, before: PackedState, past: Shelf, place: Tensor) -> Tensor:
        """What each row sees and, for T5, how far away it is, [sentences, heads or 1, rows, pairs]."""
        if self._bias is None:
            return seen[:, None]
        count, rows, pairs = seen.shape
        places = past.places.narrow(1, 0, pairs)
        places[:, -rows:] = place
        if before.in_order and rows == 1:
            return self._bias.newest(pairs).expand(count, -1, -1, -1)
        return self._bias.between(place, places) + seen[:, None]

    def _embed(self, token: Tensor, place: Tensor, sentences: int) -> Tensor:
        positions, scale = self._embedding.positions, self._embedding.scale
        x = self._embedding.table.weight[token]
        if len(place) == 1 and isinstance(positions, Sinusoidal):
            return torch.add(_waves(positions, int(place), x.shape[1], x.dtype, x.device), x, alpha=scale)
        if isinstance(positions, PositionVectors):
            vectors = positions.vectors(place, x.shape[1]).to(x)
            return torch.add(vectors.repeat(sentences, 1) if len(place) > 1 else vectors, x, alpha=scale)
        return x * scale


def _bucket_bias(stack: Stack) -> BucketBias | None:
    """T5's position bias, which all layers share; None if there is none."""
    positions: Any = stack.blocks[0].self_attention.reading.positions
    return BucketBias(positions) if isinstance(positions, BucketTable) else None


@lru_cache(maxsize=4096)
def _waves(positions: Sinusoidal, at: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return positions.vectors(torch.tensor([at]), width).to(device, dtype)


@lru_cache(maxsize=64)
def _apart(beams: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "beams beams"]:
    """The mask of the newest pairs: each hypothesis sees its own."""
    with torch.inference_mode(False):
        return torch.full((beams, beams), -torch.inf, device=device, dtype=dtype).fill_diagonal_(0.0)
