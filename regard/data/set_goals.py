"""What is learned about a set: a number, a count, a class, or the clusters that its elements form.

number     |output - target|, or its square; both standardized
count      Poisson: exp(output) - target · output                                        Lee et al., 2019
class      cross-entropy
clusters   the negative log-likelihood of the elements in a mixture of Gaussians:  -mean log Σ_k π_k N(x; μ_k, σ_k²)
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.base.errors import RegardError
from regard.data.set_examples import Scale, SetBatch, SetExample, padded_sets, real_elements

NumberLoss = Literal["absolute", "squared"]


@dataclass(frozen=True)
class Goal(ABC):
    """How many outputs a goal needs, its loss, and what the outputs mean."""

    scale: Scale
    """of the targets, or, for clusters, of the elements"""
    lower: ClassVar[tuple[str, ...]] = ()
    """the scores for which lower is better"""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The numbers that the model gives for a set."""

    def targets(self, given: Sequence[Any]) -> Tensor:
        """The targets of examples as a tensor."""
        rows = np.array(given, dtype=np.float64).reshape(len(given), -1)
        return torch.from_numpy(self.scale.scaled(rows) if self.scale.mean else rows).float()

    @abstractmethod
    def loss(self, made: Tensor, item: SetBatch) -> Tensor:
        """The sum of the losses of all sets."""

    @abstractmethod
    def answers(self, made: Tensor) -> list[Any]:
        """The answer for each set, ready for JSON."""

    @abstractmethod
    def scores(self, made: Tensor, item: SetBatch, targets: Sequence[Any]) -> dict[str, np.ndarray]:
        """The scores of each set; `targets` are those of the examples."""


@dataclass(frozen=True)
class NumberGoal(Goal):
    """One or several numbers."""

    measure: NumberLoss = "absolute"
    lower: ClassVar[tuple[str, ...]] = ("error",)

    @property
    def outputs(self) -> int:
        return len(self.scale.mean)

    def loss(self, made: Tensor, item: SetBatch) -> Tensor:
        away = made - item.targets
        return (away.abs() if self.measure == "absolute" else away**2).mean(1).sum()

    def answers(self, made: Tensor) -> list[Any]:
        rows = self.scale.restored(made.double().cpu().numpy()).tolist()
        return [row[0] if self.outputs == 1 else row for row in rows]

    def scores(self, made: Tensor, item: SetBatch, targets: Sequence[Any]) -> dict[str, np.ndarray]:
        """`error`: the mean absolute error."""
        found = self.scale.restored(made.double().cpu().numpy())
        return {"error": np.abs(found - np.array(targets)).mean(1)}


@dataclass(frozen=True)
class CountGoal(Goal):
    """A count, as the rate of a Poisson distribution, rounded; targets are not scaled."""

    lower: ClassVar[tuple[str, ...]] = ("error",)

    @property
    def outputs(self) -> int:
        return 1

    def loss(self, made: Tensor, item: SetBatch) -> Tensor:
        return F.poisson_nll_loss(made, item.targets.to(made.dtype), log_input=True, reduction="sum")

    def answers(self, made: Tensor) -> list[Any]:
        return [round(rate) for rate in made[:, 0].double().clamp(max=30.0).exp().tolist()]

    def scores(self, made: Tensor, item: SetBatch, targets: Sequence[Any]) -> dict[str, np.ndarray]:
        """`accuracy`: the share of counts that are right; `error`: the mean absolute error."""
        away = np.abs(np.array(self.answers(made)) - np.array(targets)[:, 0])
        return {"accuracy": 100.0 * (away == 0), "error": away}


