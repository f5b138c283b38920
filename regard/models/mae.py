"""MAE, a masked autoencoder of pictures: most patches are hidden, and their pixels are to be guessed from the others.

    visible patches → encoder (a ViT) → W x + b, with a mask token in each hidden place → decoder → pixels of each patch

He et al., Masked Autoencoders Are Scalable Vision Learners, 2021, https://arxiv.org/abs/2111.06377. The encoder reads
visible patches alone, so that it is four times as fast with three quarters of them hidden; the decoder is light.
Positions are learned here. The encoder's weights have the names that they have in `vit.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.layers.residual import deepnorm
from regard.models.model import weights_in
from regard.models.pictured import PICTURE_SIZES
from regard.models.vit import PatchEncoder, Vit

_STD = 0.02
_SHOWN = 0.25


@dataclass(frozen=True, kw_only=True)
class Mae(Vit):
    """Settings of a masked autoencoder: those of its encoder, a ViT, and of its decoder.

    | preset | encoder                    | decoder                  | from                                 |
    |--------|----------------------------|--------------------------|--------------------------------------|
    | digits | as the preset digits of vit | 2 layers of width 48    | for pictures of 8 × 8 pixels         |
    | mini   | as the preset mini of vit  | 2 layers of width 64     | for pictures of 28 × 28 or 32 × 32   |
    | base   | ViT-B/16                   | 8 layers of width 512    | He et al., 2021                      |
    | large  | ViT-L/16                   | 8 layers of width 512    | He et al., 2021                      |
    """

    decoder_layers: int = 2
    """the number of layers of the decoder"""
    decoder_width: int = 64
    """the width of the decoder's hidden states"""
    decoder_heads: int = 4
    """the number of attention heads of the decoder"""

    needs: ClassVar[tuple[str, ...]] = PICTURE_SIZES[:3]
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {**Vit.presets["digits"], "decoder_width": 48},
        "mini": {**Vit.presets["mini"], "decoder_width": 64},
        "base": {**Vit.presets["base"], "decoder_layers": 8, "decoder_width": 512, "decoder_heads": 16},
        "large": {**Vit.presets["large"], "decoder_layers": 8, "decoder_width": 512, "decoder_heads": 16},
    }

    def build(self, sizes: Mapping[str, int]) -> "MaeModel":  # type: ignore[override]
        channels, height, width = self.sizes_from(sizes)
        return MaeModel(self, channels, height, width)

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        patches = model.rows * model.columns
        seen = 1 + patches * _SHOWN
        encoder = seen * (weights_in(model.embedding, model.encoder) + self.pairs(seen) * self.layers)
        pairs = 2 * self.decoder_width * (1 + patches) * self.decoder_layers
        return 0.0, encoder + (1 + patches) * (weights_in(model.bridge, model.decoder, model.pixels) + pairs)


class MaeModel(PatchEncoder):
    """The encoder, and a decoder over all patches."""

    def __init__(self, design: Mae, channels: int, height: int, width: int) -> None:
        super().__init__(design, channels, height, width)
        self.patch, inner = design.patch, design.decoder_width
        small = replace(design, width=inner, heads=design.decoder_heads, key_heads=None, feedforward=None)
        self.bridge = nn.Linear(design.width, inner)
        self.mask_token = nn.Parameter(torch.empty(1, 1, inner).normal_(std=_STD))
        places = 1 + self.rows * self.columns
        self.decoder_positions = nn.Parameter(torch.empty(1, places, inner).normal_(std=_STD))
        self.decoder = small.stack(design.decoder_layers, "both", deepnorm(design.decoder_layers))
        self.pixels = nn.Linear(inner, design.patch**2 * channels)
        for linear in (self.bridge, self.pixels):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(
        self, pictures: Float[Tensor, "batch channels height width"], shown: Int64[Tensor, "batch shown"]
    ) -> Float[Tensor, "batch patches pixels"]:
        """The guessed pixels of every patch, given the numbers of the patches that are shown."""
        tokens = self.embed(pictures)
        at = torch.cat([torch.zeros_like(shown[:, :1]), shown + 1], dim=1)  # the class token is always shown
        seen = tokens.gather(1, at[..., None].expand(-1, -1, tokens.shape[-1]))
        read = self.bridge(self.encoder(self.dropout(seen)))
        filled = self.mask_token.expand(len(read), tokens.shape[1], -1).to(read)
        whole = filled.scatter(1, at[..., None].expand(-1, -1, read.shape[-1]), read)
        guessed: Tensor = self.pixels(self.decoder(whole + self.decoder_positions)[:, 1:])
        return guessed
