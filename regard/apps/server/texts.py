"""Texts of many lines: each line is translated by itself, long ones in parts; empty lines stay where they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.decoding import segment
from regard.decoding.translator import Translation, Translator

_ENDS = re.compile(r"(\r?\n)")
_TOKENS_A_CHARACTER = 5  # at most: four bytes and the mark of a word


@dataclass(frozen=True)
class Layout:
    """A text as the parts that are translated one by one, and how they stand in it."""

    lines: tuple[tuple[str, ...], ...]
    """the parts of each line"""
    ends: tuple[str, ...]
    """what ends each line but the last"""

    @property
    def parts(self) -> list[str]:
        """All parts, in order."""
        return [part for line in self.lines for part in line]

    def put_together(self, translations: Sequence[Translation], rank: int = 0) -> str:
        """The text of the parts' translations, the best ones or, where there are such, those of the given rank."""
        found = iter(_ranked(one, rank) for one in translations)
        lines = [segment.join([next(found) for _ in line]) for line in self.lines]
        return "".join(line + end for line, end in zip(lines, (*self.ends, ""), strict=True))

    def alternatives(self, translations: Sequence[Translation], count: int) -> list[str]:
        """At most so many further texts, each different from the best and from one another."""
        texts = [self.put_together(translations, rank) for rank in range(1 + count)]
        return list(dict.fromkeys(texts))[1:]


def lay_out(text: str, translator: Translator) -> Layout:
    r"""The parts of a text, the same that `regard translate` makes of its lines; `\n` and `\r\n` end a line."""
    pieces = _ENDS.split(text)
    return Layout(tuple(tuple(_parts(line, translator)) for line in pieces[::2]), tuple(pieces[1::2]))


def _parts(line: str, translator: Translator) -> list[str]:
    if not line.strip():
        return []
    longest = translator.max_source
    if longest is None or _TOKENS_A_CHARACTER * len(line) < longest:
        return [line]
    if len(translator.source.encode(line)) < longest:
        return [line]
    return segment.split_text(line, longest - 1, lambda piece: len(translator.source.encode(piece)))


def _ranked(one: Translation, rank: int) -> str:
    return one.n_best[rank].text if rank < len(one.n_best) else one.text
