"""Compare finished runs of any task: quality, its growth with the budget, speed, memory, parameters, spread over seeds.

>>> found = compare_runs(["runs/small", "runs/wide"], test=["test.tsv"])
>>> print(found.verdict)

Runs that differ in nothing but their seed stand together, with the mean and the standard deviation of their quality.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from regard.base.errors import UsageError
from regard.comparison.contest import Measured, evaluate_alone
from regard.comparison.run_record import BudgetPoint, RunRecord, check_comparable, named, read_record, shared_metric
from regard.comparison.run_verdict import Standing, conclude
from regard.metrics.quality import QualityScore
from regard.metrics.significance import PairedScore, paired_bootstrap
from regard.tasks.task import Task

_SHARES = ("accuracy", "exact match", "exact")
"""scores that are a percentage of the examples, so that their number gives the interval"""
_LOWER = ("error", "bits", "perplexity", "ter", "loss")
"""first words of scores that are better when lower, whatever the task says of its validation metrics"""


@dataclass(frozen=True, kw_only=True)
class ComparedRun(Standing):
    """A model, or several that differ in the seed alone: what they reach and cost."""

    runs: tuple[str, ...]
    """the names of its runs"""
    groups: Mapping[str, float] = field(default_factory=dict)
    """the mean score on parts of the test set, such as sentences of similar length"""
    parameters: int | None
    mib: float
    """the memory that opening and evaluating added at its peak, in a process of its own; 0: not known"""
    per_second: float | None
    """test examples by second of processor time"""
    steps: int | None
    unit: str
    training_per_second: float | None
    """tokens, or what else the task counts, by second of training"""
    training_seconds: float | None
    curves: tuple[tuple[BudgetPoint, ...], ...]
    """the validation metric by budget, a curve for each seed"""


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """Everything about some runs, and the answer in one sentence."""

    task: str
    metric: str
    """what quality is: a score on the test set, or a validation metric"""
    lower: bool
    tested: bool
    """whether on a test set, rather than by the validations of training"""
    valid_metric: str | None
    """what the curves show; None where the logs have no metric in common"""
    by_processor: bool
    """whether the seconds of training are processor time in all logs"""
    what: str
    """what the test examples are"""
    compared: tuple[ComparedRun, ...]
    scores: Mapping[str, tuple[QualityScore, ...]]
    """all scores of each run on the test set"""
    paired: tuple[PairedScore, ...]
    """each run that writes text against the first, by a paired bootstrap test"""
    verdict: str

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        told = asdict(self)
        for table, one in zip(told["compared"], self.compared, strict=True):
            table |= {"mean": one.mean, "spread": one.spread}
        return told


def compare_runs(
    places: Sequence[str | Path],
    *,
    test: Sequence[str | Path] = (),
    metric: str | None = None,
    samples: int = 1000,
    options: Mapping[str, Any] | None = None,
    advance: Callable[[int], Any] = lambda done: None,
    **opening: Any,
) -> RunComparison:
    """Compare runs by their scores on test files, or without any, by the validations in their logs.

    `metric` is one of these scores or validation metrics. `options` are fields of `Evaluation`, `opening` is given to
    `load_task`; `samples` bootstrap resamplings test whether differences between texts are chance.
    """
    records = [read_record(place) for place in places]
    names = named(records)
    check_comparable(records)
    if not test:
        metric = shared_metric(records, metric)
        qualities = [record.quality(metric) for record in records]
    measured = []
    for record in records:
        measured.append(evaluate_alone(record.place, [Path(file) for file in test], options or {}, **opening))
        advance(1)
    if test:
        scores = _scores(records, measured, metric)
        metric, qualities = scores[0].name, [score.value for score in scores]
    else:
        scores = [QualityScore(str(metric), quality) for quality in qualities]
    task, valid_metric = records[0].task, _shown_metric(records, None if test else metric)
    lower = _is_lower(str(metric), task)
    members = _families(records)
    titles = _titles(members, names)
    compared = tuple(
        _joined(title, [(names[at], records[at], measured[at], scores[at]) for at in own], valid_metric)
        for title, own in zip(titles, members, strict=True)
    )
    texts = {name: one.judged for name, one in zip(names, measured, strict=True) if one.judged is not None}
    testable = samples > 0 and len(texts) == len(names) > 1
    paired = paired_bootstrap(texts, samples=samples) if testable else []
    chances: dict[str, float] = {}
    if testable and metric in {one.measure for one in paired} and all(len(own.runs) == 1 for own in compared):
        chances = _against_best(compared, texts, str(metric), lower, samples)
    return RunComparison(
        task=task.task_name(),
        metric=str(metric),
        lower=lower,
        tested=bool(test),
        valid_metric=valid_metric,
        by_processor=all(record.by_processor for record in records if record.train),
        what=measured[0].what,
        compared=compared,
        scores={name: one.scores for name, one in zip(names, measured, strict=True)},
        paired=tuple(paired),
        verdict=conclude(compared, str(metric), lower, chances),
    )


def _scores(records: Sequence[RunRecord], measured: Sequence[Measured], metric: str | None) -> list[QualityScore]:
    """The score of each model that all have and that means the same for all: the first, or the one that is wanted."""
    one_tokenizer = all(record.tokenizers == records[0].tokenizers for record in records)
    fair = [score for score in measured[0].scores if one_tokenizer or not score.by_token]
    if not fair:
        raise UsageError("compare: these models have different tokens, and no score of their task is free of them")
    chosen = next((score for score in fair if metric in (None, score.name)), None)
    if chosen is None:
        raise UsageError(f"compare: --metric {metric}: scores are: {', '.join(dict.fromkeys(s.name for s in fair))}")
    found = []
    for record, one in zip(records, measured, strict=True):
        own = next(
            (score for score in one.scores if (score.name, score.by_token) == (chosen.name, chosen.by_token)), None
        )
        if own is None:
            raise UsageError(f"compare: {record.place} has no {chosen.name}, which {records[0].place} has")
        found.append(own)
    return found


def _shown_metric(records: Sequence[RunRecord], wanted: str | None) -> str | None:
    """The metric that the curves show: the one compared, else one that decided and that all logs have."""
    return next(
        (
            name
            for name in (wanted, *(record.metric for record in records))
            if name is not None and all(name in record.metrics for record in records if record.valid)
        ),
        None,
    )


def _is_lower(metric: str, task: type[Task]) -> bool:
    name = metric.lower()
    return name in task.lower or name.split()[0] in _LOWER


def _families(records: Sequence[RunRecord]) -> list[list[int]]:
    """The numbers of records that differ in the seed alone, together; a seed that comes twice joins nothing."""
    families: dict[str, list[int]] = {}
    for at, record in enumerate(records):
        families.setdefault(record.family if record.settings else str(at), []).append(at)
    found = []
    for own in families.values():
        seeds = {records[at].seed for at in own}
        found += [own] if len(seeds) == len(own) and None not in seeds else [[at] for at in own]
    return found


def _titles(members: Sequence[Sequence[int]], names: Sequence[str]) -> list[str]:
    """The name of a run alone; of several, how their names begin."""
    titles = []
    for own in members:
        mine = [names[at] for at in own]
        start = _beginning(mine).rstrip("-_. ") if len(own) > 1 else mine[0]
        titles.append(start or " + ".join(mine))
    together = [" + ".join(names[at] for at in own) for own in members]
    return [title if titles.count(title) == 1 else whole for title, whole in zip(titles, together, strict=True)]


def _beginning(names: Sequence[str]) -> str:
    """The letters with which all begin."""
    letters = takewhile(lambda same: len(set(same)) == 1, zip(*names, strict=False))
    return "".join(letter for letter, *_ in letters)


def _joined(
    name: str, members: Sequence[tuple[str, RunRecord, Measured, QualityScore]], valid_metric: str | None
) -> ComparedRun:
    """The mean over runs that differ in the seed alone."""
    runs, records, measured, scores = zip(*members, strict=True)
    count, seconds = sum(one.count for one in measured), sum(one.seconds for one in measured)
    curves = [record.curve(valid_metric) for record in records] if valid_metric else []
    return ComparedRun(
        name=name,
        runs=tuple(runs),
        quality=tuple(score.value for score in scores),
        interval=_interval(scores[0], measured[0].count) if len(members) == 1 else None,
        groups={group: statistics.fmean(one.groups[group] for one in scores) for group in scores[0].groups},
        parameters=records[0].parameters,
        mib=max(one.mib for one in measured),
        per_second=count / seconds if count and seconds else None,
        steps=records[0].steps,
        unit=records[0].task.unit,
        training_per_second=_mean([record.per_second for record in records]),
        training_seconds=_mean([record.seconds for record in records]),
        curves=tuple(curve for curve in curves if curve),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _interval(score: QualityScore, count: int) -> float | None:
    """Half the 95 % interval of a score: its own, or for a share p of n examples 1.96 √(p (1 - p) / n)."""
    if score.spread is not None or score.name not in _SHARES or not count or not 0 <= score.value <= 100:
        return score.spread
    share = score.value / 100
    return 196 * (share * (1 - share) / count) ** 0.5


def _against_best(
    compared: Sequence[ComparedRun], texts: Mapping[str, Any], metric: str, lower: bool, samples: int
) -> dict[str, float]:
    """The p-value of the difference of each from the best."""
    order = sorted(compared, key=lambda one: one.mean if lower else -one.mean)
    systems = {one.runs[0]: texts[one.runs[0]] for one in order}
    found = paired_bootstrap(systems, samples=samples, measures=[metric])
    return {one.name: by.p_value for one, by in zip(order, found, strict=True) if by.p_value is not None}
