"""FFN(x) = W₂ f(W₁ x + b₁) + b₂, at each position by itself

With f = ReLU: Vaswani et al., 2017, https://arxiv.org/abs/1706.03762; with GELU: Hendrycks and Gimpel, 2016,
https://arxiv.org/abs/1606.08415 (`gelu_tanh` is the approximation that GPT-2 uses)
"""

from collections.abc import Callable
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.base.errors import check_at_least
from regard.layers.dropout import Dropout
from regard.layers.initialize import xavier

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "tanh"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "tanh": lambda x: x.tanh(),
}


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between them; `hidden` is the width in the middle."""

    def __init__(
        self,
        width: int,
        hidden: int,
        output_width: int | None = None,
        activation: Activation = "relu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_at_least("feedforward", 1, width=width, hidden=hidden)
        self.activation = activation
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(hidden, width if output_width is None else output_width)
        self.dropout = Dropout(dropout)
        xavier(self)

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch output_width"]:
        """The formula."""
        hidden = ACTIVATIONS[self.activation](self.inner(x))
        output: Tensor = self.outer(self.dropout(hidden))
        return output

    def extra_repr(self) -> str:
        """What the module's print shows."""
        return self.activation
