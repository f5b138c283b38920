"""Tags that are one token each in a vocabulary of characters: the grammatical tags beside a lemma, for example.

    festquatschen V;IND;PST  →  ▁ f e s t q u a t s c h e n ▁V ;IND ;PST

A tag is a part of the source, up to the next space or punctuation mark, whose letters its targets mostly do not have:
what is spelled differently there has no reason to be spelled here.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from regard.data.subwords.assemble import default_normalizer, tag_splitter

_MOST_SHARED = 0.5


def tags_of(rows: Iterable[tuple[str, ...]], min_count: int) -> list[str]:
    """The tags in sources, each with its target, that come at least `min_count` times, the most frequent first."""
    normalizer, splitter = default_normalizer(), tag_splitter()
    counts: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    for source, target in rows:
        for piece in _parts(source, normalizer, splitter):
            letters = [letter for letter in piece if letter.isalnum()]
            if letters and len(piece) > 1:
                counts[piece] += 1
                shared[piece] += sum(letter in target for letter in letters) / len(letters) > _MOST_SHARED
    found = [piece for piece, count in counts.items() if count >= min_count and shared[piece] <= count / 2]
    return sorted(found, key=lambda piece: (-counts[piece], piece))


def tagged_share(rows: list[tuple[str, ...]]) -> float:
    """The share of sources that have a tag, counting tags that come in at least one of a hundred sources."""
    tags = set(tags_of(rows, max(3, len(rows) // 100)))
    if not tags:
        return 0.0
    normalizer, splitter = default_normalizer(), tag_splitter()
    return sum(not tags.isdisjoint(_parts(source, normalizer, splitter)) for source, _ in rows) / len(rows)


def _parts(text: str, normalizer: Any, splitter: Any) -> set[str]:
    return {part for part, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))}
