"""Translation of texts: tokenization, batching, search, alignment and detokenization."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from regard.base.errors import UsageError
from regard.data.links import Link, Links
from regard.data.pairs import pad
from regard.data.subwords.tokenizer import EOS, Subwords, words
from regard.decoding import segment
from regard.decoding.batching import in_batches
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.scorer import Scorer, evaluating, most_positions
from regard.decoding.scoring import score_tokens
from regard.decoding.search import search
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategy import Strategy, strategy_for
from regard.decoding.workers import one_core
from regard.models.writer import Writer

_LARGE = 20_000_000
"""models with fewer weights translate a sentence faster with one core than with several"""


class Pair(NamedTuple):
    """A text and its translation, for an aligner; the ids are without `</s>`."""

    source: str
    source_ids: tuple[int, ...]
    target: str
    target_ids: tuple[int, ...]


PairAligner = Callable[[list[Pair]], Sequence[Links]]


@dataclass(frozen=True)
class Candidate:
    """One of the best translations: `score` is the sum of its tokens' log-probabilities, `rank` what sorts it."""

    text: str
    score: float
    tokens: tuple[int, ...]
    token_scores: tuple[float, ...]
    rank: float = 0.0
    """the score after the length penalty; for a text in parts, the sum of theirs"""


@dataclass(frozen=True)
class Note:
    """A warning about a line."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True)
class Translation:
    """The translation of one text."""

    text: str
    score: float
    n_best: tuple[Candidate, ...]
    """the best first; their texts differ"""
    alignment: Links | None = None
    """the word alignment, with words counted as in `words`; None unless requested"""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class _Part:
    """The unit of translation: a text, or a part of one that is too long."""

    line: int
    text: str
    ids: tuple[int, ...]
    prefix: tuple[int, ...]


class Translator:
    """A model, or an ensemble, with its tokenizers; what `load` gives for a translation model.

    >>> for found in load("runs/en-de").translate(["Two dogs play ."], n_best=3):
    ...     found.text, found.score, [other.text for other in found.n_best]

    Texts of more than `max_source` tokens, or than the model has positions, are translated in parts. `batch_tokens` is
    the batch size in source tokens, padding included. `aligner` computes word alignments on request; `alignment` is
    the entry of the model file that names its attention heads for them. `workers` is how many batches are translated in
    parallel, each with one core; by default as many as torch has threads. With a `shortlist`, only likely words are
    scored.
    """

    def __init__(
        self,
        models: Writer | Sequence[Writer],
        source: Subwords,
        target: Subwords,
        strategy: Strategy | None = None,
        *,
        max_source: int | None = None,
        batch_tokens: int = 2048,
        aligner: PairAligner | None = None,
        alignment: Mapping[str, Any] | None = None,
        workers: int | None = None,
        shortlist: Shortlist | None = None,
    ) -> None:
        scorer = Scorer(models)
        if not scorer.reads:
            raise UsageError("translator: a language model reads no source; use Generator to continue texts with it")
        if max_source is not None and max_source < 2:
            raise UsageError(f"translator: max_source must be at least 2, a token and its </s>, but is {max_source}")
        self.models, self._device = scorer.models, scorer.device
        self.source, self.target = source, target
        self.strategy = Beam() if strategy is None else strategy
        self.positions = most_positions(scorer.models)
        """how many tokens the model can read in a row, if they are limited"""
        limits = [limit for limit in (max_source, self.positions) if limit is not None]
        self.max_source, self.batch_tokens, self.aligner = min(limits, default=None), batch_tokens, aligner
        self.alignment = alignment
        cores = torch.get_num_threads() if self._device.type == "cpu" else 1
        self.workers, self.shortlist = cores if workers is None else workers, shortlist
        self._small = sum(weight.numel() for model in scorer.models for weight in model.parameters()) < _LARGE

    def translate(
        self,
        texts: Sequence[str],
        *,
        strategy: Strategy | str | None = None,
        n_best: int | None = None,
        prefixes: Sequence[str] | None = None,
        alignments: bool = False,
        first_line: int = 1,
    ) -> list[Translation]:
        """Translate each text; blank texts stay blank.

        >>> translator.translate(["Two dogs play ."], strategy="beam(size=8)", n_best=3)[0].n_best

        `strategy` is an object (`strategies.Beam(size=8)`) or its text; `n_best` asks for so many translations of each
        text, which the result then holds as `n_best`, the best first.
        Each translation starts with its entry of `prefixes`. `first_line` is the number of the first text, for notes.
        The n-best translations of a text in parts join the parts' best, then their second best, and so on.
        """
        if isinstance(texts, str):
            raise UsageError("translate: give a list of texts, not one text")
        if prefixes is not None and len(prefixes) != len(texts):
            raise UsageError(f"translate: there are {len(texts)} texts, but {len(prefixes)} prefixes")
        if alignments and self.aligner is None:
            raise UsageError("translate: this translator has no aligner, so it cannot give alignments")
        parts = self._parts(texts, prefixes)
        found = self._search(parts, strategy_for(strategy, self.strategy, n_best))
        of_line: list[list[tuple[_Part, list[Hypothesis]]]] = [[] for _ in texts]
        for part, hypotheses in zip(parts, found, strict=True):
            of_line[part.line].append((part, hypotheses))
        links = self._align(of_line) if alignments else [None] * len(texts)
        numbered = enumerate(zip(of_line, links, strict=True), start=first_line)
        return [self._put_together(parts, own, line) for line, (parts, own) in numbered]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[float, ...]]:
        """The log-probability of each token of the targets and of their `</s>`, given the sources."""
        if len(sources) != len(targets):
            raise UsageError(f"score: there are {len(sources)} sources, but {len(targets)} targets")
        read, said = self.source.encode_batch(sources), self.target.encode_batch(targets)
        pairs = [([*one, EOS], [*other, EOS]) for one, other in zip(read, said, strict=True)]
        lengths = [max(len(one), len(other)) for one, other in pairs]
        for number, length in enumerate(lengths, start=1):
            if self.positions is not None and length > self.positions:
                raise UsageError(
                    f"score: pair {number} has {length} tokens on a side, but the model has learned "
                    f"{self.positions} positions; leave it out"
                )
        return in_batches(pairs, lengths, self._score_batch, self.batch_tokens)

    def _score_batch(self, pairs: list[tuple[list[int], list[int]]]) -> list[tuple[float, ...]]:
        source, source_lengths = pad([np.array(one) for one, _ in pairs])
        target, target_lengths = pad([np.array(other) for _, other in pairs])
        tensors = (tensor.to(self._device) for tensor in (source, source_lengths, target, target_lengths))
        scores = score_tokens(self.models, *tensors).tolist()
        return [tuple(row[:length]) for row, length in zip(scores, target_lengths.tolist(), strict=True)]

    def _parts(self, texts: Sequence[str], prefixes: Sequence[str] | None) -> list[_Part]:
        starts = [()] * len(texts) if prefixes is None else map(tuple, self.target.encode_batch(prefixes))
        parts = []
        for line, (text, ids, start) in enumerate(zip(texts, self.source.encode_batch(texts), starts, strict=True)):
            if self.max_source is None or len(ids) < self.max_source:
                parts += [_Part(line, text, tuple(ids), start)] if ids else []
                continue
            cut = segment.split_text(text, self.max_source - 1, lambda piece: len(self.source.encode(piece)))
            for piece, piece_ids in zip(cut, self.source.encode_batch(cut), strict=True):
                parts.append(_Part(line, piece, tuple(piece_ids), start))
                start = ()
        return parts

    def _search(self, parts: list[_Part], strategy: Strategy) -> list[list[Hypothesis]]:
        def work(batch: list[_Part]) -> list[list[Hypothesis]]:
            source, lengths = pad([np.array([*part.ids, EOS]) for part in batch])
            prefixes = [part.prefix for part in batch]
            source, lengths = source.to(self._device), lengths.to(self._device)
            with one_core() if self._small else nullcontext():
                return search(self.models, source, lengths, strategy, prefixes, shortlist=self.shortlist)

        lengths = [len(part.ids) + 1 for part in parts]
        with evaluating(self.models):
            return in_batches(parts, lengths, work, self.batch_tokens, workers=self.workers)

    def _put_together(self, parts: list[tuple[_Part, list[Hypothesis]]], links: Links | None, line: int) -> Translation:
        if not parts:
            return Translation("", 0.0, (), links)
        joined: dict[str, Candidate] = {}
        for chosen in zip(*(hypotheses for _, hypotheses in parts), strict=False):
            text = segment.join([self.target.decode(one.tokens) for one in chosen])
            tokens = tuple(token for one in chosen for token in one.tokens)
            scores = tuple(score for one in chosen for score in one.token_scores)
            score, rank = sum(one.score for one in chosen), sum(one.rank for one in chosen)
            joined.setdefault(text, Candidate(text, score, tokens, scores, rank))
        n_best = tuple(joined.values())
        notes = self._notes(line, [hypotheses[0] for _, hypotheses in parts])
        return Translation(n_best[0].text, n_best[0].score, n_best, links, notes)

    def _notes(self, line: int, chosen: list[Hypothesis]) -> tuple[Note, ...]:
        notes = []
        if len(chosen) > 1:
            why = f"is longer than the {self.max_source} tokens that the model reads"
            notes.append(Note(line, f"{why}; it was translated in {len(chosen)} parts"))
        notes += [
            Note(line, f"the translation did not end within {len(one)} token{'s' * (len(one) != 1)} and was cut there")
            for one in chosen
            if one.cut
        ]
        return tuple(notes)

    def _align(self, of_line: list[list[tuple[_Part, list[Hypothesis]]]]) -> list[Links]:
        """The alignment of each text; the links of later parts are offset by the words of the earlier ones."""
        pairs = [
            Pair(part.text, part.ids, self.target.decode(best.tokens), best.tokens)
            for parts in of_line
            for part, (best, *_) in parts
        ]
        found = iter(zip(pairs, self.aligner(pairs) if self.aligner and pairs else (), strict=True))
        aligned: list[Links] = []
        for parts in of_line:
            links: list[Link] = []
            source_words = target_words = 0
            for _ in parts:
                pair, own = next(found)
                links += [Link(source_words + one, target_words + other, sure) for one, other, sure in own]
                source_words += len(words(pair.source))
                target_words += len(words(pair.target))
            aligned.append(tuple(links))
        return aligned
