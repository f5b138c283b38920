"""Teacher forcing on a given translation, with attention weights and log-probabilities recorded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.record import attention_layers, record
from regard.data.pairs import collate
from regard.data.subwords.tokenizer import BOS, PAD, UNK
from regard.decoding.scorer import evaluating, log_mean
from regard.models.writer import Writer


@dataclass(frozen=True, eq=False)
class Forced:
    """What was recorded for one pair, both sides with their `</s>`."""

    layers: dict[str, Float[Tensor, "heads target source"]]
    """the weights of each attention over the source, by the layer's name"""
    log_probabilities: Float[Tensor, "target vocabulary"]
    """log p(· | y_1 … y_(t-1), source) at each position"""


def force(models: Sequence[Writer], source: Sequence[int], target: Sequence[int]) -> Forced:
    """Run one or several models on a pair with teacher forcing; the ids of both sides end in `</s>`.

    From the second model on, the names of layers have its number in front, as in `2:decoder.cross`. A layer that does
    not attend to single source tokens, because its memory compresses them, is left out.
    """
    batch = collate([np.array(source)], [np.array(target)]).to(next(models[0].parameters()).device)
    given = (batch.source, batch.source_lengths, batch.target_in)
    layers: dict[str, Tensor] = {}
    distributions = []
    with evaluating(models):
        for number, model in enumerate(models, start=1):
            prefix = f"{number}:" if number > 1 else ""
            if not any(name.endswith("cross") for name in attention_layers(model)):
                distributions.append(model(*given).float().log_softmax(-1))
                continue
            with record(model, "*cross") as seen:
                distributions.append(model(*given).float().log_softmax(-1))
            for name, calls in seen.items():
                weights = torch.cat(calls, dim=2)[0].float().cpu()  # all rows at once, or one call for each step
                if weights.shape[1:] == (len(target), len(source)):
                    layers[prefix + name] = weights
        mean = log_mean(distributions)[0].cpu()
    return Forced(layers, mean)


def entropy(weights: Float[Tensor, "*heads target source"]) -> Float[Tensor, "*heads"]:
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
