"""The layout of a text: pieces that are translated one by one, and the white space around them.

A text is split into lines and, unless the model was trained on lines as they are, into sentences. The translations are
put together with the same white space. Where there was none, or a single space, the script of the translation decides:
`你好。再见。` becomes `Hello. Goodbye.`, and the reverse.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.base.errors import check_one_of
from regard.data.subwords.tokenizer import UNSPACED, words
from regard.decoding.sentences import sentences

Split = Literal["sentence", "line"]
SPLITS: tuple[Split, ...] = ("sentence", "line")

_LINE = re.compile(r"[^\n]+")
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff9f\U00020000-\U0003ffff]")
"""letters and punctuation of Chinese and Japanese, which put no space between sentences"""


@dataclass(frozen=True)
class Layout:
    """Pieces without white space at their ends, and the white space before, between and after them."""

    pieces: tuple[str, ...]
    gaps: tuple[str, ...]
    """one more than there are pieces"""

    @property
    def text(self) -> str:
        """The text that was laid out."""
        return self.gaps[0] + "".join(piece + gap for piece, gap in zip(self.pieces, self.gaps[1:], strict=True))

    @property
    def starts(self) -> list[int]:
        """The position of each piece in the text."""
        starts, at = [], 0
        for piece, gap in zip(self.pieces, self.gaps, strict=False):
            starts.append(at + len(gap))
            at += len(gap) + len(piece)
        return starts

    def filled(self, pieces: Sequence[str]) -> "Layout":
        """The layout with other pieces, such as translations; gaps are adapted to their script."""
        gaps = list(self.gaps)
        for at in range(1, len(pieces)):
            gaps[at] = _gap(gaps[at], pieces[at - 1], pieces[at])
        return Layout(tuple(pieces), tuple(gaps))

    def cut(self, cut: Callable[[str], Sequence[str]]) -> "Layout":
        """The layout with each piece cut into smaller ones, which lose nothing but white space."""
        pieces: list[str] = []
        gaps = [self.gaps[0]]
        for piece, after in zip(self.pieces, self.gaps[1:], strict=True):
            own = _around(piece, cut(piece))
            gaps[-1] += own.gaps[0]
            pieces += own.pieces
            gaps += own.gaps[1:]
            gaps[-1] += after
        return Layout(tuple(pieces), tuple(gaps))


def lay_out(
    text: str, split: Split = "sentence", language: str | None = None, whole: Sequence[tuple[int, int]] = ()
) -> Layout:
    """Split a text into lines, or into lines and sentences; spans of `whole` are not split.

    Joining gives the text back: `lay_out(text).text == text` for every text.
    """
    check_one_of("translate", SPLITS, split=split)
    found: list[str] = []
    for line in _LINE.finditer(text):
        if split == "sentence":
            inside = [(one - line.start(), other - line.start()) for one, other in whole]
            found += sentences(line[0], language, inside)
        else:
            found.append(line[0])
    return _around(text, [piece.strip() for piece in found if words(piece)])


def _around(text: str, pieces: Sequence[str]) -> Layout:
    """The layout of a text that consists of these pieces and white space."""
    gaps, at = [], 0
    for piece in pieces:
        start = text.index(piece, at)
        gaps.append(text[at:start])
        at = start + len(piece)
    return Layout(tuple(pieces), (*gaps, text[at:]))


def _gap(gap: str, before: str, after: str) -> str:
    """The white space between two translations: that of the source, but as their script has it between sentences."""
    if gap not in ("", " ") or not before or not after:
        return gap
    unspaced = UNSPACED if gap == "" else _WIDE
    both = [_WIDE.match(one) or unspaced.match(one) for one in (before[-1], after[0])]
    return "" if all(both) else " "
