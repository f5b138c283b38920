"""What training makes small, as a task measures it on an item, and the cross-entropy that token models share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxtyping import Float, Int64
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least
from regard.data.subwords.tokenizer import PAD

LIKELIHOOD = "likelihood"
"""the part of a loss whose mean's exponential is the perplexity: the negative log-likelihood"""


@dataclass(frozen=True)
class Loss:
    """Sums over an item: what is made small, how many things it is the sum over, and parts of it to be shown."""

    total: Float[Tensor, ""]
    count: int
    parts: Mapping[str, Float[Tensor, ""]] = field(default_factory=dict)


Objective = Callable[[Any, Any], Loss]
"""From a model and an item of its data to the loss: a task's `loss`."""


@dataclass(frozen=True, kw_only=True)
class CrossEntropy:
    """The cross-entropy of the true next tokens, with label smoothing.

    Logits are made in blocks of `rows` tokens: 0 chooses the number, None computes all at once.
    """

    smoothing: float = 0.0
    rows: int | None = 0

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"smoothing must be at least 0 and below 1, but is {self.smoothing}")
        check_at_least("loss", 0, rows=self.rows or 0)

    def __call__(
        self, model: Any, hidden: Float[Tensor, "batch length width"], targets: Int64[Tensor, "batch length"]
    ) -> Loss:
        """The loss of what `model.output` makes of the hidden states; padding is dropped before the output layer."""
        real = targets != PAD
        wanted = targets[real]
        total, likelihood = model.output.loss(hidden[real], wanted, self.smoothing, self.rows)
        return Loss(total, len(wanted), {LIKELIHOOD: likelihood})
