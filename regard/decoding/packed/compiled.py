"""A Transformer decoder whose steps are compiled: all layers in one call, with the results of the packed decoder."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float, Int, Int32
from torch import Tensor

from regard.attention.position import PositionVectors
from regard.attention.positions.buckets import BucketTable
from regard.attention.positions.rotary import Rotary
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.packed.by_torch import Packed
from regard.decoding.packed.compiled_search import MOST_CANDIDATES, CompiledSearch, CompiledWriter
from regard.decoding.packed.stacks import CompiledModel
from regard.decoding.rules import Rules
from regard.decoding.words import ListedOutput, Words
from regard.layers.embedding import Embedding
from regard.models.gpt import GptModel
from regard.models.t5 import T5Model
from regard.models.transformer import TransformerModel
from regard.models.writer import State, fitting
from regard.native.compiled_layers import CompiledStack, SourcePairs, Steps, numbers

_WAVES = 64
_ROWS = 512
"""so many rows of a prompt are read at once, which keeps the working space small"""


@dataclass(frozen=True, kw_only=True)
class CompiledState(State):
    """The keys and values of all steps, and which of them are each hypothesis' past."""

    steps: Steps = field(default_factory=Steps)
    """as many as `ancestry` has are of this state; a state that came after it may have added others"""
    ancestry: Int32[Tensor, "rows steps"]
    """the row of each earlier step that a hypothesis continues"""
    source: SourcePairs | None = None
    words: Words | None = None
    """the shortlisted words, if not the whole vocabulary"""
    listed: ListedOutput | None = None
    """their output layer by torch, made at the first step that needs it"""

    def pick_rows(self, rows: Int[Tensor, "rows"]) -> Self:
        return replace(self, ancestry=self.ancestry[rows])

    def pick_sentences(self, sentences: Int[Tensor, "kept"]) -> Self:
        return replace(
            self,
            source=None if self.source is None else self.source.pick(sentences.numpy()),
            words=None if self.words is None else self.words.pick(sentences),
            listed=None if self.listed is None else self.listed.pick(sentences),
        )


