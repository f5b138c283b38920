"""Beam search with compiled steps: three calls for each step, of all layers, of the output layer, of the beams."""

import ctypes
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from regard.data.subwords.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.packed.compiled import Compiled, CompiledState
from regard.decoding.rules import Rules
from regard.native.compiled_layers import BestWords, Steps
from regard.native.structures import CANDIDATE_BYTES, FINISHED, BeamState

_MOST_CANDIDATES = 64
_ROOM = 16
_LARGE = 2**22
"""floats of keys and values from which on those that no hypothesis sees any more are dropped"""
_NEVER = 2**62


def can_search(stepper: Any, state: Any, rules: Rules, size: int) -> bool:
    """Whether a `CompiledSearch` does what is asked for."""
    if not isinstance(stepper, Compiled) or type(state) is not CompiledState or state.listed is not None:
        return False
    fits = 2 * size <= min(_MOST_CANDIDATES, stepper.model.output.out_features)
    return fits and rules.are_plain


class CompiledSearch:
    """The beam search of a batch; `regard.decoding.strategies.beam` describes it.

    Sentences leave the batch as soon as they are done.
    """

    def __init__(
        self,
        stepper: Compiled,
        state: CompiledState,
        rules: Rules,
        first: int,
        *,
        size: int,
        n_best: int,
        length_penalty: float,
        enough: float,
    ) -> None:
        self._stepper, self._state, self._first = stepper, state, first
        self._rules, self._size, self._n_best, self._penalty = rules, size, n_best, length_penalty
        count, rows, candidates = state.sentences, state.sentences * size, 2 * size
        self._most = rules.most.long().contiguous()
        self._kept = {
            "most": self._most,
            "ceiling": (self._most + 1) ** float(length_penalty),
            "bar": torch.full((count,), -torch.inf),
            "ranks": torch.full((count, n_best), -torch.inf),
            "ended": torch.zeros(count, dtype=torch.long),
            "sentences": torch.arange(count, dtype=torch.int32),
            "score": torch.zeros(rows),
        }
        self._beam = BeamState(
            size=size,
            count=candidates,
            best=n_best,
            enough=_NEVER if enough == float("inf") else int(enough),
            end=EOS,
            **{name: tensor.data_ptr() for name, tensor in self._kept.items()},
        )
        stacks = stepper.stacks
        self._words = BestWords(
            stacks.native,
            stacks.output(),
            stacks.wide,
            rows=rows,
            count=candidates,
            end=EOS,
            banned=rules.suppress,
        )
        self._advance = stacks.native.library.advance
        self._made, self._score = torch.empty(candidates * CANDIDATE_BYTES // 4), torch.empty(rows)
        self._ends = np.empty(rows, FINISHED)
        self._steps = Steps()
        self._ancestry = tuple(torch.empty(rows, _ROOM, dtype=torch.int32) for _ in range(2))
        self._history: list[tuple[Tensor, Tensor, Tensor]] = []
        self._finished: list[list[tuple[int, int, float, float, float]]] = [[] for _ in range(count)]

    def run(self) -> list[list[Hypothesis]]:
        """The `n_best` hypotheses of each sentence, the best first; none where logits are not numbers."""
        decoder, rows = self._stepper.stacks.decoder, len(self._score)
        sentences, source = self._state.sentences, self._state.source
        tokens = torch.full((sentences,), self._first)
        x, longest = torch.empty(rows, decoder.width), 0 if source is None else source.longest
        places, space, room = None, torch.empty(0), 0
        while sentences:
            step = self._steps.last + 1
            if step + 1 >= room:
                room = 2 * room + _ROOM
                self._widen(room)
                space = decoder.space(rows, max(room, longest))
                places = self._stepper.places(min(room, int(self._most.max()) + 1))
            if step % _ROOM == 0 and step:
                self._prune(tokens.shape[0])
            self._steps.add(decoder.pairs(tokens.shape[0]))
            place = None if places is None else places[step]
            decoder.decode(tokens, sentences, place, self._steps, self._ancestry[0], source, space, x)
            self._words(x, tokens.shape[0])
            kept, tokens = self._follow(sentences, tokens.shape[0] // sentences, step)
            if kept < sentences and source is not None and self._state.source is not None:
                source = self._state.source.pick(self._kept["sentences"][:kept].long())
            sentences = kept
        return self._found()

    def _follow(self, sentences: int, beams: int, step: int) -> tuple[int, Int[Tensor, "rows"]]:
        """The bookkeeping of a step: how many sentences go on, and the newest tokens of their hypotheses."""
        rows, ends = sentences * self._size, ctypes.c_int64()
        tokens, values = torch.empty(rows, dtype=torch.long), torch.empty(rows)
        parents = torch.empty(rows, dtype=torch.int32)
        before, after = self._ancestry
        kept = self._advance(
            *(ctypes.byref(self._beam), sentences, beams, step, float(step + 1) ** self._penalty, *self._words.given),
            *(before.data_ptr(), after.data_ptr(), before.shape[1], self._made.data_ptr()),
            *(tokens.data_ptr(), values.data_ptr(), parents.data_ptr(), self._score.data_ptr()),
            *(self._ends.ctypes.data, ctypes.byref(ends)),
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
        wider = torch.empty(len(before), room, dtype=torch.int32)
        wider[:, : before.shape[1]] = before
        self._ancestry = wider, torch.empty_like(wider)

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
