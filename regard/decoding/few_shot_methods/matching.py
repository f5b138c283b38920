"""Matching networks: a query looks up its class among the support by attention; the support is a `SoftDict`.

    p(k | q) = Σ_i softmax_i(cos(f(q), f(x_i)) / τ) [y_i = k]

Vinyals et al., 2016, https://arxiv.org/abs/1606.04080
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.soft_dict import SoftDict
from regard.base.errors import ConfigError
from regard.decoding.few_shot_method import FewShotMethod


@dataclass(frozen=True, kw_only=True)
class Matching(FewShotMethod):
    """Matching networks: attention over the examples."""

    temperature: float = 0.1
    """τ: the cosine is divided by it"""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ConfigError(f"method: temperature must be more than 0, but is {self.temperature}")

    def logits(
        self, model: nn.Module, support: Tensor, labels: Tensor, query: Tensor, ways: int
    ) -> Float[Tensor, "query ways"]:
        vectors = F.normalize(model(torch.cat((support, query))), dim=-1)
        shown, asked = vectors[: len(support)], vectors[len(support) :]
        memory = SoftDict(shown.shape[1], ways, score="dot")
        memory.write(shown, F.one_hot(labels, ways).to(shown))
        return memory.look_up(asked / self.temperature).output.clamp(min=1e-12).log()
