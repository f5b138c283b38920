"""Pictures of which most patches are hidden, for `regard.models.mae`.

    of the patches of each picture a share `rate` is hidden, drawn at random without repetition

He et al., 2021, https://arxiv.org/abs/2111.06377: 75 %. A picture has a seed, which follows from the run's seed, epoch
and batch alone, so that a resumed run hides the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least, check_one_of
from regard.data.images import ImageBatches
from regard.data.plan import BatchPosition

PatchTargets = Literal["normalized", "pixels"]


@dataclass(frozen=True, kw_only=True)
class PatchHiding:
    """How many patches are hidden, and what is to be guessed of them."""

    rate: float = 0.75
    """the share of patches that is hidden"""
    targets: PatchTargets = "normalized"
    """normalized: the pixels of each patch, less their mean and divided by their standard deviation; or plain pixels"""
    seed: int = 1
    """decides which patches are hidden"""

    def __post_init__(self) -> None:
        check_one_of("hiding", get_args(PatchTargets), targets=self.targets)
        check_at_least("hiding", 0, seed=self.seed)
        if not 0 < self.rate < 1:
            raise ConfigError(f"hiding: rate must be above 0 and below 1, but is {self.rate}")

    def seeds(self, count: int, *where: int) -> Int64[Tensor, "count"]:
        """The seeds of so many pictures."""
        return torch.from_numpy(np.random.default_rng([self.seed, *where]).integers(0, 2**62, count))

    def shown(self, seeds: Int64[Tensor, "batch"], patches: int) -> Int64[Tensor, "batch shown"]:
        """The numbers of the patches that stay visible in the picture of each seed, in order; at least one does."""
        kept = max(1, patches - max(1, round(self.rate * patches)))
        rows = [np.random.default_rng(seed).permutation(patches)[:kept] for seed in seeds.tolist()]
        return torch.from_numpy(np.sort(np.stack(rows), axis=1)).to(seeds.device)


@dataclass(frozen=True)
class HiddenPatches:
    """A batch of normalized pictures, with the seeds that decide which of their patches are hidden."""

    pictures: Float[Tensor, "batch channels height width"]
    seeds: Int64[Tensor, "batch"]

    @property
    def count(self) -> int:
        """The number of pictures."""
        return len(self.seeds)

    @property
    def size(self) -> int:
        """The number of pictures; none of them is padding."""
        return len(self.seeds)

    def to(self, device: torch.device | str) -> "HiddenPatches":
        """The same batch on another device."""
        return HiddenPatches(self.pictures.to(device), self.seeds.to(device))

    def shares(self, count: int) -> list["HiddenPatches"]:
        """At most `count` batches with about as many pictures each."""
        rows = torch.arange(len(self.seeds)).tensor_split(min(count, len(self.seeds)))
        return [HiddenPatches(self.pictures[some], self.seeds[some]) for some in rows]


@dataclass(frozen=True)
class PatchBatches:
    """Batches of pictures, in which patches are hidden anew in every epoch."""

    images: ImageBatches
    hiding: PatchHiding

    def at(self, position: BatchPosition) -> HiddenPatches:
        """The batch at a position."""
        return self._of(self.images.at(position).pictures, position.epoch, position.index)

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, HiddenPatches]]:
        """Each position and its batch from the given one on, without end."""
        return ((at, self.at(at)) for at in self.images.plan.walk(position))

    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and how many pictures."""
        return self.images.epoch()

    def all(self) -> list[HiddenPatches]:
        """Every picture once, in order, always with the same patches hidden."""
        return [self._of(item.pictures, number) for number, item in enumerate(self.images.all())]

    def _of(self, pictures: Float32[Tensor, "batch channels height width"], *where: int) -> HiddenPatches:
        return HiddenPatches(pictures, self.hiding.seeds(len(pictures), *where))


def hidden_of(shown: Int64[Tensor, "batch shown"], patches: int) -> Bool[Tensor, "batch patches"]:
    """True where a patch is hidden."""
    made = torch.ones(len(shown), patches, dtype=torch.bool, device=shown.device)
    return made.scatter(1, shown, False)
