"""Translations of tokens, compared with the textbook's loops over words."""

import math
from collections import defaultdict
from typing import Literal

import numpy as np
import pytest

from regard.data import lexicon
from regard.data.lexicon import Model1, TokenPair, translations

SOURCES, TARGETS = 12, 15


def corpus(count: int = 60) -> list[TokenPair]:
    random = np.random.default_rng(0)
    sources = [random.integers(0, SOURCES, random.integers(1, 7)).tolist() for _ in range(count)]
    return [(source, [(3 * x + int(random.integers(2))) % TARGETS for x in source] + [14]) for source in sources]


def posteriors(
    pair: TokenPair, chance: dict[tuple[int, int], float], diagonal: float, nothing: float
) -> list[list[float]]:
    """p(i | j), [target, source]."""
    source, target = pair
    grid = []
    for j, y in enumerate(target):
        places = [abs((i + 0.5) / len(source) - (j + 0.5) / len(target)) for i in range(len(source))]
        own = [chance[x, y] * math.exp(-diagonal * place) for x, place in zip(source, places, strict=True)]
        grid.append([value / (sum(own) * (1 + nothing)) for value in own])
    return grid


def by_the_book(
    pairs: list[TokenPair], rounds: int, diagonal: float = 0.0, nothing: float = 0.0, doubt: float = 0.0
) -> dict[int, dict[int, float]]:
    """Model 1 with loops: uniform at first."""
    chance = {(x, y): 1.0 for source, target in pairs for x in source for y in target}
    for _ in range(rounds + 1):  # the first from equal chances
        counts: dict[tuple[int, int], float] = defaultdict(float)
        for pair in pairs:
            for y, row in zip(pair[1], posteriors(pair, chance, diagonal, nothing), strict=True):
                for x, value in zip(pair[0], row, strict=True):
                    counts[x, y] += value
        totals: dict[int, float] = defaultdict(lambda: doubt)
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


PRIORS = {"diagonal": 4.0, "nothing": 0.02, "doubt": 3.0}


@pytest.mark.parametrize("chunk", [25, 1_000_000])
def test_priors_are_those_of_the_definition(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "_CHUNK", chunk)
    pairs = corpus()
    table = by_the_book(pairs, 3, **PRIORS)
    keys, share = Model1(pairs=pairs, target_size=TARGETS, rounds=3, **PRIORS).shares
    assert len(keys) == sum(map(len, table.values()))
    for key, value in zip(keys.tolist(), share.tolist(), strict=True):
        assert value == pytest.approx(table[key // TARGETS][key % TARGETS], rel=1e-9)


@pytest.mark.parametrize("chunk", [25, 1_000_000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_best_cells_are_those_of_the_definition(
    order: Literal["C", "F"], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexicon, "_CHUNK", chunk)
    pairs = corpus()
    chance = {(x, y): value for x, row in by_the_book(pairs, 3, **PRIORS).items() for y, value in row.items()}
    grids = list(Model1(pairs=pairs, target_size=TARGETS, rounds=3, order=order, **PRIORS).best())
    for pair, grid in zip(pairs, grids, strict=True):
        assert grid.shape == (len(pair[1]), len(pair[0]))
        for row, best in zip(posteriors(pair, chance, PRIORS["diagonal"], PRIORS["nothing"]), grid, strict=True):
            assert best.any()
            assert [value for value, one in zip(row, best, strict=True) if one] == pytest.approx(
                [max(row)] * best.sum()
            )


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
