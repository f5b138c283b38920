"""A dev and a test set taken from a corpus that has none: always the same lines, and nothing of them in training.

Lines with equal sources or equal targets form a group, and a group is held out as a whole; where blank lines or a
column part the text into documents, whole documents are, unless they are so long that too few would fit. Hashes of the
text give the order in which groups are taken.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.corpus import Corpus, Leaks, is_blank, text_hash
from regard.data.table import Table

By = Literal["line", "document"]
_MOST = 2_000
_SHARE = 20
_FEW, _FEW_SHARE = 20, 10
_DOCUMENTS = 10
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class HeldOut:
    """The lines that are held out, and which training lines would leak them."""

    dev: tuple[tuple[str, ...], ...]
    test: tuple[tuple[str, ...], ...]
    by: By
    leaks: Leaks
    """which lines must not be trained on: those that share their source, or either side, with a held-out one"""


def held_out_size(lines: int) -> int:
    """The lines of each held-out set: 5 %, at most 2,000; of few lines 10 %, and none of fewer than 20."""
    if lines < _FEW:
        return 0
    return max(min(_MOST, lines // _SHARE), min(_FEW, lines // _FEW_SHARE))


def hold_out(corpus: Corpus, document: int | str | None = None, size: int | None = None) -> HeldOut | None:
    """Choose a dev and a test set of some `size` lines each; None if the corpus is too small for that."""
    hashes, documents = _look(corpus, document)
    lines = len(hashes[0])
    wanted = held_out_size(lines) if size is None else size
    if not wanted or 2 * wanted >= lines:
        return None
    by: By = "line"
    leaks: Leaks = "either"
    chosen = [] if documents is None else _choose(documents, hashes[0], wanted)
    if chosen and all(len(part) >= wanted / 2 for part in chosen):
        by = "document"
    else:
        chosen = _choose(_groups(hashes), hashes[0], wanted)
    if len(hashes) == 2 and by == "line" and not all(map(len, chosen)):
        leaks = "source"  # few different targets, so that nearly all lines hang together
        chosen = _choose(_groups(hashes[:1]), hashes[0], wanted)
    if not all(map(len, chosen)):
        return None
    test, dev = (_rows(corpus, numbers) for numbers in chosen)
    return HeldOut(tuple(_without(dev, test)), tuple(test), by, leaks)


def _look(corpus: Corpus, document: int | str | None) -> tuple[list[NDArray[np.uint64]], NDArray[np.int64] | None]:
    """The hashes of all kept lines by side, and the number of each line's document, if there are documents."""
    hashes = [array("Q") for _ in range(corpus.sides)]
    marks = array("q")
    block, names = 0, {} if document is None else _names(corpus, document)
    for row in corpus.format.rows(corpus.files):
        blank = [is_blank(text) for text in row.texts]
        block += all(blank)
        if any(blank):
            continue
        for side, text in zip(hashes, row.texts, strict=True):
            side.append(text_hash(text))
        marks.append(names.get(row.line, 0) if names else block)
    documents = np.unique(np.array(marks, np.int64), return_inverse=True)[1]
    count = int(documents.max(initial=-1)) + 1
    apart = _DOCUMENTS <= count <= len(documents) // 2
    return [np.array(side, np.uint64) for side in hashes], documents if apart else None


def _names(corpus: Corpus, document: int | str) -> dict[int, int]:
    """The document of each line, numbered as they come, from a column or key of the same file."""
    table = isinstance(corpus.format, Table)
    column: dict[str, Any] = {"columns" if table else "keys": (document,)}
    told = replace(corpus, format=replace(corpus.format, **column))  # type: ignore[type-var]
    numbers: dict[str, int] = {}
    return {row.line: numbers.setdefault(row.texts[0], len(numbers)) for row in told.format.rows(told.files)}


def _groups(hashes: Sequence[NDArray[np.uint64]]) -> NDArray[np.int64]:
    """The group of each line: lines that are joined by equal sources or targets, over any number of steps."""
    groups = np.arange(len(hashes[0]))
    sides = [np.unique(side, return_inverse=True)[1] for side in hashes]
    while True:
        before = groups
        for side in sides:
            least = np.full(int(side.max()) + 1, len(groups))
            np.minimum.at(least, side, groups)
            groups = least[side]
        if np.array_equal(before, groups):
            return np.unique(groups, return_inverse=True)[1]


def _choose(groups: NDArray[np.int64], hashes: NDArray[np.uint64], wanted: int) -> list[NDArray[np.int64]]:
    """The numbers of the lines of a test set and a dev set, of whole groups, none much larger than the rest."""
    sizes = np.bincount(groups)
    first = np.unique(groups, return_index=True)[1]
    order = np.argsort(hashes[first] * _MIX, kind="stable")
    largest = max(3, wanted // 10) if len(sizes) > len(groups) // 3 else wanted
    taken: list[list[int]] = [[], []]
    reached = [0, 0]
    for group in order:
        at = 0 if reached[0] < wanted else 1
        if reached[at] >= wanted:
            break
        if sizes[group] <= min(largest, 2 * wanted - reached[at]):
            taken[at].append(int(group))
            reached[at] += int(sizes[group])
    return [np.flatnonzero(np.isin(groups, part)) for part in taken]


def _rows(corpus: Corpus, numbers: NDArray[np.int64]) -> list[tuple[str, ...]]:
    wanted = set(numbers.tolist())
    return [texts for at, texts in enumerate(corpus.rows()) if at in wanted]


def _without(rows: Sequence[tuple[str, ...]], others: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """The rows that share no text with others; only lines of different documents can."""
    seen = {(side, text_hash(text)) for row in others for side, text in enumerate(row[:1])}
    return (row for row in rows if (0, text_hash(row[0])) not in seen)
