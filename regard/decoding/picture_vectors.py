"""Vectors of pictures: what classifiers of pictures and masked autoencoders share once they are opened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.base.errors import RegardError, UsageError
from regard.data.image_arrays import ImageSet, SetPart
from regard.data.image_files import Shape, read_images
from regard.data.images import Shades, brightness
from regard.data.labeled_inputs import LabeledInputs
from regard.decoding.vectors import EncoderInputs, PooledVectors
from regard.models.model import Encoder


class PictureVectors(PooledVectors):
    """A model that encodes pictures, how their brightness is normalized, and the shape that it takes."""

    def __init__(self, model: Encoder, shades: Shades, shape: Shape, *, batch: int = 128) -> None:
        self.model, self.shades, self.shape, self.batch = model, shades, shape, batch

    def read(self, path: str | Path, part: SetPart = "test") -> ImageSet:
        """The pictures of a file or folder, in the shape that the model takes."""
        return read_images(Path(path), self.shape, part)

    @property
    def encoder(self) -> Encoder:
        return self.model

    def encodable(self, inputs: EncoderInputs) -> Iterator[tuple[list[int], tuple[Any, ...]]]:
        """Pictures in batches: names of files, or an array of pixels, [pictures, height, width], or with channels."""
        for some in torch.arange(len(inputs)).split(self.batch):
            numbers = some.tolist()
            if isinstance(inputs, np.ndarray):
                pixels = torch.from_numpy(inputs[numbers])
                pixels = pixels[:, None] if pixels.dim() == 3 else pixels
            else:
                pixels = torch.cat([self._pixels(inputs[at]) for at in numbers])
            device = next(self.model.parameters()).device
            yield numbers, (self.shades.normalized(brightness(pixels)).to(device),)

    def examples(self, path: Path) -> LabeledInputs:
        """The pictures of a file or folder with their labels, for probes and reports."""
        images = self.read(path, "train")
        if not images.labels or images.questions is not None:
            raise RegardError(f"{path}: must hold pictures with a label each")
        return LabeledInputs(images.pixels[images.which].numpy(), images.labels)

    def _pixels(self, name: str | Path) -> Tensor:
        """The one picture of a file."""
        images = self.read(str(name).strip())
        if len(images.pixels) != 1:
            raise UsageError(
                f"embed: {name} holds {len(images.pixels):,} pictures; give the name of one picture a line"
            )
        return images.pixels
