"""Tags that are one token each in a vocabulary of characters: the grammatical tags beside a lemma, for example.

    festquatschen V;IND;PST  →  ▁ f e s t q u a t s c h e n ▁V ;IND ;PST

A tag is a part of the source, up to the next space or punctuation mark, whose letters its targets mostly do not have:
what is spelled differently there has no reason to be spelled here.
"""

from collections import Counter
from itertools import islice

from regard.data.corpus import Corpus
from regard.data.subwords.assemble import default_normalizer, tag_splitter

_MOST_SHARED = 0.5


def tags_of(corpus: Corpus, lines: int, min_count: int) -> list[str]:
    """The tags in the sources of a corpus that come at least `min_count` times, as pieces, the most frequent first."""
    normalizer, splitter = default_normalizer(), tag_splitter()
    counts: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    for source, target in islice(corpus.rows(), lines):
        for piece in {text for text, _ in splitter.pre_tokenize_str(normalizer.normalize_str(source))}:
            letters = [letter for letter in piece if letter.isalnum()]
            if letters and len(piece) > 1:
                counts[piece] += 1
                shared[piece] += sum(letter in target for letter in letters) / len(letters) > _MOST_SHARED
    found = [piece for piece, count in counts.items() if count >= min_count and shared[piece] <= count / 2]
    return sorted(found, key=lambda piece: (-counts[piece], piece))
