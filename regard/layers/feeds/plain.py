"""The feed-forward layer FFN(x) = W₂ f(W₁ x + b₁) + b₂ of each position.

With f = ReLU: Vaswani et al., 2017, https://arxiv.org/abs/1706.03762; with GELU: Radford et al., 2018.
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.activation import Activation, activated
from regard.layers.dropout import Dropout
from regard.layers.feed import HiddenFeed
from regard.layers.initialize import xavier


@dataclass(frozen=True)
class Plain(HiddenFeed):
    """Two linear layers with an activation between them, by default ReLU."""

    def build(self, width: int, output_width: int | None = None) -> "FeedForward":
        return FeedForward(
            width,
            self.hidden or 4 * width,
            output_width or width,
            self.activation or "relu",
            self.dropout or 0.0,
            self.bias is not False,
        )


class FeedForward(nn.Module):
    """W₁, b₁ in `inner`, W₂, b₂ in `outer`."""

    def __init__(
        self, width: int, hidden: int, output_width: int, activation: Activation, dropout: float, bias: bool = True
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(width, hidden, bias)
        self.outer = nn.Linear(hidden, output_width, bias)
        self.dropout = Dropout(dropout)
        xavier(self)

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch output_width"]:
        """The formula."""
        hidden = activated(self.activation, self.inner(x))
        output: Tensor = self.outer(self.dropout(hidden))
        return output

    def extra_repr(self) -> str:
        """The settings in the module's repr."""
        return self.activation
