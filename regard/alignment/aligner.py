"""Word alignment from the cross-attention of a translation model.

A target word is linked to the source word with the largest attention weight. Two models, one for each direction, give
better links than one: each finds several target words for one source word, which the other cannot.
"""

from collections.abc import Sequence

import numpy as np

from regard.alignment.head_choice import HeadChoice, chosen_heads
from regard.alignment.symmetrizing import SYMMETRIZATIONS, flipped
from regard.alignment.word_weights import Grain, Weights, make_pairs, word_weights
from regard.attention.record import attention_layers
from regard.base.errors import UsageError, check_one_of
from regard.data.links import Link, Links
from regard.decoding.translation import Pair
from regard.decoding.translator import Translator


class Aligner:
    """Links words by the attention of the heads that the model file names, unless others are given.

    >>> Aligner(load("runs/en-de"), reverse=load("runs/de-en")).align(sources, targets)

    With `threshold`, a target word is also linked to every other source word with at least this attention weight. A
    target word whose largest weight is below `null` has no link. With a `reverse` model, which translates the other
    way, `symmetrize` combines the links of both directions. `grain` says what is linked: "words" between white space,
    as in files that are tokenized already, or "segments", the words of `word_spans`.
    """

    def __init__(
        self,
        translator: Translator,
        reverse: Translator | None = None,
        *,
        heads: HeadChoice | None = None,
        symmetrize: str = "grow-diag-final-and",
        threshold: float | None = None,
        null: float = 0.0,
        grain: Grain = "words",
    ) -> None:
        check_one_of("aligner", SYMMETRIZATIONS, symmetrize=symmetrize)
        for name, value in (("threshold", threshold), ("null", null)):
            if value is not None and not 0 <= value <= 1:
                raise UsageError(f"aligner: {name} must be from 0 to 1, but is {value}")
        self.translator, self.reverse = translator, reverse
        self.heads = chosen_heads(translator) if heads is None else heads
        self.threshold, self.null, self.grain = threshold, null, grain
        self._symmetrize = SYMMETRIZATIONS[symmetrize]
        self._reverse_heads = None if reverse is None else chosen_heads(reverse)

    def __call__(self, pairs: Sequence[Pair]) -> list[Links]:
        """The links of each pair."""
        forward = self._links(self.translator, pairs, self.heads)
        if self.reverse is None or self._reverse_heads is None:
            return forward
        turned = make_pairs(self.reverse, [pair.target for pair in pairs], [pair.source for pair in pairs])
        backward = map(flipped, self._links(self.reverse, turned, self._reverse_heads))
        return [self._symmetrize(one, other) for one, other in zip(forward, backward, strict=True)]

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
        """The links of each source and its target."""
        if len(sources) != len(targets):
            raise UsageError(f"align: there are {len(sources)} sources, but {len(targets)} targets")
        return self(make_pairs(self.translator, sources, targets))

    def _links(self, translator: Translator, pairs: Sequence[Pair], heads: HeadChoice) -> list[Links]:
        weights = word_weights(translator, pairs, [heads], grain=self.grain)
        return [links_of(own[0], self.threshold, self.null) for own in weights]


def links_of(weights: Weights, threshold: float | None = None, null: float = 0.0) -> Links:
    """Links from the weights of target words (rows) over source words, ordered by target word; at most one for each
    target word, unless there is a threshold.
    """
    if 0 in weights.shape:
        return ()
    best = weights.max(1, keepdims=True)
    linked = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(linked, weights.argmax(1)[:, None], True, 1)
    if threshold is not None:
        linked |= weights >= threshold
    linked &= (best >= null) & (weights > 0)
    targets, sources = np.nonzero(linked)
    sure = np.minimum(weights[linked], 1.0)
    return tuple(map(Link, sources.tolist(), targets.tolist(), sure.tolist()))


def aligns(translator: Translator) -> bool:
    """Whether the model has attention over its source."""
    return any(name.rpartition(".")[2] == "cross" for name in attention_layers(translator.models[0]))
