"""Swin: a Transformer of pictures whose attention stays within tiles, which every second layer shifts.

    x = norm(W patch + b);  in each stage x ← block(x), tiles and shifted tiles by turns;
    between stages four neighbors merge, x ← R norm([x₁; x₂; x₃; x₄]), twice as wide;  logits = V mean(norm(x)) + c

Liu et al., Swin Transformer: Hierarchical Vision Transformer using Shifted Windows, 2021,
https://arxiv.org/abs/2103.14030 (version 1). Attention costs time linear in the number of pixels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from regard.attention.multihead import Attention
from regard.attention.positions.grid import GridTable, neighbor_bias
from regard.base.errors import ConfigError
from regard.layers.activation import Activation
from regard.layers.block import Block
from regard.layers.dropout import Dropout, check_share
from regard.layers.feeds.plain import Plain
from regard.layers.patching import PatchEmbedding
from regard.layers.residual import Residual
from regard.layers.tiled_attention import TiledAttention, TiledMixing
from regard.models.model import Design, weights_in
from regard.models.pictured import (
    PICTURE_SIZES,
    GridSight,
    PictureModel,
    check_picture,
    class_layer,
    refuse_questions,
)

_EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True)
class Swin(Design):
    """Settings of a Swin Transformer.

    | preset | width | layers       | heads         | tile | patch | from                     |
    |--------|-------|--------------|---------------|------|-------|--------------------------|
    | digits | 48    | 2, 2         | 3, 6          | 4    | 1     | for pictures of 8 × 8    |
    | mini   | 48    | 2, 4         | 3, 6          | 7    | 2     | for pictures of 28 × 28  |
    | tiny   | 96    | 2, 2, 6, 2   | 3, 6, 12, 24  | 7    | 4     | Liu et al., 2021 (T)     |
    | small  | 96    | 2, 2, 18, 2  | 3, 6, 12, 24  | 7    | 4     | Liu et al., 2021 (S)     |
    | base   | 128   | 2, 2, 18, 2  | 4, 8, 16, 32  | 7    | 4     | Liu et al., 2021 (B)     |
    | large  | 192   | 2, 2, 18, 2  | 6, 12, 24, 48 | 7    | 4     | Liu et al., 2021 (L)     |
    """

    patch: int = 2
    """the side of a patch in pixels"""
    width: int = 48
    """the width of the first stage; each stage is twice as wide as the one before"""
    stage_layers: tuple[int, ...] = (2, 2)
    """the number of layers of each stage"""
    stage_heads: tuple[int, ...] = (3, 6)
    """the number of attention heads of each stage"""
    tile: int = 4
    """the side of a tile (window), in cells of its stage"""
    feedforward_ratio: float = 4.0
    """how many times wider than its stage the feed-forward layers are inside"""
    activation: Activation = "gelu"
    """the nonlinearity of the feed-forward layers"""
    norm_epsilon: float = _EPSILON
    """what the norms of layers add to the variance"""
    dropout: float = 0.0
    """applies to patches and to each branch"""
    attention_dropout: float = 0.0
    """dropout of attention weights"""
    stochastic_depth: float = 0.1
    """the probability of skipping the last layer's branches in training; it rises linearly from 0 in the first"""

    relative_bias: Literal["random", "neighbors"] = "random"
    """how the relative position bias is initialized: near zero (random), or so that each head attends to another
    neighbor at first, as a convolution does, by which a small model learns in far fewer steps"""

    needs: ClassVar[tuple[str, ...]] = PICTURE_SIZES
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {"width": 48, "stage_layers": (2, 2), "stage_heads": (3, 6), "tile": 4, "patch": 1,
                   "feedforward_ratio": 2.0},
        "mini": {"width": 48, "stage_layers": (2, 4), "stage_heads": (3, 6), "tile": 7, "patch": 2,
                 "feedforward_ratio": 2.0},
        "tiny": {"width": 96, "stage_layers": (2, 2, 6, 2), "stage_heads": (3, 6, 12, 24), "tile": 7, "patch": 4,
                 "stochastic_depth": 0.2},
        "small": {"width": 96, "stage_layers": (2, 2, 18, 2), "stage_heads": (3, 6, 12, 24), "tile": 7, "patch": 4,
                  "stochastic_depth": 0.3},
        "base": {"width": 128, "stage_layers": (2, 2, 18, 2), "stage_heads": (4, 8, 16, 32), "tile": 7, "patch": 4,
                 "stochastic_depth": 0.5},
        "large": {"width": 192, "stage_layers": (2, 2, 18, 2), "stage_heads": (6, 12, 24, 48), "tile": 7, "patch": 4},
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("swin: stochastic_depth", self.stochastic_depth)
        if not self.stage_layers or min(*self.stage_layers, *self.stage_heads, 9) < 1:
            raise ConfigError("swin: stage_layers and stage_heads must be 1 or more in each stage")
        if len(self.stage_layers) != len(self.stage_heads):
            raise ConfigError(
                f"swin: stage_heads must be as many as stage_layers, {len(self.stage_layers)}, "
                f"but are {len(self.stage_heads)}"
            )
        if not self.feedforward_ratio > 0 or not self.norm_epsilon > 0:
            raise ConfigError("swin: feedforward_ratio and norm_epsilon must be above 0")

    def build(self, sizes: Mapping[str, int]) -> "SwinModel":
        refuse_questions(sizes, self.where)
        return SwinModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        cost = float(model.stages[0].rows * model.stages[0].columns * weights_in(model.embedding))
        for stage in model.stages:
            inside = 2 * stage.width * min(self.tile, stage.rows, stage.columns) ** 2 * len(stage.blocks)
            cost += stage.rows * stage.columns * (weights_in(stage) + inside)
        return 0.0, cost


