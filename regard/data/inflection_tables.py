"""Tables of inflected forms: a lemma, grammatical tags, and the form that they ask for, as in UniMorph.

    walk    walked    V;PST
    walk    V;V.PTCP;PRS    walking

The column of tags is told by its marks: no spaces, parts that are split at `;` or the like, few different ones. The
other two are words most of whose letters are the same.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

_PARTS = re.compile(r"[;|,+:]")
_LOOKED_AT = 500
_LEAST_ROWS = 10
_MOST, _FEW = 0.9, 0.2
_COPIED = 0.4


class InflectionColumns(NamedTuple):
    """The places of the columns, from 0."""

    lemma: int
    tags: int
    form: int


def inflection_columns(rows: Sequence[Sequence[str]]) -> InflectionColumns | None:
    """Which columns of a table hold lemmas, tags and forms; None if it is another table."""
    rows = rows[:_LOOKED_AT]
    if len(rows) < _LEAST_ROWS or any(len(row) != 3 for row in rows):
        return None
    for tags in (2, 1, 0):
        lemma, form = (at for at in range(3) if at != tags)
        if _are_tags([row[tags] for row in rows]):
            shares = [_share(row[lemma], row[form]) for row in rows]
            return InflectionColumns(lemma, tags, form) if sum(shares) > _COPIED * len(rows) else None
    return None


def _are_tags(column: Sequence[str]) -> bool:
    """Whether most cells are several tags in a row, and there are few different tags."""
    if sum(bool(_PARTS.search(cell)) and not re.search(r"\s", cell.strip()) for cell in column) < _MOST * len(column):
        return False
    parts = [part for cell in column for part in _PARTS.split(cell.strip())]
    return len(set(parts)) <= max(5, _FEW * len(parts))


def _share(lemma: str, form: str) -> float:
    """The share of a form's two letters in a row that its lemma has; words are at most a few."""
    if max(len(lemma.split()), len(form.split())) > 4:
        return 0.0
    pairs = [{word[at : at + 2] for at in range(len(word) - 1)} for word in (lemma.lower(), form.lower())]
    return len(pairs[0] & pairs[1]) / max(1, len(pairs[1]))
