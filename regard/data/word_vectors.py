"""Word vectors from a text file, as word2vec, fastText and GloVe write them: in each line a word and its numbers.

word2vec and fastText begin with a line of two numbers, how many words there are and how wide their vectors; GloVe does
not. Mikolov et al., 2013, https://arxiv.org/abs/1301.3781; Pennington, Socher and Manning, GloVe, 2014
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.base.files import read_lines
from regard.data.subwords.tokenizer import MARK, SPECIALS, Subwords


@dataclass(frozen=True)
class WordVectors:
    """The vectors of some tokens of a vocabulary."""

    ids: NDArray[np.int64]
    """[tokens]"""
    rows: NDArray[np.float32]
    """[tokens, width]"""
    words: int
    """the number of tokens of the vocabulary that are whole words"""


def read_word_vectors(path: str | Path, vocabulary: Subwords) -> WordVectors:
    """The vectors of the tokens that are words; one that the file lacks takes that of its lower-case form, if any."""
    whole = vocabulary.kind == "word"  # where punctuation stands without a mark too
    words = {at: piece.removeprefix(MARK) for at, piece in enumerate(vocabulary.pieces) if _is_word(piece, whole)}
    found = dict(_vectors(path, {*words.values(), *map(str.lower, words.values())}))
    own = {at: found.get(word, found.get(word.lower())) for at, word in words.items()}
    kept = {at: row for at, row in own.items() if row is not None}
    if not kept:
        raise RegardError(f"{path}: has a vector for none of the {len(words):,} words of the vocabulary")
    return WordVectors(np.array(list(kept)), np.stack(list(kept.values())), len(words))


def _is_word(piece: str, whole: bool) -> bool:
    return piece not in (*SPECIALS, MARK, "") and (whole or piece.startswith(MARK))


def _vectors(path: str | Path, wanted: Set[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Each wanted word of a file with its vector, the first where a word comes twice; all have one width."""
    width, seen = 0, set[str]()
    for number, line in enumerate(read_lines(path), 1):
        word, *fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 1 and word.isdigit() and fields[0].isdigit():
            width = int(fields[0])
            continue
        width = width or len(fields)
        if len(fields) > width:  # a word may hold spaces
            word, fields = " ".join([word, *fields[:-width]]), fields[-width:]
        if word not in wanted or word in seen:
            continue
        seen.add(word)
        yield word, _numbers(fields, width, f"{path}, line {number}")


def _numbers(fields: list[str], width: int, where: str) -> NDArray[np.float32]:
    try:
        row = np.array(fields, dtype=np.float32)
    except ValueError as error:
        raise RegardError(f"{where}: must be a word and numbers, split at spaces, but {error}") from error
    if len(row) != width or not width:
        raise RegardError(f"{where}: has {len(row)} numbers, but the vectors before have {width}")
    if not np.isfinite(row).all():
        raise RegardError(f"{where}: numbers must be finite")
    return row