class SwinModel(PictureModel):
    """Patches, stages and head."""

    def __init__(self, design: Swin, channels: int, height: int, width: int, classes: int) -> None:
        super().__init__()
        self.shape = channels, height, width
        self.embedding = PatchEmbedding(channels, design.width, design.patch)
        self.norm, self.dropout = nn.LayerNorm(design.width, eps=_EPSILON), Dropout(design.dropout)
        rows, columns = (-(-side // design.patch) for side in (height, width))
        count, stages, before = len(design.stage_layers), [], 0
        for at, layers in enumerate(design.stage_layers):
            merges = at + 1 < count
            stages.append(SwinStage(design, at, rows, columns, before, merges))
            rows, columns = (-(-rows // 2), -(-columns // 2)) if merges else (rows, columns)
            before += layers
        self.stages = nn.ModuleList(stages)
        features = design.width * 2 ** (count - 1)
        self.last_norm = nn.LayerNorm(features, eps=design.norm_epsilon)
        self.head = class_layer(features, classes)

    def encode(
        self, pictures: Float[Tensor, "batch channels height width"]
    ) -> tuple[Float[Tensor, "batch cells features"], Bool[Tensor, "batch cells"]]:
        """The features of each cell of the last stage, row by row."""
        check_picture(pictures, *self.shape, "swin")
        x = self.dropout(self.norm(self.embedding(pictures)))
        for stage in self.stages:
            x = stage(x)
        features: Tensor = self.last_norm(x)
        return features, torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)

    def forward(
        self,
        pictures: Float[Tensor, "batch channels height width"],
        questions: Float[Tensor, "asked question"] | None = None,
        which: Int64[Tensor, "asked"] | None = None,
    ) -> Float[Tensor, "batch classes"]:
        logits: Tensor = self.head(self.encode(pictures)[0].mean(1))
        return logits

    def sight(self, layer: str) -> GridSight:
        mixing = self.get_submodule(layer.removesuffix(".attention"))
        if not isinstance(mixing, TiledMixing):
            raise ConfigError(f"swin: {layer} is no attention layer")
        return GridSight(mixing.design.rows, mixing.design.columns, mixing.cells().cpu())


class SwinStage(nn.Module):
    """Layers on a grid of cells; afterwards cells merge, unless it is the last stage."""

    def __init__(self, design: Swin, at: int, rows: int, columns: int, before: int, merges: bool) -> None:
        super().__init__()
        self.rows, self.columns, self.width = rows, columns, design.width * 2**at
        last = max(1, sum(design.stage_layers) - 1)
        attention = Attention(heads=design.stage_heads[at], dropout=design.attention_dropout)
        self.blocks = nn.ModuleList(
            Block(
                self.width,
                mixer=TiledAttention(
                    rows=rows,
                    columns=columns,
                    size=design.tile,
                    shift=0 if number % 2 == 0 else design.tile // 2,
                    attention=attention,
                ),
                feed=Plain(int(design.feedforward_ratio * self.width), activation=design.activation),
                residual=Residual(
                    epsilon=design.norm_epsilon,
                    dropout=design.dropout,
                    skip=design.stochastic_depth * (before + number) / last,
                ),
            )
            for number in range(design.stage_layers[at])
        )
        if design.relative_bias == "neighbors":
            heads = design.stage_heads[at]
            tables = [part for part in self.blocks.modules() if isinstance(part, GridTable)]
            for number, table in enumerate(tables):
                table.weight.data = neighbor_bias(heads, table.layout, number * heads)
        self.merging = Merging(self.width) if merges else None

    def forward(self, x: Float[Tensor, "batch cells width"]) -> Float[Tensor, "batch after wider"]:
        """The cells of the next stage."""
        for block in self.blocks:
            x = block(x)
        return x if self.merging is None else self.merging(x.unflatten(1, (self.rows, self.columns)))


class Merging(nn.Module):
    """Two by two cells become one, twice as wide; a grid with an odd side is filled up with zeros."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * width, eps=_EPSILON)
        self.reduction = nn.Linear(4 * width, 2 * width, bias=False)
        nn.init.xavier_uniform_(self.reduction.weight)

    def forward(self, cells: Float[Tensor, "batch rows columns width"]) -> Float[Tensor, "batch after wider"]:
        """The merged cells, row by row."""
        cells = F.pad(cells, (0, 0, 0, cells.shape[2] % 2, 0, cells.shape[1] % 2))
        four = torch.cat([cells[:, row::2, column::2] for column in (0, 1) for row in (0, 1)], dim=-1)
        merged: Tensor = self.reduction(self.norm(four.flatten(1, 2)))
        return merged
