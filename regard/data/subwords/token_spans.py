"""Where tokens stand in a text, and how they share its words."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regard.data.subwords.tokenizer import Subwords
from regard.data.word_spans import Span


def token_spans(subwords: Subwords, text: str, ids: Sequence[int]) -> list[Span]:
    """The characters of each token, without white space; the ids need not be those that encoding the text gives."""
    pieces = subwords.encode_with_offsets(text)
    if [piece.id for piece in pieces] == list(ids):
        return [_without_space(text, piece.start, piece.end) for piece in pieces]
    ends = [min(len(text), len(subwords.decode(ids[: at + 1]))) for at in range(len(ids))]
    return [_without_space(text, start, max(start, end)) for start, end in zip([0, *ends], ends, strict=False)]


def word_shares(tokens: Sequence[Span], words: Sequence[Span]) -> Float[ndarray, "tokens words"]:
    """The share of each token's characters that each word has; a token without any belongs to the word after it."""
    if not len(words):
        return np.zeros((len(tokens), 0), dtype=np.float32)
    starts, ends = np.array(words, dtype=np.int64).T
    shares = np.zeros((len(tokens), len(words)), dtype=np.float32)
    for row, (start, end) in zip(shares, tokens, strict=True):
        common = np.minimum(ends, end) - np.maximum(starts, start)
        if (common > 0).any():
            row += np.maximum(common, 0) / np.maximum(common, 0).sum()
        else:
            row[min(int(np.searchsorted(ends, start, "right")), len(words) - 1)] = 1.0
    return shares


def _without_space(text: str, start: int, end: int) -> Span:
    inner = text[start:end]
    return start + len(inner) - len(inner.lstrip()), start + len(inner.rstrip()) if inner.strip() else end
