"""An open vocabulary: the tokenizer's, extended by the unknown words of one text.

A vocabulary of N tokens writes what it does not know as `<unk>`. Here each unknown word of a text, or character where
pieces are characters, has an id of its own: N, N + 1, … in the order in which they first occur. A model that copies
reads and writes these ids, so that nothing is lost: `decode(encode(text)) == normalize(text)` for every text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from operator import index
from typing import Literal, SupportsIndex

from regard.data.subwords.tokenizer import BOS, EOS, MARK, PAD, SPECIALS, UNK, Piece, Subwords

Unknown = Literal["one", "own"]
"""one: every unknown word is `<unk>`; own: each has an id of its own in its sentence"""


class OpenSubwords(Subwords):
    """A tokenizer whose vocabulary is extended by some unknown words, as `open_vocabulary` makes it."""

    def __init__(self, closed: Subwords, words: tuple[str, ...]) -> None:
        super().__init__(closed.tokenizer)
        self.closed, self.words = closed, words
        self._numbers = {word: len(closed) + at for at, word in enumerate(words)}

    def __len__(self) -> int:
        return len(self.closed) + len(self.words)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The piece of each id, those of the unknown words last."""
        return (*self.closed.pieces, *self.words)

    def encode(self, text: str) -> list[int]:
        return [piece.id for piece in self.encode_with_offsets(text)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        rows = self.closed.encode_batch(texts)
        return [self.encode(text) if UNK in row else row for text, row in zip(texts, rows, strict=True)]

    def encode_with_offsets(self, text: str) -> list[Piece]:
        pieces = self.closed.encode_with_offsets(text)
        written = zip(pieces, _spelled(self.closed, text), strict=True)
        return [replace(piece, id=self._numbers.get(word, piece.id)) for piece, word in written]

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        kept = [number for number in map(index, ids) if number not in (PAD, BOS, EOS)]
        if max(kept, default=0) < len(self.closed):
            return self.closed.decode(kept)
        unknown = MARK + SPECIALS[UNK] if self.kind == "word" else SPECIALS[UNK]
        pieces = [unknown if number == UNK else self.pieces[number] for number in kept]
        return str(self.tokenizer.decoder.decode(pieces))


def open_vocabulary(subwords: Subwords, text: str) -> Subwords:
    """The tokenizer extended by the unknown words of a text; itself if there are none."""
    words = tuple(dict.fromkeys(filter(None, _spelled(subwords, text))))
    return OpenSubwords(subwords, words) if words else subwords


def encode_pairs(
    subwords: Subwords, sources: Sequence[str], targets: Sequence[str]
) -> tuple[list[list[int]], list[list[int]]]:
    """The ids of sources and targets, each pair with the unknown words of its source."""
    rows = list(zip(subwords.encode_batch(sources), subwords.encode_batch(targets), strict=True))
    for at, (source, target) in enumerate(rows):
        if UNK in source:
            own = open_vocabulary(subwords, sources[at])
            rows[at] = (own.encode(sources[at]), own.encode(targets[at]) if UNK in target else target)
    return [source for source, _ in rows], [target for _, target in rows]


def _spelled(subwords: Subwords, text: str) -> list[str]:
    """The text of each unknown piece, after a mark if it starts a word; nothing for pieces of the vocabulary."""
    text = subwords.normalize(text)  # the pieces are those of the normalized text, and so are these offsets
    marked = any(piece.startswith(MARK) for piece in subwords.pieces)
    found, before = [], -1
    for piece in subwords.encode_with_offsets(text):
        word = text[piece.start : piece.end].strip() if piece.id == UNK else ""
        found.append(MARK + word if word and marked and piece.word != before else word)
        before = piece.word
    return found
