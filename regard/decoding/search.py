"""Decoding with any model and any strategy, such as beam search."""

from collections.abc import Callable, Sequence
from dataclasses import replace

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
    words = None
    if shortlist is not None and constraints is None and source is not None and source_lengths is not None:
        if trace is not None:
            raise UsageError("search: a trace is taken of the whole vocabulary, so it does not go with a shortlist")
        words = shortlist.words(source, source_lengths, starts, strategy.suppress)
        scorer, starts = Scorer(models, words), [words.inside(at, start) for at, start in enumerate(starts)]
        strategy = replace(strategy, suppress=words.inside(0, strategy.suppress), prefix=())
    with evaluating(scorer.models):
        states = scorer.start(source, source_lengths, sentences)
        rules = strategy.rules(source_lengths, starts, scorer.device if source is None else source.device)
        rules = rules.within(scorer.limit)
        ends = torch.tensor(stops, device=rules.most.device) if stops else None
        task = SearchTask(scorer, states, rules, identities, trace, ends, listen)
        if constraints is not None:
            return constrained_search(_beam(strategy), task, list(constraints))
        found = strategy.run(task)
        return found if words is None else words.outside(found)


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
    if source_lengths is not None and len(source) and int(source_lengths.min()) < 1:
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
