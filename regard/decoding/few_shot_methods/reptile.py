"""Reptile: move the weights toward those that some steps on an episode lead to; no second derivatives.

    W ← W + ε (W_K - W),  W_K after K steps of gradient descent on all examples of the episode

Nichol et al., 2018, https://arxiv.org/abs/1803.02999. The optimizer is given W - W_K as the gradient, for each of the
episode's queries alike, so that ε is its learning rate.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.decoding.few_shot_method import Adapting


@dataclass(frozen=True, kw_only=True)
class Reptile(Adapting):
    """Reptile: toward the weights of each episode."""

    def loss(
        self, model: nn.Module, support: Tensor, labels: Tensor, query: Tensor, wanted: Tensor, ways: int
    ) -> tuple[Tensor, Tensor]:
        if not torch.is_grad_enabled():
            return super().loss(model, support, labels, query, wanted, ways)
        both, true = torch.cat((support, query)), torch.cat((labels, wanted))
        weights = self.adapted(model, both, true, traced=False)
        with torch.no_grad():
            found = self.answered(model, weights, query)
            value = F.cross_entropy(found, wanted, reduction="sum")
            right = (found.argmax(1) == wanted).sum().to(found)
        own = dict(model.named_parameters())
        pulls = [(own[name] * (own[name] - weight).detach()).sum() for name, weight in weights.items()]
        pull = torch.stack(pulls).sum() * len(query)  # its gradient is (W - W_K) for each query
        return value + pull - pull.detach(), right
