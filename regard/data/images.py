"""Batches of pictures: shuffled, moved about at random (augmentation), normalized; any position is reached at once.

    x = (brightness - mean) / deviation,  brightness between 0 and 1, mean and deviation of each channel

What is drawn at random follows from seed, epoch and batch alone, so that a resumed run sees the same pictures.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Self, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32, Int64, Shaped
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least, check_one_of
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings

Flip = Literal["none", "sides"]
_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class ImageBatchSettings:
    """The batch size and the order of the pictures."""

    pictures: int = 64
    """the batch size: pictures that one step learns from"""
    seed: int = 1
    """the seed of the order of the data"""

    def __post_init__(self) -> None:
        check_at_least("batches", 1, pictures=self.pictures)
        check_at_least("batches", 0, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class Augment:
    """Random changes of training pictures that leave their class as it is; drawn anew in every epoch."""

    shift: float = 0.0
    """each picture is moved by at most so many pixels along each axis; its border goes on"""
    crop: float = 1.0
    """the smallest share of a picture's area that is cut out and scaled to full size; 1.0: nothing is cut"""
    turn: float = 0.0
    """each picture is turned by at most so many degrees"""
    flip: Flip = "none"
    """sides: left and right are swapped in every second picture"""
    seed: int = 1
    """decides what is drawn"""

    def __post_init__(self) -> None:
        check_one_of("augment", get_args(Flip), flip=self.flip)
        check_at_least("augment", 0, shift=self.shift, turn=self.turn, seed=self.seed)
        if not 0 < self.crop <= 1:
            raise ConfigError(f"augment: crop must be above 0 and at most 1, but is {self.crop}")

    @property
    def idle(self) -> bool:
        """Whether pictures stay as they are."""
        return not self.shift and self.crop == 1 and not self.turn and self.flip == "none"

    def __call__(
        self, pictures: Float32[Tensor, "batch channels height width"], position: BatchPosition
    ) -> Float32[Tensor, "batch channels height width"]:
        """The pictures of the batch at a position, changed."""
        if self.idle:
            return pictures
        draw = np.random.default_rng([self.seed, position.epoch, position.index])
        ways = torch.from_numpy(self._ways(draw, len(pictures), *pictures.shape[-2:])).float()
        grid = F.affine_grid(ways, list(pictures.shape), align_corners=False)
        return F.grid_sample(pictures, grid, padding_mode="border", align_corners=False)

    def _ways(self, draw: np.random.Generator, count: int, height: int, width: int) -> np.ndarray:
        """Where each picture's pixels come from: a matrix of turning and scaling, and a shift, [count, 2, 3]."""
        angle = np.radians(draw.uniform(-self.turn, self.turn, count))
        scale = np.sqrt(draw.uniform(self.crop, 1.0, count))
        mirrored = np.where(draw.random(count) < 0.5, -1.0, 1.0) if self.flip == "sides" else np.ones(count)
        steps = np.round(draw.uniform(-self.shift, self.shift, (2, count)))
        free = draw.uniform(-1, 1, (2, count)) * (1 - scale)
        made = np.zeros((count, 2, 3))
        made[:, 0, 0], made[:, 1, 1] = scale * np.cos(angle) * mirrored, scale * np.cos(angle)
        made[:, 0, 1], made[:, 1, 0] = -scale * np.sin(angle), scale * np.sin(angle) * mirrored
        made[:, 0, 2], made[:, 1, 2] = steps[0] * 2 / width + free[0], steps[1] * 2 / height + free[1]
        return made


