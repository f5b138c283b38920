"""Lexical translation probabilities t(y | x) of tokens, estimated from sentence pairs by EM (IBM model 1).

    expect: p(i | j) = t(y_j | x_i) · near(i, j) / ((1 + ε) Σ_i' t(y_j | x_i') · near(i', j))
    maximize: t(y | x) = Σ p of y with x / (α + Σ_y' Σ p of y' with x)

near(i, j) = exp(-λ |i/S - j/T|) is a prior for the diagonal, Dyer et al., 2013, https://aclanthology.org/N13-1073; ε is
the weight of the null word, and α discounts rare x. With λ = ε = α = 0 this is model 1 of Brown et al., The
Mathematics of Statistical Machine Translation, 1993, https://aclanthology.org/J93-2003.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

TokenPair = tuple[Sequence[int], Sequence[int]]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 4_000_000
"""pairs of tokens that are counted at once"""
_CANDIDATES = 200
"""how many target tokens are considered for each source token: those that co-occur with it most often"""


class _Cells(NamedTuple):
    """Every target token with every source token of its pair."""

    key: Ints
    """both tokens as one number: x · target_size + y"""
    word: Ints
    """the number of the target token among those of all pairs"""
    near: Floats | float


@dataclass(frozen=True, kw_only=True)
class Model1:
    """EM over `pairs`, which are read twice first and then once per round."""

    pairs: Sequence[TokenPair]
    target_size: int
    rounds: int = 4
    diagonal: float = 0.0
    """λ"""
    nothing: float = 0.0
    """ε"""
    doubt: float = 0.0
    """α"""
    candidates: int | None = None
    """how many y are considered for each x: those that co-occur with it most often"""
    order: Literal["C", "F"] = "C"
    """the order in which the cells [target, source] of a pair are summed, which decides the last bit"""

    @cached_property
    def shares(self) -> tuple[Ints, Floats]:
        """The co-occurring tokens as x · target_size + y, in order, and their t(y | x)."""
        keys, counts = self._beside
        share = self._maximized(keys, counts)
        for _ in range(self.rounds):
            counts = np.zeros(len(keys))
            for cells, place in self._placed:
                counts += np.bincount(place, self._expected(cells, place, keys, share), len(keys))
            share = self._maximized(keys, counts)
        return keys, share

    def best(self) -> Iterator[NDArray[np.bool_]]:
        """For each pair, [target, source]: True where p(i | j) is the maximum over i."""
        pairs = iter(self.pairs)
        for cells, place in self._placed:
            found = self._expected(cells, place, *self.shares)
            most = np.zeros(int(cells.word.max()) + 1)
            np.maximum.at(most, cells.word, found)
            best, start = found >= most[cells.word], 0
            while start < len(best):
                shape = [len(side) for side in reversed(next(pairs))]
                end = start + math.prod(shape)
                yield best[start:end].reshape(shape, order=self.order)
                start = end

    def _chunks(self) -> Iterator[_Cells]:
        parts: list[tuple[Ints, Ints, Floats | float]] = []
        size = word = 0
        for source, target in self.pairs:
            x, y = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
            key = x[None, :] * self.target_size + y[:, None]
            spread = np.repeat if self.order == "C" else np.tile
            parts.append(
                (key.ravel(self.order), spread(np.arange(word, word + len(y)), len(x)), self._near(*key.shape))
            )
            size, word = size + key.size, word + len(y)
            if size >= _CHUNK:
                yield self._joined(parts)
                parts, size, word = [], 0, 0
        if parts:
            yield self._joined(parts)

    def _joined(self, parts: list[tuple[Ints, Ints, Floats | float]]) -> _Cells:
        key, word, near = zip(*parts, strict=True)
        return _Cells(np.concatenate(key), np.concatenate(word), np.concatenate(near) if self.diagonal else 1.0)

    def _near(self, target: int, source: int) -> Floats | float:
        if not self.diagonal:
            return 1.0
        i, j = (np.arange(source) + 0.5) / max(1, source), (np.arange(target) + 0.5) / max(1, target)
        return np.exp(-self.diagonal * np.abs(i[None, :] - j[:, None]).ravel(self.order))

    @cached_property
    def _beside(self) -> tuple[Ints, Floats]:
        """The keys of all candidates, and their expected counts under a uniform t(y | x)."""
        keys: Ints = np.empty(0, dtype=np.int64)
        counts: Floats = np.empty(0)
        for cells in self._chunks():
            both = np.concatenate([keys, cells.key])
            keys, place = np.unique(both, return_inverse=True)
            found = self._shared_out(np.broadcast_to(cells.near, cells.key.shape), cells.word)
            counts = np.bincount(place, np.concatenate([counts, found]), len(keys)).astype(np.float64)
        if self.candidates is None:
            return keys, counts
        kept = np.sort(_first(keys // self.target_size, counts, self.candidates))
        return keys[kept], counts[kept]

    @property
    def _placed(self) -> Iterable[tuple[_Cells, Ints]]:
        """The cells, and the index of each among the keys; those of a short corpus are cached."""
        return self._kept or self._placing()

    @cached_property
    def _kept(self) -> list[tuple[_Cells, Ints]]:
        short = sum(len(source) * len(target) for source, target in self.pairs) < _CHUNK
        return list(self._placing()) if short else []

    def _placing(self) -> Iterator[tuple[_Cells, Ints]]:
        keys, _ = self._beside
        for cells in self._chunks():
            yield cells, np.searchsorted(keys, cells.key).clip(max=len(keys) - 1)

    def _expected(self, cells: _Cells, place: Ints, keys: Ints, share: Floats) -> Floats:
        own = np.where(keys[place] == cells.key, share[place], 0.0)
        return self._shared_out(own * cells.near, cells.word)

    def _shared_out(self, joint: Floats, word: Ints) -> Floats:
        total = np.bincount(word, joint) * (1 + self.nothing)
        return np.asarray(joint / np.maximum(total, 1e-300)[word])

    def _maximized(self, keys: Ints, counts: Floats) -> Floats:
        source = keys // self.target_size
        return np.asarray(counts / np.maximum(np.bincount(source, counts) + self.doubt, 1e-300)[source])


def translations(
    pairs: Sequence[TokenPair],
    source_size: int,
    target_size: int,
    *,
    top: int,
    besides: Sequence[int] = (),
    rounds: int = 4,
) -> list[NDArray[np.int64]]:
    """For each source token its `top` likeliest target tokens, the likeliest first; unseen tokens have none.

    Target tokens named in `besides` are not listed. The source's `</s>` acts as the null word.
    """
    keys, share = Model1(pairs=pairs, target_size=target_size, rounds=rounds, candidates=_CANDIDATES).shares
    listed = ~np.isin(keys % target_size, besides)
    source, target = np.divmod(keys[listed], target_size)
    chosen = _first(source, share[listed], top)
    return np.split(target[chosen], np.searchsorted(source[chosen], np.arange(1, source_size)))


def _first(groups: Ints, values: Floats, count: int) -> Ints:
    """The places of the `count` greatest values of each group, group by group; `groups` are in order."""
    order = np.lexsort((-values, groups))
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    place = np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
    return order[place < count]
