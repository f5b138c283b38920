"""Validation: the mean loss and perplexity of a model on held-out data."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn

from regard.base.errors import RegardError
from regard.base.ranks import shared
from regard.data.item import Item
from regard.training.loss import LIKELIHOOD, Loss, Objective

Validate = Callable[[Any], Mapping[str, float]]
"""A function from a model to its metrics by name, such as the loss or BLEU."""


def mean_losses(model: nn.Module, items: Iterable[Item], objective: Objective) -> dict[str, float]:
    """The mean loss over all batches and the means of its parts, with perplexity in place of the likelihood.

    Ranks share the batches; the numbers are those of one process.
    """
    return losses_and_answers(model, items, lambda model, item: (objective(model, item), None))[0]


def losses_and_answers(
    model: nn.Module, items: Iterable[Item], objective: Callable[[Any, Any], tuple[Loss, Any]]
) -> tuple[dict[str, float], list[Any]]:
    """As `mean_losses`, and in the same pass the model's answers to each batch, a JSON value beside its loss."""
    device = next(model.parameters()).device

    def measured(item: Item) -> tuple[int, dict[str, float], Any]:
        found, answers = objective(model, item.to(device))
        parts = {"loss": found.total, **found.parts}
        return found.count, {name: part.item() for name, part in parts.items()}, answers

    sums: dict[str, float] = {}
    every, count = [], 0
    for counted, parts, answers in shared(measured, list(items)):
        for name, part in parts.items():
            sums[name] = sums.get(name, 0.0) + part
        every.append(answers)
        count += counted
    if not count:
        raise RegardError("validation: there is nothing to predict")
    return means(sums, count), every


def means(sums: Mapping[str, float], count: int) -> dict[str, float]:
    """Each sum divided by the count, and the likelihood turned into perplexity."""
    found = {name: value / count for name, value in sums.items() if name != LIKELIHOOD}
    return found | ({"perplexity": perplexity(sums[LIKELIHOOD] / count)} if LIKELIHOOD in sums else {})


def validate_quietly(validate: Validate, model: nn.Module) -> dict[str, float]:
    """The metrics, computed without dropout and gradients; the model's training mode is restored afterwards."""
    learning = model.training
    model.eval()
    try:
        with torch.no_grad():
            return {name: float(value) for name, value in validate(model).items()}
    finally:
        model.train(learning)


def perplexity(likelihood: float) -> float:
    """Perplexity: exp of the mean negative log-likelihood per token."""
    try:
        return math.exp(likelihood)
    except OverflowError:
        return math.inf
