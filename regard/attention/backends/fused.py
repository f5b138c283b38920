"""torch's `scaled_dot_product_attention`: one kernel for logits, softmax and reading.

Dao, FlashAttention-2, 2023, https://arxiv.org/abs/2307.08691
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.backend import Attended, Backend
from regard.attention.call import Call
from regard.attention.learned_bias import read_biased
from regard.attention.position import Bias


@dataclass(frozen=True)
class Fused(Backend):
    """For every factored score (dot products after some change of queries and keys) under a softmax."""

    rank: ClassVar[int] = 10
    mask_bytes: int = 1 << 28
    """for a larger mask or bias, a backend that computes it by blocks is better"""

    def refusal(self, call: Call) -> str | None:
        if not call.score.factored:
            return f"{type(call.score).__name__} is not a dot product of a function of each side"
        if not call.normalizer.exponential:
            return f"{type(call.normalizer).__name__} is not the softmax that the kernel computes"
        if isinstance(call.bias, Bias) and call.bias.reads_values:
            return f"{type(call.bias).__name__} reads the weights, which the kernel does not give"
        return None

    def hesitation(self, call: Call) -> str | None:
        if _is_causal(call) or not (call.masks or isinstance(call.bias, Bias)):
            return None
        needed = call.query.shape[2] * call.key.shape[2] * call.query.element_size()
        if isinstance(call.bias, Bias):
            needed *= call.query.shape[1]
        if needed > self.mask_bytes:
            return f"its mask and bias would take {needed / 2**20:,.0f} MiB"
        return None

    def __call__(self, call: Call) -> Attended:
        if call.query.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):  # the gradient of the kernel is nine times as slow in bfloat16
                return self._read(call.in_float32())
        return self._read(call)

    def _read(self, call: Call) -> Attended:
        query, key, scale = call.score.factors(call.query, call.key)
        if (learned := _learned_bias(call)) is not None:
            return Attended(read_biased(query, key, call.value, learned, call.keep_tensor, scale))
        width, value_width = query.shape[-1], call.value.shape[-1]
        value = call.value
        if value_width < width:  # the fast kernels need equal widths; zeros change neither logits nor output
            value = F.pad(value, (0, width - value_width))
        elif value_width > width:
            query, key = (F.pad(side, (0, value_width - width)) for side in (query, key))
        causal = _is_causal(call)
        output = F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=None if causal else _additive(call),
            dropout_p=call.dropout,
            is_causal=causal,
            scale=scale,
            enable_gqa=call.groups > 1,
        )
        return Attended(output[..., :value_width])


def _is_causal(call: Call) -> bool:
    """Whether the kernel's own causal mask suffices: no other mask or bias, and queries and keys at equal positions."""
    alone = call.bias is None and not isinstance(call.keep, Tensor)
    same = call.in_order and call.query.shape[2] == call.key.shape[2]
    return alone and same and bool(call.masks) and all(mask.causal for mask in call.masks)


def _learned_bias(call: Call) -> Tensor | None:
    """The bias, if the kernel has no gradient for it: while it learns on a CPU, in the precision of its weights."""
    if call.bias is None or call.query.device.type != "cpu" or call.dropout or call.groups > 1:
        return None
    if not torch.is_grad_enabled():
        return None
    bias = call.bias_tensor()
    return bias if bias is not None and bias.requires_grad and bias.dtype == call.query.dtype else None


def _additive(call: Call) -> Tensor | None:
    """Mask and bias as one tensor with four axes, as the kernel takes them."""
    keep, bias = call.keep_tensor, call.bias_tensor()
    if bias is None:
        together = keep
    elif keep is None:
        together = bias.to(call.query.dtype)
    else:
        together = bias.to(call.query.dtype).masked_fill(~keep, float("-inf"))
    if together is None:
        return None
    together = together.expand(*together.shape[:-2], call.query.shape[2], call.key.shape[2])
    return together[(None,) * (4 - together.dim())] if together.dim() < 4 else together
