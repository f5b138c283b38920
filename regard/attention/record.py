"""Record attention weights from outside the model, while fast kernels compute the output.

    with record(model, "decoder.*.cross", heads=[0, 3]) as seen:
        model(batch)
        seen["decoder.layers.2.cross"][0]      # [batch, chosen heads, query, key]

The output still comes from the layer's backend; only the requested weights are computed once more, by the definition.
`record` gives detached weights; `watch` gives weights with gradients, so that a loss can train them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.call import Call
from regard.attention.core import weights_of
from regard.attention.reading import Reading
from regard.base.errors import UsageError, unknown

Heads = Sequence[int] | None
"""the indices of some attention heads, or None for all"""
Rows = Sequence[int] | slice | None
"""the indices of some queries, or None for all"""


class Recorded(dict[str, list[Tensor]]):
    """The attention weights by layer name, one tensor per call of the layer."""

    def only(self) -> Tensor:
        """The weights, if one layer was recorded in one call."""
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
    """Record the weights of the layers whose names match, of all or the given attention heads and query rows.

    >>> with record(model, "decoder.layers.*.cross", heads=[0, 3]) as seen:
    ...     logits = model(source, lengths, target)
    >>> seen["decoder.layers.0.cross"][0].shape         # [batch, heads asked for, target, source]

    `*` in the pattern stands for anything. The weights are detached and stay on the model's device.
    """
    layers = attention_layers(model)
    chosen = [name for name in layers if fnmatchcase(name, pattern)]
    if not chosen:
        names = ", ".join(layers) or "none: it has no attention layer"
        raise UsageError(f"record: no layer matches '{pattern}'; the model's are: {names}")
    with watch(model, dict.fromkeys(chosen, heads), rows, within=torch.no_grad) as seen:
        yield Recorded(seen)


@contextmanager
def watch(
    model: nn.Module, heads: Mapping[str, Heads], rows: Rows = None, within: Callable[[], Any] = nullcontext
) -> Iterator[dict[str, list[Tensor]]]:
    """The attention weights of the named layers, one tensor per call of a layer.

    They are computed inside the context `within`; `torch.no_grad` gives weights without gradients.
    """
    layers = attention_layers(model)
    for name in heads:
        if name not in layers:
            raise UsageError(unknown("layer", name, layers, "the model's attention layers"))
    seen: dict[str, list[Tensor]] = {name: [] for name in heads}

    def watching(name: str) -> Any:
        def hook(reading: Reading, inputs: tuple[Any, ...], settings: dict[str, Any], output: Tensor) -> None:
            with within():
                call = replace(reading.call(*inputs, **settings), dropout=0.0)
                seen[name].append(_weights(call, heads[name], rows))

        return hook

    handles = [layers[name].register_forward_hook(watching(name), with_kwargs=True) for name in heads]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def attention_layers(model: nn.Module) -> dict[str, Reading]:
    """The model's attention layers by name; the name of a lone layer is empty."""
    found = {}
    for name, module in model.named_modules():
        if isinstance(module, Reading):
            found[name.removesuffix("reading").removesuffix(".")] = module
    return found


def _weights(call: Call, heads: Heads, rows: Rows) -> Tensor:
    _, count, queries, _ = call.query.shape
    asked = () if rows is None or isinstance(rows, slice) else rows
    for name, chosen, size in (("head", heads or (), count), ("row", asked, queries)):
        for one in chosen:
            if not -size <= one < size:
                raise UsageError(f"attention: there is no {name} {one}; the layer has {name}s 0 … {size - 1}")
    return weights_of(call, None if heads is None else [head % count for head in heads], rows)
