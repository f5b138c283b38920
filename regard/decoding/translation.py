"""The translation of a text, and how those of its parts become one."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, runtime_checkable

from regard.data.links import Link, Links
from regard.data.subwords.tokenizer import Subwords
from regard.data.word_spans import word_spans
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.layout import Layout


class Pair(NamedTuple):
    """A text and its translation, for an aligner; the ids are without `</s>`."""

    source: str
    source_ids: tuple[int, ...]
    target: str
    target_ids: tuple[int, ...]


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
    """the word alignment, with words counted as in `word_spans`; None unless requested"""
    notes: tuple[Note, ...] = ()


TranslateTexts = Callable[[list[str]], Sequence[Translation]]


@runtime_checkable
class PlaceholderKeeper(Protocol):
    """Translates texts so that placeholders in them are kept."""

    def finds(self, text: str) -> list[tuple[int, int]]:
        """The spans of the placeholders in a text."""

    def __call__(
        self,
        texts: list[str],
        translate: TranslateTexts,
        repair: TranslateTexts,
        lay_out: Callable[[str, Sequence[tuple[int, int]]], Layout],
    ) -> list[Translation]:
        """Translations with all placeholders. `repair` translates what lost some, with alignments if possible."""


def candidate_of(subwords: Subwords, found: Hypothesis) -> Candidate:
    """What a search found, as a text."""
    return Candidate(subwords.decode(found.tokens), found.score, found.tokens, found.token_scores, found.rank)


def cut_note(found: Hypothesis) -> tuple[Note, ...]:
    """A note about a translation that the length limit ended."""
    tokens = f"{len(found)} token{'s' * (len(found) != 1)}"
    return (Note(0, f"the translation did not end within {tokens} and was cut there"),) if found.cut else ()


def on_line(translation: Translation, line: int) -> Translation:
    """The translation with the number of its line in its notes."""
    notes = tuple(replace(note, line=line) for note in translation.notes)
    return replace(translation, notes=notes) if notes else translation


def joined(layout: Layout, parts: Sequence[Translation]) -> Translation:
    """The translation of a text from those of its parts: scores are summed, links counted over the whole text.

    Links are None if those of any part are.
    """
    if not parts:
        return Translation(layout.text, 0.0, ())
    filled = layout.filled([one.text for one in parts])
    links = [one.alignment for one in parts if one.alignment is not None]
    return Translation(
        filled.text,
        sum(one.score for one in parts),
        joint_candidates(layout, [one.n_best for one in parts]),
        joint_links(layout, filled, links) if len(links) == len(parts) else None,
        tuple(note for one in parts for note in one.notes),
    )


def joint_candidates(layout: Layout, parts: Sequence[Sequence[Candidate]]) -> tuple[Candidate, ...]:
    """The n-best translations of a text from those of its parts, which are independent: the largest sums of ranks.

    There are at most as many as the part with most has; translations with equal texts are one.
    """
    found: dict[str, Candidate] = {}
    for choice in _best_sums([[one.rank for one in own] for own in parts], max(map(len, parts), default=0)):
        chosen = [own[at] for own, at in zip(parts, choice, strict=True)]
        text = layout.filled([one.text for one in chosen]).text
        tokens = tuple(token for one in chosen for token in one.tokens)
        scores = tuple(score for one in chosen for score in one.token_scores)
        score, rank = sum(one.score for one in chosen), sum(one.rank for one in chosen)
        found.setdefault(text, Candidate(text, score, tokens, scores, rank))
    return tuple(found.values())


def _best_sums(ranks: Sequence[Sequence[float]], most: int) -> list[tuple[int, ...]]:
    """Choices of one index per row with the largest sums, the best first; of equal ones, that of earlier indices."""
    found: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    for row in ranks:
        longer = [(total + rank, (*chosen, at)) for total, chosen in found for at, rank in enumerate(row[:most])]
        found = sorted(longer, key=lambda one: (-one[0], one[1]))[:most]
    return [chosen for _, chosen in found]


def joint_links(source: Layout, target: Layout, parts: Sequence[Links]) -> Links:
    """The links of a text and its translation from those of its parts, by the positions of their words."""
    here, there = ([start for start, _ in word_spans(layout.text)] for layout in (source, target))
    rows = zip(source.pieces, source.starts, target.pieces, target.starts, parts, strict=True)
    found: dict[tuple[int, int], Link] = {}
    for one, one_at, other, other_at, links in rows:
        ours, theirs = word_spans(one), word_spans(other)
        for link in (link for link in links if 0 <= link.source < len(ours) and 0 <= link.target < len(theirs)):
            first = bisect_right(here, one_at + ours[link.source][0]) - 1
            second = bisect_right(there, other_at + theirs[link.target][0]) - 1
            found.setdefault((first, second), Link(first, second, link.confidence))
    return tuple(found.values())
