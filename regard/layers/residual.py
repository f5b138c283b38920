"""The residual connection around a branch, and its norm.

    before: scale · x + branch(norm(x))        after: norm(scale · x + branch(x))

After (post-norm): Vaswani et al., 2017, https://arxiv.org/abs/1706.03762; before (pre-norm): Xiong et al., 2020,
https://arxiv.org/abs/2002.04745. The norm is LayerNorm, or RMSNorm: Zhang and Sennrich, 2019,
https://arxiv.org/abs/1910.07467.

In training, dropout applies to the branch, and each sequence skips the whole branch with the probability `skip`:
stochastic depth, Huang et al., 2016, https://arxiv.org/abs/1603.09382

    x + m · branch(x) / (1 - skip),  m = 0 with probability skip, else 1

A learnable gate g, where there is one, multiplies the branch before it is added. One number that starts at 0: ReZero,
Bachlechner et al., 2020, https://arxiv.org/abs/2003.04887; one for each channel that starts small: LayerScale,
Touvron et al., 2021, https://arxiv.org/abs/2103.17239

`deepnorm` is the scale for very deep post-norm models: Wang et al., DeepNet, 2022, https://arxiv.org/abs/2203.00555
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.base.chance import random_bytes
from regard.base.errors import ConfigError, check_one_of
from regard.layers.dropout import check_share
from regard.layers.rms_norm import RmsNorm

Norm = Literal["layer", "rms", "none"]
Place = Literal["before", "after"]
BranchGating = Literal["none", "scalar", "channels"]
_EPSILON = {"layer": 1e-5, "rms": 1e-6}
_LEVELS = 2**32


@dataclass(frozen=True, kw_only=True)
class Residual:
    """Settings of a layer's residual connections.

    >>> Block(512, mixer=Attention(), feed=feeds.Plain(2048), residual=Residual(norm="rms", place="after", dropout=0.1))
    """

    norm: Norm = "layer"
    """layer normalization; rms: root mean square normalization, which does not subtract the mean; or none"""
    place: Place = "before"
    """where the norm stands: before each branch (pre-norm), or after its sum with the residual stream (post-norm)"""
    epsilon: float | None = None
    """what a norm adds to the variance; by default 1e-5 for LayerNorm and 1e-6 for RMSNorm"""
    scale: float = 1.0
    """the factor of the residual stream before the branch is added"""
    dropout: float = 0.0
    """applies to the branch's output"""
    skip: float = 0.0
    """stochastic depth: the probability of skipping the branch"""
    gate: BranchGating = "none"
    """a learnable factor of the branch: one number (scalar), or one for each channel"""
    gate_start: float = 0.0
    """what the gate is before training"""

    def __post_init__(self) -> None:
        check_one_of("residual", get_args(Norm), norm=self.norm)
        check_one_of("residual", get_args(Place), place=self.place)
        check_one_of("residual", get_args(BranchGating), gate=self.gate)
        check_share("residual: dropout", self.dropout)
        check_share("residual: skip", self.skip)
        if self.epsilon is not None and not self.epsilon > 0:
            raise ConfigError(f"residual: epsilon must be above 0, but is {self.epsilon}")
        if not self.scale > 0:
            raise ConfigError(f"residual: scale must be above 0, but is {self.scale}")

    def build_gate(self, width: int) -> nn.Module:
        """Build the gate of a branch of this width; the identity if there is none."""
        if self.gate == "none":
            return nn.Identity()
        return BranchGate(1 if self.gate == "scalar" else width, self.gate_start)

    def build(self, width: int) -> nn.Module:
        """Build the norm for vectors of this width."""
        if self.norm == "none":
            return nn.Identity()
        if self.norm == "layer":
            return nn.LayerNorm(width, eps=_EPSILON["layer"] if self.epsilon is None else self.epsilon)
        return RmsNorm(width, eps=_EPSILON["rms"] if self.epsilon is None else self.epsilon)


class BranchGate(nn.Module):
    """A learnable factor of a branch: one number, or one for each channel."""

    def __init__(self, width: int, start: float) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.full((width,), start))

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """The branch's output times the factor."""
        return x * self.factor


def layer_scale(layers: int) -> float:
    """What LayerScale starts with: the deeper the model, the smaller."""
    return 0.1 if layers <= 18 else 1e-5 if layers <= 24 else 1e-6


class Skip(nn.Module):
    """Stochastic depth: drops a branch for whole sequences in training."""

    def __init__(self, share: float = 0.0) -> None:
        super().__init__()
        check_share("skip", share)
        self.share = share

    def forward(self, x: Float[Tensor, "batch *rest"]) -> Float[Tensor, "batch *rest"]:
        """x with some sequences zero, scaled so that its expectation is x."""
        if not self.training or not self.share:
            return x
        drawn = random_bytes(4 * len(x)).view(torch.int32).to(torch.int64) % _LEVELS
        kept = (drawn >= round(self.share * _LEVELS)).to(x.device)
        return x * (kept / (1 - self.share)).to(x.dtype).view(-1, *[1] * (x.dim() - 1))

    def extra_repr(self) -> str:
        """The settings in the module's repr."""
        return f"share={self.share}"


class Depth(NamedTuple):
    """The constants that DeepNorm prescribes for the layers of an encoder or a decoder."""

    scale: float
    """α, the factor of the residual stream"""
    gain: float
    """β, the factor of the initial feed-forward, value and output matrices"""


def deepnorm(layers: int) -> Depth:
    """DeepNorm for an encoder alone or a decoder alone: α = (2N)^¼, β = (8N)^-¼."""
    return Depth((2 * layers) ** 0.25, (8 * layers) ** -0.25)


def deepnorm_pair(encoder: int, decoder: int) -> tuple[Depth, Depth]:
    """DeepNorm for an encoder of N and a decoder of M layers: α = 0.81 (N⁴M)^1/16, β = 0.87 (N⁴M)^-1/16 in the encoder;
    α = (3M)^¼, β = (12M)^-¼ in the decoder.
    """
    joint = (encoder**4 * decoder) ** (1 / 16)
    return Depth(0.81 * joint, 0.87 / joint), Depth((3 * decoder) ** 0.25, (12 * decoder) ** -0.25)
