"""Embeddings: one vector for each input, pooled from the features of an encoder.

    mean    v = Σ_t keep_t x_t / Σ_t keep_t        first    v = x_1, the class token        max    v = max_t x_t

What `regard.load` returns `Embeds` if it gives such vectors, be it of texts, pictures or nodes. For a model with an
`Encoder`, `PooledVectors` does all but turn inputs into what the encoder is given.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, cast, get_args, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.base.errors import RegardError, UsageError, check_one_of
from regard.data.labeled_inputs import LabeledInputs, read_inputs
from regard.decoding.scorer import evaluating
from regard.layers.block import Block
from regard.models.headed import Pooling, pool
from regard.models.model import Encoder

EncoderInputs = Sequence[Any] | NDArray[Any]
"""texts, pairs of texts or names of files; or an array of pictures"""
VectorArray = NDArray[np.float32]
"""vectors one below the other, [inputs, width]"""


@runtime_checkable
class Embeds(Protocol):
    """What gives a vector for each input."""

    def embed(
        self, inputs: EncoderInputs, *, pooling: Pooling | None = None, normalize: bool | None = None
    ) -> VectorArray:
        """The vector of each input."""


@runtime_checkable
class ReadsExamples(Protocol):
    """What reads labeled examples of its own kind, such as pictures."""

    def examples(self, path: Path) -> LabeledInputs:
        """The examples of a file or folder."""


class PooledVectors(ABC):
    """Vectors from an encoder: its features of each token or patch, pooled."""

    normalize: bool = False
    """whether vectors have length 1, unless `embed` is told otherwise"""

    @property
    @abstractmethod
    def encoder(self) -> Encoder:
        """The model that gives the features."""

    @abstractmethod
    def encodable(self, inputs: EncoderInputs) -> Iterator[tuple[list[int], tuple[Any, ...]]]:
        """The numbers of the inputs in each batch, and the arguments of the model's `encode` for them."""

    @property
    def pooling(self) -> Pooling:
        """How features become one vector, unless `embed` is told otherwise: as the head pools them, else their mean."""
        chosen: Pooling = getattr(getattr(self.encoder, "head", None), "pooling", "mean")
        return chosen

    def embed(
        self, inputs: EncoderInputs, *, pooling: Pooling | None = None, normalize: bool | None = None
    ) -> VectorArray:
        """The vector of each input; it does not depend on the other inputs."""
        (vectors,) = self._pooled(inputs, pooling, lambda run: [run()])
        return unit(vectors) if (self.normalize if normalize is None else normalize) else vectors

    def embed_layers(self, inputs: EncoderInputs, *, pooling: Pooling | None = None) -> list[VectorArray]:
        """The pooled output of each layer that works while the encoder does, the first layer first."""
        layers = [module for module in self.encoder.modules() if isinstance(module, Block)]
        if not layers:
            raise UsageError(f"embed: a {type(self.encoder).__name__} has no layers to look at one by one")
        return self._pooled(inputs, pooling, lambda run: _watched(layers, run))

    def _pooled(
        self,
        inputs: EncoderInputs,
        pooling: Pooling | None,
        look: Callable[[Callable[[], tuple[Tensor, Tensor]]], list[tuple[Tensor, Tensor]]],
    ) -> list[VectorArray]:
        """Pool the features that `look` finds while the encoder runs, for each of them."""
        if isinstance(inputs, str):
            raise UsageError("embed: give a list of inputs, not one text")
        if not len(inputs):
            raise UsageError("embed: there is nothing to embed")
        chosen = self.pooling if pooling is None else pooling
        made: list[VectorArray] = []
        for numbers, given in self.encodable(inputs):
            with evaluating([self.encoder]):
                found = look(lambda given=given: self.encoder.encode(*given))  # type: ignore[misc]
                rows = [pool(chosen, *_fitting(features, keep)).float().cpu().numpy() for features, keep in found]
            made = made or [np.empty((len(inputs), row.shape[1]), np.float32) for row in rows]
            for whole, row in zip(made, rows, strict=True):
                whole[numbers] = row
        for whole in made:
            check_finite(whole)
        return made


def pooling_named(name: str | None) -> Pooling | None:
    """The pooling of this name; None leaves it to the model."""
    if name is not None:
        check_one_of("embed", get_args(Pooling), pooling=name)
    return cast("Pooling | None", name)


def unit(vectors: VectorArray) -> VectorArray:
    """Each vector divided by its length; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)


def check_finite(vectors: NDArray[Any], where: str = "embed") -> None:
    """Raise an error that names the first vector that holds NaN or infinity."""
    bad = ~np.isfinite(vectors).all(1)
    if bad.any():
        raise RegardError(
            f"{where}: {int(bad.sum()):,} of {len(vectors):,} vectors hold NaN or infinity, first that of input "
            f"{int(bad.argmax()) + 1}; the model's weights are damaged, or its training diverged"
        )


def nearest_rows(queries: VectorArray, rows: VectorArray, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The `count` rows nearest to each query, the nearest first, and their cosines; all vectors have length 1."""
    cosines = queries @ rows.T
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    return order, np.take_along_axis(cosines, order, axis=1)


def vectors_of(opened: Any, where: Any) -> Embeds:
    """What was loaded, if it gives vectors; else an error."""
    if not isinstance(opened, Embeds):
        raise UsageError(
            f"{where}: a {type(opened).__name__}, which gives no features of its inputs; an encoder does, such as a "
            "model that classifies, tags, fills masks or embeds sentences"
        )
    return opened


def examples_for(opened: Any, path: Path, labels: Path | None = None) -> LabeledInputs:
    """Labeled examples, as what was opened reads them, or as any encoder's are read."""
    if isinstance(opened, ReadsExamples) and labels is None:
        return opened.examples(path)
    return read_inputs(path, labels)


def _watched(layers: Sequence[nn.Module], run: Callable[[], tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
    """The output of each layer that works while `run` does."""
    seen: list[Tensor] = []

    def keep_output(module: nn.Module, given: Any, output: Tensor) -> None:
        seen.append(output)

    with ExitStack() as hooks:
        for layer in layers:
            hooks.callback(layer.register_forward_hook(keep_output).remove)
        _, keep = run()
    return [(output, keep) for output in seen]


def _fitting(features: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Features [batch, positions, width]; where a layer has other positions than the last, all of them count."""
    features = features.flatten(1, -2) if features.dim() > 3 else features
    if keep.shape != features.shape[:2]:
        keep = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
    return features, keep
