"""Vocabulary selection: a shortlist of likely target words, so that the output layer scores only these.

A sentence's shortlist is the likely translations of its source tokens, and the most frequent target words. L'Hostis,
Grangier and Auli, 2016, https://arxiv.org/abs/1610.00072.

The shortlist of a sentence does not depend on the rest of the batch. Probabilities are normalized over the shortlist.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import RegardError
from regard.data.lexicon import TokenPair, translations
from regard.data.subwords.tokenizer import EOS
from regard.decoding.words import Words

_MOST_RATIO = 64  # of unpacked to packed; numbers of words do not compress further, and bombs do
SPECIAL = EOS + 1
"""the tokens below this id are special; they are in every shortlist, and keep their ids"""


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The likely translations of each source token, and the words that are in every shortlist."""

    translations: Sequence[NDArray[np.int64]]
    frequent: NDArray[np.int64]
    vocabulary: int
    """the size of the target vocabulary"""

    @classmethod
    def learn(
        cls, pairs: Sequence[TokenPair], source_size: int, target_size: int, *, top: int = 10, frequent: int = 1500
    ) -> Self:
        """Learn a shortlist from tokenized sentence pairs that end in `</s>`."""
        counts = np.bincount(np.concatenate([np.asarray(y, dtype=np.int64) for _, y in pairs]), minlength=target_size)
        counts[:SPECIAL] = 0
        common = np.argsort(-counts, kind="stable")[:frequent]
        common = common[counts[common] > 0]
        likely = translations(pairs, source_size, target_size, top=top, besides=[*range(SPECIAL), *common.tolist()])
        return cls(likely, common, target_size)

    def words(
        self, source: Tensor, lengths: Tensor, starts: Sequence[Sequence[int]], suppress: Sequence[int] = ()
    ) -> Words:
        """The words for a batch, whose outputs start with the given tokens; what is suppressed is on every list."""
        common, known = self._common
        more = [token for token in dict.fromkeys(suppress) if token not in known]
        if more:
            common, known = np.append(common, more), known | {*more}
        rows = zip(source.tolist(), lengths.tolist(), starts, strict=True)
        own = [sorted({*start}.union(*(self._sets[x] for x in row[:length])) - known) for row, length, start in rows]
        return Words.of(common, own, source.device)

    @cached_property
    def _common(self) -> tuple[NDArray[np.int64], frozenset[int]]:
        """The words that are on every list, in order, and as a set."""
        words = list(dict.fromkeys([*range(SPECIAL), *self.frequent.tolist()]))
        return np.array(words, np.int64), frozenset(words)

    @cached_property
    def _sets(self) -> list[frozenset[int]]:
        return [frozenset(own.tolist()) for own in self.translations]

    def to_extras(self) -> dict[str, Any]:
        """The shortlist as JSON values for a model file."""
        sizes = [len(own) for own in self.translations]
        flat = np.concatenate([self.frequent, *self.translations]).astype("<u4")
        packed = base64.b85encode(zlib.compress(np.concatenate([np.array(sizes, "<u4"), flat]).tobytes(), 9)).decode()
        return {"source": len(sizes), "frequent": len(self.frequent), "target": self.vocabulary, "tokens": packed}

    @classmethod
    def from_extras(cls, extras: Mapping[str, Any], where: str = "the model") -> Self:
        """The shortlist that `to_extras` wrote."""
        try:
            packed = base64.b85decode(extras["tokens"])
            unpacking = zlib.decompressobj()
            numbers = np.frombuffer(unpacking.decompress(packed, _MOST_RATIO * len(packed) + 4096), "<u4").astype(
                np.int64
            )
            count, frequent, target = (int(extras[name]) for name in ("source", "frequent", "target"))
            if not unpacking.eof or min(count, frequent) < 0 or count + frequent > len(numbers):
                raise ValueError("its numbers are not as many as it says")
        except (KeyError, ValueError, TypeError, OverflowError, zlib.error) as error:
            raise RegardError(f"{where}: its shortlist cannot be read: {error}") from error
        sizes, flat = numbers[:count], numbers[count:]
        if int(sizes.sum()) != len(flat) - frequent or int(flat.max(initial=0)) >= target:
            raise RegardError(f"{where}: its shortlist cannot be read: it names words that are not there")
        return cls(np.split(flat[frequent:], np.cumsum(sizes)[:-1]), flat[:frequent], target)
