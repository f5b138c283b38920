"""Decoding strategies. A strategy is a value: `Beam(size=5)`; its file name is its name in a config.

All strategies apply the same rules and use a model in the same way: `logits, state = model.step(token, state)`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, RegardError, UsageError, check_at_least, check_at_most
from regard.data.subwords.tokenizer import BOS, EOS, PAD, UNK
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.packed.compiled import compiled_search
from regard.decoding.rules import Rules, forced_tokens
from regard.decoding.scorer import EnsembleState, Scorer
from regard.decoding.trace import Trace

STRATEGIES = Catalog("regard.decoding.strategies")
_PREFILLED = 2
"""forced tokens from which on they are read at once"""
LONGEST_OUTPUT = 1_000_000
"""tokens: no setting may ask for longer outputs, whose mere bookkeeping would take all memory"""


@dataclass(frozen=True)
class SearchTask:
    """The input of a strategy: the encoded sentences, and the rules for their outputs."""

    scorer: Scorer
    states: EnsembleState
    rules: Rules
    identities: tuple[tuple[int, ...], ...]
    """each sentence's source and prefix, from which sampling is seeded"""
    trace: Trace | None = None
    stops: Tensor | None = None
    """tokens that end an output as `</s>` does"""
    listen: Callable[[Tensor, Tensor], object] | None = None
    """is called at each step with the numbers of the sentences and their new tokens"""
    alone: "Callable[[int], SearchTask] | None" = None
    """the task of one of the sentences, computed without the others, whose numbers rounding cannot change; None if
    there are no others"""

    def compiled(self, size: int, n_best: int, length_penalty: float, enough: float) -> list[list[Hypothesis]] | None:
        """What the compiled beam search finds; None where it cannot do the task."""
        watched = self.trace is not None or self.stops is not None or self.listen is not None
        if watched:
            return None
        how = {"n_best": n_best, "length_penalty": length_penalty, "enough": enough}
        return compiled_search(self.scorer.alone, self.states.parts[0], self.rules, size, **how)

    def prefilled(self) -> tuple[Int[Tensor, "sentences given"], Float[Tensor, "sentences given"], EnsembleState]:
        """The forced tokens that all sentences share in number, read at once (prefill), and their log-probabilities.

        There are none where the scorer cannot read several at once, where each step is traced, or where a forced token
        would end an output.
        """
        forced, states = self.rules.forced[:, : self.rules.shared], self.states
        ends = self.stops is not None and bool(torch.isin(forced, self.stops).any())
        if forced.shape[1] < _PREFILLED or self.trace is not None or ends or not self.scorer.reads_at_once:
            return forced[:, :0], torch.empty(len(forced), 0, device=forced.device), states
        given = torch.cat([torch.full_like(forced[:, :1], self.scorer.first), forced[:, :-1]], 1)
        values, states = self.scorer.read(given, forced, states)
        if self.listen is not None:
            for token in forced.unbind(1):
                self.listen(torch.arange(len(forced), device=forced.device), token)
        return forced, values, states


