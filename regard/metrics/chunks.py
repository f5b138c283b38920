"""F1 of chunks, as the script of CoNLL-2000 counts them: a chunk is found if its kind and both ends are.

    B-NP I-NP O B-VP: the chunks (NP, 0, 1) and (VP, 3, 3); an I after another kind or after O begins one

Tjong Kim Sang and Buchholz, 2000, https://aclanthology.org/W00-0726
"""

from collections.abc import Sequence


def chunks(tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """The chunks of a sentence: their kind, first and last word."""
    found, kind, start = set(), "", 0
    for at, tag in enumerate([*tags, "O"]):
        place, _, own = tag.partition("-")
        goes_on = place == "I" and own == kind
        if kind and not goes_on:
            found.add((kind, start, at - 1))
        if not goes_on:
            kind, start = (own, at) if place in ("B", "I") else ("", at)
    return found


def chunk_f1(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """2 · found / (chunks that are there + chunks that are predicted), over all sentences."""
    pairs = [(chunks(one), chunks(other)) for one, other in zip(true, predicted, strict=True)]
    hits = sum(len(one & other) for one, other in pairs)
    return 2 * hits / max(1, sum(len(one) + len(other) for one, other in pairs))


def is_chunked(tags: Sequence[str]) -> bool:
    """Whether these tags mark chunks: B-…, I-… and O."""
    return any(tag.startswith("B-") for tag in tags) and all(tag == "O" or tag[:2] in ("B-", "I-") for tag in tags)
