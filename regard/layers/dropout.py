"""Leave numbers out at random in training, so that no unit relies on another.

    y = x · m / (1 - p),  m = 0 with probability p, else 1

Srivastava et al., 2014, https://jmlr.org/papers/v15/srivastava14a.html. All layers drop through this one module.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from regard.base.errors import ConfigError


class Dropout(nn.Module):
    """Drops each number with probability `share` while training; otherwise lets everything pass."""

    def __init__(self, share: float = 0.0) -> None:
        super().__init__()
        check_share("dropout", share)
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """What is left, scaled so that its expectation is x."""
        return F.dropout(x, self.share) if self.training and self.share else x

    def extra_repr(self) -> str:
        """What the module's print shows."""
        return f"share={self.share}"


def check_share(name: str, share: float) -> None:
    """A share of something that is left out is at least 0 and below 1."""
    if not 0 <= share < 1:
        raise ConfigError(f"{name} must be at least 0 and below 1, but is {share}")
