"""x-transformers' `Attention` (one layer), as self-attention."""

from typing import Any, ClassVar

from torch import Tensor

from regard.audit.adapters.layer_module import LayerModule
from regard.audit.subject import Claims


class XTransformersAttention(LayerModule):
    """A layer of x-transformers; its masks are True where a query may look."""

    rank: ClassVar[int] = 0

    def __init__(self, target: Any, width: int | None = None) -> None:
        super().__init__(target, width)
        self.name = "x_transformers.Attention"
        self.claims = Claims(causal=bool(getattr(target, "causal", False)))

    @classmethod
    def suits(cls, target: Any) -> bool:
        """Its class, without importing the library."""
        kind = type(target)
        return kind.__module__.startswith("x_transformers.") and kind.__name__ == "Attention"

    def width_of(self, target: Any) -> int:
        return int(target.to_q.in_features)

    def masked(self, x: Tensor, keep: Tensor) -> Any:
        return self.module(x, attn_mask=keep[:, None])
