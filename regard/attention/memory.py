"""A memory stores keys and values for later queries, as the KV cache of a decoder does.

It is a value: `memory = memory.extend(key, value)`. A caller may keep a memory and extend it twice.
"""

from typing import Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.part import Part
from regard.attention.position import Bias
from regard.attention.reading import Reading
from regard.base.catalog import Catalog
from regard.base.errors import CombinationError

MEMORIES = Catalog("regard.attention.memories")


class Memory(Part):
    """A store of keys and values, such as a KV cache."""

    length: int
    """how many pairs were written"""

    def start(self, reading: Reading) -> "Memory":
        """An empty memory that will be read with this score and normalizer."""
        raise self.unbuilt()

    def reach(self) -> Mask | None:
        """The mask of what a query may see of this memory; None if all of it."""
        return None

    def extend(
        self,
        key: Float[Tensor, "batch heads length width"],
        value: Float[Tensor, "batch heads length value_width"],
        keep: Bool[Tensor, "batch length"] | None = None,
    ) -> Self:
        """A memory that also holds these keys and values, except those that the padding mask `keep` hides."""
        raise self.unbuilt()

    def read(
        self,
        reading: Reading,
        query: Float[Tensor, "batch heads query width"],
        query_at: Int[Tensor, "*positions query"],
        keep: Mask | None = None,
    ) -> Float[Tensor, "batch heads query value_width"]:
        """The attention output of the queries under the mask."""
        raise self.unbuilt()

    def advance(
        self, reading: Reading, query: Tensor, key: Tensor, value: Tensor, query_at: Tensor, keep: Mask | None = None
    ) -> tuple[Tensor, "Memory"]:
        """Write each key and value, then read with the query at that position, step by step."""
        memory, outputs = self, []
        for step in range(query.shape[2]):
            here = slice(step, step + 1)
            memory = memory.extend(key[:, :, here], value[:, :, here])
            outputs.append(memory.read(reading, query[:, :, here], query_at[..., here], keep))
        return torch.cat(outputs, dim=2), memory

    def reorder(self, batch: Int[Tensor, "picked"]) -> Self:
        """Select sequences of the batch, in the given order, as beam search does."""
        raise self.unbuilt()


class PairMemory(Memory):
    """A memory that holds keys and values as they were written, with their positions."""

    key: Tensor | None
    """the stored keys, [batch, heads, length, width]; None before the first"""
    value: Tensor | None
    """the stored values"""
    kept: Tensor | None
    """the padding mask: False where a pair is hidden; None if all are visible"""

    @property
    def at(self) -> Int[Tensor, "length"]:
        """The positions of the stored keys."""
        raise self.unbuilt()

    def read(self, reading: Reading, query: Tensor, query_at: Tensor, keep: Mask | None = None) -> Tensor:
        if self.key is None or self.value is None:
            raise nothing_written(self)
        kept = None if self.kept is None else self.kept[:, None, None]
        mask = both(keep, self.reach())
        output: Tensor = reading(query, self.key, self.value, kept, query_at, self.at, mask=mask)
        return output

    def advance(
        self, reading: Reading, query: Tensor, key: Tensor, value: Tensor, query_at: Tensor, keep: Mask | None = None
    ) -> tuple[Tensor, Memory]:
        memory = self.extend(key, value)
        return memory.read(reading, query, query_at, keep), memory


class MixedMemory(Memory):
    """A memory that combines what was written into slots, so that single pairs are lost."""

    def blended(
        self,
    ) -> tuple[Float[Tensor, "batch heads slots width"], Float[Tensor, "batch heads slots value_width"]]:
        """The keys and values of the slots."""
        raise self.unbuilt()

    def read(self, reading: Reading, query: Tensor, query_at: Tensor, keep: Mask | None = None) -> Tensor:
        check_blending(self, reading, keep)
        output: Tensor = reading(query, *self.blended())
        return output


def check_blending(memory: Memory, reading: Reading, keep: Mask | None) -> None:
    """Raise an error if a bias or a mask needs the single pairs, which a memory of this kind does not have."""
    name = type(memory).__name__.strip("_").lower()
    if isinstance(reading.positions, Bias):
        bias = type(reading.positions).__name__
        raise CombinationError(
            f"{name} memory: blends positions, so {bias}, a bias on pairs, has no pairs to act on; "
            "use positions that are placed on vectors, such as sinusoidal or rotary"
        )
    if keep is not None:
        raise CombinationError(
            f"{name} memory: blends positions, so it cannot be read through a mask; "
            "leave out what must not be seen when writing, with extend(…, keep=…)"
        )


def nothing_written(memory: Memory) -> CombinationError:
    """The error for reading from an empty memory."""
    return CombinationError(f"{type(memory).__name__.strip('_').lower()} memory: nothing was written yet")


def both(one: Mask | None, other: Mask | None) -> Mask | None:
    """The conjunction of two masks."""
    if one is None or other is None:
        return other if one is None else one
    return one & other
