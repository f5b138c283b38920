"""Attention weights on request, from outside the model, beside the fast kernel.

    with record(model, "decoder.*.cross", heads=[0, 3]) as seen:
        model(batch)
    seen["decoder.2.cross"][0]      # [batch, heads asked for, query, key]

The output still comes from whatever backend serves the layer; only the weights that were asked for are computed,
once more, by the definition.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

from regard.attention.watch import attention_layers, watch
from regard.base.errors import UsageError

__all__ = ["Recorded", "attention_layers", "record"]


class Recorded(dict[str, list[Tensor]]):
    """The weights by layer name, one tensor for each time the layer was called."""

    def only(self) -> Tensor:
        """The weights, where one layer was recorded in one call."""
        calls = [weights for layer in self.values() for weights in layer]
        if len(calls) != 1:
            raise UsageError(f"record: {len(self)} layers were recorded in {len(calls)} calls; choose one by name")
        return calls[0]


@contextmanager
def record(
    model: nn.Module,
    pattern: str = "*",
    *,
    heads: Sequence[int] | None = None,
    rows: Sequence[int] | slice | None = None,
) -> Iterator[Recorded]:
    """Record the weights of the layers whose names match, in the given heads and query rows alone.

    `*` in the pattern stands for anything. The weights are detached and stay on the model's device.
    """
    layers = attention_layers(model)
    chosen = [name for name in layers if fnmatchcase(name, pattern)]
    if not chosen:
        names = ", ".join(layers) or "none: it has no attention layer"
        raise UsageError(f"record: no layer matches '{pattern}'; the model's are: {names}")
    with watch(model, dict.fromkeys(chosen, heads), rows, within=torch.no_grad) as seen:
        yield Recorded(seen)
