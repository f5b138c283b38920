"""The choice of a table's columns from its first rows: which hold source and target, and whether there is a header.

What names and content tell is taken; where they leave a choice, `Doubt` says how to make it.
"""

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.base.errors import UsageError, unknown
from regard.base.wording import counted
from regard.data.format import Doubt, Hints
from regard.data.inflection_tables import inflection_columns
from regard.data.languages import language_code, language_in, language_pair, without_region

_SOURCE = frozenset({"source", "src", "input", "original"})
_TARGET = frozenset({"target", "tgt", "trg", "output", "translation", "translated"})
_HEADINGS = (
    _SOURCE | _TARGET | {"", "text", "sentence", "label", "category", "class", "id", "question", "answer", "score"}
)
_DOCUMENT = frozenset({"doc", "document", "docid", "documentid", "article", "articleid"})
_NUMBERS = frozenset({"id", "no", "nr"})
"""also codes of languages, such as Norwegian; beside two other languages, or above numbers, they name no language"""
_LICENSE = re.compile(r"\bCC[- ]?(BY|0)\b|^https?://\S+$")
_ENOUGH = 20
_FEW_KINDS = 0.05


@dataclass(frozen=True)
class ColumnChoice:
    """The chosen columns and what their names say."""

    columns: tuple[int | str, ...]
    header: bool
    source: str | None = None
    target: str | None = None
    document: int | str | None = None


def choose_columns(file: Path, rows: Sequence[Sequence[str]], hints: Hints) -> ColumnChoice:
    """The columns of source and target in a table whose first rows are given."""
    names = [cell.strip() for cell in rows[0]]
    asked = [joined_columns(column, names) for column in hints.columns or ()]
    if asked:
        sides = [[_place(file, names, column, hints) for column in own] for own in asked]
    else:
        sides = _by_name(file, rows, names, hints) or _by_content(file, rows, names)
    places = [own[0] for own in sides]
    named = any(isinstance(column, str) for own in asked for column in own)
    header = True if named else _has_header(file, rows, places, hints)
    usable = header and all(names) and len(set(names)) == len(names)
    languages = [language_in(names[place]) if header else None for place in places]
    if len(places) == 2 and None in languages:
        languages = list(language_pair(file) or (None, None))
    if len(places) == 2 and languages[0] is not None and languages[0] == languages[1]:
        raise UsageError(f"{file}: columns {_listed(places)} are both in the language {languages[0]}")
    document = next((name for name in names if _plain(name) in _DOCUMENT), None) if usable else None
    return ColumnChoice(
        columns=tuple(_named(own, names if usable else []) for own in sides),
        header=header,
        source=hints.source or languages[0],
        target=hints.target or languages[-1] if len(places) == 2 else None,
        document=document,
    )


def joined_columns(column: int | str, names: Sequence[str] = ()) -> tuple[int | str, ...]:
    """The columns that `1+3` or `word+tags` reads as one text; a name of the header may hold a plus sign itself."""
    if isinstance(column, int) or column in names:
        return (column,)
    return tuple(int(part) if part.strip().isdecimal() else part.strip() for part in column.split("+"))


def _named(places: Sequence[int], names: Sequence[str]) -> int | str:
    """Columns as the settings of a table list them."""
    found = [names[place] if names else place + 1 for place in places]
    return found[0] if len(found) == 1 else "+".join(map(str, found))


def are_labels(column: Sequence[str]) -> bool:
    """Whether texts are so few that come so often that they are labels rather than sentences."""
    return len(column) >= _ENOUGH and len(set(column)) <= max(1, _FEW_KINDS * len(column))


def named_sides(names: Sequence[str]) -> tuple[int, int] | None:
    """The places of the one name such as `src` and the one such as `translation`; None if there are not both."""
    sources, targets = ([at for at, name in enumerate(names) if _plain(name) in words] for words in (_SOURCE, _TARGET))
    return (sources[0], targets[0]) if len(sources) == len(targets) == 1 else None


def name_sides(names: Sequence[str]) -> bool:
    """Whether the names of columns tell a source and a target, by these words or by two languages."""
    codes = {code for name in names if (code := language_in(name)) and name.casefold() not in _NUMBERS}
    return named_sides(names) is not None or len(codes) > 1


def are_codes(column: Sequence[str]) -> bool:
    """Whether most cells name a language, as `eng` beside sentences does."""
    filled = [cell.strip() for cell in column if cell.strip()]
    return sum(language_code(cell) is not None for cell in filled) > 0.5 * len(filled)


def heads_numbers(name: str, cells: Sequence[str], languages: int) -> bool:
    """Whether `id`, `no` or `nr` above some cells means their number, beside that many columns named by a language."""
    return name.casefold() in _NUMBERS and (languages > 2 or _are_identifiers(cells))


def _are_identifiers(column: Sequence[str]) -> bool:
    """Whether most cells are numbers or names such as `doc-3`: without a letter, or with a digit and no space."""
    filled = [cell.strip() for cell in column if cell.strip()]
    found = sum(bool(re.fullmatch(r"[\W\d_]+|\S*\d\S*", cell)) for cell in filled)
    return found > 0.5 * len(filled)


def _place(file: Path, names: Sequence[str], column: int | str, hints: Hints) -> int:
    if isinstance(column, int):
        if not 1 <= column <= len(names):
            raise UsageError(f"{file}: has {counted(len(names), 'column')}, so there is no column {column}")
        return column - 1
    if hints.header is False:
        raise UsageError(f"--columns: '{column}' is a name, but --no-header says that there are none; give numbers")
    if column not in names:
        raise UsageError(unknown(str(file), column, names, "columns"))
    return names.index(column)


