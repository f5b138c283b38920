"""Teacher forcing on a given translation, with attention weights and log-probabilities recorded."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.record import attention_layers, watch
from regard.data.pairs import collate
from regard.data.subwords.tokenizer import BOS, PAD, UNK
from regard.decoding.scorer import evaluating, log_mean
from regard.inspection.explanation.copied import Copied, copied_tokens, mean_of
from regard.inspection.explanation.head_effects import effects_take_long, head_effects, moved_lengths, moved_shares
from regard.layers.pointer_generator import PointerGenerator
from regard.models.writer import Writer

AttentionKind = Literal["cross", "encoder", "decoder"]
"""cross-attention, from target to source; self-attention of the encoder; self-attention of the decoder"""
ATTENTION_KINDS: tuple[AttentionKind, ...] = ("cross", "encoder", "decoder")


@dataclass(frozen=True, eq=False)
class Forced:
    """What was recorded for one pair, both sides with their `</s>`."""

    attention: dict[AttentionKind, dict[str, Float[Tensor, "heads query key"]]]
    """the weights of each attention layer by its name, of the kinds that were asked for"""
    log_probabilities: Float[Tensor, "target vocabulary"]
    """log p(· | y_1 … y_(t-1), source) at each position"""
    copies: tuple[Copied, ...] = ()
    """how each target token came about, if the models copy words of the source"""
    moved: dict[str, Tensor] = field(default_factory=dict)
    """by layer, what the weights move, in the shape of the weights (`moved_shares`)"""
    effects: dict[str, Tensor] = field(default_factory=dict)
    """by layer, what each head adds to the log-probability of the target; empty where it was not measured"""

    @property
    def layers(self) -> dict[str, Float[Tensor, "heads target source"]]:
        """The weights of each cross-attention layer."""
        return self.attention["cross"]


def attention_kind(layer: str) -> AttentionKind:
    """The kind of an attention layer, by its name."""
    if layer.rpartition(".")[2] == "cross":
        return "cross"
    return "encoder" if layer.rpartition(":")[2].startswith("encoder") else "decoder"


def attention_kinds(model: Writer) -> tuple[AttentionKind, ...]:
    """The kinds of attention that a model has."""
    found = set(map(attention_kind, attention_layers(model)))
    return tuple(kind for kind in ATTENTION_KINDS if kind in found)


def force(
    models: Sequence[Writer],
    source: Sequence[int],
    target: Sequence[int],
    kinds: Collection[AttentionKind] = ATTENTION_KINDS[:1],
    effects: bool | None = False,
) -> Forced:
    """Run one or several models on a pair with teacher forcing; the ids of both sides end in `</s>`.

    From the second model on, the names of layers have its number in front, as in `2:decoder.cross`. A layer that does
    not attend to single tokens, because its memory compresses them, is left out. The query of a row of decoder
    self-attention is the token before the one that is predicted: its keys are `<s>` and the target without `</s>`.
    `effects` measures each head by the target's log-probability without it; None: unless that takes long.
    """
    batch = collate([np.array(source)], [np.array(target)]).to(next(models[0].parameters()).device)
    given = (batch.source, batch.source_lengths, batch.target_in)
    sizes = {"cross": (len(target), len(source)), "encoder": (len(source),) * 2, "decoder": (len(target),) * 2}
    attention: dict[AttentionKind, dict[str, Tensor]] = {kind: {} for kind in ATTENTION_KINDS}
    distributions, mixtures = [], []
    moved: dict[str, Tensor] = {}
    measured: dict[str, Tensor] = {}
    with evaluating(models):
        for number, model in enumerate(models, start=1):
            prefix = f"{number}:" if number > 1 else ""
            wanted = [name for name in attention_layers(model) if attention_kind(name) in kinds]
            watching = watch(model, dict.fromkeys(wanted), within=torch.no_grad)
            with watching as seen, moved_lengths(model, wanted) as lengths:
                hidden = model.hidden(*given)
                distributions.append(model.output(hidden).float().log_softmax(-1))
            if isinstance(model.output, PointerGenerator):
                mixtures.append(copied_tokens(model.output, hidden[0], batch.target_out[0]))
            for name, calls in seen.items():
                weights = torch.cat(calls, dim=2)[0].float().cpu()  # all rows at once, or one call for each step
                if weights.shape[1:] == sizes[attention_kind(name)]:
                    attention[attention_kind(name)][prefix + name] = weights
                    moved[prefix + name] = moved_shares(weights, lengths[name][0].float().cpu())
        if moved and effects is not False:
            chances = [one[0].gather(1, batch.target_out[0][:, None])[:, 0] for one in distributions]
            measured = target_effects(models, given, batch.target_out, chances, moved, always=bool(effects))
        mean = log_mean(distributions)[0].cpu()
    return Forced(attention, mean, mean_of(mixtures), moved, measured)


def target_effects(
    models: Sequence[Writer],
    given: tuple[Any, ...],
    target: Int[Tensor, "1 length"],
    chances: Sequence[Float[Tensor, "length"]],
    layers: Mapping[str, Tensor],
    always: bool,
) -> dict[str, Float[Tensor, "heads"]]:
    """What each head of some layers adds to the log-probability that all models together give a target.

    `given` are the source, its lengths and the target before each token; the source of a language model is None.
    `chances` are the log-probabilities that each model gives the target's tokens; only the last rows of a longer
    `given` predict it.
    """
    found: dict[str, Tensor] = {}
    inputs = tuple(one for one in given if one is not None)
    missing, length = given[: len(given) - len(inputs)], target.shape[1]
    for number, model in enumerate(models, start=1):
        prefix = f"{number}:" if number > 1 else ""
        own = [name for name in attention_layers(model) if prefix + name in layers]
        heads = sum(len(layers[prefix + name]) for name in own)
        if not own or (not always and effects_take_long(model, heads, sum(one.shape[-1] for one in inputs))):
            continue
        others = [one for at, one in enumerate(chances, start=1) if at != number]

        def log_probability(hidden: Tensor, model: Writer = model, others: list[Tensor] = others) -> Tensor:
            logits = model.output(hidden[:, -length:]).float()
            chosen = logits.log_softmax(-1).gather(2, target.expand(len(logits), -1)[:, :, None])[:, :, 0]
            every = torch.stack([chosen, *(one.expand_as(chosen) for one in others)])
            return (every.logsumexp(0) - math.log(len(every))).sum(-1)

        run = partial(model.hidden, *missing)
        measured = head_effects(model, inputs, log_probability, run=run, layers=own)
        found |= {prefix + name: effects for name, effects in measured.items()}
    return found


def likeliest(log_probabilities: Float[Tensor, "vocabulary"], count: int, without: int) -> Iterator[tuple[int, float]]:
    """The likeliest `count` tokens except one, the best first, without tokens that are never output."""
    chances = log_probabilities.clone()
    chances[[PAD, UNK, BOS, without]] = -torch.inf
    values, numbers = chances.topk(min(count, len(chances)))
    for number, value in zip(numbers.tolist(), values.tolist(), strict=True):
        if value > -float("inf"):
            yield number, value
