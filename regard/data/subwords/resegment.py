"""Subword regularization: a random segmentation of the same words for every sentence and epoch.

- `bpe`: each merge is skipped with some probability (BPE-dropout, Provilkov et al. 2020, arXiv:1910.13267).
- `unigram`: a segmentation is drawn with P(pieces) ∝ (Π p(piece))^alpha (Kudo 2018, arXiv:1804.10959).

The draw depends on the seed and the key alone, so that a resumed run sees the same segmentations as an uninterrupted
one; the library's own sampling cannot be seeded. It starts from ids, not from text, so that the encoded corpus
suffices.
"""

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from regard.base.errors import ConfigError
from regard.data.subwords.assemble import BYTES
from regard.data.subwords.tokenizer import MARK, SPECIALS, Subwords

_WORD = re.compile(f"{MARK}[^{MARK}]*|[^{MARK}]+")


@dataclass(frozen=True)
class Resegment:
    """Draws segmentations for one vocabulary. `dropout` is for `bpe`, `alpha` for `unigram`; give the one that fits."""

    subwords: Subwords
    dropout: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        kind = self.subwords.kind
        wanted = {"bpe": "dropout", "unigram": "alpha"}.get(kind)
        if wanted is None:
            raise ConfigError(f"subwords: {kind} pieces have only one segmentation; use bpe or unigram")
        given = {name for name in ("dropout", "alpha") if getattr(self, name) is not None}
        if given != {wanted}:
            raise ConfigError(
                f"subwords: {kind} takes {wanted} alone, but given is {', '.join(sorted(given)) or 'none'}"
            )
        if self.dropout is not None and not 0 <= self.dropout <= 1:
            raise ConfigError(f"subwords: dropout must be between 0 and 1, but is {self.dropout}")
        if self.alpha is not None and self.alpha <= 0:
            raise ConfigError(f"subwords: alpha must be more than 0, but is {self.alpha}")

    def __call__(self, ids: Iterable[int], seed: int, *key: int) -> list[int]:
        """The ids of the same text in another segmentation; `key` is for example (epoch, pair, side)."""
        # A text as the seed is hashed by Python in a documented, stable way, whatever the numbers in it.
        draw = random.Random("/".join(map(str, (seed, *key)))).random
        cut = self._cut_merging if self.dropout is not None else self._cut_sampling
        result: list[int] = []
        for run in self._runs(ids):
            if isinstance(run, int):
                result.append(run)
                continue
            for word in _WORD.findall(run):
                result += [self._number[piece] for piece in cut(word, draw)]
        return result

    def _runs(self, ids: Iterable[int]) -> Iterator[int | str]:
        """The spelled-out text between ids that must stay as they are: special tokens, bytes, added tokens."""
        text = ""
        for number in ids:
            piece = self._spelling.get(number)
            if piece is not None:
                text += piece
                continue
            if text:
                yield text
            yield int(number)
            text = ""
        if text:
            yield text

    def _cut_merging(self, word: str, draw: Callable[[], float]) -> list[str]:
        """BPE-dropout: merge the best pair repeatedly, ignoring each pair with probability `dropout` each time."""
        parts, ranks, dropout = list(word), self._ranks, self.dropout or 0.0
        while len(parts) > 1:
            pairs = ((ranks.get(pair), at) for at, pair in enumerate(pairwise(parts)))
            offered = [(rank, at) for rank, at in pairs if rank is not None and (not dropout or draw() >= dropout)]
            if not offered:
                break
            _, at = min(offered)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return parts

    def _cut_sampling(self, word: str, draw: Callable[[], float]) -> list[str]:
        """Forward filtering, backward sampling: sum over all segmentations of each prefix, then draw from the end."""
        scores, alpha, longest = self._scores, self.alpha or 1.0, self._longest
        mass = [0.0]
        steps: list[list[tuple[int, float]]] = [[]]
        for end in range(1, len(word) + 1):
            starts = range(max(0, end - longest), end)
            ways = [
                (start, mass[start] + alpha * scores[word[start:end]]) for start in starts if word[start:end] in scores
            ]
            top = max((weight for _, weight in ways), default=-math.inf)
            mass.append(top + math.log(sum(math.exp(way - top) for _, way in ways)) if top > -math.inf else top)
            steps.append(ways)
        pieces: list[str] = []
        end = len(word)
        while end:
            start = _pick(steps[end], mass[end], draw())
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    @cached_property
    def _number(self) -> dict[str, int]:
        """The ids of the pieces that may be recut: neither special tokens nor bytes."""
        fixed = {*SPECIALS, *BYTES}
        vocabulary = self.subwords.tokenizer.get_vocab(with_added_tokens=False)
        return {piece: number for piece, number in vocabulary.items() if piece not in fixed}

    @cached_property
    def _spelling(self) -> dict[int, str]:
        spelled = {number: piece for piece, number in self._number.items()}
        if self.dropout is None:
            return spelled
        return {number: piece for number, piece in spelled.items() if all(part in self._number for part in piece)}

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        return {(left, right): rank for rank, (left, right) in enumerate(self.subwords.model["merges"])}

    @cached_property
    def _scores(self) -> dict[str, float]:
        return {piece: score for piece, score in self.subwords.model["vocab"] if piece in self._number}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._scores))


def _pick(ways: list[tuple[int, float]], mass: float, at: float) -> int:
    """The start whose share of the mass holds the point `at` in [0, 1)."""
    for start, weight in ways:
        at -= math.exp(weight - mass)
        if at < 0:
            return start
    return ways[-1][0]
