"""Decoding with any model and any strategy, such as beam search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from regard.base.errors import ConfigError, ShapeError, UsageError
from regard.base.room import check_memory
from regard.decoding.constrained import constrained_search
from regard.decoding.constraint import Constraint
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.scorer import Scorer, copies, evaluating
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import SearchTask, Strategy, check_prefix
from regard.decoding.trace import Trace
from regard.decoding.words import Words
from regard.models.writer import Writer

_MANY = 100  # hypotheses of a sentence, from which on their memory is looked at
_BYTES_A_SCORE = 12


def search(
    models: Writer | Sequence[Writer],
    source: Int[Tensor, "sentences source"] | None,
    source_lengths: Int[Tensor, "sentences"] | None,
    strategy: Strategy,
    prefixes: Sequence[Sequence[int]] | None = None,
    *,
    trace: Trace | None = None,
    shortlist: Shortlist | None = None,
    constraints: Sequence[Constraint] | None = None,
    stops: Sequence[int] = (),
    listen: Callable[[Tensor, Tensor], object] | None = None,
) -> list[list[Hypothesis]]:
    """Decode: the outputs of each sentence, the best first. Several models are an ensemble.

    `prefixes` are tokens that each sentence's output starts with, after the strategy's own prefix. A language model has
    no source: its sentences are the prefixes. The output of a sentence does not depend on the rest of the batch. With
    a `shortlist`, only the words on it are scored. With `constraints`, one for each sentence, outputs have their
    phrases, as far as these fit into the longest output. `stops` are tokens that end an output as `</s>` does; `listen`
    is called at each step with the numbers of the sentences and their new tokens. Both go with greedy search and
    sampling.
    """
    if (stops or listen is not None) and not isinstance(strategy, Greedy | Sample):
        name = type(strategy).__name__.lower()
        raise UsageError(f"search: {name} search cannot be listened to or end at other tokens; use greedy or sample")
    scorer = Scorer(models)
    sentences = _count(scorer, source, source_lengths, prefixes)
    if not sentences:
        return []
    for prefix in prefixes or ():
        check_prefix("search: prefixes", prefix)
    starts = [(*strategy.prefix, *prefix) for prefix in prefixes or [()] * sentences]
    vocabulary = scorer.models[0].output.out_features
    if copies(scorer.models[0]) and source is not None:
        if shortlist is not None:
            raise UsageError("search: a model that copies words scores all of them; use it without a shortlist")
        vocabulary = max(vocabulary, int(source.max()) + 1)
    _check_tokens(vocabulary, strategy, starts)
    rows = max(getattr(strategy, "size", 1), getattr(strategy, "n_best", 1))
    if rows > _MANY:
        needed = _BYTES_A_SCORE * rows * vocabulary
        check_memory(f"search: a width of {rows:,}", needed, "take a smaller beam")
    identities = tuple(map(tuple, _identities(source, source_lengths, starts)))
    if constraints is not None or source is None or source_lengths is None:
        shortlist = None
    if shortlist is not None and trace is not None:
        raise UsageError("search: a trace is taken of the whole vocabulary, so it does not go with a shortlist")
    inputs = _Inputs(models, strategy, source, source_lengths, starts, identities, shortlist, stops)
    with evaluating(scorer.models):
        task, words = inputs.task(scorer)
        task = replace(task, trace=trace, listen=listen, alone=inputs.alone if sentences > 1 else None)
        if constraints is not None:
            return constrained_search(_beam(strategy), task, list(constraints))
        found = strategy.run(task)
        return found if words is None else words.outside(found)


@dataclass(frozen=True)
class _Inputs:
    """What a search is given for some sentences."""

    models: Writer | Sequence[Writer]
    strategy: Strategy
    source: Int[Tensor, "sentences source"] | None
    source_lengths: Int[Tensor, "sentences"] | None
    starts: Sequence[tuple[int, ...]]
    """the tokens that each sentence's output starts with"""
    identities: Sequence[tuple[int, ...]]
    shortlist: Shortlist | None
    stops: Sequence[int]

    def task(self, scorer: Scorer | None = None) -> tuple[SearchTask, Words | None]:
        """The task of searching for all sentences at once, and the shortlisted words that it is about."""
        strategy, starts, words = self.strategy, self.starts, None
        scorer = Scorer(self.models) if scorer is None else scorer
        if self.shortlist is not None and self.source is not None and self.source_lengths is not None:
            words = self.shortlist.words(self.source, self.source_lengths, starts, strategy.suppress)
            scorer = scorer.listing(words)
            starts = [words.inside(at, start) for at, start in enumerate(starts)]
        states = scorer.start(self.source, self.source_lengths, len(starts))
        rules = strategy.rules(
            self.source_lengths, starts, scorer.device if self.source is None else self.source.device
        ).within(scorer.limit)
        if words is not None:
            suppress = torch.tensor(words.inside(0, strategy.suppress), dtype=torch.long, device=rules.most.device)
            rules = replace(rules, suppress=suppress)
        ends = torch.tensor(self.stops, device=rules.most.device) if self.stops else None
        return SearchTask(scorer, states, rules, tuple(self.identities), stops=ends), words

    def alone(self, sentence: int) -> SearchTask:
        """The task of searching for one sentence without the others, as if it were the only one."""
        own = slice(sentence, sentence + 1)
        source, lengths = self.source, None if self.source_lengths is None else self.source_lengths[own]
        if source is not None and lengths is not None:
            source = source[own, : int(lengths)].contiguous()
        one = replace(
            self, source=source, source_lengths=lengths, starts=self.starts[own], identities=self.identities[own]
        )
        return one.task()[0]


def _beam(strategy: Strategy) -> Beam:
    if not isinstance(strategy, Beam):
        name = type(strategy).__name__.lower()
        raise UsageError(f"search: phrases are put into outputs by beam search, not by {name}; give a beam size")
    return strategy


def _count(
    scorer: Scorer, source: Tensor | None, source_lengths: Tensor | None, prefixes: Sequence[Sequence[int]] | None
) -> int:
    """The number of sentences; checks that all arguments agree on it."""
    if scorer.reads and (source is None or source_lengths is None):
        raise UsageError("search: the model reads a source, so it needs 'source' and 'source_lengths'")
    if not scorer.reads and source is not None:
        raise UsageError("search: a language model reads no source; give the beginning of its text in 'prefixes'")
    if source is None:
        return 1 if prefixes is None else len(prefixes)
    if prefixes is not None and len(prefixes) != len(source):
        raise UsageError(f"search: there are {len(source)} sentences, but {len(prefixes)} prefixes")
    if source_lengths is not None and len(source) and min(source_lengths.tolist()) < 1:
        raise ShapeError("search: a source has no tokens; every source must end in </s> at least")
    return len(source)


def _check_tokens(vocabulary: int, strategy: Strategy, starts: Sequence[tuple[int, ...]]) -> None:
    """Raise an error for a token that is not in the vocabulary."""
    for name, tokens in (("suppress", strategy.suppress), *(("prefix", start) for start in starts)):
        if max(tokens, default=0) >= vocabulary:
            raise ConfigError(f"search: {name} has token {max(tokens)}, but the vocabulary has {vocabulary} tokens")


def _identities(
    source: Tensor | None, source_lengths: Tensor | None, starts: Sequence[tuple[int, ...]]
) -> list[list[int]]:
    """Each sentence's source and prefix as numbers, separated by -1."""
    if source is None or source_lengths is None:
        return [[-1, *start] for start in starts]
    rows = zip(source.tolist(), source_lengths.tolist(), starts, strict=True)
    return [[*row[:length], -1, *start] for row, length, start in rows]
