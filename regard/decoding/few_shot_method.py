"""How a model tells classes that it sees for the first time, from a few examples of each: the support.

The members of `few_shot_methods/` are the choices of `training.method`. Those that compare (prototypes, matching) use
the model's output as a vector; those that adapt (MAML, Reptile) use it as the logits of an episode's classes, and learn
weights from which a few steps of gradient descent on the support go far.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.func import functional_call

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, check_at_least

FEW_SHOT_METHODS = Catalog("regard.decoding.few_shot_methods")


class FewShotMethod(ABC):
    """A way of learning from episodes."""

    compares: ClassVar[bool] = True
    """whether outputs of the model are vectors, rather than logits"""

    @abstractmethod
    def logits(
        self,
        model: nn.Module,
        support: Float[Tensor, "support channels height width"],
        labels: Int64[Tensor, "support"],
        query: Float[Tensor, "query channels height width"],
        ways: int,
    ) -> Float[Tensor, "query ways"]:
        """How well each query fits each of the classes that the support shows, up to a constant."""

    def loss(
        self,
        model: nn.Module,
        support: Tensor,
        labels: Tensor,
        query: Tensor,
        wanted: Int64[Tensor, "query"],
        ways: int,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The sum over the queries of an episode, and how many are told right."""
        found = self.logits(model, support, labels, query, ways)
        right = (found.detach().argmax(1) == wanted).sum().to(found)
        return F.cross_entropy(found, wanted, reduction="sum"), right


@dataclass(frozen=True, kw_only=True)
class Adapting(FewShotMethod):
    """Methods that take steps of gradient descent on the support: W ← W - α ∇ L(W)."""

    compares: ClassVar[bool] = False

    steps: int = 5
    """steps of gradient descent on the support"""
    rate: float = 0.1
    """their learning rate α"""

    def __post_init__(self) -> None:
        check_at_least("method", 1, steps=self.steps)
        if not self.rate > 0:
            raise ConfigError(f"method: rate must be more than 0, but is {self.rate}")

    def adapted(
        self, model: nn.Module, support: Tensor, labels: Tensor, traced: bool
    ) -> dict[str, Float[Tensor, "..."]]:
        """The weights after the steps; `traced`, they can be differentiated by the weights before."""
        with torch.inference_mode(False), torch.enable_grad():  # validation and inference have it off
            support, labels = (part.clone() if part.is_inference() else part for part in (support, labels))
            own = {name: weight for name, weight in model.named_parameters() if weight.requires_grad or not traced}
            fast: dict[str, Tensor] = dict(own)
            fast = fast if traced else {name: weight.detach().requires_grad_() for name, weight in fast.items()}
            for _ in range(self.steps):
                loss = F.cross_entropy(functional_call(model, fast, (support,)), labels)
                slopes = torch.autograd.grad(loss, list(fast.values()), create_graph=traced)
                fast = {name: fast[name] - self.rate * slope for name, slope in zip(fast, slopes, strict=True)}
                if not traced:
                    fast = {name: weight.detach().requires_grad_() for name, weight in fast.items()}
        return fast

    def logits(
        self, model: nn.Module, support: Tensor, labels: Tensor, query: Tensor, ways: int
    ) -> Float[Tensor, "query ways"]:
        return self.answered(model, self.adapted(model, support, labels, traced=False), query)

    @staticmethod
    def answered(model: nn.Module, weights: Mapping[str, Tensor], query: Tensor) -> Tensor:
        """The logits of the model with these weights."""
        found: Tensor = functional_call(model, dict(weights), (query,))
        return found
