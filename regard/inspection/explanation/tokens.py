"""Tokens in readable form, with the words that they are part of."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.subwords.tokenizer import EOS, MARK, UNK, Piece, Subwords
from regard.data.subwords.word_numbers import word_numbers

END = "⏎"
"""how `</s>` is shown"""
SPACE = "␣"
"""how a space that stands alone is shown"""


@dataclass(frozen=True)
class Token:
    """A token as it is shown."""

    text: str
    starts: bool
    """it starts a word"""
    word: int | None = None
    """the number of its word, from 0; None for the end"""


def shown(subwords: Subwords, number: int, word: int | None = None) -> Token:
    """A token by its id: a space alone as ␣, the end as ⏎."""
    if number == EOS:
        return Token(END, True)
    piece = subwords.pieces[number]
    spaced = piece.replace(MARK, " ")
    if subwords.kind == "wordpiece":
        return Token(piece.removeprefix("##"), not piece.startswith("##"), word)
    return Token(spaced.strip() or SPACE, spaced.startswith(" "), word)


def tokens_of(subwords: Subwords, text: str, ids: Sequence[int]) -> tuple[Token, ...]:
    """The tokens of a text, given by ids that may segment it in another way than its tokenizer, and the end token.

    An unknown token is shown as its part of the text.
    """
    pieces = subwords.encode_with_offsets(text) if UNK in ids else []
    if [piece.id for piece in pieces] == list(ids):
        tokens = [_as_written(subwords, piece, text[piece.start : piece.end]) for piece in pieces]
    else:
        numbers = word_numbers(subwords, text, ids).tolist()
        tokens = [shown(subwords, one, word) for one, word in zip(ids, numbers, strict=True)]
    return (*tokens, shown(subwords, EOS))


def _as_written(subwords: Subwords, piece: Piece, text: str) -> Token:
    if piece.id == UNK and text.strip():
        return Token(text.strip(), text[0].isspace(), piece.word)
    return shown(subwords, piece.id, piece.word)
