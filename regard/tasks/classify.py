"""Classification of texts: which label, or which labels, a text or a pair of texts has."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.base.errors import ConfigError
from regard.base.files import read_text, write_text
from regard.data.checkup import Checkup
from regard.data.framed import Frame
from regard.data.labeled_files import LabeledFormat, labeled_digest, read_labeled
from regard.data.labels import (
    LabelCount,
    LabeledExample,
    LabeledRows,
    LabeledTexts,
    balanced_weights,
    class_counts,
    classes_of,
    label_tensor,
    numbered,
    unseen_classes,
)
from regard.data.plan import BatchPlan, BatchSettings
from regard.data.subwords.tokenizer import Subwords
from regard.data.unseen import unseen_note
from regard.data.word_dropout import WordDropout
from regard.decoding.classifier import Classifier
from regard.decoding.strategy import Strategy
from regard.metrics.classification import class_metrics, class_scores
from regard.metrics.quality import QualityScore
from regard.models.headed import Headed
from regard.models.model import Design
from regard.runs.artifact import Artifact
from regard.tasks.class_loss import ClassLoss, learns
from regard.tasks.class_outputs import write_classes
from regard.tasks.fixed_features import LabeledVectors, are_fixed, read_once, rows_of_vectors
from regard.tasks.label_advice import advise_labels
from regard.tasks.task import Advice, Evaluation, Prepared, Say, Task, Wishes
from regard.tasks.texts import SubwordChoice, one_model, refuse_other
from regard.training.loss import Loss
from regard.training.validation import losses_and_answers


@dataclass(frozen=True, kw_only=True)
class LabeledData:
    """The files of labeled examples; see `regard.data.labels`."""

    train: tuple[Path, ...]
    """the files of labeled examples to learn from, or a folder that has a folder of .txt files for each label"""
    dev: tuple[Path, ...] | None = None
    """the files of the validation set"""
    format: LabeledFormat | None = None
    """by default told by the file's suffix"""
    keys: tuple[int | str, ...] | None = None
    """the label and one or two texts: names of a header or of JSON's keys, or numbers of columns from 1; none: told by
    names such as label and text, or by which column repeats few texts"""
    labels: LabelCount = "one"
    """whether an example has one label, or any number of them"""

    def read(self, files: tuple[Path, ...], folder: Path) -> list[LabeledExample]:
        """The examples of all files; relative names start at `folder`."""
        form: Any = {"format": self.format, "keys": self.keys, "labels": self.labels}
        return [example for file in files for example in read_labeled(folder / file, **form)]


@dataclass(frozen=True, kw_only=True)
class PreparedLabels(Prepared):
    """Prepared examples, with the names of their classes and how many texts each has."""

    classes: tuple[str, ...]
    texts: int
    frequency: Tensor
    """how many training examples each class has"""

    @property
    def items(self) -> list[LabeledTexts | LabeledVectors]:
        """The dev set as batches of examples."""
        return [item for item in self.dev if isinstance(item, LabeledTexts | LabeledVectors)]


