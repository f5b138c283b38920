"""A trained masked autoencoder: fills hidden patches of pictures, and gives vectors of whole ones."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from regard.data.hidden_patches import HiddenPatches, PatchHiding, hidden_of
from regard.data.image_arrays import ImageSet
from regard.data.image_files import Shape
from regard.data.images import Shades, brightness
from regard.decoding.picture_vectors import PictureVectors
from regard.decoding.scorer import evaluating
from regard.layers.patching import cut_patches, join_patches
from regard.models.mae import MaeModel

_EPSILON = 1e-6


@dataclass(frozen=True)
class FilledPicture:
    """A picture, which of its pixels were hidden, and the picture with these as they were guessed; between 0 and 1."""

    pixels: Float[Tensor, "channels height width"]
    hidden: Bool[Tensor, "height width"]
    filled: Float[Tensor, "channels height width"]


class PatchFiller(PictureVectors):
    """What `regard.load` returns for a masked autoencoder.

    >>> filler = load("runs/mae", expect=PatchFiller)
    >>> filler.fill(filler.read("seven.png"))[0].filled

    Its vectors are those of the encoder, which then sees all patches.
    """

    model: MaeModel

    def __init__(self, model: MaeModel, shades: Shades, shape: Shape, hiding: PatchHiding) -> None:
        super().__init__(model, shades, shape)
        self.hiding = hiding

    def fill(self, images: ImageSet, seed: int = 0) -> list[FilledPicture]:
        """Hide patches of each picture at random, and fill them.

        Where a model guesses normalized patches, their own mean and deviation are put back, as the paper's pictures do.
        """
        bright, device = brightness(images.pixels), next(self.model.parameters()).device
        pictures = self.shades.normalized(bright).to(device)
        count = self.model.rows * self.model.columns
        shown = self.hiding.shown(self.hiding.seeds(len(pictures), seed), count).to(device)
        with evaluating([self.model]):
            guessed = self.model(pictures, shown)
        true, hidden = cut_patches(pictures, self.model.patch), hidden_of(shown, count)
        if self.hiding.targets == "normalized":
            mean, deviation = _scales(true)
            guessed = guessed * deviation + mean
        joined = torch.where(hidden[..., None], guessed, true)
        filled = join_patches(joined, self.model.patch, self.model.columns).cpu()
        mean_shade, spread = (torch.tensor(side)[:, None, None] for side in (self.shades.mean, self.shades.deviation))
        filled = (filled * spread + mean_shade).clamp(0, 1)
        covered = hidden[..., None].expand(-1, -1, self.model.patch**2).float()
        marked = join_patches(covered, self.model.patch, self.model.columns)[:, 0].bool().cpu()
        return [FilledPicture(*one) for one in zip(bright, marked, filled, strict=True)]


def patch_errors(model: MaeModel, item: HiddenPatches, hiding: PatchHiding) -> Float[Tensor, "batch"]:
    """The mean squared error of each picture's hidden patches:

    mean over hidden patches n and pixels k of (guess_nk - target_nk)²,  target = (pixel - mean_n) / deviation_n
    """
    shown = hiding.shown(item.seeds, model.rows * model.columns)
    targets = cut_patches(item.pictures, model.patch)
    if hiding.targets == "normalized":
        mean, deviation = _scales(targets)
        targets = (targets - mean) / deviation
    return _over_hidden((model(item.pictures, shown) - targets).square().mean(-1), shown)


def _over_hidden(errors: Float[Tensor, "batch patches"], shown: Int64[Tensor, "batch shown"]) -> Tensor:
    hidden = hidden_of(shown, errors.shape[1])
    return (errors * hidden).sum(1) / hidden.sum(1)


def _scales(patches: Float[Tensor, "batch patches pixels"]) -> tuple[Tensor, Tensor]:
    """The mean and the standard deviation of each patch's pixels."""
    variance = patches.var(-1, keepdim=True) if patches.shape[-1] > 1 else torch.zeros_like(patches)
    return patches.mean(-1, keepdim=True), (variance + _EPSILON).sqrt()
