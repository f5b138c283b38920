"""ViT, the vision Transformer: patches of a picture are read like the words of a text.

    x_0 = class token,  x_n = W patch_n + b;  x ← block(x + p), each patch seeing all;  logits = V norm(x)_0 + c

Dosovitskiy et al., An Image Is Worth 16x16 Words, 2021, https://arxiv.org/abs/2010.11929. Learned positions, pre-norm,
GELU. The sizes tiny and small: Touvron et al., DeiT, 2021, https://arxiv.org/abs/2012.12877.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from regard.attention.part import Sizes, positions_of
from regard.attention.position import POSITIONS, Position, sinusoid
from regard.base.errors import ConfigError
from regard.layers.activation import Activation
from regard.layers.dropout import Dropout
from regard.layers.embedding import split_positions
from regard.layers.mixer import View
from regard.layers.patching import PatchEmbedding
from regard.layers.residual import deepnorm
from regard.models.headed import Pooling, pool
from regard.models.layered import Layered
from regard.models.model import Encoder, weights_in
from regard.models.pictured import (
    PICTURE_SIZES,
    GridSight,
    PictureModel,
    check_picture,
    class_layer,
    refuse_questions,
    whole_grid,
)

_STD = 0.02


@dataclass(frozen=True, kw_only=True)
class Vit(Layered):
    """Settings of a vision Transformer.

    | preset | layers | width | heads | patch | from                                    |
    |--------|--------|-------|-------|-------|-----------------------------------------|
    | digits | 4      | 64    | 4     | 2     | for pictures of 8 × 8 pixels            |
    | mini   | 6      | 96    | 4     | 4     | for pictures of 28 × 28 or 32 × 32      |
    | tiny   | 12     | 192   | 3     | 16    | Touvron et al., 2021 (Ti/16)            |
    | small  | 12     | 384   | 6     | 16    | Touvron et al., 2021 (S/16)             |
    | base   | 12     | 768   | 12    | 16    | Dosovitskiy et al., 2021 (B/16)         |
    | large  | 24     | 1024  | 16    | 16    | Dosovitskiy et al., 2021 (L/16)         |
    """

    layers: int = 6
    """the number of layers"""
    patch: int = 4
    """the side of a patch in pixels; it must divide the picture's height and width"""
    width: int = 96
    heads: int = 4
    positions: Annotated[Any, POSITIONS] = None
    """further positions, by the number of the token: those inside attention, such as rotary, or sinusoidal ones"""
    patch_positions: Literal["learned", "waves", "none"] = "learned"
    """learned position embeddings: a vector is added to the class token and to each patch; waves: the same, but those
    of patches are initialized as 2-D sinusoids of row and column, by which a small model learns in far fewer steps"""
    pooling: Pooling = "first"
    """what the class is told from: the class token (first), or the mean or maximum of all features"""
    activation: Activation = "gelu"
    norm_epsilon: float | None = 1e-12
    dropout: float = 0.0

    views: ClassVar[tuple[View, ...]] = ("both",)
    needs: ClassVar[tuple[str, ...]] = PICTURE_SIZES
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {"layers": 4, "width": 64, "heads": 4, "patch": 2, "feedforward": 128, "stochastic_depth": 0.1},
        "mini": {"layers": 6, "width": 96, "heads": 4, "patch": 4, "feedforward": 192, "stochastic_depth": 0.1},
        "tiny": {"layers": 12, "width": 192, "heads": 3, "patch": 16},
        "small": {"layers": 12, "width": 384, "heads": 6, "patch": 16},
        "base": {"layers": 12, "width": 768, "heads": 12, "patch": 16},
        "large": {"layers": 24, "width": 1024, "heads": 16, "patch": 16},
    }

    def build(self, sizes: Mapping[str, int]) -> "VitModel":
        refuse_questions(sizes, self.where)
        return VitModel(self, *self.sizes_from(sizes))

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """The rows and columns of patches in a picture of this size."""
        if height % self.patch or width % self.patch:
            fitting = [size for size in range(1, min(height, width) + 1) if not height % size and not width % size]
            raise ConfigError(
                f"{self.where}.patch: {self.patch} does not divide pictures of {height} × {width} pixels; "
                f"those that do are: {', '.join(map(str, fitting))}"
            )
        return height // self.patch, width // self.patch

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        tokens = 1 + model.rows * model.columns
        return 0.0, tokens * (weights_in(model.embedding, model.encoder) + self.pairs(tokens) * self.layers)


