"""Weight initialization.

`xavier`: uniform in ±√(6 / (in + out)), so that the variance of signals and gradients is kept from layer to layer.
Glorot and Bengio, 2010, https://proceedings.mlr.press/v9/glorot10a.html
`shrink`: for very deep models; see `regard.layers.residual`.
`normal`: N(0, std²), with the last layer of a residual branch divided by √branches, as in GPT-2. Radford et al., 2019.
"""

import torch
from torch import nn

from regard.attention.projections import Projections


def xavier(module: nn.Module) -> None:
    """Xavier matrices and zero biases in every linear layer and convolution inside."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv1d):
            nn.init.xavier_uniform_(part.weight)
            _zero_bias(part)


def normal(module: nn.Module, std: float, residual: tuple[str, ...] = (), branches: int = 1) -> None:
    """Normal matrices and zero biases; layers whose names end in one of `residual` are divided by √branches."""
    for name, part in module.named_modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=std / branches**0.5 if name.endswith(residual) else std)
            _zero_bias(part)


def shrink(block: nn.Module, gain: float) -> None:
    """Multiply the feed-forward, value and output matrices of a layer with the gain that DeepNorm prescribes."""
    with torch.no_grad():
        for name, part in block.named_modules():
            if isinstance(part, Projections):
                source = part.joint if part.is_joint else part.source
                source.weight[-part.split[2] :] *= gain
            elif isinstance(part, nn.Linear) and name.endswith((".inner", ".outer", ".output")):
                part.weight *= gain


def _zero_bias(linear: nn.Linear | nn.Conv1d) -> None:
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
