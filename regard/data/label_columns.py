"""Where the label and the texts of labeled examples stand: told by names, or by what the columns hold.

A column whose few texts come again and again holds labels (`are_labels`); the others hold texts. Names in a header, or
the keys of JSON, decide before that.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.base.errors import ConfigError, unknown
from regard.base.wording import counted
from regard.data.column_choice import are_labels

LABEL_NAMES = frozenset(
    "label labels class classes category categories intent sentiment topic emotion polarity stars rating "
    "coarselabel labelcoarse".split()
)
TEXT_NAMES = (
    "text sentence sentence1 sentence2 text1 text2 question question1 question2 premise hypothesis query utterance "
    "review comment tweet message content document passage title body description"
).split()
OLD_KEYS = ("label", "text")
"""what run files named when keys were not found by themselves"""
_SPOKEN = re.compile(r"[.!?,;:。？！…\d]")


@dataclass(frozen=True)
class LabelColumns:
    """The places of the label and of one or two texts, from 0, and whether the first row holds names."""

    places: tuple[int, ...]
    header: bool


def label_columns(rows: Sequence[Sequence[str]], keys: Sequence[int | str] | None, where: str) -> LabelColumns:
    """The columns of a table by its rows; `keys` names them by number, from 1, or by the names of the header."""
    first, wide = [cell.strip() for cell in rows[0]], len(rows[0])
    chosen = None if keys is None or (tuple(keys) == OLD_KEYS and not set(OLD_KEYS) <= set(first)) else keys
    if chosen is not None:
        places = tuple(_place(key, first, where) for key in chosen)
        named = any(isinstance(key, str) for key in chosen)
        return LabelColumns(places, named or _is_header(rows, places))
    by_name = named_keys(first)
    if by_name is not None:
        return LabelColumns(tuple(first.index(name) for name in by_name), header=True)
    if wide < 2:
        raise ConfigError(
            f"{where}: must be a label and one or two texts, split at tabs, but has {counted(wide, 'column')}"
        )
    columns = list(zip(*(row for row in rows[1:] if len(row) == wide), strict=True)) or [(cell,) for cell in first]
    labels = [at for at in range(wide) if are_labels(columns[at]) and len(set(columns[at])) > 1]
    label = labels[0] if labels and (wide > 2 or len(labels) == 1) else 0
    others = [at for at in range(wide) if at != label]
    texts = others if wide <= 3 else [at for at in others if at not in labels and _is_prose(columns[at])]
    if not 1 <= len(texts) <= 2 or (wide > 3 and not labels):
        shown = ", ".join(f"{at + 1}: “{cell[:20]}”" for at, cell in enumerate(first))
        raise ConfigError(
            f"{where}: must be a label and one or two texts, but has {wide} columns ({shown}); name the label and the "
            "text by data.keys, such as [1, 3] (regard init: --columns 1,3)"
        )
    places = (label, *texts)
    return LabelColumns(places, _is_header(rows, places))


def named_keys(names: Sequence[str]) -> tuple[str, ...] | None:
    """The names of the label and of one or two texts; None if the names do not tell."""
    labels = [name for name in names if _plain(name) in LABEL_NAMES]
    texts = [name for name in names if _plain(name) in TEXT_NAMES]
    if not labels or not texts:
        return None
    return (labels[0], *texts[:2])


def _place(key: int | str, names: Sequence[str], where: str) -> int:
    if isinstance(key, str) and key not in names:
        raise ConfigError(unknown(where, key, names, "columns"))
    place = names.index(key) if isinstance(key, str) else key - 1
    if not 0 <= place < len(names):
        raise ConfigError(f"{where}: has {counted(len(names), 'column')}, so there is no column {key}")
    return place


def _is_header(rows: Sequence[Sequence[str]], places: Sequence[int]) -> bool:
    """Whether the first row is a word or two above each column, and its label is none of the labels below."""
    first, below = rows[0], [row[places[0]] for row in rows[1:] if len(row) == len(rows[0])]
    short = all(len(first[at].split()) <= 2 and not _SPOKEN.search(first[at]) for at in places)
    return short and first[places[0]] not in below and are_labels(below)


def _is_prose(column: Sequence[str]) -> bool:
    """Whether most cells have letters, and a space between them."""
    return sum(bool(re.search(r"[^\W\d]\s+\S", cell.strip())) for cell in column) > 0.5 * len(column)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())
