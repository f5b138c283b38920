"""MAML, model-agnostic meta-learning: weights from which a few steps on the support do well on the queries.

    W_k = W_{k-1} - α ∇ L_support(W_{k-1}),  W_0 = W;   learned: W, by ∇_W L_query(W_K), through all the steps

Finn et al., 2017, https://arxiv.org/abs/1703.03400. First order leaves out the second derivatives: the gradient at W_K
is taken as that at W.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.base.errors import check_one_of
from regard.decoding.few_shot_method import Adapting


@dataclass(frozen=True, kw_only=True)
class Maml(Adapting):
    """MAML: the gradient of what comes after adapting."""

    order: Literal["second", "first"] = "second"
    """second: through the steps, exactly; first: second derivatives are left out, which is cheaper"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_one_of("method", ("second", "first"), order=self.order)

    def loss(
        self, model: nn.Module, support: Tensor, labels: Tensor, query: Tensor, wanted: Tensor, ways: int
    ) -> tuple[Tensor, Tensor]:
        learning = torch.is_grad_enabled()
        weights = self.adapted(model, support, labels, traced=learning and self.order == "second")
        if learning and self.order == "first":  # W_K as a function of W whose derivative is taken as 1
            own = dict(model.named_parameters())
            weights = {name: own[name] + (weight - own[name]).detach() for name, weight in weights.items()}
        found = self.answered(model, weights, query)
        right = (found.detach().argmax(1) == wanted).sum().to(found)
        return F.cross_entropy(found, wanted, reduction="sum"), right
