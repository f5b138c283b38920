"""torch's `nn.MultiheadAttention`, as self-attention.

softmax(q kᵀ / √width, keep) v W_O + b_O, for q, k, v = x W_in + b_in, in each head
"""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.audit.adapters.attention_function import AttentionFunction
from regard.audit.adapters.layer_module import LayerModule
from regard.audit.subject import Inputs


class TorchMultihead(LayerModule):
    """`nn.MultiheadAttention`; its masks are True where a query may not look, so they are turned around."""

    rank: ClassVar[int] = 0

    @classmethod
    def suits(cls, target: Any) -> bool:
        """torch's module."""
        return isinstance(target, nn.MultiheadAttention)

    def __call__(self, inputs: Inputs, keep: Tensor | None) -> Tensor:
        x = inputs["x"] if self.module.batch_first else inputs["x"].transpose(0, 1)
        shut = None if keep is None else ~keep.repeat_interleave(self.module.num_heads, dim=0)
        output, _ = self.module(x, x, x, attn_mask=shut, need_weights=False)
        made: Tensor = output if self.module.batch_first else output.transpose(0, 1)
        return made

    def definition(self, inputs: Inputs, keep: Tensor | None) -> Tensor | None:
        module = self.module
        if module.in_proj_weight is None or module.bias_k is not None or module.add_zero_attn:
            return None
        into, out = (module.in_proj_weight, module.in_proj_bias), (module.out_proj.weight, module.out_proj.bias)
        return multihead_formula(inputs["x"], into, out, module.num_heads, keep)


def multihead_formula(
    x: Tensor,
    into: tuple[Tensor, Tensor | None],
    out: tuple[Tensor, Tensor | None],
    heads: int,
    keep: Tensor | None,
    causal: bool = False,
) -> Tensor | None:
    """Multi-head attention in float64, from the joint projection of queries, keys and values and that of the output."""
    made = _linear(x.double(), *into).unflatten(-1, (3, heads, -1))
    parts = dict(zip(("query", "key", "value"), made.permute(2, 0, 3, 1, 4), strict=True))
    function = AttentionFunction(torch.nn.functional.scaled_dot_product_attention).claiming(causal=causal)
    read = function.definition(parts, keep)
    return None if read is None else _linear(read.transpose(1, 2).flatten(2), *out)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.nn.functional.linear(x, weight.detach().double(), None if bias is None else bias.detach().double())
