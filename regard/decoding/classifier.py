"""Classify texts: the label of each, and the probability of every label."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.base.errors import ConfigError, UsageError
from regard.base.wording import counted
from regard.data.labeled_files import read_labeled
from regard.data.labels import LabelCount, LabeledExample
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.predictor import Prediction, Predictor
from regard.models.headed import Headed


@dataclass(frozen=True)
class Labeling:
    """The labels of an example, the likeliest first, and the probability of each class."""

    labels: tuple[str, ...]
    probabilities: dict[str, float]


class Classifier(Predictor):
    """A model of classes; where an example may have several labels, it has those of at least `threshold`.

    An example has so many `texts`; None: one or two.
    """

    def __init__(
        self,
        model: Headed,
        subwords: Subwords,
        classes: Sequence[str],
        *,
        labels: LabelCount = "one",
        texts: int | None = 1,
        keys: Sequence[int | str] | None = None,
        threshold: float = 0.5,
        **settings: Any,
    ) -> None:
        super().__init__(model, subwords, **settings)
        self.classes, self.labels, self.texts, self.threshold = tuple(classes), labels, texts, threshold
        self.keys = keys

    def read(self, file: Path) -> list[LabeledExample]:
        """The examples of a file; where the columns of the training data do not fit it, it tells its own."""
        if self.keys is not None:
            with suppress(ConfigError):
                return read_labeled(file, keys=self.keys, labels=self.labels)
        return read_labeled(file, labels=self.labels)

    def classify(self, examples: Sequence[Sequence[str]]) -> list[Labeling]:
        """The labels of each example, which is made of one or two texts."""
        for example in examples:
            if isinstance(example, str) or not self._fits(example):
                wanted = {1: "one text", 2: "two texts"}.get(self.texts or 0, "one or two texts")
                raise UsageError(f"classify: each example must be a list of {wanted}")
        logits = self.outputs(self.frame.rows(self.subwords, examples))
        return [self._labeling(one.tolist()) for one in map(self._probabilities, logits)]

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The labels of each line; two texts are split at a tab."""
        examples = [line.split("\t") for line in lines]
        for number, example in enumerate(examples, start=1):
            if not self._fits(example):
                wanted = "one text" if self.texts == 1 else "two texts, split at a tab"
                raise UsageError(f"predict: line {number} must be {wanted}, but has {counted(len(example), 'column')}")
        return [
            Prediction(
                f"{','.join(one.labels)}\t{max(one.probabilities.values()):.4f}",
                {"labels": list(one.labels), "probabilities": one.probabilities},
            )
            for one in self.classify(examples)
        ]

    def _fits(self, example: Sequence[str]) -> bool:
        return len(example) in ((1, 2) if self.texts is None else (self.texts,))

    def _probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        return logits.softmax(-1) if self.labels == "one" else logits.sigmoid()

    def _labeling(self, chances: list[float]) -> Labeling:
        order = sorted(range(len(chances)), key=lambda at: -chances[at])
        kept = order[:1] if self.labels == "one" else [at for at in order if chances[at] >= self.threshold]
        return Labeling(tuple(self.classes[at] for at in kept), dict(zip(self.classes, chances, strict=True)))
