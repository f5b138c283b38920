"""A trained classifier of pictures: the class of each, and the probability of every class."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.base.errors import RegardError, UsageError
from regard.data.image_arrays import ImageSet
from regard.data.image_files import Shape
from regard.data.images import Shades, brightness
from regard.decoding.classifier import Labeling
from regard.decoding.picture_vectors import PictureVectors
from regard.decoding.predictor import Answering, Prediction
from regard.decoding.scorer import evaluating
from regard.models.pictured import PictureModel


class ImageClassifier(Answering, PictureVectors):
    """What `regard.load` returns for a model of pictures.

    >>> classifier = load("runs/digits", expect=ImageClassifier)
    >>> classifier.classify(["seven.png"])[0].labels

    Picture files of another size are cut to the model's proportions around their middle, and scaled.
    """

    model: PictureModel

    def __init__(
        self, model: PictureModel, classes: Sequence[str], shades: Shades, shape: Shape, *, batch: int = 128
    ) -> None:
        super().__init__(model, shades, shape, batch=batch)
        self.classes = tuple(classes)

    def classify(self, pictures: Sequence[str | Path]) -> list[Labeling]:
        """The class of each picture file."""
        return [one for path in pictures for one in self.labelings(self.read(path))]

    def labelings(self, images: ImageSet) -> list[Labeling]:
        """The class of each picture, or the answer to each question about one."""
        return [
            Labeling((self.classes[int(row.argmax())],), dict(zip(self.classes, row.tolist(), strict=True)))
            for row in self.probabilities(images)
        ]

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The answer to each line, which is the name of a picture file, a folder, or a file of arrays."""
        found = []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                raise UsageError(f"predict: line {number} must be the name of a picture, but is empty")
            images = self.read(line.strip())
            names = [images.names[at] for at in images.which.tolist()]
            found += [_prediction(name, one) for name, one in zip(names, self.labelings(images), strict=True)]
        return found

    def probabilities(self, images: ImageSet) -> Float[Tensor, "examples classes"]:
        """The probability of every class for every example; it does not depend on the other examples."""
        made = []
        for some in torch.arange(len(images.which)).split(self.batch):
            with evaluating([self.model]):
                made.append(self.model(*self.inputs(images, some)).float().softmax(-1).cpu())
        return torch.cat(made)

    def inputs(self, images: ImageSet, some: Tensor) -> tuple[Any, ...]:
        """What the model is given for some of the examples."""
        device = next(self.model.parameters()).device
        used, which = images.which[some].unique(return_inverse=True)
        if images.questions is None:
            used = images.which[some]
        pictures = self.shades.normalized(brightness(images.pixels[used])).to(device)
        if images.questions is None:
            return (pictures,)
        return pictures, images.questions[some].to(device), which.to(device)

    def numbers(self, images: ImageSet, where: str) -> Tensor:
        """The numbers of the true classes; a label that training did not see is an error."""
        return label_numbers(images.labels, self.classes, where)


def label_numbers(labels: Sequence[str], classes: Sequence[str], where: str) -> Tensor:
    """The number of each label."""
    if not labels:
        raise RegardError(f"{where}: its pictures have no classes; a folder for each class, or labels, are needed")
    number = {label: at for at, label in enumerate(classes)}
    other = next((label for label in labels if label not in number), None)
    if other is not None:
        shown = ", ".join(classes[:20]) + (" …" if len(classes) > 20 else "")
        raise RegardError(f"{where}: the class '{other}' does not occur in the training data; classes are: {shown}")
    return torch.tensor([number[label] for label in labels])


def _prediction(name: str, one: Labeling) -> Prediction:
    label = one.labels[0]
    details = {"picture": name, "labels": list(one.labels), "probabilities": one.probabilities}
    return Prediction(f"{label}\t{one.probabilities[label]:.4f}\t{name}", details)
