"""CLIP: pictures and texts in one space, where a picture is near its own caption.

    s_ij = exp(t) · cos(W p_i, V q_j),  p the pooled features of a picture (a ViT), q those of a text (a Transformer)

Radford et al., 2021, https://arxiv.org/abs/2103.00020; the loss is `partner_loss` in `training/contrast_loss.py`. With
`cross_layers`, further layers read a text beside a picture, each word looking at the patches by cross-attention, and
tell whether they belong together: image-text matching, Li et al., ALBEF, 2021, https://arxiv.org/abs/2107.07651.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.base.errors import check_at_least
from regard.layers.initialize import normal
from regard.layers.residual import deepnorm
from regard.models.bert import Bert, BertModel
from regard.models.headed import pool
from regard.models.layered import Layered
from regard.models.model import Model, weights_in
from regard.models.pictured import PICTURE_SIZES, refuse_questions
from regard.models.vit import PatchEncoder, Vit

_STD = 0.02
_FIRST, _MOST = 1 / 0.07, 100.0
"""exp(t) at first, and at most: so in the paper"""


@dataclass(frozen=True, kw_only=True)
class Clip(Vit):
    """Settings of a pair of towers: those of the pictures', a ViT, which the texts' shares; and of what joins them.

    | preset  | layers | text_layers | width | patch | vector | for                            |
    |---------|--------|-------------|-------|-------|--------|--------------------------------|
    | sprites | 3      | 2           | 64    | 4     | 64     | pictures of 16 × 16 pixels     |
    | base    | 12     | 12          | 512   | 16    | 512    | about ViT-B/16 of the paper    |
    """

    text_layers: int = 2
    """the number of layers of the texts' tower"""
    vector: int = 64
    """the width of the space that pictures and texts share"""
    longest: int = 128
    """the most tokens of a text, which have learned positions"""
    cross_layers: int | None = None
    """the layers in which a text looks at a picture, to tell whether they match; none: there are only the two towers"""

    needs: ClassVar[tuple[str, ...]] = ("text", *PICTURE_SIZES[:3])
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "sprites": {"layers": 3, "width": 64, "heads": 4, "patch": 4, "feedforward": 128, "pooling": "mean"},
        "base": {"layers": 12, "text_layers": 12, "width": 512, "heads": 8, "patch": 16, "vector": 512},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least(self.where, 1, cross_layers=1 if self.cross_layers is None else self.cross_layers)

    def build(self, sizes: Mapping[str, int]) -> "ClipModel":  # type: ignore[override]
        refuse_questions(sizes, self.where)
        return ClipModel(self, *self.sizes_from(sizes))

    def tower(self) -> Bert:
        """The settings of the texts' tower: layers like those of the pictures."""
        shared = {own.name: getattr(self, own.name) for own in fields(Layered) if own.name != "positions"}
        positions = f"learned({self.longest})"
        return Bert(**shared, layers=self.text_layers, positions=positions, segments=None, pooling="mean")

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        patches = 1 + model.pictures.rows * model.pictures.columns
        seen = patches * (weights_in(model.pictures) + self.pairs(patches) * self.layers)
        return 0.0, seen / max(1.0, length) + weights_in(model.texts.encoder) + self.pairs(length) * self.text_layers


class ClipModel(Model):
    """The towers `pictures` and `texts`, a projection of each, the scale, and layers that read both."""

    def __init__(self, design: Clip, vocabulary: int, channels: int, height: int, width: int) -> None:
        super().__init__()
        self.pictures = PatchEncoder(design, channels, height, width)
        self.texts: BertModel = design.tower().build({"text": vocabulary, "vector": 1})
        self.pooling = design.pooling
        self.picture_projection = nn.Linear(design.width, design.vector, bias=False)
        self.text_projection = nn.Linear(design.width, design.vector, bias=False)
        for linear in (self.picture_projection, self.text_projection):
            nn.init.normal_(linear.weight, std=design.width**-0.5)
        self.log_scale = nn.Parameter(torch.tensor(math.log(_FIRST)))
        layers = design.cross_layers
        self.cross = None if layers is None else design.tower().stack(layers, "both", deepnorm(layers), reads=True)
        self.judge = None if layers is None else nn.Linear(design.width, 1)
        if self.cross is not None and self.judge is not None and design.residual_scale != "deepnorm":
            normal(self.cross, _STD)
            normal(self.judge, _STD)

    @property
    def scale(self) -> Float[Tensor, ""]:
        """exp(t), by which cosines are multiplied."""
        return self.log_scale.clamp(max=math.log(_MOST)).exp()

    def of_pictures(self, features: Tensor, keep: Tensor) -> Float[Tensor, "batch vector"]:
        """The vectors of pictures, of length 1, from the features of their patches."""
        return F.normalize(self.picture_projection(pool(self.pooling, features, keep)), dim=-1)

    def of_texts(self, features: Tensor, keep: Tensor) -> Float[Tensor, "batch vector"]:
        """The vectors of texts, of length 1, from the features of their tokens."""
        return F.normalize(self.text_projection(pool("mean", features, keep)), dim=-1)

    def forward(
        self, pictures: Float[Tensor, "pictures channels height width"], *texts: Int[Tensor, "..."]
    ) -> Float[Tensor, "pictures texts"]:
        """s: how well each picture goes with each text."""
        seen, read = self.pictures.encode(pictures), self.texts.encode(*texts)
        return self.scale * self.of_pictures(*seen) @ self.of_texts(*read).T

    def matched(
        self,
        seen: Float[Tensor, "pairs patches width"],
        read: Float[Tensor, "pairs length width"],
        keep: Bool[Tensor, "pairs length"],
    ) -> Float[Tensor, "pairs"]:
        """The logit that each text belongs to the picture beside it; each of its words looks at the patches."""
        if self.cross is None or self.judge is None:
            raise ValueError("clip: was built without cross_layers")
        both = self.cross(read, keep=keep[:, None, None], source=seen)
        logits: Tensor = self.judge(pool("mean", both, keep))[:, 0]
        return logits
