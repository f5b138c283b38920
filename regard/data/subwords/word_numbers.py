"""From tokens to words: which word each token is part of."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.subwords.tokenizer import MARK, UNK, Subwords, words


def word_numbers(subwords: Subwords, text: str, ids: Sequence[int]) -> NDArray[np.int64]:
    """The number, from 0, of the word of `words(text)` that each token belongs to.

    The ids need not be those that encoding the text gives: a model may segment a word differently. A token that is only
    the space before a word belongs to that word.
    """
    if subwords.splits_at_spaces:
        numbers = _by_marks(subwords, ids)
    elif (pieces := subwords.encode_with_offsets(text)) and [piece.id for piece in pieces] == list(ids):
        numbers = [piece.word for piece in pieces]
    else:
        numbers = [len(words(subwords.decode(ids[: end + 1]))) - 1 for end in range(len(ids))]
    return np.clip(np.array(numbers, dtype=np.int64), 0, max(0, len(words(text)) - 1))


def _by_marks(subwords: Subwords, ids: Sequence[int]) -> list[int]:
    """Words begin at marks, except where only marks came before."""
    pieces, unknown_words = subwords.pieces, subwords.kind == "word"
    numbers, number, spelled = [], 0, False
    for token in ids:
        piece = pieces[token]
        if spelled and (piece.startswith(MARK) or (unknown_words and token == UNK)):
            number, spelled = number + 1, False
        spelled = spelled or piece != MARK
        numbers.append(number)
    return numbers
