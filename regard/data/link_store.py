"""Alignment links between the tokens of each pair, made from links between words or characters, stored on disk.

The file of links has a line for each line of the corpus, in the Pharaoh format of `links.py`; a blank one has no links.
Every token of a word is linked with every token of the words that it is linked with, as in Garg et al., 2019,
https://arxiv.org/abs/1909.02074. Like the store of a corpus, this one is reused while its inputs are unchanged, and
pair i is read from disk on demand.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.base.files import digest, read_lines
from regard.data.corpus import Corpus, Counts, SentencePair
from regard.data.links import parse_links
from regard.data.store import RowWriter, Tokens, replace_folder, reusable, whole_key, write_key
from regard.data.subwords.tokenizer import MARK, SubwordPair, Subwords, words

LinkUnit = Literal["word", "character"]
_NAME, _DTYPE, _LINES = "links", "<u4", 8_192


@dataclass(frozen=True)
class LinkStore:
    """`links[i]` are the links of pair i as (target token, source token), in order."""

    rows: Tokens

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.rows)

    def __getitem__(self, index: int) -> NDArray[np.int64]:
        return self.rows[index].reshape(-1, 2)


def build_links(
    folder: str | Path,
    links: str | Path,
    corpus: Corpus,
    subwords: SubwordPair,
    unit: LinkUnit = "word",
    warn: Callable[[str], object] = bool,
) -> LinkStore:
    """Open the token links of a corpus in `folder` if they are intact and up to date; otherwise build them."""
    folder, links = Path(folder), Path(links)
    made_from = ["links", digest(links), unit, corpus.fingerprint(), subwords.fingerprint]
    if (found := reusable(folder, made_from, _open, warn)) is not None:
        return found
    replace_folder(folder, lambda place: _write(place, links, corpus, subwords, unit, made_from))
    return _open(folder)


def _open(folder: Path) -> LinkStore:
    whole_key(folder)
    return LinkStore(Tokens(folder, _NAME, _DTYPE))


def _write(
    folder: Path, links: Path, corpus: Corpus, subwords: SubwordPair, unit: LinkUnit, made_from: list[Any]
) -> None:
    rows = token_links(links, corpus, subwords, unit)
    with ExitStack() as files:
        writer = RowWriter(files, folder, _NAME, _DTYPE)
        for batch in iter(lambda: list(islice(rows, _LINES)), []):
            writer.write([[number for link in row for number in link] for row in batch])
        written = writer.finish()
    write_key(folder, made_from, written)


def token_links(
    links: Path, corpus: Corpus, subwords: SubwordPair, unit: LinkUnit = "word"
) -> Iterator[list[tuple[int, int]]]:
    """The links of each pair that a corpus keeps, as (target token, source token)."""
    counts = Counts()
    lines = enumerate(read_lines(links), start=1)
    seen = 0
    for pair in corpus.pairs(counts):
        for number, line in lines:
            seen = number
            if number == counts.read:  # the pair's place among the rows; its line may be another, below a header
                yield _linked(line, pair, subwords, unit, f"{links}, line {number}")
                break
    seen += sum(1 for _ in lines)
    if seen != counts.read:
        raise RegardError(
            f"{links}: has {seen:,} lines of links, but {corpus.files[0]} has {counts.read:,} lines; line n of the one "
            "must link line n of the other"
        )


def _linked(line: str, pair: SentencePair, subwords: SubwordPair, unit: LinkUnit, where: str) -> list[tuple[int, int]]:
    wanted = parse_links(line, where)
    if not wanted:
        return []
    sides = {"source": (pair.source, subwords.source), "target": (pair.target, subwords.target)}
    tokens = {side: _tokens_of_units(text, vocabulary, unit) for side, (text, vocabulary) in sides.items()}
    found = set()
    for link in wanted:
        for side, at in (("source", link.source), ("target", link.target)):
            if at >= len(tokens[side]):
                raise RegardError(
                    f"{where}: the link {link.source}-{link.target} names {side} {unit} {at}, but there are only "
                    f"{len(tokens[side])}, counted from 0"
                )
        found |= {(to, of) for to in tokens["target"][link.target] for of in tokens["source"][link.source]}
    return sorted(found)


def _tokens_of_units(text: str, subwords: Subwords, unit: LinkUnit) -> list[list[int]]:
    """The indices of the tokens of each word or character of a text."""
    pieces = subwords.encode_with_offsets(text)
    units: list[list[int]] = [[] for _ in (words(text) if unit == "word" else text)]
    for at, piece in enumerate(pieces):
        if unit == "word":
            units[piece.word].append(at)
        elif subwords.pieces[piece.id] != MARK:  # a mark alone stands for a space, or for the beginning
            for character in range(piece.start, piece.end):
                units[character].append(at)
    return units