def _by_name(file: Path, rows: Sequence[Sequence[str]], names: Sequence[str], hints: Hints) -> list[list[int]]:
    """The place of the column of each side whose name tells what it is; empty if the names do not tell."""
    if hints.header is False:
        return []
    languages = {at: code for at, name in enumerate(names) if (code := language_in(name))}
    languages = {
        at: code
        for at, code in languages.items()
        if not heads_numbers(names[at], [row[at] for row in rows[1:]], len(languages))
        and not are_codes([row[at] for row in rows[1:]])
    }
    if len(languages) > 2 and len(rows) > 1:
        languages = {at: code for at, code in languages.items() if _is_text([row[at] for row in rows[1:]])}
    if hints.source and hints.target and len(set(languages.values())) > 1:
        wanted = [[at for at, code in languages.items() if _same(code, one)] for one in (hints.source, hints.target)]
        if all(wanted):
            return [found[:1] for found in wanted]
    sides = named_sides(names)
    if sides is not None:
        return [[at] for at in sides]
    if len(languages) == 2 and len(set(languages.values())) == 2:
        return [[at] for at in languages]
    if len(set(languages.values())) > 2:
        example = ",".join(names[at] for at in list(languages)[:2])
        raise Doubt(f"{file}: has columns in {len(languages)} languages ({', '.join(names)})", "--columns", example)
    return []


def _by_content(file: Path, rows: Sequence[Sequence[str]], names: Sequence[str]) -> list[list[int]]:
    """The places of the only two columns that hold sentences rather than numbers, labels, links or licenses.

    In tables of inflected forms, lemma and tags are the source.
    """
    body = rows[1:] or rows
    inflected = inflection_columns(body)
    if inflected is not None:
        return [[inflected.lemma, inflected.tags], [inflected.form]]
    columns = [[row[at] for row in body] for at in range(len(names))]
    if len(columns) == 1:
        raise Doubt(f"{file}: has one column, but a translation needs two", "--format text", "for a language model")
    if len(columns) == 2:
        return [[0], [1]]
    texts = [at for at, column in enumerate(columns) if _is_text(column) and not are_labels(column)]
    texts = [at for at in texts if not are_codes(columns[at])]
    if len(texts) > 2:
        texts = [at for at in texts if not _are_identifiers(columns[at])]
    if len(texts) == 2:
        tags = next((at for at, column in enumerate(columns) if at not in texts and _is_text(column)), None)
        if tags is not None and all(_are_words(columns[at]) for at in texts):
            one, other = (at + 1 for at in texts)
            told = f"columns {one} and {other} hold words, and column {tags + 1} what may be asked of them"
            example = f"{one}+{tags + 1},{other} if it belongs to the source, {one},{other} if it does not"
            raise Doubt(f"{file}: {told} ({_short(columns[tags])})", "--columns", example)
        return [[at] for at in texts]
    shown = ", ".join(f"{at + 1}: {_short(column)}" for at, column in enumerate(columns))
    if len(texts) == 1:
        problem = f"{file}: column {texts[0] + 1} alone holds texts, but a translation needs two ({shown})"
        raise Doubt(problem, "--columns", f"{texts[0] + 1} for a language model")
    example = ",".join(str(at + 1) for at in texts[:2]) or "1,2"
    raise Doubt(
        f"{file}: {len(columns)} columns do not tell which are source and target ({shown})", "--columns", example
    )


def _has_header(file: Path, rows: Sequence[Sequence[str]], places: Sequence[int], hints: Hints) -> bool:
    if hints.header is not None:
        return hints.header
    first, body = rows[0], rows[1:]
    codes = [language_in(first[place]) for place in places]
    if all(codes) and (len(set(codes)) == len(codes) or all(first[place].strip() == codes[0] for place in places)):
        return True  # one code twice is a mistake, which is told where languages are compared
    if all(_plain(cell) in _HEADINGS for cell in first) or all(_plain(first[at]) in _SOURCE | _TARGET for at in places):
        return True
    if len(body) < 2:
        return False
    for at in range(len(first)):
        numbers = sum(_is_number(row[at]) for row in body)
        if first[at].strip() and not _is_number(first[at]) and numbers >= 0.9 * len(body):
            return not any(map(_is_number, first))
    if all(_like_a_name([row[place] for row in rows]) for place in places):
        problem = f"{file}: the first row ({' | '.join(first[place].strip() for place in places)}) may be a header"
        raise Doubt(problem, "--header", "or --no-header")
    return False


def _like_a_name(column: Sequence[str]) -> bool:
    """Whether a column's first cell is a word or two above longer sentences."""
    first, *body = column
    few = len(first.split()) <= 2 and not re.search(r"[.!?。？！…]$", first.strip()) and first not in body
    return few and statistics.median(len(cell.split()) for cell in body) >= 4


def _are_words(column: Sequence[str]) -> bool:
    """Whether most cells are a word or two."""
    return statistics.median(len(cell.split()) for cell in column) <= 2


def _is_text(column: Sequence[str]) -> bool:
    filled = [cell for cell in column if cell.strip()]
    odd = sum(not any(map(str.isalpha, cell)) or bool(_LICENSE.search(cell)) for cell in filled)
    return bool(filled) and odd < 0.5 * len(filled)


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"[\d.,:%+-]*\d[\d.,:%+-]*", cell.strip()))


def _short(column: Sequence[str]) -> str:
    text = next((cell.strip() for cell in column if cell.strip()), "")
    return f"“{text[:20]}{'…' if len(text) > 20 else ''}”"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold()).removesuffix("text").removesuffix("sentence")


def _same(code: str, wanted: str) -> bool:
    return without_region(code) == without_region(wanted)


def _listed(places: Sequence[int]) -> str:
    return " and ".join(str(place + 1) for place in places)
