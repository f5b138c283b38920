"""What a model of pictures looks at: the attention of any patch, in every layer and head, put where it belongs.

Rollout follows attention through the layers, the residual stream being half of each:

    R_0 = I,  R_l = (½ Ā_l + ½ I) R_{l-1},  Ā_l the mean of the heads

Abnar and Zuidema, Quantifying Attention Flow in Transformers, 2020, https://arxiv.org/abs/2005.00928. Between stages of
Swin, where four cells merge, R of the merged cell is the mean of theirs.
"""

import base64
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor

from regard.attention.record import attention_layers, record
from regard.base.errors import UsageError
from regard.data.image_arrays import ImageSet
from regard.decoding.classifier import Labeling
from regard.decoding.image_classifier import ImageClassifier
from regard.decoding.scorer import evaluating
from regard.inspection.explanation.head_effects import head_effects, moved_lengths
from regard.inspection.page.standalone import standalone
from regard.models.pictured import GridSight

_QUICK = 500_000
"""heads times the numbers of a picture: up to this, switching every head off takes about a second"""


@dataclass(frozen=True)
class SeenLayer:
    """The attention weights of a layer, tile by tile, and where its tiles stand in the picture."""

    name: str
    sight: GridSight
    weights: Float[Tensor, "tiles heads query key"]
    moved: Float[Tensor, "tiles heads query key"]
    """weights times the lengths of the values that they weigh: what each place adds (`head_effects`)"""
    effects: tuple[float, ...] = ()
    """what each head adds to the log-probability of the answer; empty where it was not measured"""

    @property
    def heads(self) -> int:
        """The number of attention heads."""
        return self.weights.shape[1]

    @property
    def has_class_token(self) -> bool:
        """Whether the first of its tokens stands for the whole picture."""
        return len(self.sight.cells) == 1 and int(self.sight.cells[0, 0]) < 0

    def of_cell(self, cell: int | None) -> Float[Tensor, "heads rows columns"]:
        """The weights from a cell of the layer's grid to all cells; None: from the class token."""
        if cell is None and not self.has_class_token:
            raise UsageError(f"{self.name}: it has no class token; choose a place in the picture")
        wanted = -1 if cell is None else cell
        tile, slot = (self.sight.cells == wanted).nonzero()[0].tolist()
        cells = self.sight.cells[tile]
        made = self.weights.new_zeros(self.heads, self.sight.rows * self.sight.columns)
        made[:, cells[cells >= 0]] = self.weights[tile, :, slot, cells >= 0]
        return made.unflatten(1, (self.sight.rows, self.sight.columns))

    def flow(self) -> Float[Tensor, "places places"]:
        """½ Ā + ½ I over its tokens, or over the cells of the picture where there are several tiles."""
        mean = self.weights[0].mean(0) if len(self.weights) == 1 else self.sight.spread(self.weights).mean(0)
        mean = mean / mean.sum(-1, keepdim=True).clamp(min=1e-12)  # cells that only fill up a tile are left out
        return (mean + torch.eye(len(mean))) / 2


