"""Scoring of given outputs by teacher forcing."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.subwords.tokenizer import PAD
from regard.decoding.scorer import Scorer, evaluating, log_mean
from regard.models.writer import Writer


def score_tokens(
    models: Writer | Sequence[Writer],
    source: Int[Tensor, "sentences source"] | None,
    source_lengths: Int[Tensor, "sentences"] | None,
    target: Int[Tensor, "sentences target"],
    target_lengths: Int[Tensor, "sentences"],
) -> Float[Tensor, "sentences target"]:
    """log p(y_t | y_1 … y_(t-1), source) of each target token, by teacher forcing; 0 at padding.

    Targets have no `<s>`, and end in `</s>` (counted in their lengths) if it is to be scored too. Several models are
    an ensemble.
    """
    real = torch.arange(target.shape[1], device=target.device) < target_lengths[:, None]
    scorer = Scorer(models)
    first = torch.full_like(target[:, :1], scorer.first)
    read = torch.cat([first, target[:, :-1]], 1).masked_fill(~real, PAD)
    with evaluating(scorer.models):
        scores = [log_probabilities(model(source, source_lengths, read).float(), target) for model in scorer.models]
        return log_mean(scores).masked_fill(~real, 0.0)


def log_probabilities(logits: Tensor, target: Tensor) -> Tensor:
    """The log-probability of each target token under its logits."""
    return logits.gather(2, target[:, :, None])[:, :, 0] - logits.logsumexp(-1)
