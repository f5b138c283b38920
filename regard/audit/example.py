"""Examples for audits: hypothesis draws their sizes and masks, and finds the smallest one that breaks a law."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from jaxtyping import Bool
from torch import Tensor

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_LONGEST, _BATCHES = 6, 3


@dataclass(frozen=True)
class Example:
    """The sizes of an example, the pairs that its mask forbids, and the seed of its random numbers."""

    batch: int = 2
    queries: int = 4
    keys: int = 4
    forbidden: tuple[tuple[int, int, int], ...] = ()
    """(batch, query, key)"""
    seed: int = 0

    @property
    def keep(self) -> Bool[Tensor, "batch query key"]:
        """The mask: True where a query may look."""
        keep = torch.ones(self.batch, self.queries, self.keys, dtype=torch.bool)
        for place in self.forbidden:
            keep[place] = False
        return keep

    def generator(self) -> torch.Generator:
        """Random numbers that follow from the seed."""
        return torch.Generator().manual_seed(self.seed)

    def __str__(self) -> str:
        sizes = f"batch {self.batch}, {self.queries} queries, {self.keys} keys, seed {self.seed}"
        if not self.forbidden:
            return sizes
        rows = {(batch, query) for batch, query, _ in self.forbidden}
        keys = {row: [str(key) for *place, key in self.forbidden if tuple(place) == row] for row in sorted(rows)[:4]}
        told = "; ".join(f"query {query} of {batch}: {', '.join(shut)}" for (batch, query), shut in keys.items())
        return f"{sizes}, forbidden keys: {told}" + (" …" if len(rows) > 4 else "")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def examples_of(masks: Literal["pairs", "padding", "none"], *, square: bool) -> "SearchStrategy[Example]":
    """Examples with masks of this kind; square ones have as many queries as keys, as self-attention has."""
    from hypothesis import strategies

    @strategies.composite
    def drawn(draw: "DrawFn") -> Example:
        batch, keys = draw(strategies.integers(1, _BATCHES)), draw(strategies.integers(1, _LONGEST))
        queries = keys if square or draw(strategies.booleans()) else draw(strategies.integers(1, _LONGEST))
        places = [(b, q, k) for b in range(batch) for q in range(queries) for k in range(keys)]
        if masks == "pairs":
            shut = draw(strategies.lists(strategies.booleans(), min_size=len(places), max_size=len(places)))
            forbidden = tuple(place for place, is_shut in zip(places, shut, strict=True) if is_shut)
        elif masks == "padding":
            lengths = [draw(strategies.integers(1, keys)) for _ in range(batch)]
            forbidden = tuple(place for place in places if place[2] >= lengths[place[0]])
        else:
            forbidden = ()
        return Example(batch, queries, keys, forbidden, draw(strategies.integers(0, 999)))

    return drawn()