@dataclass(frozen=True)
class Shades:
    """The mean and the standard deviation of each channel's brightness, which are kept in the model file."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def of(cls, pixels: Shaped[Tensor, "pictures channels height width"]) -> Self:
        """Those of some pictures; a channel that never varies has the deviation 1."""
        count, first, second = 0, torch.zeros(pixels.shape[1]).double(), torch.zeros(pixels.shape[1]).double()
        for some in pixels.split(_AT_ONCE):
            bright = brightness(some).double()
            first, second = first + bright.sum((0, 2, 3)), second + bright.square().sum((0, 2, 3))
            count += bright[:, 0].numel()
        spread = (second / count - (first / count).square()).clamp(min=0).sqrt()
        spread = torch.where(spread < 1e-6, torch.ones_like(spread), spread)
        return cls(tuple((first / count).tolist()), tuple(spread.tolist()))

    def normalized(
        self, bright: Float32[Tensor, "batch channels height width"]
    ) -> Float32[Tensor, "batch channels height width"]:
        """Pictures with mean 0 and deviation 1, as models take them."""
        mean, deviation = (torch.tensor(side)[:, None, None] for side in (self.mean, self.deviation))
        return (bright - mean) / deviation


@dataclass(frozen=True)
class LabeledImages:
    """A batch of normalized pictures, with their labels and, where something is asked about them, the questions."""

    pictures: Float[Tensor, "pictures channels height width"]
    labels: Int64[Tensor, "batch"]
    weights: Float[Tensor, "batch"]
    """how much each example counts"""
    questions: Float[Tensor, "batch question"] | None = None
    which: Int64[Tensor, "batch"] | None = None
    """the picture that each question is about"""

    @property
    def count(self) -> int:
        """The number of examples."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """The number of examples; none of them is padding."""
        return len(self.labels)

    @property
    def parts(self) -> tuple[Tensor, ...]:
        """What a model is given."""
        if self.questions is None or self.which is None:
            return (self.pictures,)
        return self.pictures, self.questions, self.which

    def to(self, device: torch.device | str) -> "LabeledImages":
        """The same batch on another device."""
        asked, which = (None if part is None else part.to(device) for part in (self.questions, self.which))
        return LabeledImages(self.pictures.to(device), self.labels.to(device), self.weights.to(device), asked, which)

    def shares(self, count: int) -> list["LabeledImages"]:
        """At most `count` batches with about as many pictures each, and all that is asked about them."""
        made = []
        for some in torch.arange(len(self.pictures)).tensor_split(min(count, len(self.pictures))):
            first, rows, which = int(some[0]), some, None
            if self.which is not None:
                rows = ((self.which >= first) & (self.which < first + len(some))).nonzero().flatten()
                which = self.which[rows] - first
            asked = None if self.questions is None else self.questions[rows]
            made.append(LabeledImages(self.pictures[some], self.labels[rows], self.weights[rows], asked, which))
        return made


@dataclass(frozen=True)
class ImageBatches:
    """Pictures in random batches, anew in each epoch; all questions about a picture are in one batch."""

    pixels: Shaped[Tensor, "pictures channels height width"]
    which: Int64[Tensor, "examples"]
    """the picture of each example"""
    labels: Int64[Tensor, "examples"]
    weights: Float32[Tensor, "examples"]
    shades: Shades
    settings: ImageBatchSettings = field(default_factory=ImageBatchSettings)
    augment: Augment = field(default_factory=Augment)
    questions: Float32[Tensor, "examples question"] | None = None

    @cached_property
    def used(self) -> Int64[Tensor, "used"]:
        """The pictures that examples are about."""
        return self.which.unique()

    @cached_property
    def plan(self) -> BatchPlan:
        """The order of the pictures."""
        even = np.ones(len(self.used), dtype=np.int32)
        return BatchPlan(even, even, BatchSettings(tokens=self.settings.pictures, seed=self.settings.seed))

    @cached_property
    def _examples(self) -> tuple[Tensor, ...]:
        """The examples of each picture that is used."""
        counts = torch.unique(self.which, return_counts=True)[1]
        return self.which.argsort(stable=True).split(counts.tolist())

    def at(self, position: BatchPosition) -> LabeledImages:
        """The batch at a position."""
        return self._of(torch.from_numpy(self.plan.at(position)).long(), position)

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, LabeledImages]]:
        """Each position and its batch from the given one on, without end."""
        return ((at, self.at(at)) for at in self.plan.walk(position))

    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and how many examples."""
        return len(self.plan.plan(0)), len(self.which)

    def all(self) -> list[LabeledImages]:
        """Every picture once, in order, as it is."""
        return [self._of(chosen, None) for chosen in torch.arange(len(self.used)).split(self.settings.pictures)]

    def _of(self, chosen: Tensor, position: BatchPosition | None) -> LabeledImages:
        """A batch of some of the pictures that are used; with a position, they are changed at random."""
        bright = brightness(self.pixels[self.used[chosen]])
        bright = bright if position is None else self.augment(bright, position)
        parts = [self._examples[at] for at in chosen.tolist()]
        rows = torch.cat(parts)
        asked = which = None
        if self.questions is not None:
            asked = self.questions[rows]
            which = torch.arange(len(parts)).repeat_interleave(torch.tensor([len(part) for part in parts]))
        return LabeledImages(self.shades.normalized(bright), self.labels[rows], self.weights[rows], asked, which)


def brightness(pixels: Shaped[Tensor, "*shape"]) -> Float32[Tensor, "*shape"]:
    """Pixels as numbers between 0 and 1."""
    return pixels / 255 if pixels.dtype == torch.uint8 else pixels
