"""Activation checkpointing: keep only a layer's input, and compute the layer again in the backward pass.

Memory for activations then grows with the layers' inputs instead of all that happens inside them; it costs one more
forward pass. Chen et al., 2016, https://arxiv.org/abs/1604.06174. What is drawn at random, such as dropout, is drawn
again as it was.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from regard.base.chance import DrawingAgain, draws_so_far


def recomputed(function: Callable[..., Tensor], x: Tensor, **settings: Any) -> Tensor:
    """function(x, **settings), whose inner activations are computed again when gradients are asked for."""
    again = DrawingAgain(draws_so_far())
    found: Tensor = checkpoint(function, x, use_reentrant=False, context_fn=lambda: (nullcontext(), again), **settings)
    return found


def worth_recomputing(module: nn.Module) -> bool:
    """Whether gradients will be asked for, and nothing outside watches what the module computes while it does so."""
    return torch.is_grad_enabled() and not any(map(_is_watching, _hooks(module)))


def _hooks(module: nn.Module) -> Iterator[Any]:
    return (hook for part in module.modules() for hook in part._forward_hooks.values())


def _is_watching(hook: Any) -> bool:
    """Whether a hook looks at what is computed; those of FSDP, which give up gathered weights, do not."""
    return not str(getattr(hook, "__module__", "")).startswith("torch.distributed.")
