"""Characters of a text that subwords cannot write, such as an emoji that the training text does not have."""

from collections.abc import Sequence
from itertools import islice

from regard.data.checkup import Finding
from regard.data.corpus import Corpus
from regard.data.subwords.tokenizer import Subwords

_LINES = 200_000
_LINES_OF_WORDS = 20_000
_SIDES = (("text",), ("source", "target"))


def check_characters(name: str, corpus: Corpus, vocabularies: Sequence[Subwords]) -> Finding:
    """The characters of a corpus (or words, in a vocabulary of words) without a subword, each with its first line."""
    words = any(side.kind == "word" for side in vocabularies)
    what = "words" if words else "characters"
    remedy = 'subwords.kind = "bpe" writes most words' if words else "subwords.byte_fallback = true writes any"
    copied = ", only copied from the source when translating" if len(vocabularies) == 2 and not words else ""
    found = Finding(
        f"{what} of {name} cannot be written by the subwords",
        f"read as <unk>, and never written by the model{copied}; {remedy}",
        one=f"{what[:-1]} of {name} cannot be written by the subwords",
    )
    seen: list[set[str]] = [set() for _ in vocabularies]
    for row in islice(corpus.numbered(), _LINES_OF_WORDS if words else _LINES):
        for vocabulary, known, text, side in zip(
            vocabularies, seen, row.texts, _SIDES[len(vocabularies) - 1], strict=True
        ):
            new = set(text.split() if vocabulary.kind == "word" else text) - known
            if not new:
                continue
            known |= new
            for lost in vocabulary.unknowns(" ".join(sorted(new))):
                found.add(f"{lost} in line {row.line}, {side}")
    return found
