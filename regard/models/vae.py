"""Variational autoencoder: a code with a prior, and a bound on the likelihood of the input.

    q(z | x) = N(μ(x), σ²(x)),  p(z) = N(0, 1),  log p(x) ≥ ELBO = E_q log p(x | z) - KL(q(z | x) ‖ p(z))

Kingma and Welling, 2014, https://arxiv.org/abs/1312.6114. With beta the KL is weighted, -log p(x | z) + β KL (β-VAE:
Higgins et al., 2017); with a capacity C it is to be C nats, -log p(x | z) + β |KL - C|, and C grows with the progress
of training (Burgess et al., 2018, https://arxiv.org/abs/1804.03599). With more samples the bound is tighter:

    log p(x) ≥ E log 1/K Σ_k p(x, z_k) / q(z_k | x)                 Burda et al., 2016, https://arxiv.org/abs/1509.00519

Without hidden layers and with Gaussian inputs the best VAE is probabilistic PCA (Lucas et al., 2019,
https://arxiv.org/abs/1911.02469).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.base.errors import check_at_least
from regard.layers.activation import Activation
from regard.layers.noise import Noise, normal_like
from regard.layers.perceptron import Perceptron
from regard.models.model import Design, weights_in
from regard.models.reconstructor import Likelihood, Reconstructor, bernoulli_loss

_LOG_2PI = math.log(2 * math.pi)
_AT_ONCE = 2**21
"""numbers that the decoder makes at once for the importance-weighted bound"""


@dataclass(frozen=True, kw_only=True)
class Vae(Design):
    """Settings of a variational autoencoder."""

    code: int = 32
    """the width of the code"""
    width: int = 400
    """the width of the hidden layers"""
    layers: int | None = 2
    """the number of hidden layers, of the encoder and of the decoder; none: both are linear"""
    activation: Activation = "relu"
    """the activation of hidden layers"""
    likelihood: Likelihood = "bernoulli"
    """of the input: bernoulli for numbers from 0 to 1, gaussian with one learned variance for others"""
    beta: float = 1.0
    """the weight of the KL divergence; 1.0: the bound itself"""
    capacity: float | None = None
    """the nats that the KL divergence is to have at the end of training; none: as few as possible"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "beta": {"code": 10, "beta": 4.0},
        "capacity": {"code": 10, "beta": 100.0, "capacity": 25.0},
        "linear": {"layers": None, "likelihood": "gaussian", "code": 8},
    }
    needs: ClassVar[tuple[str, ...]] = ("numbers",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("vae", 1, layers=1 if self.layers is None else self.layers)
        check_at_least("vae", 0, beta=self.beta, capacity=0.0 if self.capacity is None else self.capacity)

    def build(self, sizes: Mapping[str, int]) -> "VaeModel":
        return VaeModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model)


class VaeModel(Reconstructor):
    """The encoder gives μ and log σ² of the code, the decoder logits or means of the input."""

    def __init__(self, design: Vae, numbers: int) -> None:
        super().__init__()
        self.design, hidden = design, [design.width] * (design.layers or 0)
        self.encoder = Perceptron(numbers, *hidden, 2 * design.code, activation=design.activation)
        self.decoder = Perceptron(design.code, *hidden, numbers, activation=design.activation)
        gaussian = design.likelihood == "gaussian"
        self.log_variance = nn.Parameter(torch.zeros(())) if gaussian else None
        self.noise = Noise()

    def posterior(
        self, inputs: Float[Tensor, "batch numbers"]
    ) -> tuple[Float[Tensor, "batch code"], Float[Tensor, "batch code"]]:
        """μ and log σ² of the code."""
        mean, spread = self.encoder(inputs).chunk(2, dim=1)
        return mean, spread

    def code(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch code"]:
        return self.posterior(inputs)[0]

    def decode(self, codes: Float[Tensor, "batch code"]) -> Float[Tensor, "batch numbers"]:
        made: Tensor = self.decoder(codes)
        return made if self.log_variance is not None else made.sigmoid()

    def draw_codes(self, like: Float[Tensor, "batch code"]) -> Float[Tensor, "batch code"]:
        return self.noise.normal(like)

    def losses(self, inputs: Float[Tensor, "batch numbers"], progress: float = 1.0) -> Mapping[str, Tensor]:
        """The negative bound with its KL weighted; `elbo` is the bound itself, in nats."""
        mean, spread = self.posterior(inputs)
        codes = mean + (0.5 * spread).exp() * self.noise.normal(mean)
        again, divergence = self._surprise(codes, inputs), kl_divergence(mean, spread)
        how = self.design
        weighed = divergence if how.capacity is None else (divergence - how.capacity * progress).abs()
        parts = {"reconstruction": again, "divergence": divergence, "elbo": -again - divergence}
        return {"loss": again + how.beta * weighed, **parts}

    @torch.no_grad()
    def importance_bound(self, inputs: Float[Tensor, "batch numbers"], samples: int) -> Float[Tensor, "batch"]:
        """The importance-weighted bound on log p(x), in nats; with one sample its mean is the ELBO."""
        mean, spread = self.posterior(inputs)
        each = max(1, _AT_ONCE // inputs.numel())
        weights = []
        for first in range(0, samples, each):
            noise = normal_like(mean.expand(min(each, samples - first), *mean.shape))
            codes = mean + (0.5 * spread).exp() * noise
            prior = -0.5 * (codes**2 + _LOG_2PI).sum(-1)
            proposed = -0.5 * (noise**2 + spread + _LOG_2PI).sum(-1)
            weights.append(prior - proposed - self._surprise(codes, inputs))
        return torch.cat(weights).logsumexp(0) - math.log(samples)

    def _surprise(self, codes: Tensor, inputs: Tensor) -> Tensor:
        """-log p(x | z)."""
        made = self.decoder(codes)
        if self.log_variance is None:
            return bernoulli_loss(made, inputs)
        away = (made - inputs) ** 2 / self.log_variance.exp()
        return 0.5 * (away + self.log_variance + _LOG_2PI).sum(-1)


def kl_divergence(
    mean: Float[Tensor, "batch code"], log_variance: Float[Tensor, "batch code"]
) -> Float[Tensor, "batch"]:
    """KL(N(μ, σ²) ‖ N(0, 1)) = ½ Σ (μ² + σ² - 1 - log σ²)."""
    return 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1)
