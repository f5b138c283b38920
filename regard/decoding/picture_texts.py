"""A trained pair of towers: vectors of pictures and of texts in one space, and which of them belong together."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import UsageError
from regard.data.captioned import CaptionSet
from regard.data.framed import Frame, batch_of
from regard.data.image_files import PICTURE_ENDINGS, Shape, read_images
from regard.data.images import Shades, brightness
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.scorer import evaluating
from regard.decoding.vectors import VectorArray, check_finite
from regard.models.clip import ClipModel
from regard.models.headed import Pooling

_AT_ONCE = 256


class PictureTexts:
    """What `regard.load` returns for a model of pictures and captions.

    >>> pairs = load("runs/sprites", expect=PictureTexts)
    >>> pairs.embed(["a small square in column one of row two"]).shape
    >>> pairs.captions(pictures, ["a large square", "a large ellipse"])       the fitting text of each picture
    """

    normalize = True

    def __init__(self, model: ClipModel, subwords: Subwords, shades: Shades, shape: Shape, *, frame: Frame) -> None:
        self.model, self.subwords, self.shades = model, subwords, shades
        self.shape, self.frame = shape, frame

    def embed(
        self, inputs: Sequence[Any] | NDArray[Any], *, pooling: Pooling | None = None, normalize: bool | None = None
    ) -> VectorArray:
        """The vector of each input, of length 1: an array holds pictures, a list texts or names of picture files."""
        if isinstance(inputs, str):
            raise UsageError("embed: give a list of inputs, not one text")
        if not len(inputs):
            raise UsageError("embed: there is nothing to embed")
        if isinstance(inputs, np.ndarray) and inputs.dtype.kind not in "UO":
            return self._array(self.picture_vectors(torch.from_numpy(inputs)))
        made = np.empty((len(inputs), self.model.text_projection.out_features), np.float32)
        named = [at for at, one in enumerate(inputs) if str(one).strip().lower().endswith(PICTURE_ENDINGS)]
        others = sorted(set(range(len(inputs))) - set(named))
        if named:
            pixels = torch.cat([read_images(Path(str(inputs[at]).strip()), self.shape).pixels for at in named])
            made[named] = self._array(self.picture_vectors(pixels))
        if others:
            made[others] = self._array(self.text_vectors([str(inputs[at]).strip() for at in others]))
        return made

    def captions(self, pictures: NDArray[Any] | Tensor, texts: Sequence[str]) -> list[str]:
        """The text that goes best with each picture: classification without training (zero-shot)."""
        return [texts[at] for at in self.likeness(pictures, texts).argmax(1).tolist()]

    def likeness(self, pictures: NDArray[Any] | Tensor, texts: Sequence[str]) -> Tensor:
        """The cosine of each picture and text, [pictures, texts]."""
        if not texts:
            raise UsageError("captions: there are no texts to choose from")
        return self.picture_vectors(torch.as_tensor(pictures)) @ self.text_vectors(texts).T

    def match(self, pictures: NDArray[Any] | Tensor, texts: Sequence[str]) -> Tensor:
        """The probability that each text belongs to the picture beside it; words look at patches (cross-attention)."""
        if self.model.cross is None:
            raise UsageError("match: the model has two towers alone; one with model.cross_layers looks at both")
        if len(pictures) != len(texts):
            raise UsageError(f"match: there are {len(pictures)} pictures, but {len(texts)} texts")
        with evaluating([self.model]):
            seen, _ = self.model.pictures.encode(self._pixels(torch.as_tensor(pictures)))
            read, keep = self.model.texts.encode(*self._framed(texts))
            return self.model.matched(seen, read, keep).sigmoid().cpu()

    def picture_vectors(self, pixels: Tensor) -> Tensor:
        """The vectors of pictures [pictures, height, width], or with channels."""
        made = []
        for some in pixels.split(_AT_ONCE):
            with evaluating([self.model]):
                made.append(self.model.of_pictures(*self.model.pictures.encode(self._pixels(some))).float().cpu())
        return torch.cat(made)

    def text_vectors(self, texts: Sequence[str]) -> Tensor:
        """The vectors of texts."""
        made = []
        for first in range(0, len(texts), _AT_ONCE):
            with evaluating([self.model]):
                framed = self._framed(texts[first : first + _AT_ONCE])
                made.append(self.model.of_texts(*self.model.texts.encode(*framed)).float().cpu())
        return torch.cat(made)

    def found(self, examples: CaptionSet) -> dict[str, float]:
        """How often a picture's nearest caption is its own, and a caption's nearest picture has it (recall at 1)."""
        texts = list(dict.fromkeys(examples.captions))
        likeness = self.likeness(examples.pixels, texts)
        own = torch.tensor([texts.index(caption) for caption in examples.captions])
        back = own[likeness.argmax(0)] == torch.arange(len(texts))
        return {"captions_found": (likeness.argmax(1) == own).double().mean().item(),
                "pictures_found": back.double().mean().item()}  # fmt: skip

    def _pixels(self, pixels: Tensor) -> Tensor:
        device = next(self.model.parameters()).device
        given = pixels[:, None] if pixels.dim() == 3 else pixels
        return self.shades.normalized(brightness(given).float()).to(device)

    def _framed(self, texts: Sequence[str]) -> tuple[Tensor, ...]:
        device = next(self.model.parameters()).device
        return batch_of(self.frame.rows(self.subwords, [(text,) for text in texts])).to(device).parts

    @staticmethod
    def _array(vectors: Tensor) -> VectorArray:
        made: VectorArray = vectors.numpy()
        check_finite(made)
        return made
