"""Translation of texts: tokenization, batching, search, alignment and detokenization."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from regard.base.errors import UsageError
from regard.data.links import Links
from regard.data.pairs import pad
from regard.data.subwords.open_words import encode_pairs, open_vocabulary
from regard.data.subwords.tokenizer import EOS, UNK, SubwordPair, Subwords
from regard.decoding import segment
from regard.decoding.batching import in_batches
from regard.decoding.constrained import WIDEST
from regard.decoding.constraint import Constraint
from regard.decoding.glossary import Glossary, Term, checked_glossary, phrase_of, word_ends
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.layout import Layout, Split, lay_out
from regard.decoding.scorer import Scorer, copies, evaluating, most_positions
from regard.decoding.scoring import score_tokens
from regard.decoding.search import search
from regard.decoding.shortlist import Shortlist
from regard.decoding.source_vectors import SourceVectors
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategy import Strategy, strategy_for
from regard.decoding.translation import (
    Note,
    Pair,
    PlaceholderKeeper,
    Translation,
    candidate_of,
    cut_note,
    joined,
    on_line,
)
from regard.decoding.workers import one_core
from regard.models.writer import Writer

_LARGE = 20_000_000
"""models with fewer weights translate a sentence faster with one core than with several"""


PairAligner = Callable[[list[Pair]], Sequence[Links]]


@dataclass(frozen=True)
class _Part:
    """The unit of translation: a sentence or line, or a part of one that is too long."""

    text: str
    ids: tuple[int, ...]
    prefix: tuple[int, ...]
    terms: tuple[Term, ...] = ()
    """the terms of the glossary that occur in it"""


class Translator(SourceVectors):
    """A model, or an ensemble, with its tokenizers; what `load` gives for a translation model.

    >>> for found in load("runs/en-de").translate(["Two dogs play ."], n_best=3):
    ...     found.text, found.score, [other.text for other in found.n_best]

    Texts are translated sentence by sentence, or line by line if `split` says so, and white space is kept; `language`
    is that of the source, whose rules find the ends of sentences. Sentences of more than `max_source` tokens, or than
    the model has positions, are translated in parts. `batch_tokens` is the batch size in source tokens, padding
    included. `aligner` computes word alignments on request; `alignment` is the entry of the model file that names its
    attention heads for them. `workers` is how many batches are translated in parallel, each with one core; by default
    as many as torch has threads. With a `shortlist`, only likely words are scored. With a `keeper`, placeholders
    such as `{name}` and addresses are kept in texts without a prefix.
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
        language: str | None = None,
        split: Split = "sentence",
        keeper: PlaceholderKeeper | None = None,
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
        self.alignment, self.language, self.split, self.keeper = alignment, language, split, keeper
        cores = torch.get_num_threads() if self._device.type == "cpu" else 1
        self.workers, self.shortlist = cores if workers is None else workers, shortlist
        self._copies = any(map(copies, scorer.models))
        if self._copies and shortlist is not None:
            raise UsageError("translator: a model that copies words scores all of them; load it without a shortlist")
        self.is_small = sum(weight.numel() for model in scorer.models for weight in model.parameters()) < _LARGE

    def translate(
        self,
        texts: Sequence[str],
        *,
        strategy: Strategy | str | None = None,
        n_best: int | None = None,
        prefixes: Sequence[str] | None = None,
        alignments: bool = False,
        glossary: Mapping[str, str] | Glossary | None = None,
        first_line: int = 1,
        split: Split | None = None,
    ) -> list[Translation]:
        """Translate each text; blank texts stay blank.

        >>> translator.translate(["Two dogs play ."], strategy="beam(size=8)", n_best=3)[0].n_best

        `strategy` is an object (`strategies.Beam(size=8)`) or its text; `n_best` asks for so many translations of each
        text, which the result then holds as `n_best`, the best first.
        Each translation starts with its entry of `prefixes`. `first_line` is the number of the first text, for notes.
        Scores of a text in several sentences are sums, and its n-best translations those with the largest sums.
        Where a term of the `glossary` occurs in a text, such as {"dog": "Hund"}, every translation has the given one,
        by a beam search with constraints; a term that does not fit into the longest output is left out, with a note.
        """
        if isinstance(texts, str):
            raise UsageError("translate: give a list of texts, not one text")
        if prefixes is not None and len(prefixes) != len(texts):
            raise UsageError(f"translate: there are {len(texts)} texts, but {len(prefixes)} prefixes")
        if alignments and self.aligner is None:
            raise UsageError("translate: this translator has no aligner, so it cannot give alignments")
        starts = [""] * len(texts) if prefixes is None else prefixes
        terms = None if glossary is None else checked_glossary(Glossary.of(glossary), self.target)
        chosen = strategy_for(strategy, self.strategy, n_best)
        search = partial(self._plainly, strategy=chosen, split=split, glossary=terms)
        marked = [not start and self._has_placeholders(text) for text, start in zip(texts, starts, strict=True)]
        plain = [at for at, own in enumerate(marked) if not own]
        done = search([texts[at] for at in plain], [starts[at] for at in plain], alignments)
        found = dict(zip(plain, done, strict=True))
        if self.keeper is not None and any(marked):
            kept = self.keeper(
                [text for text, own in zip(texts, marked, strict=True) if own],
                partial(search, alignments=alignments),
                partial(search, alignments=self.aligner is not None),
                lambda text, whole: self.lay_out(text, split, whole),
            )
            asked = kept if alignments else [replace(one, alignment=None) for one in kept]
            found.update(zip((at for at, own in enumerate(marked) if own), asked, strict=True))
        return [on_line(found[at], first_line + at) for at in range(len(texts))]

    def lay_out(self, text: str, split: Split | None = None, whole: Sequence[tuple[int, int]] = ()) -> Layout:
        """The sentences, or lines, of a text as they are translated; spans of `whole` are not split."""
        return lay_out(text, split or self.split, self.language, whole)

    def lay_out_parts(self, text: str, split: Split | None = None) -> Layout:
        """The same, with sentences that are too long for the model cut into parts."""
        return self.lay_out(text, split).cut(self._cut)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[tuple[float, ...]]:
        """The log-probability of each token of the targets and of their `</s>`, given the sources."""
        if len(sources) != len(targets):
            raise UsageError(f"score: there are {len(sources)} sources, but {len(targets)} targets")
        read, said = self.encode_pairs(sources, targets)
        pairs = [([*one, EOS], [*other, EOS]) for one, other in zip(read, said, strict=True)]
        lengths = [max(len(one), len(other)) for one, other in pairs]
        for number, length in enumerate(lengths, start=1):
            if self.positions is not None and length > self.positions:
                raise UsageError(
                    f"score: pair {number} has {length} tokens on a side, but the model has learned "
                    f"{self.positions} positions; leave it out"
                )
        return in_batches(pairs, lengths, self._score_batch, self.batch_tokens)

    def opened(self, text: str) -> SubwordPair:
        """The tokenizers for a text and its translation; a model that copies can also write its unknown words."""
        if not self._copies:
            return SubwordPair(self.source, self.target)
        both = open_vocabulary(self.source, text)
        return SubwordPair(both, both)

    def encode_pairs(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
        """The ids of sources and targets."""
        if self._copies:
            return encode_pairs(self.source, sources, targets)
        return self.source.encode_batch(sources), self.target.encode_batch(targets)

    def _encode(self, pieces: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The ids of each source."""
        read, _ = self.encode_pairs(pieces, [""] * len(pieces))
        return {piece: tuple(ids) for piece, ids in zip(pieces, read, strict=True)}

    def _score_batch(self, pairs: list[tuple[list[int], list[int]]]) -> list[tuple[float, ...]]:
        source, source_lengths = pad([np.array(one) for one, _ in pairs])
        target, target_lengths = pad([np.array(other) for _, other in pairs])
        tensors = (tensor.to(self._device) for tensor in (source, source_lengths, target, target_lengths))
        scores = score_tokens(self.models, *tensors).tolist()
        return [tuple(row[:length]) for row, length in zip(scores, target_lengths.tolist(), strict=True)]

    def _has_placeholders(self, text: str) -> bool:
        return self.keeper is not None and bool(self.keeper.finds(text))

    def _plainly(
        self,
        texts: Sequence[str],
        prefixes: Sequence[str] | None = None,
        alignments: bool = False,
        *,
        strategy: Strategy,
        split: Split | None,
        glossary: Glossary | None = None,
    ) -> list[Translation]:
        """The translation of each text: those of its parts, put together."""
        begun = prefixes or [""] * len(texts)
        whole = [self.lay_out(text, split) for text in texts]
        known = self._encode([piece for layout in whole for piece in layout.pieces])
        cut = [layout.cut(partial(self._cut_known, known)) for layout in whole]
        missing = [piece for layout in cut for piece in layout.pieces if piece not in known]
        known |= self._encode(missing) if missing else {}
        parts = [
            _Part(piece, known[piece], self._start(piece, start, at), glossary.found_in(piece) if glossary else ())
            for layout, start in zip(cut, begun, strict=True)
            for at, piece in enumerate(layout.pieces)
        ]
        found = iter(self._translated(parts, self._search_all(parts, strategy), alignments))
        rows = zip(whole, cut, strict=True)
        return [self._joined(layout, own, [next(found) for _ in own.pieces], alignments) for layout, own in rows]

    def _start(self, piece: str, prefix: str, at: int) -> tuple[int, ...]:
        """The ids that the translation of a part starts with: those of the prefix, if it is the first."""
        if at or not prefix:
            return ()
        target = self.opened(piece).target
        ids = tuple(target.encode(prefix))
        if UNK in ids:
            lost = target.normalize(prefix)
            spelled = target.encode_with_offsets(lost)
            shown = ", ".join(dict.fromkeys(lost[one.start : one.end].strip() for one in spelled if one.id == UNK))
            raise UsageError(f"translate: the prefix '{prefix}' has {shown}, which the model cannot write")
        return ids

    def _cut_known(self, known: Mapping[str, tuple[int, ...]], piece: str) -> list[str]:
        """A piece, in parts if it is too long; none if it has no tokens, which leaves it as it is."""
        if not known[piece]:
            return []
        return [piece] if self.max_source is None or len(known[piece]) < self.max_source else self._cut(piece)

    def _cut(self, piece: str) -> list[str]:
        if self.max_source is None:
            return [piece]
        longest = self.max_source - 1
        return segment.split_text(piece, longest, lambda text: len(self.source.encode(text)), self.language)

    def _search_all(self, parts: list[_Part], strategy: Strategy) -> list[list[Hypothesis]]:
        """Search the parts with terms and those without apart, so that these are searched as without a glossary."""
        held = [part for part in parts if part.terms]
        if not held:
            return self._search(parts, strategy)
        with_terms = iter(self._search_with_terms(held, strategy))
        others = iter(self._search([part for part in parts if not part.terms], strategy))
        return [next(with_terms if part.terms else others) for part in parts]

    def _search(self, parts: list[_Part], strategy: Strategy) -> list[list[Hypothesis]]:
        lengths = [len(part.ids) + 1 for part in parts]
        with evaluating(self.models):
            return in_batches(
                parts, lengths, partial(self._search_batch, strategy), self.batch_tokens, workers=self.workers
            )

    def _search_with_terms(self, parts: list[_Part], strategy: Strategy) -> list[list[Hypothesis]]:
        def work(batch: list[_Part]) -> list[list[Hypothesis]]:
            return self._search_batch(strategy, batch, [self._constraint(part) for part in batch])

        lengths = [len(part.ids) + 1 for part in parts]
        with evaluating(self.models):
            return in_batches(parts, lengths, work, self.batch_tokens // WIDEST, workers=self.workers)

    def _search_batch(
        self, strategy: Strategy, batch: list[_Part], constraints: Sequence[Constraint] | None = None
    ) -> list[list[Hypothesis]]:
        source, lengths = pad([np.array([*part.ids, EOS]) for part in batch])
        prefixes = [part.prefix for part in batch]
        source, lengths = source.to(self._device), lengths.to(self._device)
        how: dict[str, Any] = {"shortlist": self.shortlist, "constraints": constraints}
        with one_core() if self.is_small else nullcontext():
            return search(self.models, source, lengths, strategy, prefixes, **how)

    def _constraint(self, part: _Part) -> Constraint:
        phrases = tuple(phrase_of(written, self.target) for _, written in part.terms)
        return Constraint(phrases, word_ends(self.target))

    def _left_out(self, part: _Part, best: Hypothesis) -> tuple[Note, ...]:
        """A note for each term whose translation is not in the output."""
        unmet = self._constraint(part).unmet(best.tokens) if part.terms else []
        return tuple(
            Note(0, f"the term '{term}' was left out: '{written}' did not fit into the longest output")
            for term, written in part.terms
            if phrase_of(written, self.target) in unmet
        )

    def _translated(self, parts: list[_Part], found: list[list[Hypothesis]], alignments: bool) -> list[Translation]:
        """The translations of parts from what the search found."""
        spelled = [self.opened(part.text).target for part in parts]
        n_best = [[candidate_of(own, one) for one in each] for own, each in zip(spelled, found, strict=True)]
        links: Sequence[Links | None] = [None] * len(parts)
        if alignments and self.aligner is not None and parts:
            rows = zip(parts, n_best, strict=True)
            links = self.aligner([Pair(part.text, part.ids, best.text, best.tokens) for part, (best, *_) in rows])
        return [
            Translation(own[0].text, own[0].score, tuple(own), its, cut_note(best) + self._left_out(part, best))
            for part, own, its, (best, *_) in zip(parts, n_best, links, found, strict=True)
        ]

    def _joined(self, whole: Layout, cut: Layout, parts: list[Translation], alignments: bool) -> Translation:
        if not parts:
            return Translation(cut.text, 0.0, (), () if alignments else None)
        found = joined(cut, parts)
        if len(cut.pieces) <= len(whole.pieces):
            return found
        what = "is" if len(whole.pieces) == 1 else "has a sentence that is"
        why = f"{what} longer than the {self.max_source} tokens that the model reads"
        note = Note(0, f"{why}; it was translated in {len(cut.pieces)} parts")
        return replace(found, notes=(note, *found.notes))
