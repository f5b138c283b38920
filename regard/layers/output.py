"""The output layer: logits = W h + b over the vocabulary, and their cross-entropy loss.

    loss = Σ_i (1 - ε)·(-log p_i(target_i)) + ε·mean_v(-log p_i(v)),   p_i = softmax(W h_i + b)

With label smoothing ε: Szegedy et al., Rethinking the Inception Architecture, 2015, https://arxiv.org/abs/1512.00567,
section 7. With ε = 0 this is the negative log-likelihood; exp of its mean is the perplexity.

The logits of all tokens at once, [tokens, vocabulary], are the largest tensor of a training step; `output_loss.py`
computes the same without storing them. An output with another distribution has its own `loss`, such as the
pointer-generator, which also copies words of the source: for it, `remember` keeps the source, and `gathered` adds to
hidden states what it mixes.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn

from regard.layers.output_loss import blockwise, wide

_FEWEST_ROWS = 256
_LOGITS_AT_ONCE = 2**21


class WritingOutput(nn.Module):
    """What an output layer keeps of the source while tokens are written: nothing, unless it copies words."""

    def remember(
        self,
        source: Int[Tensor, "sentences source"],
        encoded: Float[Tensor, "sentences source source_width"],
        keep: Bool[Tensor, "sentences source"],
    ) -> Any:
        """What the output needs of the source while tokens are written: nothing."""
        return None

    def gathered(
        self, hidden: Float[Tensor, "sentences target width"], pointed: Any
    ) -> Float[Tensor, "sentences target mixed"]:
        """The hidden states with all else that `forward` and `loss` compute from, given what `remember` kept."""
        return hidden

    def predict(self, hidden: Float[Tensor, "rows width"], pointed: Any) -> Float[Tensor, "rows vocabulary"]:
        """The logits of the next token for hypotheses, neighboring rows of which share a source."""
        logits: Tensor = self(hidden)
        return logits


class LinearOutput(WritingOutput, nn.Linear):
    """The output layer over a vocabulary."""

    def fix_bias(self) -> None:
        """Make the bias a constant, zeros at first: it is kept with the weights, but not learned."""
        del self.bias
        self.register_buffer("bias", torch.zeros(self.out_features))

    def loss(
        self,
        hidden: Float[Tensor, "tokens width"],
        targets: Int64[Tensor, "tokens"],
        smoothing: float = 0.0,
        rows: int | None = 0,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The label-smoothed loss and the negative log-likelihood, each summed over the tokens (without padding).

        Logits are computed in blocks of `rows` tokens: 0 chooses the block size, None computes all at once.
        """
        if rows is None:
            return _at_once(F.linear(hidden, self.weight, self.bias), targets, smoothing)
        rows = rows or max(_FEWEST_ROWS, _LOGITS_AT_ONCE // len(self.weight))
        return blockwise(hidden, self.weight, self.bias, targets, smoothing, rows)


class ScaledOutput(LinearOutput):
    """An output layer whose input is multiplied with a number: logits = W (scale · h) + b.

    T5 has scale = width^-½ where the output is tied to the embedding: Raffel et al., 2020,
    https://arxiv.org/abs/1910.10683
    """

    def __init__(self, width: int, vocabulary: int, bias: bool, scale: float) -> None:
        super().__init__(width, vocabulary, bias)
        self.scale = scale

    def forward(self, hidden: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch vocabulary"]:
        """The logits."""
        return super().forward(hidden * self.scale)

    def loss(
        self,
        hidden: Float[Tensor, "tokens width"],
        targets: Int64[Tensor, "tokens"],
        smoothing: float = 0.0,
        rows: int | None = 0,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        return super().loss(hidden * self.scale, targets, smoothing, rows)


def _at_once(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    chances = F.log_softmax(logits, 1, dtype=wide(logits.dtype))
    likelihood = F.nll_loss(chances, targets, reduction="sum")
    total = (1 - smoothing) * likelihood - smoothing * chances.mean(1).sum()
    return total, likelihood.detach()
