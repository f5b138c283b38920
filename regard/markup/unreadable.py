"""Characters that a model cannot read, such as an emoji or a letter that its training text does not have.

Their subwords are all `<unk>`, so no model can translate them; they are kept as placeholders are. A sign is kept by
itself, a letter or digit with the word that it is part of, which is a name more often than not. Letters of a script
that the source is written in and the target is not, such as a rare Chinese character on its way to English, are left
to the model: few could read the copy. Latin letters are copied anywhere. Of a vocabulary of words, it is the letters
that count: an unknown word made of known ones is left to the model. So is what has a readable variant: a capital where
the model knows the small letter, a typographic quotation mark where it knows the plain one.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from regard.data.subwords.tokenizer import SPECIALS, UNK, Subwords
from regard.data.word_spans import Span, word_spans
from regard.markup.units import snap

_EVERYWHERE = "LATIN"
"""the script whose names are read, and written, all over the world"""
_PLAIN = dict.fromkeys("‘’ʼ´`", "'") | dict.fromkeys("“”„«»‹›", '"') | dict.fromkeys("–—−‐‑", "-") | {"…": "."}
"""typographic signs, and the plain ones that stand for them"""
_BY_LETTERS = ("bpe", "unigram", "character")
"""kinds of subwords that can write any word whose characters they have"""


@dataclass(frozen=True)
class Unreadable:
    """What of a text the subwords of the source cannot read, and should be copied to the target."""

    source: Subwords
    target: Subwords

    def find(self, text: str) -> list[Span]:
        """The spans to copy, in order: signs, and words with an unreadable letter."""
        if all(map(self._reads, set(text))):
            return []
        places = [span for span in _combined(text) if not self._reads_all(text[slice(*span)])]
        words = word_spans(text)
        found: list[Span] = []
        for start, end in places:
            span = (start, end)
            if _spells(text[start:end]) or _is_inside(text, start, end):
                span = next(((first, last) for first, last in words if first <= start < last), span)
                if not self._is_copied(text[start]):
                    continue
            if found and span[0] <= found[-1][1]:
                found[-1] = (found[-1][0], max(found[-1][1], span[1]))
            else:
                found.append(span)
        return found

    def _reads_all(self, combined: str) -> bool:
        """Whether a character with all that is combined with it can be read: é is also written with two."""
        return all(map(self._reads, unicodedata.normalize("NFC", combined)))

    def _is_copied(self, letter: str) -> bool:
        script = _script(letter)
        return script in (None, _EVERYWHERE) or script in self._written or script not in self._read

    @cached_property
    def _known(self) -> dict[str, bool]:
        return {}

    def _reads(self, letter: str) -> bool:
        known = self._known.get(letter)
        if known is None:
            known = letter.isspace() or any(map(self._has, {letter, *_variants(letter)}))
            self._known[letter] = known
        return known

    def _has(self, letter: str) -> bool:
        return UNK not in self.source.encode(letter) or letter in self._in_words

    @cached_property
    def _in_words(self) -> frozenset[str]:
        """The letters of a vocabulary of words, which are not read alone."""
        return frozenset() if self.source.kind in _BY_LETTERS else _letters(self.source)

    @cached_property
    def _read(self) -> frozenset[str]:
        return _scripts(self.source)

    @cached_property
    def _written(self) -> frozenset[str]:
        return _scripts(self.target)


def _variants(letter: str) -> set[str]:
    """The same letter in the other case, or the plainer form of a sign."""
    plain = unicodedata.normalize("NFKC", letter)
    return {one for one in (letter.lower(), letter.upper(), plain, _PLAIN.get(letter, "")) if len(one) == 1}


def _is_inside(text: str, start: int, end: int) -> bool:
    """Whether letters or digits stand on both sides."""
    return text[max(0, start - 1) : start].isalnum() and text[end : end + 1].isalnum()


def is_sign(text: str) -> bool:
    """Whether a text has neither letter nor digit."""
    return not _spells(text)


def _spells(text: str) -> bool:
    return any(map(str.isalnum, text))


def _combined(text: str) -> Iterator[Span]:
    """Each character with the marks and joiners that belong to it, white space left out."""
    start = 0
    for at in range(1, len(text) + 1):
        if snap(text, at) == at:
            if not text[start].isspace():
                yield start, at
            start = at


def _scripts(subwords: Subwords) -> frozenset[str]:
    """The scripts of the letters in a vocabulary."""
    return frozenset(script for script in map(_script, _letters(subwords)) if script)


def _letters(subwords: Subwords) -> frozenset[str]:
    return frozenset(letter for piece in subwords.pieces[len(SPECIALS) :] for letter in piece)


def _script(letter: str) -> str | None:
    """The script of a letter, by the first word of its Unicode name; None if it is a digit or a sign."""
    return unicodedata.name(letter, "").partition(" ")[0] or None if letter.isalpha() else None
