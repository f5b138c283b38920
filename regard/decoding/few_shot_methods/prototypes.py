"""Prototypical networks: a class is the mean of its examples, and a query goes to the nearest.

    c_k = mean of f(x) over the support of class k,  logits_k = -‖f(q) - c_k‖²

Snell et al., 2017, https://arxiv.org/abs/1703.05175
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.decoding.few_shot_method import FewShotMethod


@dataclass(frozen=True, kw_only=True)
class Prototypes(FewShotMethod):
    """Prototypical networks: the nearest mean of a class."""

    def logits(
        self, model: nn.Module, support: Tensor, labels: Tensor, query: Tensor, ways: int
    ) -> Float[Tensor, "query ways"]:
        vectors = model(torch.cat((support, query)))
        shown, asked = vectors[: len(support)], vectors[len(support) :]
        member = torch.nn.functional.one_hot(labels, ways).to(shown)
        means = member.T @ shown / member.sum(0)[:, None]
        return -(asked[:, None] - means[None]).square().sum(-1)
