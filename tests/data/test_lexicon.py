"""Translations of tokens, compared with the textbook's loops over words."""

from collections import defaultdict

import numpy as np
import pytest

from regard.data import lexicon
from regard.data.lexicon import TokenPair, translations

SOURCES, TARGETS = 12, 15


def corpus(count: int = 60) -> list[TokenPair]:
    random = np.random.default_rng(0)
    sources = [random.integers(0, SOURCES, random.integers(1, 7)).tolist() for _ in range(count)]
    return [(source, [(3 * x + int(random.integers(2))) % TARGETS for x in source] + [14]) for source in sources]


def by_the_book(pairs: list[TokenPair], rounds: int) -> dict[int, dict[int, float]]:
    """Model 1 with loops: uniform at first."""
    chance = {(x, y): 1.0 for source, target in pairs for x in source for y in target}
    for _ in range(rounds + 1):  # the first from equal chances
        counts: dict[tuple[int, int], float] = defaultdict(float)
        for source, target in pairs:
            for y in target:
                total = sum(chance[x, y] for x in source)
                for x in source:
                    counts[x, y] += chance[x, y] / total
        totals: dict[int, float] = defaultdict(float)
        for (x, _), count in counts.items():
            totals[x] += count
        chance = {(x, y): count / totals[x] for (x, y), count in counts.items()}
    table: dict[int, dict[int, float]] = defaultdict(dict)
    for (x, y), value in chance.items():
        table[x][y] = value
    return table


@pytest.mark.parametrize("rounds", [1, 4])
def test_the_likeliest_are_those_of_the_definition(rounds: int) -> None:
    pairs = corpus()
    table = by_the_book(pairs, rounds)
    for x, found in enumerate(translations(pairs, SOURCES, TARGETS, top=3, rounds=rounds)):
        best = sorted(table[x].values(), reverse=True)[:3]
        assert [table[x][y] for y in found.tolist()] == pytest.approx(best, rel=1e-9)


def test_text_is_counted_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = corpus()
    whole = translations(pairs, SOURCES, TARGETS, top=4)
    monkeypatch.setattr(lexicon, "_CHUNK", 25)
    chunked = translations(pairs, SOURCES, TARGETS, top=4)
    assert [own.tolist() for own in chunked] == [own.tolist() for own in whole]


def test_some_are_not_listed_and_unseen_tokens_have_none() -> None:
    found = translations(corpus(), SOURCES + 3, TARGETS, top=99, besides=[14, 0])
    assert len(found) == SOURCES + 3
    assert not any({0, 14} & set(own.tolist()) for own in found)
    assert [len(own) for own in found[SOURCES:]] == [0, 0, 0]
    assert all(len(own) for own in found[:SOURCES])


def test_only_the_most_frequent_neighbors_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "_CANDIDATES", 3)
    assert all(len(own) <= 3 for own in translations(corpus(), SOURCES, TARGETS, top=99))
