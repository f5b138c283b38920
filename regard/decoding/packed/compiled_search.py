"""Beam search with compiled steps: three calls for each step, of all layers, of the output layer, of the beams.

Nothing here needs torch.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from regard.data.subwords.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.native.compiled_layers import BestWords, CompiledStack, SourcePairs, Steps, numbers
from regard.native.library import Library, address
from regard.native.structures import CANDIDATE_BYTES, FINISHED, BeamState, LinearWeights

MOST_CANDIDATES = 64
_ROOM = 16
_LARGE = 2**22
"""floats of keys and values from which on those that no hypothesis sees any more are dropped"""
_NEVER = 2**62


@dataclass(frozen=True, kw_only=True)
class CompiledWriter:
    """What a search needs of a model: its decoder, its output layer, and its positions."""

    native: Library
    decoder: CompiledStack
    output: LinearWeights
    wide: int
    """the outputs of a panel"""
    first: int
    """the token that outputs start after"""
    places: Callable[[int], Float[np.ndarray, "count numbers"] | None]
    """what each of the first positions adds to embeddings, or turns queries and keys by; or biases by distance"""


class CompiledSearch:
    """The beam search of a batch; `regard.decoding.strategies.beam` describes it.

    `most` is the longest output of each sentence, and `banned` are tokens that are never chosen. Sentences leave the
    batch as soon as they are done.
    """

    def __init__(
        self,
        writer: CompiledWriter,
        source: SourcePairs | None,
        most: Int[np.ndarray, "sentences"],
        banned: Int[np.ndarray, "banned"],
        *,
        size: int,
        n_best: int,
        length_penalty: float,
        enough: float,
    ) -> None:
        self._writer, self._source = writer, source
        self._size, self._n_best, self._penalty = size, n_best, length_penalty
        count, rows, candidates = len(most), len(most) * size, 2 * size
        self._most = np.ascontiguousarray(most, np.int64)
        self._kept: dict[str, np.ndarray] = {
            "most": self._most,
            "ceiling": ((self._most + 1) ** float(length_penalty)).astype(np.float32),
            "bar": np.full(count, -np.inf, np.float32),
            "ranks": np.full((count, n_best), -np.inf, np.float32),
            "ended": np.zeros(count, np.int64),
            "sentences": np.arange(count, dtype=np.int32),
            "score": np.zeros(rows, np.float32),
        }
        self._beam = BeamState(
            size=size,
            count=candidates,
            best=n_best,
            enough=_NEVER if enough == float("inf") else int(enough),
            end=EOS,
            **{name: address(array) for name, array in self._kept.items()},
        )
        self._words = BestWords(
            writer.native, writer.output, writer.wide, rows=rows, count=candidates, end=EOS, banned=banned
        )
        self._advance = writer.native.library.advance
        self._made, self._score = numbers(candidates * CANDIDATE_BYTES // 4), numbers(rows)
        self._ends = np.empty(rows, FINISHED)
        self._places = address(self._made), address(self._score), address(self._ends)
        self._steps = Steps()
        self._ancestry = tuple(np.empty((rows, _ROOM), np.int32) for _ in range(2))
        self._history: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._finished: list[list[tuple[int, int, float, float, float]]] = [[] for _ in range(count)]

    def run(self) -> list[list[Hypothesis]]:
        """The `n_best` hypotheses of each sentence, the best first; none where logits are not numbers."""
        decoder, rows = self._writer.decoder, len(self._score)
        sentences, source = len(self._most), self._source
        tokens = np.full(sentences, self._writer.first, np.int64)
        x, longest = numbers(rows, decoder.width), 0 if source is None else source.longest
        places, space, room = None, numbers(0), 0
        while sentences:
            step = self._steps.last + 1
            if step + 1 >= room:
                room = 2 * room + _ROOM
                self._widen(room)
                space = decoder.space(rows, max(room, longest))
                places = self._writer.places(min(room, int(self._most.max()) + 1))
            if step % _ROOM == 0 and step:
                self._prune(len(tokens))
            self._steps.add(decoder.pairs(len(tokens)))
            place = None if places is None else places[step]
            decoder.decode(tokens, sentences, place, self._steps, self._ancestry[0], source, space, x)
            self._words(x, len(tokens))
            kept, tokens = self._follow(sentences, len(tokens) // sentences, step)
            if kept < sentences and source is not None and self._source is not None:
                source = self._source.pick(self._kept["sentences"][:kept])
            sentences = kept
        return self._found()

    def _follow(self, sentences: int, beams: int, step: int) -> tuple[int, Int[np.ndarray, "rows"]]:
        """The bookkeeping of a step: how many sentences go on, and the newest tokens of their hypotheses."""
        rows, ends = sentences * self._size, ctypes.c_int64()
        tokens, values, parents = np.empty(rows, np.int64), numbers(rows), np.empty(rows, np.int32)
        before, after = self._ancestry
        made, score, finished = self._places
        kept = self._advance(
            *(ctypes.byref(self._beam), sentences, beams, step, float(step + 1) ** self._penalty, *self._words.given),
            *(address(before), address(after), before.shape[1], made),
            *(address(tokens), address(values), address(parents), score, finished, ctypes.byref(ends)),
        )
        for sentence, *parts in self._ends[: ends.value].tolist():
            self._finished[sentence].append((step, *parts))
        self._ancestry = after, before
        left = kept * self._size
        self._history.append((tokens[:left], values[:left], parents[:left]))
        return kept, tokens[:left]

    def _widen(self, room: int) -> None:
        """Let hypotheses have a longer past."""
        before, _ = self._ancestry
        wider = np.empty((len(before), room), np.int32)
        wider[:, : before.shape[1]] = before
        self._ancestry = wider, np.empty_like(wider)

    def _prune(self, rows: int) -> None:
        """Drop the keys and values that no hypothesis sees any more, where they take much memory."""
        if self._steps.size > _LARGE:
            self._steps.prune(self._ancestry[0][:rows])

    def _found(self) -> list[list[Hypothesis]]:
        columns = [[side.tolist() for side in sides] for sides in self._history]
        best = [sorted(own, key=lambda one: -one[4])[: self._n_best] for own in self._finished]
        return [
            [self._traced(columns, *one, limit) for one in own]
            for own, limit in zip(best, self._most.tolist(), strict=True)
        ]

    def _traced(
        self, columns: list[list[list[Any]]], step: int, row: int, value: float, score: float, rank: float, limit: int
    ) -> Hypothesis:
        """A finished hypothesis: its tokens, from the last back to the first."""
        tokens: list[int] = []
        values = [value]
        for at in range(step - 1, -1, -1):
            token, own, parent = (column[row] for column in columns[at])
            tokens.append(token)
            values.append(own)
            row = parent
        return hypothesis(tokens[::-1], values[::-1], score, rank, limit)
