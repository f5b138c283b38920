"""The loss of a batch, as a task computes it, and the cross-entropy that token models share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float, Int64
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least
from regard.data.subwords.tokenizer import PAD

LIKELIHOOD = "likelihood"
"""the negative log-likelihood, a part of the loss; exp of its mean is the perplexity"""


@dataclass(frozen=True)
class Loss:
    """The total loss of a batch, the number of tokens (or other units) it sums over, and the parts to report."""

    total: Float[Tensor, ""]
    count: int
    parts: Mapping[str, Float[Tensor, ""]] = field(default_factory=dict)


Objective = Callable[[Any, Any], Loss]
"""A function from a model and a batch to the loss: a task's `loss`."""


@dataclass(frozen=True, kw_only=True)
class CrossEntropy:
    """The cross-entropy of the true next tokens (teacher forcing), with label smoothing.

    Logits are computed in blocks of `rows` tokens: 0 chooses the block size, None computes all at once.
    """

    smoothing: float = 0.0
    """label smoothing: the share of the probability that is spread evenly over all tokens"""
    rows: int | None = 0
    """how many tokens' logits are computed at a time; 0: chosen by size, none: all at once. It changes memory and
    speed, not the loss"""

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"smoothing must be at least 0 and below 1, but is {self.smoothing}")
        check_at_least("loss", 0, rows=self.rows or 0)

    def __call__(
        self, model: Any, hidden: Float[Tensor, "batch length width"], targets: Int64[Tensor, "batch length"]
    ) -> Loss:
        """The loss of hidden states under `model.output`; padding is dropped before the output layer."""
        real = targets != PAD
        wanted = targets[real]
        total, likelihood = model.output.loss(hidden[real], wanted, self.smoothing, self.rows)
        return Loss(total, len(wanted), {LIKELIHOOD: likelihood})
