"""Regard's own multi-head attention."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attention.multihead import Attention, MultiHead
from regard.attention.normalizers.softmax import Softmax
from regard.attention.scores.scaled_dot import ScaledDot
from regard.audit.adapters.layer_module import LayerModule
from regard.audit.adapters.torch_multihead import multihead_formula
from regard.audit.subject import Claims, Inputs
from regard.base.errors import UsageError

_WIDTH = 16


class RegardAttention(LayerModule):
    """An `Attention` design or the `MultiHead` that it builds, as self-attention."""

    rank: ClassVar[int] = 0

    def __init__(self, target: Attention | MultiHead, width: int | None = None) -> None:
        if isinstance(target, Attention):
            target = target.build(width or _WIDTH)
        super().__init__(target, width)
        self.name = "regard.Attention"
        mask, places = self.module.mask, self.module.reading.positions
        if mask is not None and not all(part.causal for part in mask.conjuncts()):
            raise UsageError("audit: its own mask may be causal or none; other masks are given with each example")
        relative = getattr(places, "relative", False)
        kind = type(places).__name__
        positions: Any = "none" if kind == "Position" else "relative" if relative else "absolute"
        self.claims = Claims(causal=mask is not None, positions=positions)

    @classmethod
    def suits(cls, target: Any) -> bool:
        """A design or its module."""
        return isinstance(target, Attention | MultiHead)

    def width_of(self, target: Any) -> int:
        return int(target.output.out_features)

    def masked(self, x: Tensor, keep: Tensor) -> Any:
        return self.module(x, keep=keep[:, None])

    def definition(self, inputs: Inputs, keep: Tensor | None) -> Tensor | None:
        layer, reading = self.module, self.module.reading
        usual = type(reading.score) is ScaledDot and type(reading.normalizer) is Softmax
        if not usual or self.claims.positions != "none" or layer.heads != layer.key_heads:
            return None
        joint, output = layer.projections.joint, layer.output
        into, out = (joint.weight, joint.bias), (output.weight, output.bias)
        return multihead_formula(inputs["x"], into, out, layer.heads, keep, self.claims.causal)

    def cached(self, inputs: Inputs, cut: int) -> Tensor | None:
        if not self.claims.causal:
            return None
        memory, made = self.module.start(), []
        for part in inputs["x"].tensor_split([cut], dim=1):
            output, memory = self.module.advance(part, memory)
            made.append(output)
        return torch.cat(made, dim=1)

    def shifted(self, inputs: Inputs, by: int) -> Tensor | None:
        x = inputs["x"]
        made: Tensor = self.module(x, at=torch.arange(by, by + x.shape[1]))
        return made