@dataclass(frozen=True, kw_only=True)
class Strategy(ABC):
    """A decoding strategy, with the settings that all of them share.

    Lengths count tokens after the forced prefix and before `</s>`. The longest output is `max_length` tokens or, if
    that is not given, `max_ratio` · source tokens + `max_extra`; there an output is forced to end.
    """

    min_length: int = 0
    """the fewest tokens of an output"""
    max_length: int | None = None
    """the most tokens of an output; by default `max_ratio` · source tokens + `max_extra`"""
    max_ratio: float = 2.0
    """the most target tokens for each source token"""
    max_extra: int = 20
    """tokens that an output may have beyond `max_ratio`"""
    no_repeat_ngram: int = 0
    """no n-gram of this many tokens occurs twice in an output; 0: no such rule"""
    prefix: tuple[int, ...] = ()
    """tokens that every output starts with"""
    suppress: tuple[int, ...] = (PAD, UNK, BOS)
    """tokens that are never chosen"""

    def __post_init__(self) -> None:
        where = type(self).__name__.lower()
        check_at_least(where, 0, min_length=self.min_length, max_ratio=self.max_ratio, max_extra=self.max_extra)
        check_at_least(where, 0, no_repeat_ngram=self.no_repeat_ngram)
        check_at_most(where, LONGEST_OUTPUT, max_length=self.max_length or 0, max_extra=self.max_extra)
        check_at_most(where, LONGEST_OUTPUT, min_length=self.min_length, max_ratio=self.max_ratio)
        check_at_least(where, 0, **{f"suppress[{at}]": token for at, token in enumerate(self.suppress)})
        if self.max_length is not None and self.max_length < max(1, self.min_length):
            raise ConfigError(
                f"{where}: max_length must be at least 1 and at least min_length ({self.min_length}), "
                f"but is {self.max_length}"
            )
        check_prefix(f"{where}.prefix", self.prefix)

    @abstractmethod
    def run(self, task: SearchTask) -> list[list[Hypothesis]]:
        """For each sentence its hypotheses, the best first; there is at least one."""

    def rules(self, source_lengths: Tensor | None, prefixes: Sequence[Sequence[int]], device: torch.device) -> Rules:
        """The rules for sentences with these sources and prefixes."""
        given = [len(prefix) for prefix in prefixes]
        read = [0] * len(given) if source_lengths is None else source_lengths.tolist()
        least = [length + self.min_length if self.min_length else 0 for length in given]
        most = [length + self._room(own) for length, own in zip(given, read, strict=True)]
        return Rules(
            suppress=torch.tensor(self.suppress, dtype=torch.long, device=device),
            no_repeat_ngram=self.no_repeat_ngram,
            forced=forced_tokens(prefixes, device),
            least=torch.tensor(least, device=device),
            most=torch.tensor(most, device=device),
        )

    def _room(self, read: int) -> int:
        """The most tokens of an output for a source of so many tokens, in float32 as tensors would have it."""
        if self.max_length is not None:
            return self.max_length
        return max(1, self.min_length, int(np.float32(self.max_ratio) * np.float32(read)) + self.max_extra)


def strategy_for(asked: Strategy | str | None, own: Strategy, n_best: int | None = None) -> Strategy:
    """The strategy of a call: the one asked for, as an object or as a text such as `beam(size=8)`, or the model's own.

    With `n_best` it gives so many outputs for each text; a beam that is narrower is widened.
    """
    if asked is not None and not isinstance(asked, Strategy | str):
        raise UsageError(f"strategy: give a strategy or its text, such as 'beam(size=8)', not {type(asked).__name__}")
    chosen: Any = own if asked is None else STRATEGIES.make(asked, "strategy")
    if n_best is None:
        return chosen
    check_at_least("strategy", 1, n_best=n_best)
    if not hasattr(chosen, "n_best"):
        if n_best == 1:
            return chosen
        raise UsageError(
            f"n_best: a {type(chosen).__name__.lower()} search gives one output; "
            f"ask for strategy='beam(n_best={n_best})' instead"
        )
    wider = {"size": max(chosen.size, n_best)} if hasattr(chosen, "size") else {}
    return replace(chosen, n_best=n_best, **wider)


def check_prefix(where: str, prefix: Sequence[int]) -> None:
    """Raise an error for a token that cannot be inside an output."""
    for token in prefix:
        if token < 0 or token in (PAD, BOS, EOS):
            raise ConfigError(f"{where}: token {token} cannot stand inside an output; give ids of subwords")


def check_numbers(found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
    """Raise an error if scores are NaN or infinite, so that a damaged model does not pass for a bad one."""
    if any(not one or not isfinite(one[0].score) for one in found):
        raise RegardError("search: the model's logits are not numbers (NaN or infinity); its weights may be damaged")
    return found
