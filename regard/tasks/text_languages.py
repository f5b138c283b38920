"""What a text's own words tell of its languages, beside what names, headers and options say."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

from regard.base.errors import UsageError
from regard.data.corpus import Corpus
from regard.data.format import Doubt, Format, Hints, Recognized
from regard.data.formats.jsonl import Jsonl
from regard.data.formats.tmx import Tmx
from regard.data.identification import language_of_lines
from regard.data.languages import without_region
from regard.data.statistics import drawn
from regard.data.table import Table

_LOOKED_AT, _SAMPLED = 1_000, 50_000


def languages_by_text(corpus: Corpus, reading: Recognized, hints: Hints) -> tuple[Recognized, str]:
    """How parallel text is read, with the languages that its words tell, and this in words.

    Names and options come first. Options that ask for the other direction exchange the columns, unless these are said;
    names that have the languages the wrong way round are asked about.
    """
    said = (hints.source, hints.target)
    sample = drawn(islice(corpus.rows(), _SAMPLED), _LOOKED_AT)
    one, other = (language_of_lines([row[side] for row in sample]) for side in (0, 1))
    if reading.source and reading.target and not any(said):
        named = tuple(map(without_region, (reading.source, reading.target)))
        if one != other and hints.columns is None and named == (other, one):
            files = " and ".join(map(str, corpus.files))
            problem = f"{files}: names say {reading.source} → {reading.target}, but by its words it is {one} → {other}"
            raise Doubt(problem, "--source", f"{one} --target {other} if the words are right")
        return reading, ""
    if one and other and one != other and any(said) and said[0] in (None, other) and said[1] in (None, one):
        form = reading.format if hints.columns is not None else _turned(corpus, one, other)
        if form == reading.format:
            return reading, ""
        told = f"by its words the text is {one} → {other}: its sides are exchanged, as you ask for {other} → {one}"
        return replace(reading, format=form, source=other, target=one), told
    source, target = reading.source or one, reading.target or other
    if (reading.source and reading.target) or not source or not target or source == target:
        return reading, ""
    told = f"by its words the text is {source} → {target}; --source and --target say otherwise"
    return replace(reading, source=source, target=target), told


def in_direction(corpus: Corpus, source: str | None, said: Hints, warn: Callable[[str], Any]) -> Corpus:
    """Parallel text for a model that reads the language `source`, with its sides exchanged where its words say so.

    A warning says that they were; two files in the wrong order are an error, and columns that are said are taken.
    """
    if source is None or corpus.sides != 2 or said.columns is not None:
        return corpus
    hints = Hints(source=without_region(source))
    reading, told = languages_by_text(corpus, Recognized(format=corpus.format), hints)
    if reading.format == corpus.format:
        return corpus
    warn(told)
    return replace(corpus, format=reading.format)


def doubt_turns(corpus: Corpus) -> None:
    """Ask about a text whose lines are in turn in one language and in another: they are pairs, no running text."""
    lines = [text for (text,) in islice(corpus.rows(), _LOOKED_AT)]
    one, other = (language_of_lines(lines[at::2]) for at in (0, 1))
    if one and other and one != other:
        problem = (
            f"{corpus.files[0]}: its lines are {one} and {other} in turn; a translator learns from two files or a table"
        )
        raise Doubt(problem, "--format text", "if a language model is wanted")


def _turned(corpus: Corpus, one: str, other: str) -> Format:
    """The format of a text in two languages with its sides exchanged."""
    form = corpus.format
    if isinstance(form, Table) and form.columns:
        return replace(form, columns=form.columns[::-1])
    if isinstance(form, Tmx):
        return replace(form, languages=form.languages[::-1])
    if isinstance(form, Jsonl):
        return replace(form, keys=form.keys[::-1])
    if len(corpus.files) == 2:
        files = " and ".join(map(str, corpus.files))
        raise UsageError(f"{files}: by their words they are {one} and {other}; give the file in {other} first")
    return form
