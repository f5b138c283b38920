"""What a finished run tells of itself: its settings and parameters, and by its log, how quality grew with the budget.

>>> [(point.step, point.value) for point in read_record("runs/en-de").curve()]
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.base.errors import RegardError, UsageError
from regard.interop.export_folder import MANIFEST
from regard.runs.artifact import Artifact, split_ties
from regard.runs.folder import RunFolder
from regard.runs.snapshot import open_artifact
from regard.tasks.task import TASKS, Task
from regard.training.history import rank_of

LogEntry = Mapping[str, Any]
_NO_METRICS = {"kind", "step", "epoch"}


@dataclass(frozen=True)
class BudgetPoint:
    """The value of a metric after so many steps, and so many seconds of training."""

    step: int
    seconds: float
    value: float


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A trained model with its log, as far as it lies in its run folder."""

    place: Path
    task: type[Task]
    settings: Mapping[str, Any]
    """the resolved tables of its run file"""
    tokenizers: Mapping[str, str]
    parameters: int | None
    """the number of its weights, tied ones once; None where only an export is there"""
    train: tuple[LogEntry, ...] = ()
    """the log's entries of training steps"""
    valid: tuple[LogEntry, ...] = ()
    """those of validations; the last may be that of averaged weights"""

    @property
    def seed(self) -> int | None:
        """The seed of its training."""
        return self.settings.get("training", {}).get("seed")

    @property
    def family(self) -> str:
        """Its settings without name and seed: the same text for runs that differ in nothing else."""
        tables = {key: value for key, value in self.settings.items() if key != "name"}
        tables["training"] = {key: value for key, value in tables.get("training", {}).items() if key != "seed"}
        return json.dumps([tables, self.task.task_name(), dict(self.tokenizers)], sort_keys=True, default=str)

    @property
    def steps(self) -> int | None:
        """The last step that the log knows of."""
        return max((entry["step"] for entry in (*self.train, *self.valid)), default=None)

    @property
    def by_processor(self) -> bool:
        """Whether its log has the processor time of steps; logs of earlier versions have the clock's time alone."""
        return bool(self.train) and all("processor_seconds" in entry for entry in self.train)

    @property
    def seconds(self) -> float | None:
        """The time of all training steps."""
        return float(self._clock()[1][-1]) if self.train else None

    @property
    def per_second(self) -> float | None:
        """Tokens, or what else the task counts, by second of training."""
        units, seconds = self.train[-1].get(self.task.unit) if self.train else None, self.seconds
        return units / seconds if units and seconds else None

    @property
    def metric(self) -> str:
        """The metric that decided about its best weights."""
        return str(self.settings.get("training", {}).get("metric", "loss"))

    @property
    def metrics(self) -> list[str]:
        """All metrics of its validations."""
        return [key for key in (self.valid[0] if self.valid else {}) if key not in {*_NO_METRICS, self.task.unit}]

    def curve(self, metric: str | None = None) -> tuple[BudgetPoint, ...]:
        """The metric (`training.metric` unless set) at every validation, without that of averaged weights."""
        name, (steps, seconds) = metric or self.metric, self._clock()
        found = [entry for entry in self.valid if entry["kind"] == "valid" and name in entry]
        return tuple(
            BudgetPoint(entry["step"], _between(entry["step"], steps, seconds), entry[name]) for entry in found
        )

    def quality(self, metric: str | None = None) -> float:
        """The metric at the validation whose weights the model has: the best by `training.metric`."""
        name = metric or self.metric
        if not self.valid:
            raise UsageError(f"{self.place}: no validation is logged beside it; give --test")
        if name not in self.valid[0]:
            raise UsageError(f"{self.place}: no {name} is in its log; there are: {', '.join(self.metrics)}")
        best = max(self.valid, key=lambda entry: rank_of(_numbers(entry), self.metric, self.task.lower))
        return float(best[name])

    def _clock(self) -> tuple[list[float], list[float]]:
        """Steps, and the seconds of training until each: by processor time if the log has it, else by the clock."""
        steps, seconds, counted = [0.0], [0.0], 0
        for entry in self.train:
            if self.by_processor:
                spent = (entry["step"] - steps[-1]) * entry["processor_seconds"]
            else:
                units, speed = entry.get(self.task.unit, 0), entry.get(f"{self.task.unit}_per_second", 0.0)
                spent, counted = ((units - counted) / speed if speed else 0.0), units
            steps.append(entry["step"])
            seconds.append(seconds[-1] + spent)
        return steps, seconds


def read_record(place: str | Path) -> RunRecord:
    """The record of a run folder, of a model file, or of a snapshot or export."""
    path = Path(place)
    if (path / MANIFEST).is_file():
        return RunRecord(place=path, task=TASKS.get("translate"), settings={}, tokenizers={}, parameters=None)
    made = open_artifact(path)
    folder = RunFolder(path if path.is_dir() else path.parent)
    log = folder.log if folder.model.exists() and (path.is_dir() or path == folder.model) else None
    entries = () if log is None else tuple(log.entries())
    return RunRecord(
        place=path,
        task=TASKS.get(made.task, f"{path}: task"),
        settings=made.config,
        tokenizers=made.tokenizers,
        parameters=parameters_of(made),
        train=tuple(entry for entry in entries if entry["kind"] == "train"),
        valid=tuple(entry for entry in entries if entry["kind"] in ("valid", "average")),
    )


def parameters_of(artifact: Artifact) -> int:
    """The number of a model's weights; tied ones count once."""
    return sum(tensor.numel() for tensor in split_ties(artifact.weights)[0].values())


def check_comparable(records: Sequence[RunRecord]) -> None:
    """Raise an error unless all are of one task."""
    first, *others = records
    for other in others:
        if other.task is not first.task:
            raise UsageError(
                f"compare: {other.place} is for the task {other.task.task_name()}, but {first.place} for "
                f"{first.task.task_name()}; only runs of one task can be compared"
            )


def shared_metric(records: Sequence[RunRecord], wanted: str | None) -> str:
    """The validation metric to compare by: the one that is wanted, or that decided in all runs."""
    first, *others = records
    name = wanted or first.metric
    for other in others:
        if wanted is None and other.metric != name:
            both = [metric for metric in first.metrics if metric in other.metrics]
            choice = f"; --metric chooses one that both have: {', '.join(both)}" if both else ""
            raise UsageError(
                f"compare: {other.place} was trained for {other.metric}, but {first.place} for {name}{choice}"
            )
        if name in ("loss", "perplexity") and first.task.unit == "tokens" and other.tokenizers != first.tokenizers:
            raise UsageError(
                f"compare: {other.place} has other tokens than {first.place}, so that the {name} of a token means "
                "something else; give --test, or another --metric"
            )
    return name


def _numbers(entry: LogEntry) -> dict[str, float]:
    return {key: value for key, value in entry.items() if isinstance(value, int | float)}


def _between(step: int, steps: Sequence[float], seconds: Sequence[float]) -> float:
    """The seconds at a step; after the last that is logged, at the pace before it."""
    if step > steps[-1] > 0:
        return seconds[-1] * step / steps[-1]
    return float(np.interp(step, steps, seconds))


def named(records: Sequence[RunRecord]) -> list[str]:
    """A short name for each: that of its folder or file, or the whole path where two are the same."""
    names = [
        record.place.stem if record.place.suffix and record.place.is_file() else record.place.name or str(record.place)
        for record in records
    ]
    if len({str(record.place) for record in records}) < len(records):
        raise RegardError("compare: one of the models is given twice")
    return [str(record.place) if names.count(name) > 1 else name for name, record in zip(names, records, strict=True)]
