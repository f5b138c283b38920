"""p(i, 2j) = sin(i / C^(2j/d)),  p(i, 2j+1) = cos(i / C^(2j/d))

Vaswani et al., 2017, https://arxiv.org/abs/1706.03762. The dot product of p_i and p_j depends on i - j alone.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from regard.attention.position import Join, Layers, PositionVectors, sinusoid
from regard.base.errors import ConfigError, check_one_of


@dataclass(frozen=True)
class Sinusoidal(PositionVectors):
    """Sinusoidal positional encoding: sine waves of growing length, also for positions never seen in training."""

    base: float = 10_000.0
    """C: the longest wavelength is about 2πC positions"""
    first: int = 0
    """the j of the first wave: 0 as in the paper, 1 as some write it"""
    join: Join = "add"
    layers: Layers = "first"
    width: int | None = None
    order: Literal["alternating", "halves"] = "alternating"
    """sine and cosine of each wave side by side, or all sines before all cosines, as Marian has it"""

    def __post_init__(self) -> None:
        check_one_of("sinusoidal", ("add", "concatenate"), join=self.join)
        check_one_of("sinusoidal", get_args(Layers), layers=self.layers)
        check_one_of("sinusoidal", ("alternating", "halves"), order=self.order)
        if self.base <= 1:
            raise ConfigError(f"sinusoidal: base must be above 1, but is {self.base}")
        self.check("sinusoidal")

    def vectors(self, at: Tensor, width: int) -> Tensor:
        waves = sinusoid(at, width, self.base, self.first)
        return waves if self.order == "alternating" else torch.cat([waves[..., ::2], waves[..., 1::2]], dim=-1)
