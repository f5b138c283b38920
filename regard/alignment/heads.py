"""Ranking of attention heads by how well they align words: every head, and the mean of each layer, at both shifts.

| what is known | a candidate's score |
|---|---|
| gold links | 1 - AER of its links |
| a reverse model | 2 |F ∩ B| / (|F| + |B|) of its links F and the links B of the best-fitting candidate of the other |
| nothing | 1 - AER against links that co-occurrence of words, or tokens, supports (`lexical.py`) |

Agreement of both directions: Chen et al., 2020, https://arxiv.org/abs/2004.14837
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regard.alignment.head_choice import HeadChoice, source_attentions
from regard.alignment.lexical import lexical_links
from regard.alignment.word_weights import Grain, Weights, linked, make_pairs, word_weights
from regard.base.errors import UsageError
from regard.data.links import Gold, LinkPoint
from regard.data.subwords.tokenizer import words
from regard.decoding.translation import Pair
from regard.decoding.translator import Translator
from regard.models.writer import Writer

GOLD, BOTH_WAYS, WORDS = "gold links", "agreement of both directions", "agreement with words that occur together"
TOKENS = "agreement with tokens that occur together"
_LONGEST = 100
"""words on a side; longer pairs would take most of the time and add little"""
_MOST_CELLS = 3_000_000
"""pairs of words that co-occurrence is counted over"""

_FINE = 3
"""mean tokens per word above which tokens are linked: text without spaces, character models"""

Row = tuple[list[str], list[str]]
"""what is linked of a pair: words, or tokens"""
Pointers = NDArray[np.int64]
"""[candidates, target words of all pairs]: the source word with the most weight, numbered over all pairs, or -1"""


@dataclass(frozen=True)
class Ranking:
    """All candidates with their scores by one metric, the best first."""

    choices: tuple[HeadChoice, ...]
    pairs: int
    """how many pairs of sentences they were measured on"""

    @property
    def best(self) -> HeadChoice:
        """The candidate with the highest score."""
        return self.choices[0]

    def grid(self, shift: int) -> tuple[list[str], Weights]:
        """The layers' names and the scores of their heads, [layers, heads + 1]; the last column is the layer's mean."""
        own = {choice.heads: choice.score for choice in self.choices if choice.shift == shift}
        layers = sorted({choice.heads[0][0]: None for choice in self.choices}, key=_in_order)
        most = max(head for heads in own for _, head in heads) + 1
        scores = np.zeros((len(layers), most + 1), dtype=np.float32)
        for heads, score in own.items():
            row = layers.index(heads[0][0])
            scores[row, most if len(heads) > 1 else heads[0][1]] = score
            if len(heads) == most == 1:
                scores[row, most] = score
        return layers, scores


def candidates(model: Writer) -> list[HeadChoice]:
    """Every head, and all heads of each layer together, at both shifts."""
    made = []
    for shift in (0, 1):
        for layer, count in source_attentions(model).items():
            made += [HeadChoice(((layer, head),), shift) for head in range(count)]
            if count > 1:
                made.append(HeadChoice(tuple((layer, head) for head in range(count)), shift))
    return made


def rank_heads(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    gold: Sequence[Gold] | None = None,
    reverse: Translator | None = None,
    most: int = 1000,
) -> Ranking:
    """Rank the candidates on at most `most` of the pairs, evenly spaced.

    Without gold links or a reverse model, co-occurrence is counted in more of the pairs.
    """
    kept = [at for at in range(len(sources)) if _usable(sources[at], targets[at])]
    if not kept:
        raise UsageError(f"heads: no pair has text on both sides and at most {_LONGEST} words on each")
    chosen = _evenly(kept, most)
    read, said = [sources[at] for at in chosen], [targets[at] for at in chosen]
    tried, pairs = candidates(translator.models[0]), make_pairs(translator, read, said)
    grain: Grain = "words" if gold is not None or reverse is not None else _grain(translator, pairs)
    pointers = _pointers(translator, pairs, tried, grain)
    rows = [linked(translator, pair, grain) for pair in pairs]
    if gold is not None:
        scores, measure = _by_gold(pointers, rows, [gold[at] for at in chosen]), GOLD
    elif reverse is not None:
        turned = make_pairs(reverse, said, read)
        scores, measure = _by_reverse(pointers, _pointers(reverse, turned, candidates(reverse.models[0]))), BOTH_WAYS
    else:
        more = sorted(set(_evenly(kept, 10 * most)) - set(chosen))
        further = make_pairs(translator, [sources[at] for at in more], [targets[at] for at in more])
        supported = _supported(rows, [linked(translator, pair, grain) for pair in further])
        scores, measure = _by_gold(pointers, rows, supported), WORDS if grain == "words" else TOKENS
    measured = [
        replace(choice, measure=measure, score=round(float(score), 4))
        for choice, score in zip(tried, scores, strict=True)
    ]
    return Ranking(tuple(sorted(measured, key=lambda choice: -choice.score)), len(chosen))


def _usable(source: str, target: str) -> bool:
    return 0 < len(words(source)) <= _LONGEST and 0 < len(words(target)) <= _LONGEST


def _evenly(numbers: list[int], most: int) -> list[int]:
    """At most `most` of the numbers, evenly spaced from the first to the last."""
    if len(numbers) <= most:
        return numbers
    return [numbers[at * len(numbers) // most] for at in range(most)]


def _grain(translator: Translator, pairs: Sequence[Pair]) -> Grain:
    """Link tokens if words have many of them on either side, else words."""
    coarse, fine = (
        [sum(map(len, side)) for side in zip(*(linked(translator, pair, grain) for pair in pairs), strict=True)]
        for grain in ("words", "tokens")
    )
    return "tokens" if any(one > _FINE * other for one, other in zip(fine, coarse, strict=True)) else "words"


def _pointers(
    translator: Translator, pairs: Sequence[Pair], tried: Sequence[HeadChoice], grain: Grain = "words"
) -> Pointers:
    found, start = [], 0
    for own in word_weights(translator, pairs, tried, grain=grain):
        found.append(np.where(own.max(2) > 0, own.argmax(2) + start, -1))
        start += own.shape[2]
    return np.concatenate(found, axis=1)


def _by_gold(pointers: Pointers, rows: Sequence[Row], gold: Sequence[Gold]) -> list[float]:
    """1 - AER of each candidate."""
    total = sum(len(target) for _, target in rows)
    sure = _keys([own.sure for own in gold], rows, total)
    possible = _keys([own.possible for own in gold], rows, total)
    scores = []
    for row in pointers:
        links = (row * total + np.arange(total))[row >= 0]
        hits = np.isin(links, sure).sum() + np.isin(links, possible).sum()
        scores.append(float(hits / max(1, len(links) + len(sure))))
    return scores


def _keys(points: Sequence[frozenset[LinkPoint]], rows: Sequence[Row], total: int) -> Pointers:
    """Links as one number each: source word times the count of all target words, plus target word."""
    keys, source_start, target_start = [], 0, 0
    for own, (source, target) in zip(points, rows, strict=True):
        keys += [(source_start + one) * total + target_start + other for one, other in own]
        source_start, target_start = source_start + len(source), target_start + len(target)
    return np.array(keys, dtype=np.int64)


def _by_reverse(forward: Pointers, backward: Pointers) -> list[float]:
    """The best F-score of each candidate with one of the other model's."""
    scores = []
    linked = (backward >= 0).sum(1)
    for row in forward:
        own = np.nonzero(row >= 0)[0]
        both = (backward[:, row[own]] == own).sum(1)
        scores.append(float((2 * both / np.maximum(1, linked + len(own))).max()))
    return scores


def _supported(chosen: list[Row], more: list[Row]) -> list[Gold]:
    """Links that co-occurrence supports in the chosen pairs, counted over as many further pairs as time allows."""
    cells = np.cumsum([len(source) * len(target) for source, target in [*chosen, *more]])
    enough = max(len(chosen), int(np.searchsorted(cells, _MOST_CELLS, "right")))
    return lexical_links([*chosen, *more][:enough])[: len(chosen)]


def _in_order(layer: str) -> list[tuple[int, str]]:
    """A sort key that compares numbers as numbers: layer 10 after layer 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in layer.split(".")]
