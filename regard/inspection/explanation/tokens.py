"""Tokens in readable form, with the words that they are part of."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.data.subwords.token_spans import token_spans
from regard.data.subwords.tokenizer import EOS, MARK, UNK, Subwords
from regard.data.word_spans import Span, word_spans

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


def shown_words(subwords: Subwords, text: str, ids: Sequence[int]) -> tuple[Span, ...]:
    """Where the words of a text stand: those of `word_spans`, but words that share a token are one."""
    spans = word_spans(text)
    ends = [end for _, end in spans]
    joined: set[int] = set()
    for start, end in token_spans(subwords, text, ids):
        if start < end:
            joined |= set(range(bisect_right(ends, start), bisect_left(ends, end)))
    found: list[Span] = []
    for at, (start, end) in enumerate(spans):
        found = [*found[:-1], (found[-1][0], end)] if at - 1 in joined else [*found, (start, end)]
    return tuple(found)


def tokens_of(subwords: Subwords, text: str, ids: Sequence[int], words: Sequence[Span]) -> tuple[Token, ...]:
    """The tokens of a text, given by ids that may segment it in another way than its tokenizer, and the end token.

    `words` are those of `shown_words`. An unknown token is shown as its part of the text.
    """
    ends = [end for _, end in words]
    found = []
    for number, (start, end) in zip(ids, token_spans(subwords, text, ids), strict=True):
        token = shown(subwords, number, min(bisect_right(ends, start), max(0, len(ends) - 1)))
        if number == UNK and start < end:
            token = replace(token, text=text[start:end], starts=start == 0 or text[start - 1].isspace())
        found.append(token)
    return (*found, shown(subwords, EOS))
