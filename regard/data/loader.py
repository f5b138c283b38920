"""The data loader: batches as tensors, from the store, the batch plan and subword regularization."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from regard.data.chunk_plan import ChunkPlan
from regard.data.hallucination import NewStems
from regard.data.link_store import LinkStore
from regard.data.pairs import Batch, Ids, collate
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings
from regard.data.prefetch import Prefetch
from regard.data.store import Store
from regard.data.subwords.resegment import Resegment


@dataclass(frozen=True)
class Loader:
    """Deterministic access to the batch at any position.

    With `resegment`, one per side or None, sentences get a new segmentation in every epoch (subword regularization). It
    is longer than the stored one, so that a batch may exceed its token budget by a little. `links` refer to the stored
    segmentation, and so they exclude `resegment`. With `stems`, some pairs get new stems in every epoch.
    """

    store: Store
    batches: BatchPlan | ChunkPlan
    resegment: tuple[Resegment | None, Resegment | None] = (None, None)
    links: LinkStore | None = None
    stems: NewStems | None = None

    def at(self, position: BatchPosition) -> Batch:
        """The batch at a position."""
        chosen = self.batches.at(position)
        sources, targets = zip(*(self._pair(int(pair), position.epoch) for pair in chosen), strict=True)
        links = None if self.links is None else [self.links[int(pair)] for pair in chosen]
        return collate(sources, targets, links)

    def walk(self, position: BatchPosition | None = None, depth: int = 2) -> Iterator[tuple[BatchPosition, Batch]]:
        """Each position and its batch from the given one on, without end, `depth` batches prepared ahead.

        A run that stops after a batch resumes at `batches.after` its position, whatever was prepared ahead.
        """
        made = ((at, self.at(at)) for at in self.batches.walk(position))
        with closing(Prefetch(made, depth)) as ahead:
            yield from ahead

    def epoch(self) -> tuple[int, int]:
        """How many batches the first epoch has, and how many target tokens."""
        return self.batches.epoch(self.store.sides[-1])

    def _pair(self, pair: int, epoch: int) -> tuple[Ids, ...]:
        sides = self.store[pair]
        seed = self.batches.settings.seed
        if self.stems is not None:
            sides = self.stems(sides, seed, epoch, pair)
        return tuple(
            ids if cut is None else np.array(cut(ids.tolist(), seed, epoch, pair, side))
            for side, (ids, cut) in enumerate(zip(sides, self.resegment, strict=True))
        )


def dev_batches(store: Store, tokens: int) -> list[Batch]:
    """The dev set in batches, every pair once."""
    source, target = (side.lengths for side in store.sides)
    longest = int(max(source.max(), target.max()))
    plan = BatchPlan(source, target, BatchSettings(tokens=max(tokens, longest), counted="both")).plan(0)
    return [collate(*zip(*(store[int(pair)] for pair in chosen), strict=True)) for chosen in plan]
