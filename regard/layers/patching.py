"""Patches: a picture as a sequence of vectors, one for each square of pixels, row by row.

    x_n = W · patch_n + b,  patch_n all channels of the patch × patch pixels of square n

Dosovitskiy et al., An Image Is Worth 16x16 Words, 2021, https://arxiv.org/abs/2010.11929
"""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class PatchEmbedding(nn.Module):
    """W and b, as a convolution that goes from patch to patch; a picture is filled up with zeros to whole patches."""

    def __init__(self, channels: int, width: int, patch: int) -> None:
        super().__init__()
        self.patch = patch
        self.projection = nn.Conv2d(channels, width, patch, stride=patch)
        nn.init.xavier_uniform_(self.projection.weight.flatten(1))
        if self.projection.bias is not None:
            nn.init.zeros_(self.projection.bias)

    def forward(
        self, pictures: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch patches embedding"]:
        """The vector of each patch."""
        missing = [-size % self.patch for size in pictures.shape[-2:]]
        if any(missing):
            pictures = F.pad(pictures, (0, missing[1], 0, missing[0]))
        embedded: Tensor = self.projection(pictures).flatten(2).transpose(1, 2)
        return embedded


def cut_patches(
    pictures: Float[Tensor, "batch channels height width"], patch: int
) -> Float[Tensor, "batch patches pixels"]:
    """The pixels of each patch, row by row; those of a patch are ordered by row, column and channel."""
    batch, channels, height, width = pictures.shape
    tiles = pictures.reshape(batch, channels, height // patch, patch, width // patch, patch)
    return tiles.permute(0, 2, 4, 3, 5, 1).reshape(batch, -1, patch * patch * channels)


def join_patches(
    patches: Float[Tensor, "batch patches pixels"], patch: int, columns: int
) -> Float[Tensor, "batch channels height width"]:
    """The pictures that `cut_patches` cut."""
    batch, count, pixels = patches.shape
    tiles = patches.reshape(batch, count // columns, columns, patch, patch, pixels // patch**2)
    return tiles.permute(0, 5, 1, 3, 2, 4).reshape(batch, -1, count // columns * patch, columns * patch)
