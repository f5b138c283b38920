"""Episodes for learning to learn: some classes at random, a few examples of each to learn from, others to tell.

A class may belong to a group, such as a character to its alphabet; an episode takes its classes from one group. What is
drawn depends on seed and position alone. Vinyals et al., 2016, https://arxiv.org/abs/1606.04080; turned pictures as
further classes: Santoro et al., 2016, https://arxiv.org/abs/1605.06065
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from regard.base.errors import ConfigError, RegardError, check_at_least
from regard.data.image_files import PICTURE_ENDINGS, Shape, as_pixels, open_picture, read_images, shape_of
from regard.data.images import Shades, brightness


@dataclass(frozen=True)
class ClassedImages:
    """Pictures of each class, and the group of each class."""

    classes: tuple[Shaped[Tensor, "_ channels height width"], ...]
    groups: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        channels, height, width = self.classes[0].shape[1:]
        return channels, height, width

    def pick(self, chosen: Sequence[int]) -> "ClassedImages":
        """Some of the classes."""
        parts = (tuple(part[at] for at in chosen) for part in (self.classes, self.groups, self.names))
        return ClassedImages(*parts)  # type: ignore[arg-type]

    def parts(self, share: float, seed: int) -> tuple["ClassedImages", "ClassedImages"]:
        """Classes to learn from, and others to validate on: whole groups, if there are several."""
        names = sorted(set(self.groups))
        draw = np.random.default_rng([seed, 9])
        if len(names) > 1:
            held = set(draw.permutation(names)[: max(1, round(share * len(names)))])
            apart = [at for at, group in enumerate(self.groups) if group in held]
        else:
            apart = draw.permutation(len(self.classes))[: max(1, round(share * len(self.classes)))].tolist()
        return self.pick([at for at in range(len(self.classes)) if at not in set(apart)]), self.pick(sorted(apart))

    def turned(self) -> "ClassedImages":
        """The same classes and their pictures turned by one, two and three quarters, each as a class of its own."""
        return ClassedImages(
            tuple(one.rot90(quarter, (2, 3)) for quarter in range(4) for one in self.classes),
            tuple(f"{group}, {quarter} quarters" for quarter in range(4) for group in self.groups),
            tuple(f"{name}, {quarter} quarters" for quarter in range(4) for name in self.names),
        )


@dataclass(frozen=True, kw_only=True)
class EpisodeSettings:
    """What an episode holds."""

    ways: int = 5
    """the classes of an episode"""
    shots: int = 1
    """the examples of each class to learn from"""
    queries: int = 5
    """the examples of each class to be told"""
    per_step: int = 4
    """the episodes of a training step"""
    validations: int = 50
    """the episodes of a validation, always the same"""
    turns: int = 1
    """4: pictures turned by quarters are further classes to learn from; for square pictures"""
    seed: int = 1
    """decides what is drawn"""

    def __post_init__(self) -> None:
        check_at_least("episodes", 2, ways=self.ways)
        check_at_least("episodes", 1, shots=self.shots, queries=self.queries, per_step=self.per_step)
        check_at_least("episodes", 1, validations=self.validations)
        check_at_least("episodes", 0, seed=self.seed)
        if self.turns not in (1, 4):
            raise ConfigError(f"episodes: turns must be 1 or 4, but is {self.turns}")


@dataclass(frozen=True)
class EpisodeBatch:
    """Episodes side by side; the classes of each are numbered from 0."""

    support: Float[Tensor, "episodes support channels height width"]
    labels: Int64[Tensor, "support"]
    query: Float[Tensor, "episodes query channels height width"]
    wanted: Int64[Tensor, "query"]

    @property
    def count(self) -> int:
        """The number of queries."""
        return len(self.query) * len(self.wanted)

    @property
    def size(self) -> int:
        """The number of queries; none of them is padding."""
        return self.count

    def to(self, device: torch.device | str) -> "EpisodeBatch":
        """The same episodes on another device."""
        return EpisodeBatch(*(part.to(device) for part in (self.support, self.labels, self.query, self.wanted)))

    def shares(self, count: int) -> list["EpisodeBatch"]:
        """At most `count` batches of about as many episodes each."""
        parts = zip(self.support.tensor_split(count), self.query.tensor_split(count), strict=True)
        return [replace(self, support=support, query=query) for support, query in parts if len(support)]


@dataclass(frozen=True)
class EpisodeMaker:
    """Draws episodes from classes."""

    images: ClassedImages
    how: EpisodeSettings
    shades: Shades
    where: str = "episodes"

    def __post_init__(self) -> None:
        need = self.how.shots + self.how.queries
        for name, own in zip(self.images.names, self.images.classes, strict=True):
            if len(own) < need:
                raise RegardError(
                    f"{self.where}: the class {name} has {len(own)} examples, but {self.how.shots} shots and "
                    f"{self.how.queries} queries need {need}"
                )
        if not self.rooms:
            most = max((self.images.groups.count(group) for group in self.images.groups), default=0)
            raise RegardError(
                f"{self.where}: an episode has {self.how.ways} classes (episodes.ways), but the largest group {most}"
            )

    @cached_property
    def rooms(self) -> list[list[int]]:
        """The classes of each group that has enough."""
        groups = dict.fromkeys(self.images.groups)
        found = [[at for at, own in enumerate(self.images.groups) if own == group] for group in groups]
        return [room for room in found if len(room) >= self.how.ways]

    def __call__(self, draw: np.random.Generator, count: int) -> EpisodeBatch:
        """So many episodes."""
        how, rooms = self.how, self.rooms
        support, query = [], []
        for _ in range(count):
            room = rooms[draw.choice(len(rooms), p=np.array([len(one) for one in rooms]) / sum(map(len, rooms)))]
            for at in draw.permutation(room)[: how.ways]:
                own = self.images.classes[at]
                chosen = draw.permutation(len(own))[: how.shots + how.queries]
                support.append(own[chosen[: how.shots]])
                query.append(own[chosen[how.shots :]])
        numbers = torch.arange(how.ways)
        return EpisodeBatch(
            self._stacked(support, count),
            numbers.repeat_interleave(how.shots),
            self._stacked(query, count),
            numbers.repeat_interleave(how.queries),
        )

    def _stacked(self, parts: list[Tensor], count: int) -> Tensor:
        bright = self.shades.normalized(brightness(torch.cat(parts)).float())
        return bright.reshape(count, -1, *bright.shape[1:])


def read_classes(path: Path, shape: Shape) -> ClassedImages:
    """The pictures of a folder by class, a folder each, or of arrays by label; a folder of such folders is a group."""
    if not path.exists():
        raise RegardError(f"{path}: there is no such file or folder")
    if not path.is_dir():
        images = read_images(path, shape)
        return classes_of_labels(images.pixels[images.which], images.labels, str(path))
    files: dict[Path, list[Path]] = {}
    for file in sorted(path.rglob("*")):
        if file.suffix.lower() in PICTURE_ENDINGS and file.is_file() and file.parent != path:
            files.setdefault(file.parent.relative_to(path), []).append(file)
    if not files:
        raise RegardError(f"{path}: holds no pictures; PNG and JPEG files in a folder for each class are expected")
    first = next(iter(files.values()))[0]
    if None in (shape.channels, shape.height, shape.width):
        own = shape_of(open_picture(first))
        shape = Shape(shape.channels or own.channels, shape.height or own.height, shape.width or own.width)
    classes = tuple(torch.stack([as_pixels(open_picture(file), shape) for file in own]) for own in files.values())
    groups = tuple(f"{path.name}/{'/'.join(place.parts[:-1])}" for place in files)
    return ClassedImages(classes, groups, tuple(f"{path.name}/{place.as_posix()}" for place in files))


def classes_of_labels(pixels: Tensor, labels: Sequence[str], where: str) -> ClassedImages:
    """Pictures by their labels, all in one group."""
    names = sorted(set(labels))
    if len(names) < 2:
        raise RegardError(f"{where}: there must be two classes at least, but there are: {', '.join(names) or 'none'}")
    rows = {name: [at for at, label in enumerate(labels) if label == name] for name in names}
    return ClassedImages(tuple(pixels[rows[name]] for name in names), ("",) * len(names), tuple(names))
