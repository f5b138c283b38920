"""Restricted Boltzmann machine: binary inputs v and hidden units h, with connections between the two alone.

    p(v, h) = exp(b·v + c·h + v·W·h) / Z,  F(v) = -log Σ_h exp(…) = -b·v - Σ_j log(1 + exp(c_j + v·W_j))

The gradient of -log p(v) is that of F(v) - E F(v'), v' from the model. Contrastive divergence takes for v' what k steps
of Gibbs sampling from the data give (Hinton, 2002). log Z is estimated by annealed importance sampling: Neal, 2001;
Salakhutdinov and Murray, 2008.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.base.errors import UsageError
from regard.layers.noise import uniform_like
from regard.models.model import Design, weights_in
from regard.models.reconstructor import Reconstructor, bernoulli_loss

_MOST_ENUMERATED = 24


@dataclass(frozen=True, kw_only=True)
class Boltzmann(Design):
    """Settings of a restricted Boltzmann machine."""

    code: int = 64
    """the number of hidden units"""
    gibbs: int = 1
    """the steps of Gibbs sampling of contrastive divergence"""

    needs: ClassVar[tuple[str, ...]] = ("numbers",)

    def build(self, sizes: Mapping[str, int]) -> "BoltzmannModel":
        return BoltzmannModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model) * (2 + 2 * self.gibbs)


class BoltzmannModel(Reconstructor):
    """W in `weight`, b in `visible`, c in `hidden`."""

    def __init__(self, design: Boltzmann, numbers: int) -> None:
        super().__init__()
        self.gibbs = design.gibbs
        self.weight = nn.Parameter(torch.randn(numbers, design.code) * 0.01)
        self.visible, self.hidden = nn.Parameter(torch.zeros(numbers)), nn.Parameter(torch.zeros(design.code))

    def code(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch code"]:
        """The probability that each hidden unit is on."""
        return (inputs @ self.weight + self.hidden).sigmoid()

    def decode(self, codes: Float[Tensor, "batch code"]) -> Float[Tensor, "batch numbers"]:
        return self._visible_logits(codes).sigmoid()

    def free_energy(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch"]:
        """F(v); log p(v) = -F(v) - log Z."""
        return -inputs @ self.visible - F.softplus(inputs @ self.weight + self.hidden).sum(-1)

    def losses(self, inputs: Float[Tensor, "batch numbers"], progress: float = 1.0) -> Mapping[str, Tensor]:
        """In training, F(v) - F(v') of contrastive divergence; else how well the input is made again (mean field)."""
        again = bernoulli_loss(self._visible_logits(self.code(inputs)), inputs)
        if not self.training:
            return {"loss": again, "reconstruction": again}
        with torch.no_grad():
            seen = _sampled(inputs)
            chain = seen
            for _ in range(self.gibbs):
                chain = _sampled(self.decode(_sampled(self.code(chain))))
        return {"loss": self.free_energy(seen) - self.free_energy(chain), "reconstruction": again.detach()}

    @torch.no_grad()
    def log_partition(self, chains: int = 100, steps: int = 1_000) -> float:
        """log Z by annealed importance sampling, from independent inputs (W = 0, c = 0) to the model.

        log p_t(v) = b·v + Σ_j log(1 + exp(t (c_j + v·W_j))), t from 0 to 1; weights are Σ log p_t(v) - log p_{t-1}(v).
        """
        chain = _sampled(self.visible.sigmoid().expand(chains, -1))
        weights = chain.new_zeros(chains)
        for step in range(1, steps + 1):
            before, now = (step - 1) / steps, step / steps
            field = chain @ self.weight + self.hidden
            weights += (F.softplus(now * field) - F.softplus(before * field)).sum(1)
            units = _sampled((now * field).sigmoid())
            chain = _sampled((now * (units @ self.weight.T) + self.visible).sigmoid())
        start = F.softplus(self.visible).sum() + len(self.hidden) * math.log(2)
        return float(start + weights.double().logsumexp(0) - math.log(chains))

    @torch.no_grad()
    def exact_log_partition(self) -> float:
        """log Z as the sum over all states of the hidden units; there must be few of them."""
        count = len(self.hidden)
        if count > _MOST_ENUMERATED:
            raise UsageError(
                f"boltzmann: all states of {count} units are too many; at most {_MOST_ENUMERATED} are summed"
            )
        totals, each = [], 2 ** min(count, 14)
        for first in range(0, 2**count, each):
            numbers = torch.arange(first, first + each, device=self.weight.device)
            states = (numbers[:, None] >> torch.arange(count, device=numbers.device) & 1).to(self.weight.dtype)
            totals.append(
                (states @ self.hidden + F.softplus(self._visible_logits(states)).sum(1)).double().logsumexp(0)
            )
        return float(torch.stack(totals).logsumexp(0))

    def _visible_logits(self, codes: Tensor) -> Tensor:
        return codes @ self.weight.T + self.visible


def _sampled(probabilities: Tensor) -> Tensor:
    """Zeros and ones with these probabilities."""
    return (uniform_like(probabilities) < probabilities).to(probabilities.dtype)
