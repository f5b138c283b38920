"""Small texts and vocabularies that several tests share."""

from functools import cache

from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import SubwordPair, Subwords

LINES = (
    "A dog runs over the green grass, and another dog runs after it.",
    "Two young men are running through the grass of a park.",
    "Ein Hund läuft über das grüne Gras, und ein anderer Hund läuft ihm nach.",
    "Zwei junge Männer laufen durch das Gras eines Parks.",
    "The men are looking at the dogs; the dogs are looking at the men!",
    "Die Männer schauen die Hunde an; die Hunde schauen die Männer an!",
) * 3

KINDS = ("bpe", "unigram", "word", "character")


@cache
def subwords(kind: str = "bpe", byte_fallback: bool = False) -> Subwords:
    """A small vocabulary of the given kind."""
    return learn_subwords(LINES, SubwordSettings(kind=kind, size=400, byte_fallback=byte_fallback))  # type: ignore[arg-type]


@cache
def pair(kind: str = "bpe") -> SubwordPair:
    """One vocabulary for both sides."""
    return SubwordPair(subwords(kind), subwords(kind))