@dataclass(frozen=True, kw_only=True)
class Classify(Task):
    """The settings of a classification run beside model and training."""

    unit: ClassVar[str] = "examples"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "calibration"})
    sizes: ClassVar[tuple[str, ...]] = ("text", "classes")
    offers: ClassVar[type] = Headed

    data: LabeledData
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    batches: BatchSettings = field(default_factory=BatchSettings)
    frame: Frame = field(default_factory=lambda: Frame(longest=512))
    word_dropout: WordDropout = field(default_factory=WordDropout)
    class_loss: ClassLoss = field(default_factory=ClassLoss, metadata={"path": "training.loss"})

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        return advise_labels(files, wishes)

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedLabels:
        examples = self.data.read(self.data.train, data)
        where = " and ".join(str(data / file) for file in self.data.train)
        contents = " ".join(labeled_digest(data / file) for file in self.data.train)
        refuse_other(hashlib.sha256(contents.encode()).hexdigest(), f"data.train: {where}", folder / "text.sha256")
        say("subwords")
        subwords = self.subwords.of_texts(_texts(examples), folder / "subwords.json", data)
        kept = folder / "classes.json"
        if not kept.exists():
            write_text(kept, json.dumps(classes_of(examples, where), ensure_ascii=False))
        classes = tuple(json.loads(read_text(kept)))
        say("encoding")
        train = self._rows(examples, classes, subwords)
        dev, notes = self._dev(data, classes, subwords, len(examples[0].texts))
        return PreparedLabels(
            sizes={"text": len(subwords), "classes": len(classes)},
            train=train,
            dev=dev,
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(examples):,} training examples of {len(classes)} classes",
            classes=classes,
            texts=len(examples[0].texts),
            frequency=class_counts(train.labels, len(classes)),
            notes=notes,
        )

    def texts(self, data: Path) -> list[str]:
        """The training texts, from which subwords are learned."""
        return _texts(self.data.read(self.data.train, data))

    def with_fixed_features(self, model: Headed, prepared: PreparedLabels, say: Say) -> PreparedLabels:
        rows = prepared.train
        if not isinstance(rows, LabeledRows) or not are_fixed(model, rows):
            return prepared
        say("features, once for each text")
        dev = [read_once(model, item) for item in prepared.items if isinstance(item, LabeledTexts)]
        return replace(prepared, train=rows_of_vectors(model, rows), dev=dev)

    def loss(self, model: Headed, item: LabeledTexts | LabeledVectors) -> Loss:
        return self._loss_and_logits(model, item)[0]

    def metrics(self, model: Headed, prepared: PreparedLabels) -> dict[str, float]:
        """The loss, accuracy, macro F1, Matthews' correlation and the calibration error."""

        def judged(model: Headed, item: LabeledTexts | LabeledVectors) -> tuple[Loss, list[list[float]]]:
            loss, logits = self._loss_and_logits(model, item)
            return loss, _probabilities(logits, self.data.labels).tolist()

        found, answers = losses_and_answers(model, prepared.dev, judged)
        labels = torch.cat([item.labels for item in prepared.items])
        chances = torch.tensor([row for batch in answers for row in batch])
        return found | class_metrics(labels.numpy(), _filled_up(chances, labels).numpy())

    def _loss_and_logits(self, model: Headed, item: LabeledTexts | LabeledVectors) -> tuple[Loss, Tensor]:
        each, logits = self.class_loss.read(lambda: item.logits(model), item.labels, learning=learns(model))
        return Loss((each * item.weights.to(each)).sum(), item.count), logits

    def extras(self, design: Design, model: Headed, prepared: PreparedLabels) -> dict[str, Any]:
        """The names of the classes, and how examples are read."""
        return {
            "classes": list(prepared.classes),
            "labels": self.data.labels,
            "texts": prepared.texts,
            "keys": None if self.data.keys is None else list(self.data.keys),
            "frame": {"longest": self.frame.longest, "separators": self.frame.separators},
        }

    def check(self, prepared: PreparedLabels, data: Path, test: Sequence[Path] = ()) -> Checkup:
        counts = [f"{label} {int(count):,}" for label, count in zip(prepared.classes, prepared.frequency, strict=True)]
        return Checkup(facts=(prepared.summary, f"classes: {', '.join(counts)}"), findings=[])

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Headed],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Classifier:
        """A classifier of texts."""
        artifact, model = one_model(artifacts, models)
        told = artifact.extras
        return Classifier(
            model,
            Subwords.from_json(artifact.tokenizers["text"]),
            told["classes"],
            labels=told.get("labels", "one"),
            texts=told.get("texts", 1),
            keys=told.get("keys"),
            frame=Frame(**told.get("frame", {})),
        )

    @classmethod
    def evaluate(cls, opened: Classifier, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """Accuracy, macro F1, Matthews' correlation and the calibration error on labeled files."""
        examples = [example for file in files for example in opened.read(file)]
        if unseen := unseen_classes(examples, opened.classes):
            how.warn(unseen_note(unseen, str(files[0]), "label", "example"))
        classes = (*opened.classes, *unseen)
        with how.measured(len(examples), "texts"):
            found = opened.classify([example.texts for example in examples])
        true = label_tensor(numbered(examples, classes), len(classes), opened.labels)
        chances = torch.tensor([[one.probabilities.get(label, 0.0) for label in classes] for one in found])
        if how.out is not None:
            write_classes(how.out, [",".join(one.labels) for one in found], true, chances, classes)
        return class_scores(true.numpy(), chances.numpy())

    def _rows(self, examples: Sequence[LabeledExample], classes: Sequence[str], subwords: Subwords) -> LabeledRows:
        rows = self.frame.rows(subwords, [example.texts for example in examples])
        labels = label_tensor(numbered(examples, classes), len(classes), self.data.labels)
        lengths = torch.tensor([len(row) for row, _ in rows]).int().numpy()
        balanced = self.class_loss.weights == "balanced"
        weights = balanced_weights(labels, len(classes)) if balanced else torch.ones(len(labels))
        return LabeledRows(rows, labels, weights, BatchPlan(lengths, lengths, self.batches), self.word_dropout)

    def _dev(
        self, data: Path, classes: Sequence[str], subwords: Subwords, texts: int
    ) -> tuple[list[LabeledTexts], tuple[str, ...]]:
        """The batches of the dev set, and a note on labels that occur in it alone."""
        if self.data.dev is None:
            return [], ()
        examples = self.data.read(self.data.dev, data)
        where = " and ".join(str(data / file) for file in self.data.dev)
        if len(examples[0].texts) != texts:
            raise ConfigError(
                f"data.dev: {where} has {len(examples[0].texts)} texts a line, but data.train has {texts}"
            )
        unseen = unseen_classes(examples, classes)
        notes = (unseen_note(unseen, where, "label", "example"),) if unseen else ()
        return self._rows(examples, (*classes, *unseen), subwords).all(), notes


def _probabilities(logits: Tensor, labels: LabelCount) -> Tensor:
    return (logits.softmax(-1) if labels == "one" else logits.sigmoid()).float()


def _filled_up(chances: Tensor, labels: Tensor) -> Tensor:
    """The probabilities, with 0 for labels that training did not see."""
    wanted = labels.shape[1] if labels.dim() == 2 else int(labels.max()) + 1
    return F.pad(chances, (0, max(0, wanted - chances.shape[1])))


def _texts(examples: Sequence[LabeledExample]) -> list[str]:
    return [text for example in examples for text in example.texts]
