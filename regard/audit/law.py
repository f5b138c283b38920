"""A law: something that every correct attention keeps. One file in `laws/` is one law."""

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import torch
from torch import Tensor

from regard.audit.example import Example
from regard.audit.subject import Subject
from regard.base.catalog import Catalog

LAWS = Catalog("regard.audit.laws")
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5}
"""rounding errors of one attention, relative to the largest number that is compared"""


class Law(ABC):
    """A law of attention."""

    question: ClassVar[str]
    """what the law asks, in one sentence"""
    masks: ClassVar[Literal["any", "none"]] = "any"
    """the masks of its examples: whatever the subject takes, or none"""

    def exemption(self, subject: Subject) -> str | None:
        """Why the law does not apply to the subject; None if it does."""
        return None

    @abstractmethod
    def breach(self, subject: Subject, example: Example) -> str | None:
        """How the subject breaks the law on this example, in words; None if it does not."""


def difference(found: Tensor, right: Tensor) -> float:
    """The largest difference, relative to the largest number that is compared; infinite where one is not finite."""
    if found.shape != right.shape:
        return float("inf")
    if found.numel() == 0:
        return 0.0
    apart = (found.detach().double() - right.detach().double()).abs().max()
    size = right.detach().double().abs().max().clamp(min=1e-6)
    share = float(apart / size)
    return share if share == share else float("inf")


def tolerance(subject: Subject) -> float:
    """How far two correct results may lie apart; layers on top of each other add up their rounding errors."""
    return _TOLERANCE.get(subject.precision, 0.05) * (10 if subject.claims.deep else 1)


def unequal(subject: Subject, found: Tensor, right: Tensor, what: str) -> str | None:
    """A complaint if two results differ by more than rounding."""
    apart = difference(found, right)
    return f"{what}: they differ by {apart:.1e} of the largest" if apart > tolerance(subject) else None
