"""PyG's attention along edges: `GATConv`, `GATv2Conv`, `TransformerConv`. A pair that may look is an edge."""

from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.audit.adapters.layer_module import LayerModule
from regard.audit.subject import Claims, Inputs


class PygConvolution(LayerModule):
    """A convolution of torch_geometric; the examples of a batch are graphs without edges between them."""

    rank: ClassVar[int] = 0

    def __init__(self, target: Any, width: int | None = None) -> None:
        super().__init__(target, width)
        self.name = f"torch_geometric {type(target).__name__}"
        self.claims = Claims(
            own=bool(getattr(target, "add_self_loops", False) or getattr(target, "root_weight", False))
        )

    @classmethod
    def suits(cls, target: Any) -> bool:
        """Its base class, without importing the library."""
        return any(
            kind.__name__ == "MessagePassing" and kind.__module__.startswith("torch_geometric.")
            for kind in type(target).__mro__
        )

    def width_of(self, target: Any) -> int:
        width = target.in_channels
        return int(width[0] if isinstance(width, tuple) else width)

    def __call__(self, inputs: Inputs, keep: Tensor | None) -> Tensor:
        x = inputs["x"]
        count, nodes, _ = x.shape
        seen = torch.ones(count, nodes, nodes, dtype=torch.bool) if keep is None else keep
        graph, row, column = seen.nonzero().unbind(1)
        edges = torch.stack([graph * nodes + column, graph * nodes + row])  # from the one that is seen
        made: Tensor = self.module(x.flatten(0, 1), edges)
        return made.view(count, nodes, -1)
