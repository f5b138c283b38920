"""Beam search with compiled steps: one call for some steps, each of all layers, the output layer and the beams.

Nothing here needs torch.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from regard.data.subwords.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.native.compiled_layers import Arena, CompiledStack, ListedWords, SourcePairs, Steps
from regard.native.library import Library, address
from regard.native.structures import CANDIDATE_BYTES, FINISHED, LinearWeights, SearchState

MOST_CANDIDATES = 64
_ROOM = 16
"""steps of one call"""
_LARGE = 2**22
"""floats of keys and values from which on those that no hypothesis sees any more are dropped"""
_NEVER = 2**62
_FOR_ROWS = {"norm": 1, "ending": 2, "score": 1, "next": 1, "newest": 2}
"""floats, or as many bytes of whole numbers, that each row takes"""


@dataclass(frozen=True, kw_only=True)
class CompiledWriter:
    """What a search needs of a model: its decoder, its output layer, and its positions."""

    native: Library
    decoder: CompiledStack
    output: LinearWeights
    """of the whole vocabulary, or of the words that a shortlist has for all sentences"""
    listed: ListedWords | None = None
    """the words of a shortlist"""
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
        count, rows, self._n_best = len(most), len(most) * size, n_best
        self._writer, self._source = writer, source
        self._most = np.ascontiguousarray(most, np.int64)
        self._banned = np.ascontiguousarray(banned, np.int64)
        self._steps, self._ancestry = Steps(), np.empty((2, rows, 0), np.int32)
        output = ctypes.addressof(writer.output)
        self._arena = Arena(
            {name: 4 * each * rows for name, each in _FOR_ROWS.items()}
            | dict.fromkeys(("first", "length", "ceiling", "bar", "ended", "going"), 8 * count)
            | dict.fromkeys(("logits", "found"), 8 * size * rows)
            | {"x": 4 * rows * writer.decoder.width, "ranks": 4 * n_best * count, "made": 2 * size * CANDIDATE_BYTES}
            | {"block": 4 * writer.native.library.block_for(output, rows)}
        )
        self._state = SearchState(
            stack=ctypes.addressof(writer.decoder.weights),
            output=output,
            most=address(self._most),
            banned=address(self._banned),
            banned_count=len(self._banned),
            rows=rows,
            size=size,
            count=2 * size,
            best=n_best,
            enough=int(min(enough, _NEVER)),
            end=EOS,
            sentences=count,
            beams=1,
            penalty=length_penalty,
            **self._arena.places,
        )
        self._point()
        self._history: list[tuple[list[int], list[float], list[int]]] = []
        self._finished: list[list[tuple[int, int, float, float, float]]] = [[] for _ in range(count)]

    def _point(self) -> None:
        """Point to the source, and to the words of a shortlist."""
        state, source, listed = self._state, self._source, self._writer.listed
        if source is not None:
            state.source, state.source_rows, state.all_first, state.all_length = source.given
        if listed is not None:
            state.own, state.ids, state.words = ctypes.addressof(listed.own), address(listed.ids), listed.ids.shape[1]

    def run(self) -> list[list[Hypothesis]]:
        """The `n_best` hypotheses of each sentence, the best first; none where logits are not numbers."""
        state, library, decoder = self._state, self._writer.native.library, self._writer.decoder
        library.begin(ctypes.byref(state), self._writer.first)
        while state.sentences:
            first, last = state.step, state.step + _ROOM
            if last > state.room:
                self._widen(last + first)
            self._prune(state.sentences * state.beams)
            self._steps.reserve(_ROOM, (decoder.count, state.sentences * state.size, decoder.pair_step))
            state.steps, state.counts = map(ctypes.addressof, (self._steps.pointers, self._steps.counts))
            made = np.empty((3, _ROOM, state.rows), np.int32)
            finished = np.empty(_ROOM * state.rows * FINISHED.itemsize, np.uint8)
            state.tokens, state.parents, state.values = range(
                address(made), address(made) + made.nbytes, made.strides[0]
            )
            state.finished, state.ends = address(finished), 0
            library.walk(ctypes.byref(state), last)
            if state.sentences:
                self._steps.settle(first, state.step)
            tokens, parents, values = made[:, : state.step - first]
            self._history += zip(tokens.tolist(), values.view(np.float32).tolist(), parents.tolist(), strict=True)
            for sentence, *parts in finished.view(FINISHED)[: state.ends].tolist():
                self._finished[sentence].append(tuple(parts))
        return self._found()

    def _widen(self, room: int) -> None:
        """Let hypotheses have a longer past: room for it, the positions, and the working space."""
        state, source = self._state, self._source
        wider = np.empty((2, state.rows, room), np.int32)
        wider[0, :, : state.room] = self._past()
        state.ancestry, state.room = address(wider), room
        state.after = state.ancestry + wider.strides[0]
        state.keys = max(room, 0 if source is None else source.longest)
        places = self._writer.places(min(room, int(self._most.max()) + 1))
        space = self._writer.decoder.space(state.rows, state.keys)
        if places is not None:
            state.places, state.place_step = address(places), places.shape[1]
        self._ancestry, state.space, self._held = wider, address(space), (space, places)

    def _past(self) -> Int[np.ndarray, "rows room"]:
        """The ancestry of the hypotheses that go on."""
        return self._ancestry[int(self._state.ancestry != address(self._ancestry))]

    def _prune(self, rows: int) -> None:
        """Drop the keys and values that no hypothesis sees any more, where they take much memory."""
        if self._state.step and self._steps.size > _LARGE:
            self._steps.prune(self._past()[:rows])

    def _found(self) -> list[list[Hypothesis]]:
        best = [sorted(own, key=lambda one: -one[4])[: self._n_best] for own in self._finished]
        return [
            [self._traced(*one, limit) for one in own] for own, limit in zip(best, self._most.tolist(), strict=True)
        ]

    def _traced(self, step: int, row: int, value: float, score: float, rank: float, limit: int) -> Hypothesis:
        """A finished hypothesis: its tokens, from the last back to the first."""
        tokens: list[int] = []
        values = [value]
        for at in range(step - 1, -1, -1):
            token, own, parent = self._history[at]
            tokens.append(token[row])
            values.append(own[row])
            row = parent[row]
        return hypothesis(tokens[::-1], values[::-1], score, rank, limit)