@dataclass(frozen=True)
class Seen:
    """A picture, what the model takes it for, and the attention of all layers."""

    name: str
    pixels: Shaped[Tensor, "channels height width"]
    labeling: Labeling
    layers: tuple[SeenLayer, ...]
    model: str = ""
    by_class_token: bool = True
    """whether the class is told from the class token, where there is one, or from all tokens (pooling)"""

    def cell(self, layer: SeenLayer, at: tuple[int, int] | None) -> int | None:
        """The cell of a layer's grid in which a pixel (row, column) lies."""
        if at is None:
            return None
        height, width = self.pixels.shape[1:]
        if not (0 <= at[0] < height and 0 <= at[1] < width):
            raise UsageError(
                f"{self.name}: there is no pixel {at[0]},{at[1]}; the model sees {height} × {width} of them"
            )
        rows, columns = layer.sight.rows, layer.sight.columns
        return at[0] * rows // height * columns + at[1] * columns // width

    def rollout(self) -> Float[Tensor, "rows columns"]:
        """How much of each cell of the first layer reaches what the class is told from: the class token, or the mean of
        all features; sums to one.
        """
        first = before = self.layers[0]
        joint = torch.eye(len(first.flow()))
        for layer in self.layers:
            joint = layer.flow() @ _merged(joint, before.sight, layer.sight)
            before = layer
        reached = joint[0] if before.has_class_token and self.by_class_token else joint.mean(0)
        cells = reached[first.sight.cells[0] >= 0] if len(first.sight.cells) == 1 else reached
        return (cells / cells.sum()).unflatten(0, (first.sight.rows, first.sight.columns))

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON; weights are bytes, each row scaled by its largest."""
        return {
            "name": self.name,
            "model": self.model,
            "shape": list(self.pixels.shape),
            "pixels": _encoded(as_bytes(self.pixels).permute(1, 2, 0)),
            "probabilities": self.labeling.probabilities,
            "rollout": self.rollout().tolist(),
            "layers": [_layer_dict(layer) for layer in self.layers],
        }

    def to_html(self, title: str) -> str:
        """A page that shows it offline."""
        return standalone(self.to_dict(), title, page="seeing")


def see(classifier: ImageClassifier, images: ImageSet, number: int = 0, *, effects: bool | None = None) -> Seen:
    """Look at how the model sees one example of some pictures.

    `effects` measures each head by the answer without it, a run of the model for each; None: unless that takes long.
    """
    if not 0 <= number < len(images.which):
        raise UsageError(f"inspect: there is no picture {number}; there are {len(images.which):,}, from 0")
    sights = {name: classifier.model.sight(name) for name in attention_layers(classifier.model)}
    drawn = {name: sight for name, sight in sights.items() if sight is not None}
    if not drawn:
        raise UsageError("inspect: this model has no attention; vit, swin, and cnn with non_local have")
    inputs = classifier.inputs(images, torch.tensor([number]))
    with evaluating([classifier.model]), record(classifier.model) as seen, moved_lengths(classifier.model) as lengths:
        logits = classifier.model(*inputs)
    answer, heads = int(logits[0].argmax()), sum(length.shape[1] for length in lengths.values())
    found: dict[str, Tensor] = {}
    if effects or (effects is None and heads * inputs[0][0].numel() <= _QUICK):
        with evaluating([classifier.model]):
            found = head_effects(classifier.model, inputs, lambda logits: logits.log_softmax(-1)[:, answer])
    chances = dict(zip(classifier.classes, logits[0].float().softmax(-1).tolist(), strict=True))
    layers = tuple(
        _seen_layer(name, sight, seen[name][0], lengths[name], found.get(name)) for name, sight in drawn.items()
    )
    at = int(images.which[number])
    labeling = Labeling((max(chances, key=lambda label: chances[label]),), chances)
    by_class_token = getattr(classifier.model, "pooling", "first") == "first"
    return Seen(images.names[at], images.pixels[at], labeling, layers, by_class_token=by_class_token)


def _seen_layer(name: str, sight: GridSight, weights: Tensor, lengths: Tensor, effects: Tensor | None) -> SeenLayer:
    weights, told = weights.float().cpu(), () if effects is None else tuple(effects.tolist())
    return SeenLayer(name, sight, weights, weights * lengths.float().cpu()[:, :, None], told)


def as_bytes(pixels: Shaped[Tensor, "*shape"]) -> Shaped[Tensor, "*shape"]:
    """Pixels as numbers from 0 to 255."""
    return pixels if pixels.dtype == torch.uint8 else (pixels * 255).round().to(torch.uint8)


def _merged(joint: Tensor, before: GridSight, after: GridSight) -> Tensor:
    """The rows of a finer grid, averaged over the cells of a coarser one."""
    if (before.rows, before.columns) == (after.rows, after.columns):
        return joint
    maps = joint.T.unflatten(1, (before.rows, before.columns))[:, None]
    pooled = F.avg_pool2d(maps, 2, ceil_mode=True, count_include_pad=False)
    return pooled.flatten(1).T


def _layer_dict(layer: SeenLayer) -> dict[str, Any]:
    return {
        "name": layer.name,
        "rows": layer.sight.rows,
        "columns": layer.sight.columns,
        "heads": layer.heads,
        "cells": layer.sight.cells.tolist(),
        "views": {"weights": _scaled(layer.weights), "moved": _scaled(layer.moved)},
        "effects": [round(effect, 4) for effect in layer.effects],
    }


def _scaled(values: Tensor) -> dict[str, Any]:
    """Numbers as bytes, and the largest of each row."""
    high = values.abs().amax(-1, keepdim=True).clamp(min=1e-12)
    scaled = (values.clamp(min=0) / high * 255).round().to(torch.uint8)
    return {"high": [round(float(value), 4) for value in high.flatten()], "bytes": _encoded(scaled)}


def _encoded(values: Tensor) -> str:
    return base64.b64encode(values.contiguous().numpy().tobytes()).decode()
