"""A model that learned to learn: it tells classes that it never saw, from a few pictures of each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import UsageError
from regard.data.episode_draws import EpisodeSettings
from regard.data.image_files import Shape
from regard.data.images import Shades, brightness
from regard.decoding.few_shot_method import FewShotMethod
from regard.decoding.image_classifier import ImageClassifier
from regard.decoding.scorer import evaluating
from regard.decoding.vectors import EncoderInputs, VectorArray, unit
from regard.models.headed import Pooling
from regard.models.pictured import PictureModel


class FewShot(ImageClassifier):
    """What `regard.load` returns for a model of episodes.

    >>> few = load("runs/omniglot", expect=FewShot)
    >>> few.tell(shown, ["alpha", "beta"], asked)
    """

    def __init__(
        self, model: PictureModel, shades: Shades, shape: Shape, method: FewShotMethod, episodes: EpisodeSettings
    ) -> None:
        super().__init__(model, (), shades, shape)
        self.method, self.episodes = method, episodes

    def tell(self, support: NDArray[Any], labels: Sequence[str], query: NDArray[Any]) -> list[str]:
        """The label of each query, learned from the support: pictures [count, height, width], or with channels."""
        if len(support) != len(labels):
            raise UsageError(f"tell: there are {len(support)} pictures, but {len(labels)} labels")
        names = sorted(set(labels))
        ways = self.episodes.ways
        if len(names) < 2 or (not self.method.compares and len(names) > ways):
            most = "" if self.method.compares else f", and {ways} at most, as in training"
            raise UsageError(f"tell: the pictures must be of two classes at least{most}, but are of {len(names)}")
        numbers = torch.tensor([names.index(label) for label in labels])
        device = next(self.model.parameters()).device
        with evaluating([self.model]):
            given = (self._normalized(support), numbers.to(device), self._normalized(query))
            found = self.method.logits(self.model, *given, len(names))[:, : len(names)]
        return [names[at] for at in found.argmax(1).tolist()]

    def embed(
        self, inputs: EncoderInputs, *, pooling: Pooling | None = None, normalize: bool | None = None
    ) -> VectorArray:
        """The vectors that the method compares; of a method that adapts, the pooled features."""
        if not self.method.compares:
            return super().embed(inputs, pooling=pooling, normalize=normalize)
        made = np.empty((len(inputs), self.model(self._blank()).shape[1]), np.float32)
        for numbers, given in self.encodable(inputs):
            with evaluating([self.model]):
                made[numbers] = self.model(*given).float().cpu().numpy()
        return unit(made) if normalize else made

    def _blank(self) -> Tensor:
        shape = (self.shape.channels or 1, self.shape.height or 1, self.shape.width or 1)
        return torch.zeros(1, *shape, device=next(self.model.parameters()).device)

    def _normalized(self, pictures: NDArray[Any]) -> Tensor:
        pixels = torch.as_tensor(pictures)
        given = pixels[:, None] if pixels.dim() == 3 else pixels
        return self.shades.normalized(brightness(given).float()).to(next(self.model.parameters()).device)
