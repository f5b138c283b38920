"""Activation functions by the names that a config uses.

`gelu`: Hendrycks and Gimpel, 2016, https://arxiv.org/abs/1606.08415; `gelu_tanh` is the approximation that GPT-2 uses.
`sigmoid` and `identity` are for the gates of `regard.layers.feeds.gated`.
"""

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "elu", "tanh", "sigmoid", "identity"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "elu": F.elu,
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "identity": lambda x: x,
}

_OVER: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "gelu": torch.ops.aten.gelu_,
    "silu": torch.ops.aten.silu_,
}


def activated(name: str, x: Tensor) -> Tensor:
    """The activation of a tensor that nobody reads afterwards: without gradients it is written over it, if it can be.

    A large buffer that is not allocated need not be cleared by the system, page by page.
    """
    over = None if torch.is_grad_enabled() else _OVER.get(name)
    return ACTIVATIONS[name](x) if over is None else over(x)
