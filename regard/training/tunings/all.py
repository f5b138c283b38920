"""All weights learn, the lower layers more slowly (discriminative fine-tuning, layer-wise learning-rate decay).

    rate of layer l = rate · decay^(L + 1 - l),    l = 0 for embeddings, 1 … L for layers, L + 1 for the head

Howard and Ruder, ULMFiT, 2018, https://arxiv.org/abs/1801.06146, section 3.2; Clark et al., ELECTRA, 2020,
https://arxiv.org/abs/2003.10555, which uses 0.8 and 0.9.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from torch import nn

from regard.base.errors import ConfigError
from regard.layers.block import Block
from regard.training.tuning import Tuning, is_head


@dataclass(frozen=True)
class All(Tuning):
    """Every weight learns."""

    decay: float = 1.0
    """layer-wise learning-rate decay: a layer learns so many times as fast as the one above it"""

    def __post_init__(self) -> None:
        if not 0 < self.decay <= 1:
            raise ConfigError(f"tuning: decay must be more than 0 and at most 1, but is {self.decay}")

    def prepare(self, model: nn.Module, new: Collection[str]) -> None:
        return

    def rates(self, model: nn.Module, new: Collection[str]) -> Mapping[nn.Parameter, float]:
        blocks = [name for name, module in model.named_modules() if isinstance(module, Block)]
        if self.decay == 1 or not blocks:
            return {}
        rates, below = {}, 0
        for name, weight in model.named_parameters():
            inside = [at for at, block in enumerate(blocks, start=1) if name.startswith(f"{block}.")]
            below = max([below, *inside])  # weights between layers go with the layer before them
            if not is_head(name, new):
                rates[weight] = self.decay ** (len(blocks) + 1 - (inside[0] if inside else below))
        return rates
