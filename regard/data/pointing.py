"""Batches of points with answers that are positions among them, and the rules that valid answers keep.

An answer is a row of choices: choice 0 is the end, and choice j + 1 is position j. So padding stands on the right on
both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from regard.base.errors import check_at_least, check_one_of
from regard.data.item import even_rows

ENDING = 0
PAST = -1
"""after the end of an answer"""
Repeats = Literal["all_once", "at_most_once", "allowed"]


@dataclass(frozen=True)
class PointingRule:
    """Which answers are valid; decoding keeps to it, so that every output is."""

    repeats: Repeats = "at_most_once"
    """all_once: each position once (an order, a tour); at_most_once: no position twice; allowed: any number of times"""
    fewest: int = 1
    """the fewest positions of an answer, if the input has so many"""
    most: int | None = None
    """the most positions of an answer; by default as many as the input has"""

    def __post_init__(self) -> None:
        check_one_of("rule", get_args(Repeats), repeats=self.repeats)
        check_at_least("rule", 0, fewest=self.fewest)
        check_at_least("rule", max(1, self.fewest), most=max(1, self.fewest) if self.most is None else self.most)

    def longest(self, size: int) -> int:
        """The most positions of an answer to an input of this size."""
        return size if self.most is None or self.repeats == "all_once" else self.most

    def allowed(
        self, visited: Bool[Tensor, "rows choices"], taken: Int64[Tensor, "rows"], keep: Bool[Tensor, "rows choices"]
    ) -> Bool[Tensor, "rows choices"]:
        """The valid next choices; at least one always is. Padding (not in `keep`) never is.

        `visited` are the choices so far, `taken` their number. After the end only the end is left.
        """
        sizes = keep[:, 1:].sum(1)
        open_ = keep if self.repeats == "allowed" else keep & ~visited
        full = sizes if self.most is None or self.repeats == "all_once" else torch.full_like(sizes, self.most)
        over = visited[:, ENDING] | (taken >= full)
        least = sizes if self.repeats == "all_once" else sizes.clamp(max=self.fewest)
        if self.repeats == "allowed":
            least = torch.where(sizes > 0, self.fewest, 0)
        may_end = over | (taken >= least) | ~open_[:, 1:].any(1)
        return torch.cat((may_end[:, None], open_[:, 1:] & ~over[:, None]), 1)

    def allowed_along(
        self, choices: Int64[Tensor, "batch steps"], keep: Bool[Tensor, "batch choices"]
    ) -> Bool[Tensor, "batch steps choices"]:
        """The valid choices at each step of given answers (teacher forcing)."""
        steps, width = choices.shape[1], keep.shape[1]
        chosen = F.one_hot(choices.clamp(min=ENDING), width).bool() & (choices != PAST)[:, :, None]
        visited = chosen.int().cumsum(1) - chosen.int() > 0
        taken = torch.arange(steps, device=choices.device).repeat(len(choices))
        found = self.allowed(visited.flatten(0, 1), taken, keep.repeat_interleave(steps, 0))
        return found.unflatten(0, (len(choices), steps))

    def complaint(self, answer: Sequence[int], size: int) -> str | None:
        """Why an answer to an input of this size is not valid; None if it is."""
        other = next((at for at in answer if not 0 <= at < size), None)
        if other is not None:
            return f"names position {other}, but there are {size} points, from 0"
        if self.repeats != "allowed" and len(set(answer)) < len(answer):
            return f"names position {next(at for at in answer if list(answer).count(at) > 1)} twice"
        least = size if self.repeats == "all_once" else min(size, self.fewest)
        if not least <= len(answer) <= self.longest(size):
            return f"has {len(answer)} positions, but there must be {least} to {self.longest(size)}"
        return None


@dataclass(frozen=True)
class PointBatch:
    """Points and the choices that are to be made."""

    points: Float[Tensor, "batch points coordinates"]
    lengths: Int64[Tensor, "batch"]
    choices: Int64[Tensor, "batch steps"]
    """-1 after the end"""

    @property
    def count(self) -> int:
        """The number of choices."""
        return int((self.choices != PAST).sum())

    @property
    def size(self) -> int:
        """The number of choices with padding."""
        return self.choices.numel()

    def to(self, device: torch.device | str) -> "PointBatch":
        """The same batch on another device."""
        return PointBatch(*(part.to(device) for part in (self.points, self.lengths, self.choices)))

    def shares(self, count: int) -> list["PointBatch"]:
        """At most `count` batches with about as many points each."""
        parts = even_rows(self.lengths, count)
        return [PointBatch(self.points[rows], self.lengths[rows], self.choices[rows]) for rows in parts]


def point_batch(points: Sequence[np.ndarray], answers: Sequence[Sequence[int]]) -> PointBatch:
    """A batch of inputs [size, coordinates] of any sizes and their answers as positions."""
    padded, lengths = padded_rows(points)
    steps = 1 + max(len(answer) for answer in answers)
    choices = np.full((len(points), steps), PAST)
    for row, answer in zip(choices, answers, strict=True):
        row[: len(answer) + 1] = [*(at + 1 for at in answer), ENDING]
    return PointBatch(padded, lengths, torch.from_numpy(choices))


def padded_rows(rows: Sequence[np.ndarray]) -> tuple[Float[Tensor, "batch size width"], Int64[Tensor, "batch"]]:
    """Arrays [size, width] of any sizes as one tensor with zeros behind them, and their sizes."""
    lengths = torch.tensor([len(row) for row in rows])
    padded = np.zeros((len(rows), int(lengths.max()), rows[0].shape[1]), dtype=np.float32)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = row
    return torch.from_numpy(padded), lengths
