"""Beam search by CTranslate2, with options that make it find what our own search finds.

Its beam search is ours: 2·size candidates a step, those among the first `size` that end are complete, done when
size · patience are complete, ranked by Σ log p / n^length_penalty where n counts `</s>`. Three things differ; this
module compensates for the first two.

- All sentences of a call share one length limit. They get the largest of their limits, and those that exceed their own
  are translated again with it. An output that a limit truncates ends in `</s>`, whose probability counts.
- The tokens of a forced prefix are not scored, so outputs with a prefix are rescored and ranked again. Right after a
  prefix, `</s>` is taken only if it is the likeliest token; the n-best, save the best, may differ by such outputs.
- Forbidden tokens take no part in the softmax, so that the others seem likelier by -log(1 - p(forbidden)).
  With the tokens that are always suppressed this is too little to matter. With `min_length` or `no_repeat_ngram` it is
  not: a beam search then may find other outputs than ours. Scores are right where they are recomputed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from regard.base.errors import ConfigError, UsageError
from regard.data.subwords.tokenizer import EOS, SPECIALS
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategy import Strategy, check_numbers, check_prefix

_END = SPECIALS[EOS]
_Tokens = tuple[str, ...]
_NONE = 1e-9
"""no length penalty; at 0 itself CTranslate2 stops when the best hypothesis ends, and the n-best would differ"""


@dataclass(frozen=True)
class Request:
    """One text to translate: its tokens without `</s>`, and the constraints on its output."""

    source: _Tokens
    prefix: _Tokens
    least: int
    most: int
    """the most tokens before `</s>`, including the prefix"""


def check_strategy(strategy: Strategy) -> Beam:
    """The strategy as a beam search, which greedy search is with size 1; others are refused."""
    if isinstance(strategy, Greedy):
        shared = {name: getattr(strategy, name) for name in Strategy.__dataclass_fields__}
        return Beam(size=1, length_penalty=0.0, **shared)
    if not isinstance(strategy, Beam):
        kind = type(strategy).__name__.lower()
        raise UsageError(f"ctranslate2: this engine searches with beam or greedy, not with {kind}; use --engine torch")
    if strategy.patience is None:
        raise UsageError("ctranslate2: this engine needs a number for patience; give one, or use --engine torch")
    return strategy


def make_requests(
    sources: Sequence[Sequence[int]],
    prefixes: Sequence[Sequence[int]],
    strategy: Strategy,
    source_pieces: Sequence[str],
    target_pieces: Sequence[str],
    longest: int,
) -> list[Request]:
    """A request for each text, by the strategy's rules; no output is longer than the model's `longest`."""
    if not sources:
        return []
    for prefix in prefixes:
        check_prefix("search: prefixes", prefix)
    starts = [(*strategy.prefix, *prefix) for prefix in prefixes]
    for name, tokens in (("suppress", strategy.suppress), *(("prefix", start) for start in starts)):
        if max(tokens, default=0) >= len(target_pieces):
            size = len(target_pieces)
            raise ConfigError(f"search: {name} has token {max(tokens)}, but the vocabulary has {size} tokens")
    lengths = torch.tensor([len(ids) + 1 for ids in sources])
    rules = strategy.rules(lengths, starts, torch.device("cpu"))
    read = [tuple(source_pieces[at] for at in ids) for ids in sources]
    forced = [tuple(target_pieces[at] for at in start) for start in starts]
    limits = rules.least.tolist(), rules.most.clamp(max=longest).tolist()
    return [Request(*parts) for parts in zip(read, forced, *limits, strict=True)]


@dataclass(frozen=True)
class Searcher:
    """Searches with a `ctranslate2.Translator`; `ids` are the numbers of the target's pieces."""

    engine: Any
    ids: Mapping[str, int]
    batch_tokens: int = 512
    token_scores: bool = False
    """whether to compute each token's log-probability, which takes another pass through the model"""
    shortlist: bool = False
    """whether to score only the words of the export's shortlist, taken over all sentences of a batch"""

    def search(self, requests: Sequence[Request], strategy: Strategy) -> list[list[Hypothesis]]:
        """The outputs of each request, the best first."""
        beam = check_strategy(strategy)
        options = self._options(beam)
        found: dict[int, list[Hypothesis]] = {}
        groups: dict[tuple[int, bool], list[int]] = {}
        for at, request in enumerate(requests):
            groups.setdefault((request.least, bool(request.prefix)), []).append(at)
        too_long: dict[tuple[int, int], list[int]] = {}
        for (least, has_prefix), members in groups.items():
            own = [requests[at] for at in members]
            limit = max(request.most for request in own) + 1
            n_best = beam.size if has_prefix or beam.max_length is not None else beam.n_best
            outputs = _collect(self._start(own, n_best, least, limit, options))
            again = self.token_scores or has_prefix
            for at, ended in zip(members, self._ended(own, outputs, beam, again), strict=True):
                if ended is None:
                    too_long.setdefault((least, requests[at].most), []).append(at)
                else:
                    found[at] = ended[: beam.n_best]
        started = [  # limits differ, so each group is a call of its own; they run in parallel if there are workers
            (members, self._start([requests[at] for at in members], beam.size, least, limit, options))
            for (least, limit), members in too_long.items()
        ]
        for members, results in started:
            rows = [[_without_end(tokens) for tokens, _ in one] for one in _collect(results)]
            cut = self._scored([requests[at] for at in members], rows, beam)
            found |= {at: one[: beam.n_best] for at, one in zip(members, cut, strict=True)}
        return check_numbers([found[at] for at in range(len(requests))])

    def score(self, sources: Sequence[_Tokens], targets: Sequence[_Tokens]) -> list[tuple[float, ...]]:
        """The log-probability of each target token and of the `</s>` after them."""
        results = self.engine.score_batch(
            [list(source) for source in sources], [list(target) for target in targets], **self._batches
        )
        return [tuple(result.log_probs) for result in results]

    def attention(self, sources: Sequence[_Tokens], targets: Sequence[_Tokens]) -> list[list[list[float]]]:
        """The attention of the exported heads with each target forced: a row for each token and one for the next."""
        rows: dict[int, list[list[float]]] = {}
        lengths: dict[int, list[int]] = {}
        for at, target in enumerate(targets):
            lengths.setdefault(len(target) + 1, []).append(at)
        for length, members in lengths.items():
            results = self.engine.translate_batch(
                [list(sources[at]) for at in members],
                target_prefix=[list(targets[at]) for at in members],
                beam_size=1,
                max_decoding_length=length,
                return_attention=True,
                return_end_token=True,
                **self._batches,
            )
            rows |= {at: result.attention[0] for at, result in zip(members, results, strict=True)}
        return [rows[at] for at in range(len(targets))]

    @property
    def _batches(self) -> dict[str, Any]:
        return {"max_batch_size": self.batch_tokens, "batch_type": "tokens", "max_input_length": 0}

    def _options(self, beam: Beam) -> dict[str, Any]:
        pieces = list(self.ids)
        return {
            "beam_size": beam.size,
            "patience": beam.enough / beam.size,
            "length_penalty": beam.length_penalty or _NONE,
            "no_repeat_ngram_size": beam.no_repeat_ngram,
            "suppress_sequences": [[pieces[token]] for token in beam.suppress] or None,
            "use_vmap": self.shortlist,
            "return_scores": True,
            "return_end_token": True,
        } | self._batches

    def _start(
        self, requests: Sequence[Request], n_best: int, least: int, limit: int, options: Mapping[str, Any]
    ) -> list[Any]:
        """Start asynchronous searches, for `_collect`."""
        prefixes = [list(request.prefix) for request in requests]
        started: list[Any] = self.engine.translate_batch(
            [list(request.source) for request in requests],
            target_prefix=prefixes if any(prefixes) else None,
            num_hypotheses=n_best,
            min_decoding_length=least,
            max_decoding_length=limit,
            asynchronous=True,
            **options,
        )
        return started

    def _ended(
        self,
        requests: Sequence[Request],
        outputs: Sequence[Sequence[tuple[list[str], float]]],
        beam: Beam,
        again: bool,
    ) -> list[list[Hypothesis] | None]:
        """Each request's outputs; None if one exceeded the request's own length limit."""
        fits = [
            all(tokens[-1:] == [_END] and len(tokens) - 1 <= request.most for tokens, _ in own)
            for request, own in zip(requests, outputs, strict=True)
        ]
        if again:
            picked = [at for at, good in enumerate(fits) if good]
            rows = [[_without_end(tokens) for tokens, _ in outputs[at]] for at in picked]
            scored = dict(zip(picked, self._scored([requests[at] for at in picked], rows, beam), strict=True))
            return [scored.get(at) for at in range(len(requests))]
        return [
            [self._hypothesis(tokens, rank, beam) for tokens, rank in own] if good else None
            for own, good in zip(outputs, fits, strict=True)
        ]

    def _hypothesis(self, tokens: list[str], rank: float, beam: Beam) -> Hypothesis:
        ids = tuple(self.ids[token] for token in _without_end(tokens))
        return Hypothesis(ids, rank * (len(ids) + 1) ** beam.length_penalty, (), rank)

    def _scored(
        self, requests: Sequence[Request], rows: Sequence[Sequence[_Tokens]], beam: Beam
    ) -> list[list[Hypothesis]]:
        """The outputs with the log-probability of each token, ranked by their sums."""
        sources = [request.source for request, own in zip(requests, rows, strict=True) for _ in own]
        values = iter(self.score(sources, [tokens for own in rows for tokens in own]))
        made = []
        for request, own in zip(requests, rows, strict=True):
            hypotheses = []
            for tokens in own:
                parts = list(next(values))
                score, ids = sum(parts), [self.ids[token] for token in tokens]
                one = hypothesis(ids, parts, score, score / len(parts) ** beam.length_penalty, request.most)
                hypotheses.append(one if self.token_scores else replace(one, token_scores=()))
            made.append(sorted(hypotheses, key=lambda one: -one.rank))
        return made


def _collect(started: Sequence[Any]) -> list[list[tuple[list[str], float]]]:
    """The tokens of each output, `</s>` included where it ended, and its rank."""
    results = [one.result() for one in started]
    return [list(zip(result.hypotheses, result.scores, strict=True)) for result in results]


def _without_end(tokens: Sequence[str]) -> _Tokens:
    return tuple(tokens[:-1] if tokens and tokens[-1] == _END else tokens)
