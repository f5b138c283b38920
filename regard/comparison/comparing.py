"""Compare settings before anything is trained: the same data, the same seeds, the same budget.

>>> compared = compare_settings(trials_of(["window.toml", "full.toml"]), Budget(steps=500), seeds=3)
>>> print(verdict(compared))
"""

import json
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.base.errors import RegardError, UsageError
from regard.base.files import read_text, write_text
from regard.comparison.contest import pace_of, train_alone
from regard.comparison.run_record import parameters_of
from regard.runs.artifact import load_artifact
from regard.runs.folder import RunFolder
from regard.tasks.run import Run, read_run, run_of

_SHARED = ("task", "data", "subwords", "puzzle", "graph")
"""the tables that must be the same in all run files"""
_TIMED = 6
"""steps that are timed where the budget is in seconds"""


@dataclass(frozen=True)
class Trial:
    """Settings to be tried: their name, the run, and the folder in which its file names start."""

    name: str
    run: Run
    data: Path


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long each of the settings is trained; one of the three."""

    steps: int | None = None
    units: int | None = None
    """tokens, or what else the task counts"""
    seconds: float | None = None
    """processor time of the training steps"""

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.steps, self.units, self.seconds)) != 1:
            raise UsageError("compare: give one budget: --steps, --tokens or --seconds")
        if not all(one is None or one > 0 for one in (self.steps, self.units, self.seconds)):
            raise UsageError("compare: the budget must be above 0")


@dataclass(frozen=True)
class Comparison:
    """What settings reached and what they cost: a value for each seed."""

    name: str
    metric: str
    lower: bool
    """whether less is better"""
    quality: tuple[float, ...]
    seconds: float
    """processor time of the training steps, the mean over seeds"""
    mib: float
    """the memory that training added at its peak, in a process of its own, the largest over seeds; 0: not known"""
    weights: int
    steps: int

    @property
    def mean(self) -> float:
        """The mean quality."""
        return statistics.fmean(self.quality)

    @property
    def spread(self) -> float:
        """Its standard deviation over seeds; 0 with one seed."""
        return statistics.stdev(self.quality) if len(self.quality) > 1 else 0.0


def trials_of(files: Sequence[str | Path], vary: Sequence[str] = ()) -> list[Trial]:
    """The settings of run files, each with every value of the settings that vary: `model.mask=window(64),none`."""
    found = []
    for file in files:
        for changes in _products([_values(one) for one in vary]):
            run = read_run(file, changes)
            names = [change.partition("=")[0].rpartition(".")[2] + "=" + change.partition("=")[2] for change in changes]
            found.append(Trial(", ".join([Path(file).stem, *names]), run, Path(file).parent))
    names = [trial.name for trial in found]
    if len(set(names)) < len(names):
        raise UsageError(f"compare: two of the settings have one name: {', '.join(names)}; rename a file")
    first = found[0].run.to_dict()
    for trial in found[1:]:
        tables = trial.run.to_dict()
        for shared in _SHARED:
            if tables.get(shared) != first.get(shared):
                raise UsageError(
                    f"compare: {trial.name} has another [{shared}] than {found[0].name}; "
                    "settings are compared on the same task and data"
                )
    return found


def compare_settings(
    trials: Sequence[Trial],
    budget: Budget,
    *,
    seeds: int = 3,
    folder: str | Path = "runs/compare",
    metric: str | None = None,
    tell: Callable[[Comparison], Any] = lambda one: None,
) -> list[Comparison]:
    """Train each with every seed; what a folder already holds is not trained again. `tell` is called after each."""
    found = []
    for trial in trials:
        steps = _steps(trial, budget)
        results = [_tried(trial, seed, steps, Path(folder), metric) for seed in range(1, seeds + 1)]
        chosen = str(results[0]["metric"])
        found.append(
            Comparison(
                trial.name,
                chosen,
                chosen in trial.run.task.lower,
                tuple(float(one["quality"]) for one in results),
                statistics.fmean(float(one["seconds"]) for one in results),
                max(float(one["mib"]) for one in results),
                int(results[0]["weights"]),
                steps,
            )
        )
        tell(found[-1])
    return found


def verdict(found: Sequence[Comparison]) -> str:
    """The answer in one sentence: the best, and the cheapest that is as good within the spread over seeds."""
    sign = 1 if found[0].lower else -1
    best = min(found, key=lambda one: sign * one.mean)
    metric = best.metric
    said = f"{best.name} is best: {metric} {best.mean:.4g}"
    said += f" ± {best.spread:.2g}" if len(best.quality) > 1 else ""
    as_good = [one for one in found if sign * (one.mean - best.mean) <= max(one.spread, best.spread)]
    cheap = min(as_good, key=lambda one: one.seconds)
    if cheap is not best and cheap.seconds < best.seconds:
        share = cheap.seconds / max(best.seconds, 1e-9)
        also = f"{cheap.name} is as good within the spread over seeds, in {share:.0%} of the time"
        return f"{said}; {also}: take {cheap.name}."
    cheaper = [one for one in found if one.seconds < best.seconds]
    if cheaper:
        fast = min(cheaper, key=lambda one: sign * one.mean)
        share = fast.seconds / max(best.seconds, 1e-9)
        return f"{said}; {fast.name} needs {share:.0%} of the time for {metric} {fast.mean:.4g}."
    others = [one.name for one in as_good if one is not best]
    if others:
        names = " and ".join(filter(None, [", ".join(others[:-1]), others[-1]]))
        verb = "is" if len(others) == 1 else "are"
        return f"{said}, and the cheapest; {names} {verb} as good within the spread over seeds."
    return f"{said}, and the cheapest too."


def _values(vary: str) -> list[str]:
    """`model.mask=window(64),none` as its overrides; commas inside brackets do not part values."""
    setting, equals, text = vary.partition("=")
    if not equals or not setting:
        raise UsageError(f"compare: --vary {vary}: write a setting and its values, such as model.mask=window(64),none")
    values, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            values.append(text[start:at])
            start = at + 1
    return [f"{setting}={value.strip()}" for value in (*values, text[start:])]


def _products(lists: list[list[str]]) -> Iterator[list[str]]:
    if not lists:
        yield []
        return
    for first in lists[0]:
        for rest in _products(lists[1:]):
            yield [first, *rest]


def _steps(trial: Trial, budget: Budget) -> int:
    """How many steps the budget is for these settings."""
    if budget.steps is not None:
        return budget.steps
    with tempfile.TemporaryDirectory() as place:
        if budget.units is not None:
            prepared = trial.run.task.prepare(Path(place), trial.data)
            batches, units = prepared.train.epoch()
            each = units / batches * trial.run.training.accumulate
            return max(1, round(budget.units / each))
        each = pace_of(_budgeted(trial.run, 1, _TIMED), Path(place) / "pace", trial.data)
        return max(1, int((budget.seconds or 0.0) / max(each, 1e-6)))


def _tried(trial: Trial, seed: int, steps: int, folder: Path, metric: str | None) -> Mapping[str, Any]:
    """The result of one training, from before or new."""
    run = _budgeted(trial.run, seed, steps)
    place = folder / f"{_slug(trial.name)}-{seed}"
    kept, wanted = place / "trial.json", {"steps": steps, "settings": run.to_dict()}
    if kept.exists():
        before = json.loads(read_text(kept))
        if (
            before["asked"] == json.loads(json.dumps(wanted, default=str))
            and (metric or before["metric"]) == before["metric"]
        ):
            return dict(before)
        raise UsageError(f"{place}: holds a trial of other settings or budget; delete it, or give another --runs")
    cost = train_alone(run, place, trial.data)
    entries = list(RunFolder(place).log.entries("valid"))
    chosen = metric or run.training.metric
    if not entries or chosen not in entries[-1]:
        has = ", ".join(key for key in (entries[-1] if entries else {}) if key not in ("kind", "step", "epoch", "time"))
        raise RegardError(
            f"{place}: no {chosen} was measured; " + (f"there are: {has}" if has else "give it a dev set")
        )
    result = {
        "asked": wanted,
        "metric": chosen,
        "quality": entries[-1][chosen],
        "seconds": cost.each * steps,
        "mib": cost.mib,
        "weights": parameters_of(load_artifact(RunFolder(place).model)),
    }
    write_text(kept, json.dumps(result, indent=2, default=str))
    return result


def _budgeted(run: Run, seed: int, steps: int) -> Run:
    """The run with this seed and so many steps, validated at the end alone."""
    tables = run.to_dict()
    tables["training"] = tables["training"] | {
        "seed": seed,
        "steps": steps,
        "epochs": "none",
        "patience": "none",
        "average": 1,
        "validate_every": steps,
        "checkpoint_every": steps,
        "log_every": max(1, steps // 20),
    }
    return run_of({key: value for key, value in tables.items() if value is not None}, run.name)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9=._-]+", "-", name).strip("-.")


def as_dict(found: Sequence[Comparison]) -> dict[str, Any]:
    """Everything as plain values, ready for JSON."""
    return {"settings": [asdict(one) for one in found], "verdict": verdict(found)}
