"""Activation functions by the names that a config uses.

`gelu`: Hendrycks and Gimpel, 2016, https://arxiv.org/abs/1606.08415; `gelu_tanh` is the approximation that GPT-2 uses.
`sigmoid` and `identity` are for the gates of `regard.layers.feeds.gated`.
"""

from collections.abc import Callable
from typing import Literal

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
