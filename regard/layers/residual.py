"""How a branch joins the stream that passes it by: the residual connection and its norm.

    before: scale · x + branch(norm(x))        after: norm(scale · x + branch(x))

After: Vaswani et al., 2017, https://arxiv.org/abs/1706.03762; before: Xiong et al., 2020,
https://arxiv.org/abs/2002.04745. The norm is LayerNorm, or RMSNorm: Zhang and Sennrich, 2019,
https://arxiv.org/abs/1910.07467.

In training, numbers of the branch are dropped (`dropout`), and the branch is left out as a whole, in each sequence by
itself, with the probability `skip`: stochastic depth, Huang et al., 2016, https://arxiv.org/abs/1603.09382

    x + m · branch(x) / (1 - skip),  m = 0 with probability skip, else 1

`deepnorm` is the scale for very deep models normalized after: Wang et al., DeepNet, 2022,
https://arxiv.org/abs/2203.00555
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.base.errors import ConfigError, check_one_of
from regard.layers.dropout import check_share, random_bytes

Norm = Literal["layer", "rms"]
Place = Literal["before", "after"]
_EPSILON = 1e-6
_LEVELS = 2**32


@dataclass(frozen=True, kw_only=True)
class Residual:
    """What every residual connection of a layer is made of."""

    norm: Norm = "layer"
    place: Place = "before"
    scale: float = 1.0
    """what the stream is multiplied with before the branch is added"""
    dropout: float = 0.0
    """of the branch's numbers"""
    skip: float = 0.0
    """of the branch as a whole: stochastic depth"""

    def __post_init__(self) -> None:
        check_one_of("residual", ("layer", "rms"), norm=self.norm)
        check_one_of("residual", ("before", "after"), place=self.place)
        check_share("residual: dropout", self.dropout)
        check_share("residual: skip", self.skip)
        if not self.scale > 0:
            raise ConfigError(f"residual: scale must be above 0, but is {self.scale}")

    def build(self, width: int) -> nn.Module:
        """The norm, for vectors of this width."""
        return nn.LayerNorm(width) if self.norm == "layer" else nn.RMSNorm(width, eps=_EPSILON)


class Skip(nn.Module):
    """Stochastic depth: leaves out whole sequences of a branch in training."""

    def __init__(self, share: float = 0.0) -> None:
        super().__init__()
        check_share("skip", share)
        self.share = share

    def forward(self, x: Float[Tensor, "batch *rest"]) -> Float[Tensor, "batch *rest"]:
        """What is left, scaled so that its expectation is x."""
        if not self.training or not self.share:
            return x
        drawn = random_bytes(4 * len(x)).view(torch.int32).to(torch.int64) % _LEVELS
        kept = (drawn >= round(self.share * _LEVELS)).to(x.device)
        return x * (kept / (1 - self.share)).to(x.dtype).view(-1, *[1] * (x.dim() - 1))

    def extra_repr(self) -> str:
        """What the module's print shows."""
        return f"share={self.share}"


class Depth(NamedTuple):
    """What DeepNorm prescribes for the layers of an encoder or a decoder."""

    scale: float
    """α, of the residual stream"""
    gain: float
    """β, which the first values of feed-forward, value and output matrices are multiplied with"""


def deepnorm(layers: int) -> Depth:
    """The scale for an encoder alone or a decoder alone: α = (2N)^¼, β = (8N)^-¼."""
    return Depth((2 * layers) ** 0.25, (8 * layers) ** -0.25)


def deepnorm_pair(encoder: int, decoder: int) -> tuple[Depth, Depth]:
    """Those for an encoder of N and a decoder of M layers: α = 0.81 (N⁴M)^1/16, β = 0.87 (N⁴M)^-1/16 in the encoder;
    α = (3M)^¼, β = (12M)^-¼ in the decoder.
    """
    joint = (encoder**4 * decoder) ** (1 / 16)
    return Depth(0.81 * joint, 0.87 / joint), Depth((3 * decoder) ** 0.25, (12 * decoder) ** -0.25)
