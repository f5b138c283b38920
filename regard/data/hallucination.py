"""Data hallucination: stems that stand in both the source and the target become random ones, in both alike.

    walk + PAST → walked    becomes    belk + PAST → belked

A stem is what source and target have in common: tokens in a row, as many as possible, at least `shortest`. New letters
are drawn one after the other as they follow each other in the stems of the training text, P(letter | letter before it),
and the last `kept` letters of a stem stay, since endings depend on them. So a model sees each ending on many stems, and
learns to copy those it has never seen.

Anastasopoulos and Neubig, Pushing the Limits of Low-Resource Morphological Inflection, 2019,
https://arxiv.org/abs/1908.05838, who draw all letters uniformly. What is drawn follows from seed, epoch and pair alone,
so that a resumed run reads the same pairs.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import ConfigError, check_at_least
from regard.data.store import Store
from regard.data.subwords.tokenizer import SPECIALS, SubwordPair

_Ids = NDArray[np.int64]
_Pair = Sequence[_Ids]
_LEARNED = 10_000
"""pairs of the training text that are looked at"""


@dataclass(frozen=True, kw_only=True)
class Hallucination:
    """Settings of data hallucination: how many training pairs get new stems, and what a stem is."""

    rate: float = 0.5
    """the share of training pairs whose stems are replaced, drawn anew in every epoch"""
    shortest: int = 3
    """the fewest tokens in a row that source and target must have in common to be a stem"""
    kept: int = 3
    """how many tokens at the end of a stem stay"""

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ConfigError(f"hallucination: rate must be above 0 and at most 1, but is {self.rate}")
        check_at_least("hallucination", 1, shortest=self.shortest)
        check_at_least("hallucination", 0, kept=self.kept)

    def learned_from(self, store: Store, subwords: SubwordPair, others: Mapping[str, Any]) -> "NewStems":
        """Learn from an encoded corpus; `others` are settings that go by tokens as they are, which must be none."""
        for name, value in others.items():
            if value is not None:
                raise ConfigError(f"hallucination: changes the tokens that {name} goes by; leave out one of them")
        if not subwords.joint:
            raise ConfigError('hallucination: a stem has the same tokens on both sides; set subwords.sharing = "joint"')
        step = max(1, len(store) // _LEARNED)
        return self.learned((store[at] for at in range(0, len(store), step)), len(subwords.source))

    def learned(self, pairs: Iterable[_Pair], vocabulary: int) -> "NewStems":
        """Learn from training pairs which letters follow each other in stems; unknown words are not drawn."""
        after: defaultdict[int, list[int]] = defaultdict(list)
        for source, target in pairs:
            for start, _, size in self.stems(source, target):
                for at in range(start, start + size):
                    if len(SPECIALS) <= source[at] < vocabulary:
                        after[_before(source, at)].append(int(source[at]))
        return NewStems(self, dict(after))

    def stems(self, source: _Ids, target: _Ids) -> list[tuple[int, int, int]]:
        """Where stems begin in source and target, and how long they are; `</s>` is no part of one."""
        common = SequenceMatcher(None, source[:-1].tolist(), target[:-1].tolist(), autojunk=False)
        return [(*block,) for block in common.get_matching_blocks() if block.size >= self.shortest]


@dataclass(frozen=True)
class NewStems:
    """Draws new stems for training pairs."""

    settings: Hallucination
    after: dict[int, list[int]]
    """the letters that follow each letter in the stems of the training text, as often as they do"""

    def __call__(self, pair: _Pair, seed: int, *key: int) -> tuple[_Ids, ...]:
        """The pair, or one with new stems; `key` is for example (epoch, number of the pair)."""
        draw = Random("/".join(map(str, ("stems", seed, *key))))
        source, target = pair
        if draw.random() >= self.settings.rate:
            return source, target
        source, target = source.copy(), target.copy()
        for start, begin, size in self.settings.stems(*pair):
            for at in range(size - self.settings.kept):
                choices = self.after.get(_before(source, start + at))
                if choices:
                    source[start + at] = target[begin + at] = draw.choice(choices)
        return source, target


def _before(source: _Ids, at: int) -> int:
    return int(source[at - 1]) if at else -1
