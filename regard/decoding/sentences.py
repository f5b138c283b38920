"""Sentence splitting: the sentences of a text, with the white space after each.

The boundaries are those of sentencex (https://github.com/wikimedia/sentencex), which has abbreviation lists for many
languages and does not split when in doubt. Boundaries after initials, ordinals and the abbreviations below are taken
back; those of a few scripts that the library lacks are added.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import sentencex  # type: ignore[import-untyped]

_CLOSING = r"[\"'”’»›)\]}」』）】〉》]*"
_WIDE = re.compile(rf"[。！？｡．]{_CLOSING}\Z")
"""ends of sentences that need no space after them"""
_MORE_ENDS = re.compile(rf"[។៕༎]+{_CLOSING}\s+|།{_CLOSING}\s+")
_ABBREVIATIONS = re.compile(
    "mr|mrs|ms|m|dr|prof|st|sr|jr|vs|vol|fig|cf|ca|approx|gen|col|capt|sgt|bzw|nr|hr|fr|evtl|ggf|vgl|mme|mlle|sra|dra|uds?"
)
_WORD_AT_END = re.compile(r"[^\s(\[\"'„“«]*\Z")
_SPEAKS = re.compile(r"[^\W_]")
_LONGEST = 30
"""letters of a sentence's end that are looked at"""
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
)


def sentences(text: str, language: str | None = None, whole: Sequence[tuple[int, int]] = ()) -> list[str]:
    """The sentences of a text, each with the white space that follows it: joined they are the text.

    `language` is a code such as `de` or `pt_BR`; without one, the script decides which rules are used. There is no
    boundary inside a span of `whole`, such as that of a placeholder. What has neither letter nor digit is no sentence
    and stays with the one before it.
    """
    ends = sorted({*_library_ends(text, language), *(found.end() for found in _MORE_ENDS.finditer(text))})
    if whole:
        inside = _inside(whole)
        ends = [end for end in ends if end not in inside]
    chunks = [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end]
    found: list[list[str]] = [[]]
    spoken = False
    for chunk in chunks:
        speaks = _SPEAKS.search(chunk) is not None
        if spoken and speaks and _ends_sentence(found[-1][-1]):
            found.append([])
        found[-1].append(chunk)
        spoken = spoken or speaks
    return ["".join(parts) for parts in found if parts]


def language_by_script(text: str) -> str:
    """A language that is written in the script of a text: the one whose sentence rules fit it best."""
    return next((language for language, letters in _SCRIPTS if letters.search(text)), "en")


def several(texts: Sequence[str], language: str | None = None) -> float:
    """The share of texts with more than one sentence."""
    return sum(len(sentences(text, language)) > 1 for text in texts) / max(1, len(texts))


def ended(texts: Sequence[str]) -> float:
    """The share of texts that end with sentence-final punctuation."""
    final = re.compile(rf"[.!?…‽؟۔।॥။።։។៕。！？｡．]\s*{_CLOSING}\s*\Z")
    return sum(final.search(text) is not None for text in texts) / max(1, len(texts))


def _library_ends(text: str, language: str | None) -> Iterator[int]:
    """The positions after each of the library's sentences; none if it changes the text."""
    code = language_by_script(text) if language is None else language.partition("_")[0].partition("-")[0].lower()
    try:
        found = sentencex.segment(code, text)
    except UnicodeEncodeError:  # lone surrogates, which are no text
        return
    if "".join(found) != text:
        return
    at = 0
    for sentence in found:
        at += len(sentence)
        yield at


def _inside(spans: Iterable[tuple[int, int]]) -> set[int]:
    return {at for start, end in spans for at in range(start + 1, end)}


def _ends_sentence(chunk: str) -> bool:
    """Whether a sentence may end after this, its last chunk."""
    told = chunk.rstrip()
    if told == chunk:
        return _WIDE.search(told) is not None
    if not told.endswith(".") or told.endswith(".."):
        return True
    [word] = _WORD_AT_END.findall(told[-_LONGEST:-1])[:1]
    initial = len(word) == 1 and word.isalpha() and word.isupper()
    ordinal = len(word) <= 2 and word.isdigit()
    return not (initial or ordinal or _ABBREVIATIONS.fullmatch(word.lower()))
