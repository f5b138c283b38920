"""A run from its settings to its model: prepare the data, train, and let the task finish."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from regard.base.errors import ConfigError, RegardError
from regard.base.joining import joined_ranks, own_device
from regard.base.ranks import ALONE, Ranks
from regard.base.room import available_memory
from regard.data.word_vectors import WordVectors
from regard.runs.artifact import Artifact
from regard.runs.folder import RunFolder
from regard.runs.forgery import bounded
from regard.tasks.beginning import Beginning
from regard.tasks.ranked import prepared_in_turn, run_folder_of
from regard.tasks.run import Run
from regard.tasks.starting_vectors import enter_vectors, starting_vectors_of
from regard.tasks.task import Prepared, Say
from regard.training.progress import Progress, Silent
from regard.training.trainer import Outcome, Trainer

_READING = {
    "data.format",
    "data.keys",
    "data.leaks",
    "data.test",
    "data.mix",
    "data.weight",
    "data.vectors",
    "batches.shuffle",
    "subwords.tags",
}
"""settings that older runs spell otherwise or lack; what they change in the text is found by its hash"""
_LIMITS = {"training.steps", "training.epochs", "training.patience", "training.keep"}
_FREE = {"task", "decoding", "training.distribution", *_LIMITS, *_READING}
"""settings that may change when training is resumed"""


_BYTES_A_WEIGHT = 16
_MOST_TENSORS = 100_000


@dataclass(frozen=True)
class Started:
    """A run whose data is prepared."""

    run: Run
    prepared: Prepared
    base: Beginning | None = None
    """the model that training begins with"""
    vectors: Mapping[str, WordVectors] = field(default_factory=dict)
    """the word vectors that embeddings begin with, by side"""

    def model(self) -> Any:
        """The model with newly initialized weights, the same for the same seed, or with those of its base."""
        return self.tuned()[0]

    def tuned(self) -> tuple[Any, Mapping[Any, float]]:
        """The model, and the share of the learning rate of each weight that learns more slowly than the others."""
        self._check_room()
        torch.manual_seed(self.run.training.seed)
        model = self.run.model.build(self.prepared.sizes)
        self.run.task.check_offer(model)
        enter_vectors(model, self.vectors)
        if self.base is None:
            return model, {}
        task, tuning = self.run.task, self.run.training.tuning
        extras = task.extras(self.run.model, model, self.prepared)
        new = self.base.enter(model, self.run.model, task.task_name(), self.prepared, extras)
        if tuning is None:
            return model, {}
        tuning.prepare(model, new)
        return model, tuning.rates(model, new)

    def with_fixed_features(self, model: Any, say: Say = lambda text: None) -> "Started":
        """The run with its data read by the model once, where only a head learns; shards are gathered at each step."""
        tuning, distribution = self.run.training.tuning, self.run.training.distribution
        if tuning is None or not tuning.fixes_features or distribution != "replicas":
            return self
        return replace(self, prepared=self.run.task.with_fixed_features(model, self.prepared, say))

    def _check_room(self) -> None:
        """Raise an error if the weights, their gradients and the optimizer's two moments need more memory than is free.

        The model is built on the meta device, which allocates nothing, and given up once it is too large.
        """
        most = available_memory() // _BYTES_A_WEIGHT
        refusal = ConfigError(
            f"model: has more weights than the {most:,} that can be trained in the memory that is free; "
            "make it narrower, or give it fewer layers"
        )
        try:
            with torch.device("meta"), bounded(_MOST_TENSORS, most, refusal):
                self.run.model.build(self.prepared.sizes)
        except NotImplementedError:  # some operation knows no meta device
            return
        except (RuntimeError, OverflowError, TypeError) as error:  # sizes beyond what a number can hold
            raise refusal from error

    def artifact(self, model: Any) -> Artifact:
        """The model's file without its weights."""
        return Artifact(
            config=self.run.to_dict(),
            task=self.run.task.task_name(),
            sizes=self.prepared.sizes,
            tokenizers=self.prepared.tokenizers,
            extras={
                **self.run.task.extras(self.run.model, model, self.prepared),
                **({} if self.base is None else self.base.kept()),
            },
        )

    def trainer(
        self,
        model: Any,
        folder: RunFolder,
        progress: Progress,
        ranks: Ranks = ALONE,
        rates: Mapping[Any, float] | None = None,
    ) -> Trainer:
        """The trainer of the model; `rates` are those of `tuned`."""
        task, prepared = self.run.task, self.prepared
        return Trainer(
            model,
            prepared.train,
            self.run.training,
            folder,
            objective=task.loss,
            unit=task.unit,
            validate=(lambda tried: task.metrics(tried, prepared)) if prepared.dev else None,
            lower=task.lower,
            progress=progress,
            artifact=self.artifact(model),
            ranks=ranks,
            rates=rates,
        )


def base_of(run: Run, data: Path, folder: Path | None = None) -> Beginning | None:
    """The model that a run's training begins with, if it is fine-tuning; relative names start at `data`."""
    return None if run.training.base is None else Beginning.of(data / run.training.base, folder)


def train_run(run: Run, path: Path, data: Path, progress: Progress, device: str = "cpu") -> Outcome:
    """Train to the end in the folder of a run, or resume there; writes the model file.

    Ranks that torchrun has started train together.
    """
    with joined_ranks(device) as ranks:
        place, heard = own_device(device), progress if ranks.first else Silent()
        with run_folder_of(run, path, _FREE | _dropped(run), ranks) as (folder, leader):
            try:
                prepared = prepared_in_turn(run, path, data, heard, ranks, leader)
                started = Started(run, prepared, base_of(run, data, path if ranks.rank == leader else None))
                started = replace(started, vectors=starting_vectors_of(run.task, prepared, data, heard.note))
                model, rates = started.tuned()
                model = model.to(place)
                started = started.with_fixed_features(model, heard.say)
                trainer = started.trainer(model, folder, heard, ranks, rates)
            except RegardError:
                if ranks.rank == leader:
                    _forget(folder)
                raise
            weights = sum(weight.numel() for weight in model.parameters())
            learning = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
            part = f", {learning:,} of them learn" if learning < weights else ""
            several = f" on {ranks.size} ranks" if ranks.size > 1 else ""
            heard.say(f"{started.prepared.summary}, {weights:,} weights{part}{several}")
            length = run.task.longest()
            for note in (*started.prepared.notes, *([] if length is None else run.model.remarks(length))):
                heard.note(note)
            outcome = trainer.run()
            if ranks.first:
                run.task.finish(folder, started.prepared, place, heard.say)
            return outcome


def _dropped(run: Run) -> set[str]:
    """Tables that a run folder without `task` may hold although the task does not read them."""
    return {"batches", "streams"} - set(run.to_dict())


def _forget(folder: RunFolder) -> None:
    """Remove what a failed start wrote, unless there is a checkpoint, so that corrected settings can use the folder."""
    if not folder.checkpoints.steps():
        for name in (
            folder.config.name,
            "subwords.json",
            "subwords.sha256",
            "text.sha256",
            "dev.sha256",
            "links.sha256",
            "base.sha256",
        ):
            (folder.path / name).unlink(missing_ok=True)
