r"""What training makes small: the label-smoothed cross-entropy of the true next tokens.

    loss = Σ_i (1 - ε)·(-log p_i(target_i)) + ε·mean_v(-log p_i(v)),   p_i = softmax(W h_i + b)

Szegedy et al., Rethinking the Inception Architecture, 2015, https://arxiv.org/abs/1512.00567, section 7. The sum is
over real tokens; padding (0) is dropped before the output layer. With ε = 0 this is the negative log-likelihood, whose
mean's exponential is the perplexity.

The logits of all tokens at once, [tokens, vocabulary], are the largest tensor of a training step; `blockwise_loss.py`
computes the same without holding them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least
from regard.data.pairs import Batch
from regard.data.subwords.tokenizer import PAD
from regard.data.windows import TextWindow
from regard.models.model import Model
from regard.training.blockwise_loss import blockwise, wide

Item = Batch | TextWindow
_FEWEST_ROWS = 256
_LOGITS_AT_ONCE = 2**21


class Loss(NamedTuple):
    """Sums over the real tokens of a batch: what is made small, and the plain negative log-likelihood."""

    total: Float[Tensor, ""]
    negative_log_likelihood: Float[Tensor, ""]
    tokens: int


Objective = Callable[[Any, Any], Loss]
"""From a model and an item of its data to the loss; `CrossEntropy` is the one for models that predict tokens."""


@dataclass(frozen=True, kw_only=True)
class CrossEntropy:
    """The loss of a model on a batch, in blocks of `rows` tokens: 0 chooses the number, None computes all at once."""

    smoothing: float = 0.0
    rows: int | None = 0

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"smoothing must be at least 0 and below 1, but is {self.smoothing}")
        check_at_least("loss", 0, rows=self.rows or 0)

    def __call__(self, model: Model, item: Item) -> Loss:
        hidden, targets = hidden_states(model, item)
        total, likelihood = self.of(hidden, model.output.weight, model.output.bias, targets)
        return Loss(total, likelihood, len(targets))

    def of(
        self,
        hidden: Float[Tensor, "tokens width"],
        weight: Float[Tensor, "vocabulary width"],
        bias: Float[Tensor, "vocabulary"] | None,
        targets: Int64[Tensor, "tokens"],
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The loss and the negative log-likelihood, summed over tokens that are all real."""
        if self.rows is None:
            return _at_once(hidden, weight, bias, targets, self.smoothing)
        rows = self.rows or max(_FEWEST_ROWS, _LOGITS_AT_ONCE // len(weight))
        return blockwise(hidden, weight, bias, targets, self.smoothing, rows)


def hidden_states(model: Model, item: Item) -> tuple[Float[Tensor, "tokens width"], Int64[Tensor, "tokens"]]:
    """What the model makes of the true tokens before each real target, and these targets."""
    if isinstance(item, Batch):
        targets = item.target_out
        hidden = model.hidden(item.source, item.source_lengths, item.target_in)
    else:
        filled = item.target[:, 0] != PAD  # a short text leaves whole rows empty
        targets = item.target[filled]
        hidden = model.hidden(None, None, item.input[filled])
    real = targets != PAD
    return hidden[real], targets[real]


def _at_once(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    logits = F.linear(hidden, weight, bias)
    chances = F.log_softmax(logits, 1, dtype=wide(logits.dtype))
    likelihood = F.nll_loss(chances, targets, reduction="sum")
    total = (1 - smoothing) * likelihood - smoothing * chances.mean(1).sum()
    return total, likelihood.detach()
