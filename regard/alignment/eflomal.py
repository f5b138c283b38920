"""Word links by eflomal, a fast statistical aligner, for guided training or for comparison.

Östling and Tiedemann, Efficient Word Alignment with Markov Chain Monte Carlo, 2016, PBML 106. The program samples, so
two runs differ in a few links; keep the file to use the same links again.
"""

import importlib
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from regard.alignment.symmetrizing import intersection
from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.base.files import write_text
from regard.data.corpus import Corpus, Counts
from regard.data.links import Links, parse_links, to_pharaoh
from regard.data.subwords.tokenizer import words

EFLOMAL = "eflomal"
"""what a setting says, instead of a file of links, to use this aligner"""
LITTLE_TEXT = 100_000
"""sentence pairs; with fewer, most word forms are too rare to be counted separately"""
LETTERS = 4
"""letters of each word that are compared in little text: a stem that needs no dictionary"""


def align_pairs(pairs: Iterable[tuple[str, str]], letters: int | None = None) -> tuple[list[Links], list[Links]]:
    """The links of each pair in both directions: at most one source word per target word, then the reverse.

    Words are separated by white space; eflomal ignores case. Words with the same first `letters` count as the same word
    (0 compares whole words); unless set, the amount of text decides.
    """
    program = _program()
    sides = [[" ".join(words(text)) for text in side] for side in zip(*pairs, strict=True)]
    if not sides:
        return [], []
    if letters is None:
        letters = LETTERS if len(sides[0]) < LITTLE_TEXT else 0
    with tempfile.TemporaryDirectory() as folder:
        forward, reverse = Path(folder, "forward"), Path(folder, "reverse")
        aligner = program.Aligner(source_prefix_len=letters, target_prefix_len=letters)
        aligner.align(*sides, links_filename_fwd=str(forward), links_filename_rev=str(reverse))
        found = tuple(_read(path, len(sides[0])) for path in (forward, reverse))
    return found[0], found[1]


def eflomal_links(corpus: Corpus, path: Path, symmetrize: Callable[[Links, Links], Links] = intersection) -> Path:
    """Write a file with the links of a corpus, line by line; an existing file is reused."""
    if path.exists():
        return path
    counts = Counts()
    pairs = [(counts.read, pair) for pair in corpus.pairs(counts)]
    forward, reverse = align_pairs((pair.source, pair.target) for _, pair in pairs)
    lines = [""] * counts.read
    for (number, _), ahead, back in zip(pairs, forward, reverse, strict=True):
        lines[number - 1] = to_pharaoh(symmetrize(ahead, back))
    write_text(path, "".join(f"{line}\n" for line in lines))
    return path


def _program() -> Any:
    try:
        return importlib.import_module(EFLOMAL)
    except ImportError as error:
        raise RegardError(f"links by eflomal need the package eflomal: {install_hint('align')}") from error


def _read(path: Path, count: int) -> list[Links]:
    lines = path.read_text(encoding="utf-8").split("\n")[:count] if path.exists() else []
    if len(lines) != count:
        raise RegardError(f"eflomal: it gave links for {len(lines):,} of {count:,} sentence pairs")
    return [parse_links(line, "eflomal") for line in lines]
