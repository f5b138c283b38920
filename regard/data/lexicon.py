"""Which token translates which, counted from pairs of sentences: t(y | x), by expectation and maximization.

    expect: each y of a sentence is shared out among the x of its pair, in proportion to t(y | x)
    maximize: t(y | x) = the shares of y that x got / all shares that x got

Brown et al., The Mathematics of Statistical Machine Translation, model 1, 1993, https://aclanthology.org/J93-2003.
The source's `</s>` is the word that stands for no word in particular.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

TokenPair = tuple[Sequence[int], Sequence[int]]

_CHUNK = 4_000_000
"""pairs of tokens that are counted at once"""
_CANDIDATES = 200
"""of each source token, so many target tokens that stand beside it most often are looked at"""


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

    Target tokens that are named in `besides` are not listed. `pairs` are read once for each round, and once before.
    """
    keys, share = _beside(pairs, target_size)
    share = _maximized(keys, share, source_size, target_size)
    for _ in range(rounds):
        share = _maximized(keys, _expected(pairs, target_size, keys, share), source_size, target_size)
    listed = ~np.isin(keys % target_size, besides)
    return _best(keys[listed], share[listed], source_size, target_size, top)


def _chunks(pairs: Iterable[TokenPair], target_size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Every (source token, target token) of a pair as one number, and the number of the target word it belongs to."""
    keys: list[NDArray[np.int64]] = []
    words: list[NDArray[np.int64]] = []
    size = word = 0
    for source, target in pairs:
        x, y = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
        keys.append((x[None, :] * target_size + y[:, None]).ravel())
        words.append(np.repeat(np.arange(word, word + len(y)), len(x)))
        size, word = size + len(keys[-1]), word + len(y)
        if size >= _CHUNK:
            yield np.concatenate(keys), np.concatenate(words)
            keys, words, size, word = [], [], 0, 0
    if keys:
        yield np.concatenate(keys), np.concatenate(words)


def _beside(pairs: Sequence[TokenPair], target_size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The pairs of tokens that stand beside each other, and the share that the source token has of the target's."""
    keys: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    share: NDArray[np.float64] = np.empty(0)
    for key, word in _chunks(pairs, target_size):
        size = np.bincount(word)[word]
        both = np.concatenate([keys, key])
        keys, place = np.unique(both, return_inverse=True)
        share = np.bincount(place, np.concatenate([share, 1.0 / size]), len(keys)).astype(np.float64)
    often = np.lexsort((-share, keys // target_size))
    kept = np.sort(often[_place_in_group(keys[often] // target_size) < _CANDIDATES])
    return keys[kept], share[kept]


def _expected(
    pairs: Sequence[TokenPair], target_size: int, keys: NDArray[np.int64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    counts = np.zeros(len(keys))
    for key, word in _chunks(pairs, target_size):
        place = np.searchsorted(keys, key).clip(max=len(keys) - 1)
        own = np.where(keys[place] == key, share[place], 0.0)
        total = np.bincount(word, own)[word]
        counts += np.bincount(place, own / np.maximum(total, 1e-300), len(keys))
    return counts


def _maximized(
    keys: NDArray[np.int64], counts: NDArray[np.float64], source_size: int, target_size: int
) -> NDArray[np.float64]:
    source = keys // target_size
    return np.asarray(counts / np.maximum(np.bincount(source, counts, source_size)[source], 1e-300))


def _best(
    keys: NDArray[np.int64], share: NDArray[np.float64], source_size: int, target_size: int, top: int
) -> list[NDArray[np.int64]]:
    order = np.lexsort((-share, keys // target_size))
    order = order[_place_in_group(keys[order] // target_size) < top]
    source, target = np.divmod(keys[order], target_size)
    return np.split(target, np.searchsorted(source, np.arange(1, source_size)))


def _place_in_group(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, … within each run of equal numbers."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
