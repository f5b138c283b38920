"""Autoencoder: a network makes a code of the input, another makes the input again.

    z = f(x),  x' = g(z),  loss = -log p(x | x') + sparsity · Σ |z|

Plain: Hinton and Salakhutdinov, 2006. Sparse, with an L1 penalty on the code: Ng, 2011. Denoising, where f sees the
input with noise but x is to be made: Vincent et al., 2008.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxtyping import Float
from torch import Tensor

from regard.base.errors import check_at_least
from regard.layers.activation import ACTIVATIONS, Activation
from regard.layers.noise import Noise
from regard.layers.perceptron import Perceptron
from regard.models.model import Design, weights_in
from regard.models.reconstructor import Likelihood, Reconstructor, bernoulli_loss

InputNoise = Literal["none", "mask", "gaussian"]


@dataclass(frozen=True, kw_only=True)
class Autoencoder(Design):
    """Settings of an autoencoder."""

    code: int = 32
    """the width of the code"""
    width: int = 256
    """the width of the hidden layers"""
    layers: int = 2
    """the number of hidden layers, of the encoder and of the decoder"""
    activation: Activation = "relu"
    """the activation of hidden layers"""
    code_activation: Literal["none", "relu"] = "none"
    """relu: a code has no negative numbers, and many zeros if it is to be sparse"""
    likelihood: Likelihood = "bernoulli"
    """of the input: bernoulli for numbers from 0 to 1, gaussian for others (half the squared error)"""
    sparsity: float = 0.0
    """the weight of Σ |code| in the loss"""
    corruption: InputNoise = "none"
    """the noise that the encoder sees in training: numbers set to 0 (mask), or normal noise added"""
    amount: float = 0.3
    """the share of masked numbers, or the standard deviation of the noise"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "sparse": {"code": 128, "code_activation": "relu", "sparsity": 0.1},
        "denoising": {"corruption": "mask"},
    }
    needs: ClassVar[tuple[str, ...]] = ("numbers",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("autoencoder", 0, sparsity=self.sparsity, amount=self.amount)

    def build(self, sizes: Mapping[str, int]) -> "AutoencoderModel":
        return AutoencoderModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model)


class AutoencoderModel(Reconstructor):
    """f in `encoder`, g in `decoder`."""

    def __init__(self, design: Autoencoder, numbers: int) -> None:
        super().__init__()
        self.design, hidden = design, [design.width] * design.layers
        self.encoder = Perceptron(numbers, *hidden, design.code, activation=design.activation)
        self.decoder = Perceptron(design.code, *hidden, numbers, activation=design.activation)
        self.noise = Noise()

    def code(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch code"]:
        made: Tensor = self.encoder(inputs)
        return made if self.design.code_activation == "none" else ACTIVATIONS["relu"](made)

    def decode(self, codes: Float[Tensor, "batch code"]) -> Float[Tensor, "batch numbers"]:
        made: Tensor = self.decoder(codes)
        return made.sigmoid() if self.design.likelihood == "bernoulli" else made

    def losses(self, inputs: Float[Tensor, "batch numbers"], progress: float = 1.0) -> Mapping[str, Tensor]:
        codes = self.code(self.corrupted(inputs))
        made = self.decoder(codes)
        bernoulli = self.design.likelihood == "bernoulli"
        again = bernoulli_loss(made, inputs) if bernoulli else 0.5 * ((made - inputs) ** 2).sum(1)
        penalty = codes.abs().sum(1)
        return {"loss": again + self.design.sparsity * penalty, "reconstruction": again, "penalty": penalty}

    def corrupted(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch numbers"]:
        """The inputs with noise in training, and as they are otherwise."""
        how = self.design
        if not self.training or how.corruption == "none":
            return inputs
        if how.corruption == "mask":
            return inputs * (self.noise.uniform(inputs) >= how.amount)
        return inputs + how.amount * self.noise.normal(inputs)
