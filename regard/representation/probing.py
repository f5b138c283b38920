"""Probes: how useful the features of a model are downstream, beside raw input, random weights and fine-tuning.

>>> found = probe("minilm.safetensors", "train.tsv", test="test.tsv", shots=(1, 4), draws=3)
>>> found.encoders[0].probe.accuracy
"""

import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.base.errors import RegardError, UsageError
from regard.base.files import write_text
from regard.data.labeled_inputs import LabeledInputs, held_out
from regard.decoding.vectors import Embeds, examples_for, vectors_of
from regard.loading import load
from regard.metrics.feature_checks import Classes, checked_features, numbered_labels, scikit_learn, smallest_class
from regard.metrics.linear_probe import ProbeScore, ShotScore, drawn_shots, few_shot_scores, linear_probe
from regard.models.headed import Pooling
from regard.runs.snapshot import open_artifact
from regard.tasks.classify import Classify
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import TASKS, Evaluation, Say, Task, Wishes
from regard.tasks.tuning_advice import advise_tuning
from regard.training.progress import Progress

SHOTS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class EncoderProbe:
    """What a linear probe makes of the features of one encoder."""

    name: str
    width: int
    probe: ProbeScore
    """with all labels"""
    shots: tuple[ShotScore, ...]
    """with few labels of each class"""

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; shares are percent."""
        return {
            "name": self.name,
            "width": self.width,
            "accuracy": 100 * self.probe.accuracy,
            "regularization": self.probe.strength,
            "shots": [
                {
                    "shots": one.shots,
                    "accuracy": 100 * one.mean,
                    "margin": 100 * one.margin,
                    "draws": [100 * score for score in one.accuracies],
                }
                for one in self.shots
            ],
        }


@dataclass(frozen=True)
class ProbeReport:
    """The probes of several encoders on the same examples."""

    classes: tuple[str, ...]
    examples: int
    tests: int
    encoders: tuple[EncoderProbe, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        sizes = {"classes": list(self.classes), "examples": self.examples, "tests": self.tests}
        return {**sizes, "encoders": [one.to_dict() for one in self.encoders]}


@dataclass(frozen=True)
class ProbeSplit:
    """Examples to learn from and to test on, with the numbers of their classes."""

    train: LabeledInputs
    test: LabeledInputs
    classes: tuple[str, ...]
    labels: Classes
    test_labels: Classes
    rows: tuple[Any, Any] = ((), ())
    """the numbers of both parts among all examples, where one set was split"""


def probe(
    model: str | Path,
    data: str | Path,
    *,
    test: str | Path | None = None,
    labels: str | Path | None = None,
    pooling: Pooling | None = None,
    shots: Sequence[int] | None = None,
    draws: int = 10,
    iterations: int = 100,
    seed: int = 1,
    tune: bool = False,
    baselines: bool = True,
    device: str = "cpu",
    say: Say = lambda text: None,
) -> ProbeReport:
    """Probe the features of a model on labeled examples; those of `test`, or a fifth that is held out, are predicted.

    Beside it stand, as `baselines`, the raw input (TF-IDF of texts, numbers as they are) and the same model with
    random weights, and with `tune` also full fine-tuning of the model, drawn once.
    """
    scikit_learn()
    opened = None if Path(model).suffix == ".npy" else vectors_of(load(model, device=device, expect=object), model)
    examples = examples_for(opened, Path(data), None if labels is None else Path(labels))
    other = None if test is None else examples_for(opened, Path(test))
    found = split_inputs(examples, other, seed, str(data))
    chosen = possible_shots(found, shots)
    say("embedding")
    encoders = {Path(model).name: features_of(opened or Path(model), found, pooling, str(model))}
    if baselines:
        say("embedding with random weights")
        encoders["random weights"] = features_of(opened_randomly(model, seed, device), found, pooling, str(model))
        encoders["raw input"] = raw_features(found)
    rows = []
    for name, (features, others) in encoders.items():
        say(f"probing {name}")
        rows.append(probed(name, features, others, found, chosen, draws, iterations, seed))
    if tune:
        rows.append(_fine_tuned(model, found, chosen, seed, say))
    return ProbeReport(found.classes, len(found.train), len(found.test), tuple(rows))


def split_inputs(examples: LabeledInputs, test: LabeledInputs | None, seed: int, where: str) -> ProbeSplit:
    """Examples to learn from and to test on; without a test set, a part of each class is held out."""
    rows: tuple[Any, Any] = ((), ())
    if test is None:
        numbered_labels(examples.labels, len(examples), where)
        kept, hidden = held_out(examples.labels, seed=seed)
        if not len(hidden):
            raise RegardError(f"{where}: is too small to hold out examples to test on; give them with --test")
        train, other, rows = examples.pick(kept), examples.pick(hidden), (kept, hidden)
    else:
        train, other = examples, test
    numbers, classes = numbered_labels(train.labels, len(train), where)
    places = {name: at for at, name in enumerate(classes)}
    unseen = next((label for label in other.labels if label not in places), None)
    if unseen is not None:
        raise RegardError(f"the test set: the label '{unseen}' does not occur in {where}")
    return ProbeSplit(train, other, classes, numbers, np.array([places[label] for label in other.labels]), rows)


def features_of(source: Embeds | Path, split: ProbeSplit, pooling: Pooling | None, name: str) -> tuple[Any, Any]:
    """The features of both parts, from an encoder or an .npy file, which holds those of the test after the others."""
    if isinstance(source, Path):
        return _kept_vectors(source, split)
    train, test = (source.embed(part.inputs, pooling=pooling) for part in (split.train, split.test))
    where = f"the features of {name}"
    return checked_features(train, where), checked_features(test, where) if len(test) > 1 else test


def opened_randomly(model: str | Path, seed: int, device: str = "cpu") -> Embeds:
    """A model as its task opens it, with newly initialized weights."""
    artifact = open_artifact(model)
    task: type[Task] = TASKS.get(artifact.task, f"{model}: task")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = artifact.design().build(artifact.sizes).eval().to(device)
    return vectors_of(task.open([artifact], [network]), model)


def raw_features(split: ProbeSplit) -> tuple[Any, Any]:
    """What a probe sees without an encoder: TF-IDF of words of texts, or the numbers themselves."""
    if not split.train.are_texts:
        return _numbers(split.train), _numbers(split.test)
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(token_pattern=r"(?u)\b\w+\b")
    train, test = ([split_part.shown(at) for at in range(len(split_part))] for split_part in (split.train, split.test))
    try:
        return words.fit_transform(train), words.transform(test)
    except ValueError as error:
        raise RegardError(f"raw input: the texts have no words: {error}") from error


def _numbers(part: LabeledInputs) -> Any:
    if not isinstance(part.inputs, np.ndarray):
        raise UsageError("probe: raw input of files cannot be probed; leave it out with --no-baselines")
    return part.inputs.reshape(len(part), -1).astype(np.float64)


def _kept_vectors(path: Path, split: ProbeSplit) -> tuple[Any, Any]:
    try:
        vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise RegardError(f"{path}: cannot be read as vectors: {error}") from error
    count = len(split.train) + len(split.test)
    if vectors.ndim != 2 or len(vectors) != count:
        raise RegardError(f"{path}: has {len(vectors):,} vectors, but there are {count:,} labels")
    made = checked_features(vectors, str(path))
    return made[: len(split.train)], made[len(split.train) :]


def possible_shots(split: ProbeSplit, shots: Sequence[int] | None) -> tuple[int, ...]:
    """The shots that are asked for, or of the usual ones those that every class has examples for."""
    number, count = smallest_class(split.labels)
    if shots is None:
        return tuple(one for one in SHOTS if one <= count)
    if any(one > count for one in shots):
        raise RegardError(
            f"shots: {max(shots)} examples of each class are asked for, but '{split.classes[number]}' has {count}"
        )
    return tuple(shots)


def probed(
    name: str,
    features: Any,
    others: Any,
    split: ProbeSplit,
    shots: Sequence[int],
    draws: int,
    iterations: int,
    seed: int,
) -> EncoderProbe:
    """The probes of features that learn, and are tested, on a split."""
    given = (features, split.labels, others, split.test_labels)
    whole = linear_probe(*given, iterations=iterations)
    few = few_shot_scores(*given, shots=shots, draws=draws, iterations=iterations, seed=seed)
    return EncoderProbe(name, features.shape[1], whole, tuple(few))


def _fine_tuned(model: str | Path, split: ProbeSplit, shots: Sequence[int], seed: int, say: Say) -> EncoderProbe:
    """All weights of the model learn, on all examples and on one draw of each number of shots."""
    if not split.train.are_texts:
        raise UsageError("probe: fine-tuning is for models of texts")
    accuracies = []
    for count in (*shots, None):
        rows = np.arange(len(split.train)) if count is None else drawn_shots(split.labels, count, 0, seed)
        say(f"fine-tuning on {len(rows):,} examples")
        accuracies.append(fine_tuned_accuracy(Path(model), split.train.pick(rows), split.test, seed))
    few = tuple(ShotScore(count, (score,)) for count, score in zip(shots, accuracies[:-1], strict=True))
    return EncoderProbe("fine-tuning", 0, ProbeScore(accuracies[-1], 0.0), few)


def fine_tuned_accuracy(model: Path, train: LabeledInputs, test: LabeledInputs, seed: int = 1) -> float:
    """The accuracy after all weights of a model were fine-tuned on some examples, as `regard init --from` advises."""
    with tempfile.TemporaryDirectory(prefix="regard-probe-") as place:
        home = Path(place)
        for name, part in (("train", train), ("test", test)):
            lines = (
                f"{label}\t{one if isinstance(one, str) else chr(9).join(one)}\n"
                for label, one in zip(part.labels, part.inputs, strict=True)
            )
            write_text(home / f"{name}.tsv", "".join(lines))
        wishes = Wishes(out=home / "run.toml", hold_out=0)
        advice = advise_tuning([home / "train.tsv"], wishes, model.resolve(), "all")
        run = run_of(tomllib.loads(advice.text), "run")
        settings = replace(run.training, seed=seed)
        train_run(replace(run, training=settings), home / "run", home, Progress())
        opened: Any = load(home / "run", expect=object)
        return Classify.evaluate(opened, [home / "test.tsv"], Evaluation())[0].value / 100
