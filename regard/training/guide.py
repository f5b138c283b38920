r"""Guided attention: some attention heads learn given alignment links between source and target during training.

    loss = cross-entropy + weight · (-1/|J|) Σ_h Σ_t Σ_s G[t, s] · log A_h[t + shift, s] / |heads|

G are the given links, each row divided by its sum; rows without links add no loss. J are the batch's target tokens,
and A_h are the attention weights of head h. Row t of the decoder reads target token t-1 and predicts token t. With
shift 0, row t learns the links of token t, which it predicts; with shift 1, row t+1 learns them, which has read token
t: that is easier to learn and closer to the links, but does not show how the token was found.

Chen et al., Guided Alignment Training for Topic-Aware Neural Machine Translation, 2016,
https://arxiv.org/abs/1607.01628; one head of the layer before the last: Garg et al., 2019,
https://arxiv.org/abs/1909.02074; the row that has read the token: Chen et al., 2020, https://arxiv.org/abs/2004.14837
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.attention.record import attention_layers, watch
from regard.base.errors import ConfigError, UsageError, unknown
from regard.data.link_store import LinkUnit
from regard.data.pairs import Batch
from regard.models.writer import Writer
from regard.training.loss import Loss, Objective


@dataclass(frozen=True, kw_only=True)
class Guide:
    """Settings of guided attention: which attention heads learn which alignment links."""

    links: Path
    """a file in Pharaoh format with one line per training pair, or `eflomal` to compute the links"""
    unit: LinkUnit = "word"
    """whether the links count words or characters"""
    layer: str | None = None
    """the cross-attention layer that learns; by default the last but one"""
    heads: tuple[int, ...] = (0,)
    """the numbers of the attention heads that learn, from 0"""
    weight: float = 0.05
    """factor of the guiding loss, which is added to the cross-entropy"""
    shift: Literal[0, 1] = 1
    """0: the row that predicts a target token learns its links; 1: the row that has read it"""

    def __post_init__(self) -> None:
        if not self.heads or len(set(self.heads)) < len(self.heads) or min(self.heads) < 0:
            raise ConfigError(f"guide: heads must be the numbers of one head or more, but are {list(self.heads)}")
        if self.weight <= 0:
            raise ConfigError(
                f"guide: weight must be more than 0, but is {self.weight}; without it, leave the table out"
            )

    def layer_of(self, model: nn.Module) -> str:
        """The name of the cross-attention layer that learns, checked against the model."""
        names = [name for name in attention_layers(model) if name.endswith("cross")]
        if not names:
            raise UsageError("training.guide: the model has no cross-attention that alignment links could guide")
        if self.layer is None:
            return names[-2:][0]
        if self.layer not in names:
            raise ConfigError(unknown("training.guide.layer", self.layer, names, "the model's cross-attention layers"))
        return self.layer

    def alignment(self, model: nn.Module) -> dict[str, Any]:
        """The entry of the model file that names the heads to read alignments from."""
        layer = self.layer_of(model)
        return {"heads": [[layer, head] for head in self.heads], "shift": self.shift, "measure": "guided"}


@dataclass(frozen=True)
class Guided:
    """A loss plus the guiding loss: the cross-entropy between the chosen heads and the batch's links."""

    loss: Objective
    guide: Guide

    def __call__(self, model: Writer, item: Batch) -> Loss:
        if item.links is None:
            return self.loss(model, item)
        layer = self.guide.layer_of(model)
        with watch(model, {layer: self.guide.heads}) as seen:
            loss = self.loss(model, item)
        weights = torch.cat(seen[layer], dim=2)  # one call for all rows, or one call per step
        return replace(loss, total=loss.total + self.guide.weight * distance(weights, item.links, self.guide.shift))


def distance(
    weights: Float[Tensor, "batch heads target source"], links: Int64[Tensor, "links 3"], shift: int = 0
) -> Float[Tensor, ""]:
    """-Σ_t Σ_s G[t, s] log A[t + shift, s] over all pairs, the mean over heads; `links` are (pair, target, source)."""
    pair, target, source = links.unbind(1)
    row = pair * weights.shape[2] + target
    share = 1 / torch.bincount(row, minlength=weights.shape[0] * weights.shape[2])[row]
    found = weights[pair, :, target + shift, source].float()
    logs = found.clamp(min=torch.finfo(found.dtype).tiny).log()
    return -(share * logs.mean(1)).sum()
