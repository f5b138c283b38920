"""Teacher forcing on a given translation, with attention weights and log-probabilities recorded."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.record import attention_layers, watch
from regard.data.pairs import collate
from regard.data.subwords.tokenizer import BOS, PAD, UNK
from regard.decoding.scorer import evaluating, log_mean
from regard.inspection.explanation.copied import Copied, copied_tokens, mean_of
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
) -> Forced:
    """Run one or several models on a pair with teacher forcing; the ids of both sides end in `</s>`.

    From the second model on, the names of layers have its number in front, as in `2:decoder.cross`. A layer that does
    not attend to single tokens, because its memory compresses them, is left out. The query of a row of decoder
    self-attention is the token before the one that is predicted: its keys are `<s>` and the target without `</s>`.
    """
    batch = collate([np.array(source)], [np.array(target)]).to(next(models[0].parameters()).device)
    given = (batch.source, batch.source_lengths, batch.target_in)
    sizes = {"cross": (len(target), len(source)), "encoder": (len(source),) * 2, "decoder": (len(target),) * 2}
    attention: dict[AttentionKind, dict[str, Tensor]] = {kind: {} for kind in ATTENTION_KINDS}
    distributions, mixtures = [], []
    with evaluating(models):
        for number, model in enumerate(models, start=1):
            prefix = f"{number}:" if number > 1 else ""
            wanted = [name for name in attention_layers(model) if attention_kind(name) in kinds]
            with watch(model, dict.fromkeys(wanted), within=torch.no_grad) as seen:
                hidden = model.hidden(*given)
                distributions.append(model.output(hidden).float().log_softmax(-1))
            if isinstance(model.output, PointerGenerator):
                mixtures.append(copied_tokens(model.output, hidden[0], batch.target_out[0]))
            for name, calls in seen.items():
                weights = torch.cat(calls, dim=2)[0].float().cpu()  # all rows at once, or one call for each step
                if weights.shape[1:] == sizes[attention_kind(name)]:
                    attention[attention_kind(name)][prefix + name] = weights
        mean = log_mean(distributions)[0].cpu()
    return Forced(attention, mean, mean_of(mixtures))


def entropy(weights: Float[Tensor, "*heads query key"]) -> Float[Tensor, "*heads"]:
    """Attention entropy in bits: the mean over a head's rows of H(w) = -Σ_j w_j log₂ w_j, rows normalized to 1.

    0 bits: one token at a time. log₂ n bits: all n tokens alike.
    """
    shares = weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
    return -torch.special.xlogy(shares, shares).sum(-1).mean(-1) / np.log(2)


def likeliest(log_probabilities: Float[Tensor, "vocabulary"], count: int, without: int) -> Iterator[tuple[int, float]]:
    """The likeliest `count` tokens except one, the best first, without tokens that are never output."""
    chances = log_probabilities.clone()
    chances[[PAD, UNK, BOS, without]] = -torch.inf
    values, numbers = chances.topk(min(count, len(chances)))
    for number, value in zip(numbers.tolist(), values.tolist(), strict=True):
        if value > -float("inf"):
            yield number, value
