r"""Attention that is told where to look: heads are taught links between source and target while the model learns.

    loss = cross-entropy + weight · (-1/|J|) Σ_h Σ_t Σ_s G[t, s] · log A_h[t + shift, s] / |heads|

G are the given links, each row divided by its sum; rows without links teach nothing. J are the step's target tokens,
and A_h is what head h gives to source token s. A row of the decoder reads target token t-1 and writes token t. With
shift 0 it is taught where token t comes from before it is written; with shift 1 the row after it is, which has read
the token: that is easier to learn and closer to the links, but tells nothing of how the token was found.

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
from regard.models.model import Model
from regard.training.loss import Loss, Objective


@dataclass(frozen=True, kw_only=True)
class Guide:
    """Which heads learn which links."""

    links: Path
    """a file in the Pharaoh format, a line for each line of the training text; or `eflomal`, which then makes them"""
    unit: LinkUnit = "word"
    """what the links count"""
    layer: str | None = None
    """the attention over the source that learns; the last but one unless set"""
    heads: tuple[int, ...] = (0,)
    weight: float = 0.05
    """of the links beside the cross-entropy"""
    shift: Literal[0, 1] = 1
    """0: the row that writes a target token learns its links; 1: the row that has read it"""

    def __post_init__(self) -> None:
        if not self.heads or len(set(self.heads)) < len(self.heads) or min(self.heads) < 0:
            raise ConfigError(f"guide: heads must be the numbers of one head or more, but are {list(self.heads)}")
        if self.weight <= 0:
            raise ConfigError(
                f"guide: weight must be more than 0, but is {self.weight}; without it, leave the table out"
            )

    def layer_of(self, model: nn.Module) -> str:
        """The name of the layer that learns, which the model must have."""
        names = [name for name in attention_layers(model) if name.endswith("cross")]
        if not names:
            raise UsageError("training.guide: the model has no attention over its source that links could guide")
        if self.layer is None:
            return names[-2:][0]
        if self.layer not in names:
            raise ConfigError(
                unknown("training.guide.layer", self.layer, names, "the model's attentions over its source")
            )
        return self.layer

    def alignment(self, model: nn.Module) -> dict[str, Any]:
        """What the model file says of the heads that show its alignments."""
        layer = self.layer_of(model)
        return {"heads": [[layer, head] for head in self.heads], "shift": self.shift, "measure": "guided"}


@dataclass(frozen=True)
class Guided:
    """The loss of a model on a batch, and how far its heads are from the batch's links."""

    loss: Objective
    guide: Guide

    def __call__(self, model: Model, item: Batch) -> Loss:
        if item.links is None:
            return self.loss(model, item)
        layer = self.guide.layer_of(model)
        with watch(model, {layer: self.guide.heads}) as seen:
            loss = self.loss(model, item)
        weights = torch.cat(seen[layer], dim=2)  # all rows at once, or one call for each step
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