@dataclass(frozen=True)
class ClassGoal(Goal):
    """One of several classes."""

    classes: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        return len(self.classes)

    def targets(self, given: Sequence[Any]) -> Tensor:
        number = {name: at for at, name in enumerate(self.classes)}
        other = next((name for name in given if name not in number), None)
        if other is not None:
            raise RegardError(f"the class '{other}' is not among those of the training data: {', '.join(self.classes)}")
        return torch.tensor([number[name] for name in given])

    def loss(self, made: Tensor, item: SetBatch) -> Tensor:
        return F.cross_entropy(made, item.targets, reduction="sum")

    def answers(self, made: Tensor) -> list[Any]:
        return [self.classes[at] for at in made.argmax(1).tolist()]

    def scores(self, made: Tensor, item: SetBatch, targets: Sequence[Any]) -> dict[str, np.ndarray]:
        """`accuracy`: the share of sets whose class is right."""
        return {"accuracy": 100.0 * np.array([a == b for a, b in zip(self.answers(made), targets, strict=True)])}


@dataclass(frozen=True)
class ClusterGoal(Goal):
    """A mixture of Gaussians with diagonal covariances: logits of weights, centers, logarithms of deviations."""

    clusters: int = 4

    @property
    def outputs(self) -> int:
        return self.clusters * (1 + 2 * len(self.scale.mean))

    def targets(self, given: Sequence[Any]) -> Tensor:
        """None: the set itself is what is learned."""
        return torch.zeros(len(given), 0)

    def loss(self, made: Tensor, item: SetBatch) -> Tensor:
        keep = real_elements(item.elements, item.lengths)
        each = self.densities(made, item.elements).masked_fill(~keep, 0.0).sum(1)
        return -(each / item.lengths.clamp(min=1)).sum()

    def densities(self, made: Tensor, elements: Tensor) -> Tensor:
        """The log-density of each element, in the units of the scaled data."""
        weights, centers, deviations = self.parts(made)
        away = (elements[:, :, None] - centers[:, None]) / deviations.exp()[:, None]
        each = -0.5 * (away**2 + math.log(2 * math.pi)).sum(-1) - deviations.sum(-1)[:, None]
        return (each + weights.log_softmax(-1)[:, None]).logsumexp(-1)

    def parts(self, made: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the weights [batch, clusters], centers and log deviations [batch, clusters, width]."""
        shaped = made.unflatten(1, (self.clusters, -1))
        weights, centers, deviations = shaped.split([1, *[len(self.scale.mean)] * 2], -1)
        return weights[..., 0], centers, deviations.clamp(-7.0, 7.0)

    def answers(self, made: Tensor) -> list[Any]:
        weights, centers, deviations = (part.double().cpu() for part in self.parts(made))
        own = torch.tensor(self.scale.deviation, dtype=torch.float64)
        return [
            {"weights": one.softmax(-1).tolist(), "centers": self.scale.restored(two.numpy()).tolist(),
             "deviations": (three.exp() * own).tolist()}
            for one, two, three in zip(weights, centers, deviations, strict=True)
        ]  # fmt: skip

    def scores(self, made: Tensor, item: SetBatch, targets: Sequence[Any]) -> dict[str, np.ndarray]:
        """`likelihood`: the mean log-density of an element; `behind`: how much less it is than under the truth."""
        keep = real_elements(item.elements, item.lengths)
        units = float(np.log(self.scale.deviation).sum())
        each = (self.densities(made, item.elements) - units).masked_fill(~keep, 0.0).sum(1)
        found = (each / item.lengths.clamp(min=1)).double().cpu().numpy()
        known = [target for target in targets if len(target) == 1]
        behind = {"behind": np.array(known)[:, 0] - found} if len(known) == len(found) and known else {}
        return {"likelihood": found, **behind}


def set_batch(examples: Sequence[SetExample], scale: Scale, goal: Goal) -> SetBatch:
    """A batch of examples, scaled, with what is learned about them."""
    elements, lengths = padded_sets([one.elements for one in examples], scale)
    return SetBatch(elements, lengths, goal.targets([one.target for one in examples]), goal)


GOALS: Mapping[str, type[Goal]] = {
    "number": NumberGoal,
    "count": CountGoal,
    "class": ClassGoal,
    "clusters": ClusterGoal,
}


def goal_from(table: Mapping[str, Any]) -> Goal:
    """The goal that a model file holds."""
    own: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in table.items()}
    kind: Any = GOALS[str(own.pop("kind"))]
    goal: Goal = kind(**(own | {"scale": Scale.from_dict(table["scale"])}))
    return goal
