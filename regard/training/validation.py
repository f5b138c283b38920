"""How well a model does on text that it does not learn from: its loss, and whatever a scorer finds by using it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from regard.base.errors import RegardError
from regard.training.loss import CrossEntropy, Item, Objective

ModelScorer = Callable[[Any], Mapping[str, float]]
"""From a model to metrics by name, such as BLEU of what it translates; a greater number is better."""


@dataclass(frozen=True)
class Validation:
    """Metrics of a model: mean loss and perplexity over all batches, and those of the scorer."""

    batches: Iterable[Item]
    scorer: ModelScorer | None = None
    objective: Objective = field(default_factory=CrossEntropy)

    def __call__(self, model: nn.Module) -> dict[str, float]:
        device = next(model.parameters()).device
        loss, likelihood, tokens = 0.0, 0.0, 0
        for item in self.batches:
            found = self.objective(model, item.to(device))
            loss += found.total.item()
            likelihood += found.negative_log_likelihood.item()
            tokens += found.tokens
        if not tokens:
            raise RegardError("validation: there are no tokens to predict")
        metrics = {"loss": loss / tokens, "perplexity": perplexity(likelihood / tokens)}
        return metrics | dict(self.scorer(model) if self.scorer else {})


def validate_quietly(validate: ModelScorer, model: nn.Module) -> dict[str, float]:
    """The metrics, without dropout and gradients; the model is then in the mode that it was in before."""
    learning = model.training
    model.eval()
    try:
        with torch.no_grad():
            return {name: float(value) for name, value in validate(model).items()}
    finally:
        model.train(learning)


def perplexity(likelihood: float) -> float:
    """exp of the mean negative log-likelihood of a token."""
    try:
        return math.exp(likelihood)
    except OverflowError:
        return math.inf