class Compiled(Packed):
    """The packed decoder with compiled steps: where one thread computes, without gradients."""

    def __init__(self, model: TransformerModel | T5Model | GptModel, stacks: CompiledModel) -> None:
        super().__init__(model)
        self.stacks = stacks

    def start(self, source: Tensor | None, source_lengths: Tensor | None, rows: int = 1) -> Any:
        if torch.is_grad_enabled() or torch.get_num_threads() > 1:
            return super().start(source, source_lengths, rows)
        read = None
        if self.stacks.encoder is not None and source is not None and source_lengths is not None:
            rows = len(source)
            read = self._read(self.stacks.encoder, source, source_lengths)
        ancestry = torch.empty(rows, 0, dtype=torch.int32)
        return CompiledState(sentences=rows, ancestry=ancestry, source=read, words=self._words)

    def _read(self, encoder: CompiledStack, source: Tensor, lengths: Tensor) -> SourcePairs:
        """Encode the source, without its padding, and project its keys and values."""
        model: Any = self.model
        longest, vocabulary = source.shape[1], model.source.table.num_embeddings
        ids, own = source.long().contiguous().numpy(), lengths.long().contiguous().numpy()
        encoded, first = encoder.encode(ids, own, vocabulary, self._source_places(longest))
        return SourcePairs(self.stacks.decoder.remember(encoded), first, own, longest)

    def _source_places(self, count: int) -> Float[np.ndarray, "places numbers"] | None:
        """What is added to the embeddings of a source; or biases, those of the farthest back first."""
        table = self.stacks.source_table
        if table is None:
            model: Any = self.model
            return self._vectors("source", model.source, count)
        known = self.stacks.places.get("source")
        if known is None or len(known) < 2 * count - 1:
            room = count + -count % _WAVES
            known = self.stacks.places["source"] = biases(table, 1 - room, room).numpy()
        middle = len(known) // 2
        return known[middle + 1 - count : middle + count]

    def _vectors(self, side: str, embedding: Embedding, count: int) -> Float[np.ndarray, "count width"] | None:
        """The vectors that are added to the embeddings of the first positions; None where there are none."""
        known = self.stacks.places.get(side)
        if known is None or len(known) < count:
            most = embedding.positions.limit
            room = count + -count % _WAVES
            made = position_vectors(embedding, room if most is None else max(count, min(room, most)))
            if made is None:
                return None
            known = self.stacks.places[side] = made.numpy()
        return known[:count]

    def advance(self, token: Tensor, before: Any) -> tuple[Float[Tensor, "rows width"], Any]:
        if not isinstance(before, CompiledState):
            return super().advance(token, before)
        decoder, rows = self.stacks.decoder, len(token)
        token = token.clamp(0, self.model.output.out_features - 1).contiguous()
        steps = before.steps.grown(before.ancestry.shape[1], [decoder.pairs(rows)])
        keys = max(steps.last + 1, 0 if before.source is None else before.source.longest)
        made, space = numbers(rows, decoder.width), decoder.space(rows, keys)
        places = self.places(steps.last + 1)
        place = None if places is None else places[steps.last]
        ancestry = before.ancestry.contiguous()
        decoder.decode(token.numpy(), before.sentences, place, steps, ancestry.numpy(), before.source, space, made)
        own = torch.arange(rows, dtype=torch.int32)[:, None]
        return torch.from_numpy(made), replace(before, steps=steps, ancestry=torch.cat([ancestry, own], 1))

    def places(self, count: int) -> Float[np.ndarray, "count numbers"] | None:
        """For the first positions, what is added to embeddings or turns queries and keys; or biases, nearest first."""
        if self.stacks.turned:
            positions: Any = self.model.decoder.blocks[0].self_attention.reading.positions
            return _turns(positions, count + -count % _WAVES, self.stacks.turned)[:count].numpy()
        table = self.stacks.table
        if table is None:
            return self._vectors("target", self._embedding, count)
        known = self.stacks.places.get("target")
        if known is None or len(known) < count:
            made = biases(table, 1 - count - -count % _WAVES, 1)
            known = self.stacks.places["target"] = made.flip(0).contiguous().numpy()
        return known[:count]

    def writer(self) -> CompiledWriter:
        """The model, for a compiled search."""
        listed = None if self._words is None else self.stacks.listed(self._words)
        return CompiledWriter(
            native=self.stacks.native,
            decoder=self.stacks.decoder,
            output=self.stacks.output() if listed is None else listed.common,
            listed=listed,
            first=self.model.first,
            places=self.places,
        )

    def read(
        self, tokens: Int[Tensor, "sentences given"], state: State
    ) -> tuple[Float[Tensor, "positions width"], Any]:
        if not isinstance(state, CompiledState):
            return super().read(tokens, state)
        made = []
        if state.source is not None:
            for token in tokens.unbind(1):
                x, state = self.advance(token, state)
                made.append(x[:, None])
        else:
            for some in tokens.split(max(1, _ROWS // len(tokens)), dim=1):
                x, state = self._read_some(some, state)
                made.append(x)
        return torch.cat(made, 1).flatten(0, 1), state

    def _read_some(
        self, tokens: Int[Tensor, "sentences given"], before: CompiledState
    ) -> tuple[Float[Tensor, "sentences given width"], CompiledState]:
        """Read a few tokens of each sentence at once (prefill)."""
        decoder, (sentences, given) = self.stacks.decoder, tokens.shape
        first = before.ancestry.shape[1]
        steps = before.steps.grown(first, [decoder.pairs(sentences) for _ in range(given)])
        places = self.places(first + given)
        ids = tokens.clamp(0, self.model.output.out_features - 1).T.contiguous().numpy()
        ancestry = before.ancestry.contiguous()
        made = decoder.prefill(ids, None if places is None else places[first:], steps, ancestry.numpy())
        own = torch.arange(sentences, dtype=torch.int32)[:, None].expand(-1, given)
        after = replace(before, steps=steps, ancestry=torch.cat([ancestry, own], 1))
        return torch.from_numpy(made).transpose(0, 1), after

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], Any]:
        if not isinstance(state, CompiledState):
            return super().step(token, state)
        if state.words is not None and state.listed is None:
            state = replace(state, listed=ListedOutput.of(self.model.output, state.words))
        x, after = self.advance(token, fitting(state, CompiledState, token))
        return self._output(x) if after.listed is None else after.listed(x * self._output_scale), after


def compiled_search(stepper: Any, state: Any, rules: Rules, size: int, **how: Any) -> list[list[Hypothesis]] | None:
    """What a `CompiledSearch` finds; None where it does not do what is asked for."""
    if not isinstance(stepper, Compiled) or type(state) is not CompiledState or not rules.are_plain:
        return None
    words = stepper.model.output.out_features if state.words is None else state.words.common
    if 2 * size > min(MOST_CANDIDATES, words):
        return None
    limits = rules.most.long().numpy(), rules.suppress.numpy()
    return CompiledSearch(stepper.writer(), state.source, *limits, size=size, **how).run()


def position_vectors(embedding: Embedding, count: int) -> Float[Tensor, "count width"] | None:
    """The vectors that are added to the embeddings of the first positions; None where there are none."""
    positions, width = embedding.positions, embedding.table.weight.shape[1]
    if isinstance(positions, Sinusoidal):
        return _waves(positions, count + -count % _WAVES, width)[:count]
    if isinstance(positions, PositionVectors):
        return positions.vectors(torch.arange(count), width).contiguous()
    return None


def biases(table: BucketTable, start: int, end: int) -> Float[Tensor, "distances heads"]:
    """What T5 adds to the logits of keys that stand from `start` to `end` - 1 ahead of their query."""
    return table.weight[:, table.layout.bucket(torch.arange(start, end))].T.contiguous()


@lru_cache(maxsize=64)
def _waves(positions: Sinusoidal, count: int, width: int) -> Tensor:
    with torch.inference_mode(False):
        return positions.vectors(torch.arange(count), width).float().contiguous()


@lru_cache(maxsize=64)
def _turns(positions: Rotary, count: int, width: int) -> Float[Tensor, "count width"]:
    """Cosines and sines of the first positions, half a row each."""
    with torch.inference_mode(False):
        return torch.cat(positions.waves(torch.arange(count), width), dim=-1).float().contiguous()
