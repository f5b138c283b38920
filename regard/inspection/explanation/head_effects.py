"""What a head does, beyond its weights: how much it moves, and what the answer is without it.

Attention weights alone mislead: a token may get much weight and have a value near zero.

    moved_ij = w_ij · |W_O^h v_j|,      the length of what position j adds to position i in head h
    effect_h = log p(answer) - log p(answer | the output of head h set to zero)

Kobayashi et al., Attention is Not Only a Weight, 2020, https://arxiv.org/abs/2004.10102; Michel et al., Are Sixteen
Heads Really Better than One?, 2019, https://arxiv.org/abs/1905.10650. Both work on every model with attention layers.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.reading import Reading
from regard.attention.record import attention_layers
from regard.base.errors import UsageError, unknown

_AT_ONCE = 16
_POSITIONS = 2_048
"""so many positions, of all rows together, are computed at once: their logits must fit into memory"""
_QUICK = 2e10
"""multiplications that take about half a second"""


@contextmanager
def switched_off(model: nn.Module, heads: Mapping[str, Any]) -> Iterator[None]:
    """Set the outputs of some heads to zero: by layer, a list of heads, or for each row of a batch one head or None."""
    layers = attention_layers(model)
    for name in heads:
        if name not in layers:
            raise UsageError(unknown("layer", name, layers, "the model's attention layers"))
    with ExitStack() as stack:
        for name, chosen in heads.items():
            hook = layers[name].register_forward_hook(_zeroing(list(chosen)))
            stack.callback(hook.remove)
        yield


def _zeroing(chosen: list[Any]) -> Callable[..., Tensor]:
    by_row = any(one is None or isinstance(one, tuple) for one in chosen)

    def hook(reading: Reading, inputs: Any, output: Tensor) -> Tensor:
        count = output.shape[1]
        wanted = [head for one in chosen for head in (one if isinstance(one, tuple) else (one,)) if head is not None]
        if any(not 0 <= head < count for head in wanted):
            raise UsageError(f"attention: there is no head {max(wanted)}; the layer has heads 0 … {count - 1}")
        kept = output.new_ones(len(output), count)
        if by_row:
            share = len(output) // len(chosen)  # rows that a layer folds, such as tiles, lie together
            for row, one in enumerate(chosen):
                if one is not None:
                    kept[row * share : (row + 1) * share, list(one) if isinstance(one, tuple) else one] = 0
        else:
            kept[:, chosen] = 0
        return output * kept[:, :, None, None]

    return hook


def effects_take_long(model: nn.Module, heads: int, positions: int) -> bool:
    """Whether a run of the model without each of its heads takes more than a moment."""
    return heads * positions * sum(weight.numel() for weight in model.parameters()) > _QUICK


def head_effects(
    model: nn.Module,
    inputs: tuple[Tensor, ...],
    log_probability: Callable[[Any], Float[Tensor, "batch"]],
    *,
    run: Callable[..., Any] | None = None,
    layers: Collection[str] | None = None,
) -> dict[str, Float[Tensor, "heads"]]:
    """By layer, how much each head adds to the log-probability of the answer; `inputs` are a batch of one.

    `run` is what is called with the inputs, by default the model; `layers` are the names of those that are measured.
    """
    run = run or model
    heads = _head_counts(model, run, inputs, layers)
    at_once = max(1, min(_AT_ONCE, _POSITIONS // max(one.shape[-1] for one in inputs)))
    each = [(name, head) for name, count in heads.items() for head in range(count)]
    effects = {name: torch.zeros(count) for name, count in heads.items()}
    with torch.no_grad():
        whole = float(log_probability(run(*inputs))[0])
        for start in range(0, len(each), at_once):
            some = each[start : start + at_once]
            rows = {name: [(head,) if own == name else None for own, head in some] for name, _ in some}
            repeated = tuple(one.expand(len(some), *one.shape[1:]) for one in inputs)
            with switched_off(model, rows):
                found = log_probability(run(*repeated)).float().tolist()
            for (name, head), one in zip(some, found, strict=True):
                effects[name][head] = whole - one
    return effects


@contextmanager
def moved_lengths(
    model: nn.Module, layers: Collection[str] | None = None
) -> Iterator[dict[str, Float[Tensor, "batch heads key"]]]:
    """By layer, |W_O^h v_j| of the last call; times the weights it is how much each position adds (`moved_shares`)."""
    found: dict[str, Tensor] = {}
    modules = dict(model.named_modules())

    def measuring(name: str) -> Callable[..., None]:
        def hook(reading: Reading, inputs: tuple[Any, ...], settings: dict[str, Any], output: Tensor) -> None:
            call = reading.call(*inputs, **settings)
            value, heads = call.value, call.query.shape[1]
            value = value.repeat_interleave(heads // value.shape[1], dim=1)
            owner = modules[name]
            projection = getattr(owner, "output", None)
            if isinstance(projection, nn.Linear) and projection.in_features == heads * value.shape[-1]:
                each = projection.weight.unflatten(1, (heads, -1))  # [width, heads, value width]
                gram = torch.einsum("whd,whe->hde", each, each)  # |W v|² = vᵀ WᵀW v, without vectors of the full width
                length = torch.einsum("bhkd,hde,bhke->bhk", value, gram.to(value), value).clamp(min=0).sqrt()
            else:
                length = value.norm(dim=-1)
            found[name] = length.detach()

        return hook

    handles = [
        layer.register_forward_hook(measuring(name), with_kwargs=True)
        for name, layer in attention_layers(model).items()
        if layers is None or name in layers
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def moved_shares(
    weights: Float[Tensor, "heads query key"], lengths: Float[Tensor, "heads key"]
) -> Float[Tensor, "heads query key"]:
    """What each position adds, w_ij · |W_O^h v_j|, as a share of what its row adds: rows sum to one, as weights do."""
    moved = weights * lengths[:, None, :]
    return moved / moved.sum(-1, keepdim=True).clamp(min=1e-12)


def _head_counts(
    model: nn.Module, run: Callable[..., Any], inputs: tuple[Tensor, ...], layers: Collection[str] | None
) -> dict[str, int]:
    with moved_lengths(model, layers) as found, torch.no_grad():
        run(*inputs)
    if not found:
        raise UsageError("inspect: this model has no attention heads")
    return {name: length.shape[1] for name, length in found.items()}
