"""Labeled examples for classification: their classes by number, class weights, and batches of them."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from regard.base.errors import RegardError
from regard.data.framed import FramedTexts, batch_of
from regard.data.item import even_rows
from regard.data.plan import BatchPlan, BatchPosition
from regard.data.unseen import unseen_labels
from regard.data.word_dropout import WordDropout

LabelCount = Literal["one", "several"]


@dataclass(frozen=True)
class LabeledExample:
    """The labels and texts of an example, and its line, from 1."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    line: int


def classes_of(examples: Sequence[LabeledExample], where: str) -> tuple[str, ...]:
    """The labels that occur, sorted; there must be two at least."""
    found = sorted({label for example in examples for label in example.labels})
    if len(found) < 2:
        raise RegardError(f"{where}: classification needs at least two labels, but has {', '.join(found) or 'none'}")
    return tuple(found)


def unseen_classes(examples: Sequence[LabeledExample], classes: Sequence[str]) -> Counter[str]:
    """How often each label occurs that training did not see."""
    return unseen_labels((label for example in examples for label in example.labels), classes)


def numbered(examples: Sequence[LabeledExample], classes: Sequence[str]) -> list[tuple[int, ...]]:
    """The numbers of each example's labels."""
    number = {label: at for at, label in enumerate(classes)}
    return [tuple(number[label] for label in example.labels) for example in examples]


@dataclass(frozen=True)
class LabeledTexts:
    """A batch of texts and their labels: a number each or, where there may be several, a row of zeros and ones."""

    texts: FramedTexts
    labels: Int64[Tensor, "batch"] | Float32[Tensor, "batch classes"]
    """labels that training did not see have the numbers after those of the classes"""
    weights: Float32[Tensor, "batch"]
    """how much each example counts"""

    @property
    def count(self) -> int:
        """The number of examples."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """The number of examples; none of them is padding."""
        return len(self.labels)

    def to(self, device: torch.device | str) -> "LabeledTexts":
        """The same batch on another device."""
        moved = (part.to(device, non_blocking=True) for part in (self.labels, self.weights))
        return LabeledTexts(self.texts.to(device), *moved)

    def shares(self, count: int) -> list["LabeledTexts"]:
        """At most `count` batches with about as many tokens each."""
        return [
            LabeledTexts(self.texts.pick(rows), self.labels[rows], self.weights[rows])
            for rows in even_rows(self.texts.lengths, count)
        ]

    def logits(self, model: Callable[..., Tensor]) -> Tensor:
        """What a model makes of the texts."""
        return model(*self.texts.parts)


@dataclass(frozen=True)
class LabeledRows:
    """Encoded examples and their labels, in batches of similar length."""

    rows: Sequence[tuple[Sequence[int], Sequence[int]]]
    labels: Tensor
    weights: Tensor
    plan: BatchPlan
    dropout: WordDropout = field(default_factory=WordDropout)

    def at(self, position: BatchPosition) -> LabeledTexts:
        """The batch at a position, after word dropout."""
        batch = self.of(self.plan.at(position).tolist())
        return replace(batch, texts=self.dropout(batch.texts, position))

    def of(self, chosen: Sequence[int]) -> LabeledTexts:
        """A batch of the examples with these numbers."""
        texts, numbers = batch_of([self.rows[at] for at in chosen]), torch.tensor(chosen)
        return LabeledTexts(texts, self.labels[numbers], self.weights[numbers])

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, LabeledTexts]]:
        """Each position and its batch from the given one on, without end."""
        return ((at, self.at(at)) for at in self.plan.walk(position))

    def epoch(self) -> tuple[int, int]:
        """How many batches the first epoch has, and how many examples."""
        return len(self.plan.plan(0)), len(self.plan)

    def all(self) -> list[LabeledTexts]:
        """Every example once, in the batches of the first epoch."""
        return [self.of(chosen.tolist()) for chosen in self.plan.plan(0)]


def label_tensor(numbers: Sequence[Sequence[int]], classes: int, labels: LabelCount) -> Tensor:
    """The labels as a batch holds them."""
    if labels == "one":
        return torch.tensor([row[0] for row in numbers])
    made = np.zeros((len(numbers), classes), dtype=np.float32)
    for at, row in enumerate(numbers):
        made[at, list(row)] = 1.0
    return torch.from_numpy(made)


def class_counts(labels: Tensor, classes: int) -> Float32[Tensor, "classes"]:
    """How many examples each class has."""
    return labels.sum(0) if labels.dim() == 2 else torch.bincount(labels, minlength=classes).float()


def balanced_weights(labels: Tensor, classes: int) -> Float32[Tensor, "batch"]:
    """Class weights: examples / (classes · examples of the class); the mean over an example's labels, or 1."""
    rarity = len(labels) / (classes * class_counts(labels, classes).clamp(min=1))
    if labels.dim() == 1:
        return rarity[labels]
    several = labels.sum(1)
    return torch.where(several > 0, labels @ rarity / several.clamp(min=1), torch.ones(len(labels)))
