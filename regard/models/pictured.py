"""What models of pictures share: they give features of places in a picture, and the logits of its class.

`sight` says where in the picture each query and key of an attention layer stands, so that weights can be drawn over it.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.base.errors import ConfigError
from regard.models.model import Encoder

PICTURE_SIZES = ("channels", "height", "width", "classes")
"""the sizes that a model of pictures is built for"""


@dataclass(frozen=True)
class GridSight:
    """A layer's view of a picture: a grid of cells, and the cell of each slot of each tile; -1 is no cell.

    A layer that sees the whole picture has one tile. The class token and cells that fill up a tile are no cells.
    """

    rows: int
    columns: int
    cells: Int64[Tensor, "tiles slots"]

    def spread(self, weights: Float[Tensor, "tiles heads query key"]) -> Float[Tensor, "heads cells cells"]:
        """Attention weights of one picture, from each cell to each cell; tiles are put back to where they belong."""
        made = weights.new_zeros(weights.shape[1], self.rows * self.columns, self.rows * self.columns)
        for cells, own in zip(self.cells, weights, strict=True):
            real = (cells >= 0).nonzero().flatten()
            at = cells[real]
            made[:, at[:, None], at[None]] = own[:, real][:, :, real]
        return made


class PictureModel(Encoder):
    """A model that reads pictures; `forward` gives the logits of their classes."""

    @abstractmethod
    def forward(
        self,
        pictures: Float[Tensor, "batch channels height width"],
        questions: Float[Tensor, "asked question"] | None = None,
        which: Int64[Tensor, "asked"] | None = None,
    ) -> Float[Tensor, "answers classes"]:
        """The logits of each picture's class, or of the answer to each question, which is about picture `which`."""

    @abstractmethod
    def sight(self, layer: str) -> GridSight | None:
        """Where the queries and keys of an attention layer stand in the picture; None if its queries do not."""


def whole_grid(rows: int, columns: int, before: int = 0) -> GridSight:
    """The sight of a layer that sees the whole picture, after so many tokens that are no cells."""
    cells = torch.cat([torch.full((before,), -1), torch.arange(rows * columns)])
    return GridSight(rows, columns, cells[None])


def refuse_questions(sizes: Mapping[str, int], where: str) -> None:
    """Raise an error if questions about the pictures come with the data."""
    if sizes.get("question"):
        raise ConfigError(f"{where}: it reads pictures alone, but the data asks questions about them; use cnn")


def class_layer(width: int, classes: int) -> nn.Linear:
    """The output layer over the classes, near zero at first."""
    made = nn.Linear(width, classes)
    nn.init.normal_(made.weight, std=0.02)
    nn.init.zeros_(made.bias)
    return made


def check_picture(pictures: Any, channels: int, height: int, width: int, where: str) -> None:
    """Raise an error if pictures have another shape than the model was built for."""
    if tuple(pictures.shape[1:]) != (channels, height, width):
        got = " × ".join(map(str, pictures.shape[1:]))
        raise ConfigError(f"{where}: built for pictures of {channels} × {height} × {width}, but was given {got}")
