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
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.call import make_call
from regard.attention.core import weights_of
from regard.attention.reading import Reading
from regard.base.errors import UsageError


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
    chosen = {name: reading for name, reading in layers.items() if fnmatchcase(name, pattern)}
    if not chosen:
        names = ", ".join(layers) or "none: it has no attention layer"
        raise UsageError(f"record: no layer matches '{pattern}'; the model's are: {names}")
    seen = Recorded({name: [] for name in chosen})

    def watch(name: str) -> Any:
        def hook(reading: Reading, inputs: tuple[Any, ...], settings: dict[str, Any], output: Tensor) -> None:
            seen[name].append(_weights(reading, heads, rows, *inputs, **settings))

        return hook

    handles = [reading.register_forward_hook(watch(name), with_kwargs=True) for name, reading in chosen.items()]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def attention_layers(model: nn.Module) -> dict[str, Reading]:
    """The model's attentions by the names of the layers that hold them; a lone layer's is empty."""
    found = {}
    for name, module in model.named_modules():
        if isinstance(module, Reading):
            found[name.removesuffix("reading").removesuffix(".")] = module
    return found


@torch.no_grad()
def _weights(
    reading: Reading,
    heads: Sequence[int] | None,
    rows: Sequence[int] | slice | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keep: Any = None,
    query_at: Tensor | None = None,
    key_at: Tensor | None = None,
) -> Tensor:
    parts = reading.parts() | {"dropout": 0.0}
    call = make_call(query, key, value, keep=keep, query_at=query_at, key_at=key_at, **parts)
    asked = () if rows is None or isinstance(rows, slice) else rows
    for name, chosen, count in (("head", heads or (), query.shape[1]), ("row", asked, query.shape[2])):
        for one in chosen:
            if not -count <= one < count:
                raise UsageError(f"record: there is no {name} {one}; the layer has {name}s 0 … {count - 1}")
    return weights_of(call, None if heads is None else [head % query.shape[1] for head in heads], rows)