class PatchEncoder(Encoder):
    """The class token, patches with positions, and the layers: what a ViT has before its head."""

    def __init__(self, design: Vit, channels: int, height: int, width: int) -> None:
        super().__init__()
        self.shape = channels, height, width
        self.rows, self.columns = design.grid(height, width)
        self.embedding = PatchEmbedding(channels, design.width, design.patch)
        self.class_token = nn.Parameter(torch.empty(1, 1, design.width).normal_(std=_STD))
        tokens = 1 + self.rows * self.columns
        learned = nn.Parameter(torch.empty(1, tokens, design.width).normal_(std=_STD))
        if design.patch_positions == "waves":
            learned.data[0, 1:] = grid_waves(self.rows, self.columns, design.width)
        self.positions = None if design.patch_positions == "none" else learned
        first, _ = split_positions(design.positions, f"{design.where}.positions")
        plain = dict.fromkeys(("width", "query_width", "key_width", "value_width"), design.width)
        self.further: Position = Position() if first is None else first.build(Sizes(heads=1, key_heads=1, **plain))
        if self.further.widened(0, "input"):
            raise ConfigError(f"{design.where}.positions: they are added to patches, so join must be 'add'")
        self.dropout = Dropout(design.dropout)
        self.encoder = design.stack(design.layers, "both", deepnorm(design.layers))
        self.where = design.where

    def embed(self, pictures: Tensor) -> Float[Tensor, "batch tokens features"]:
        """The class token and the patches, with their positions."""
        check_picture(pictures, *self.shape, self.where)
        x = torch.cat([self.class_token.expand(len(pictures), -1, -1), self.embedding(pictures)], dim=1)
        x = x if self.positions is None else x + self.positions
        return self.further.place(x, positions_of(x.shape[1], x), "input")

    def encode(
        self, pictures: Float[Tensor, "batch channels height width"]
    ) -> tuple[Float[Tensor, "batch tokens features"], Bool[Tensor, "batch tokens"]]:
        """The features of the class token and of each patch, row by row."""
        features = self.encoder(self.dropout(self.embed(pictures)))
        return features, torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)


def grid_waves(rows: int, columns: int, width: int) -> Float[Tensor, "cells width"]:
    """Sinusoids of each cell's row, in the first half of the width, and of its column, cell by cell.

    He et al., MAE, 2021, https://arxiv.org/abs/2111.06377, and Beyer et al., 2022, https://arxiv.org/abs/2205.01580,
    keep them fixed. Waves are no longer than a few pictures: their base is twice the longer side of the grid.
    """
    half, base = width // 2, 2.0 * max(rows, columns, 1)
    down = sinusoid(torch.arange(rows), half, base)[:, None].expand(-1, columns, -1)
    right = sinusoid(torch.arange(columns), width - half, base)[None].expand(rows, -1, -1)
    return torch.cat([down, right], dim=-1).flatten(0, 1)


class VitModel(PatchEncoder, PictureModel):
    """Patches, encoder layers and head."""

    def __init__(self, design: Vit, channels: int, height: int, width: int, classes: int) -> None:
        super().__init__(design, channels, height, width)
        self.pooling = design.pooling
        self.head = class_layer(design.width, classes)

    def forward(
        self,
        pictures: Float[Tensor, "batch channels height width"],
        questions: Float[Tensor, "asked question"] | None = None,
        which: Int64[Tensor, "asked"] | None = None,
    ) -> Float[Tensor, "batch classes"]:
        logits: Tensor = self.head(pool(self.pooling, *self.encode(pictures)))
        return logits

    def sight(self, layer: str) -> GridSight:
        return whole_grid(self.rows, self.columns, before=1)
