"""A glossary: terms whose translation is given.

Where a term occurs in a text, its translation must occur in the output (lexically constrained decoding).

    glossary = Glossary.of({"dog": "Hund", "hot dog": "Hotdog"})
    glossary.found_in("A hot dog and a dog.")       # (("hot dog", "Hotdog"), ("dog", "Hund"))
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from regard.base.errors import UsageError
from regard.base.files import read_lines
from regard.data.subwords.tokenizer import MARK, UNK, UNSPACED, Subwords
from regard.decoding.constraint import Phrase

Term = tuple[str, str]
_MARKS = (MARK, "\u0120")  # what a piece that begins a word starts with; the second in byte-level vocabularies
_RUN = re.compile(r"\w+")


class _Sought(NamedTuple):
    """A term as it is looked for."""

    written: str
    any_case: bool
    term: Term


@dataclass(frozen=True)
class Glossary:
    """Terms and their translations, which come out exactly as they are given.

    A term is found as whole words, in any letter case if it is written in lower case, else as it is written; white
    space in it stands for any. Terms of scripts without spaces are found anywhere. Where terms overlap, the one that
    starts first is taken, and of several the longest. A translation must occur once, however often its term does.
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        for source, target in self.terms:
            if not source.strip() or not target.strip():
                raise UsageError(f"glossary: the term '{source}' → '{target}' is empty on a side; give both")

    @classmethod
    def of(cls, terms: "Mapping[str, str] | Glossary") -> "Glossary":
        """The glossary of a mapping from terms to translations."""
        if isinstance(terms, Glossary):
            return terms
        if not isinstance(terms, Mapping) or not all(isinstance(side, str) for pair in terms.items() for side in pair):
            raise UsageError("glossary: give a mapping from terms to their translations, such as {'dog': 'Hund'}")
        return cls(tuple(terms.items()))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The glossary of a tab-separated file: a term and its translation a line; # starts a comment line."""
        terms: dict[str, str] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            sides = [side.strip() for side in line.split("\t")]
            if len(sides) != 2 or not all(sides):
                raise UsageError(f"{path}, line {number}: must be a term, a tab and its translation")
            if terms.setdefault(sides[0], sides[1]) != sides[1]:
                raise UsageError(
                    f"{path}, line {number}: '{sides[0]}' is '{sides[1]}' here, but '{terms[sides[0]]}' before; "
                    "a term has one translation"
                )
        if not terms:
            raise UsageError(f"{path}: holds no term; write a term, a tab and its translation on a line")
        return cls(tuple(terms.items()))

    @cached_property
    def _by_word(self) -> dict[str, list[_Sought]]:
        """The terms by their first word, in lower case, so that a text is compared with few of a large glossary."""
        by_word: dict[str, list[_Sought]] = {}
        for term in self.terms:
            written = _flat(term[0])
            folded = _lower(written)
            first = "" if UNSPACED.search(written) else _first_word(folded)
            by_word.setdefault(first, []).append(_Sought(written, written == folded, term))
        return by_word

    def found_in(self, text: str) -> tuple[Term, ...]:
        """The terms that occur in a text, each once, in the order of their first occurrence."""
        text = _flat(text)
        folded = _lower(text)
        firsts = {"", *_RUN.findall(folded)} & self._by_word.keys()
        places = [
            (start, -len(sought.written), sought.term)
            for first in firsts
            for sought in self._by_word[first]
            for start in _places(sought.written, folded if sought.any_case else text)
        ]
        found: list[Term] = []
        end = 0
        for start, size, term in sorted(places):
            if start >= end:
                found.append(term)
                end = start - size
        return tuple(dict.fromkeys(found))


@lru_cache(maxsize=64)
def checked_glossary(glossary: Glossary, target: Subwords) -> Glossary:
    """The glossary itself, or an error for a translation that cannot be written with these subwords."""
    for source, translation in glossary.terms:
        if lost := target.unknowns(translation):
            raise UsageError(
                f"glossary: '{source}' → '{translation}': the model's subwords cannot write "
                f"{', '.join(map(repr, lost))}; leave the term out"
            )
    return glossary


@lru_cache(maxsize=10_000)
def phrase_of(translation: str, target: Subwords) -> Phrase:
    """The token sequences that write a translation; in a script without spaces it may also stand inside a word."""
    tokens = tuple(target.encode(translation))
    inside = _inside(tokens, target) if UNSPACED.match(translation) else None
    return Phrase((tokens,) if inside is None else (inside, tokens), whole=_joins(translation.strip()[-1]))


@lru_cache(maxsize=64)
def word_ends(target: Subwords) -> frozenset[int]:
    """The tokens before which a word has ended: those that begin a word or are no letters."""
    pieces = target.pieces
    if target.kind == "wordpiece":
        return frozenset(at for at, piece in enumerate(pieces) if not piece.startswith("##"))
    if not any(piece.startswith(_MARKS) for piece in pieces):
        return frozenset(range(len(pieces)))
    return frozenset(at for at, piece in enumerate(pieces) if piece.startswith(_MARKS) or not _is_word(piece[:1]))


def _inside(tokens: tuple[int, ...], target: Subwords) -> tuple[int, ...] | None:
    """The tokens without the mark of a word's beginning, if the vocabulary has them."""
    first = target.pieces[tokens[0]].removeprefix(MARK)
    if not first:
        return tokens[1:] or None
    if (found := target.tokenizer.token_to_id(first)) is not None:
        return (found, *tokens[1:])
    letters = [target.tokenizer.token_to_id(letter) for letter in first]
    known = [letter for letter in letters if letter is not None and letter != UNK]
    return (*known, *tokens[1:]) if len(known) == len(letters) else None


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _lower(text: str) -> str:
    """The text in lower case, letter for letter, so that places stay."""
    folded = text.lower()
    return folded if len(folded) == len(text) else "".join(one.lower()[:1] for one in text)


def _first_word(text: str) -> str:
    found = _RUN.match(text)
    return found[0] if found else ""


def _places(written: str, text: str) -> Iterator[int]:
    """Where a term stands in a text as whole words; a side that is no letter, or needs no spaces, may touch others."""
    start = text.find(written)
    while start >= 0:
        before, after = text[start - 1 : start] if start else "", text[start + len(written) :][:1]
        if not (_joins(written[0]) and _is_word(before)) and not (_joins(written[-1]) and _is_word(after)):
            yield start
        start = text.find(written, start + 1)


def _joins(character: str) -> bool:
    """Whether a letter beside this one would be of the same word."""
    return _is_word(character) and not UNSPACED.match(character)


def _is_word(character: str) -> bool:
    return bool(character) and (
        character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")
    )
