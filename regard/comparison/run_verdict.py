"""The answer of a comparison of finished runs in one sentence, honest where the difference may be chance."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_SIGNIFICANT = 0.05
_FASTER = 1.05
"""times: less is no difference worth a word"""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What the sentence needs to know of each: its quality, and how fast it is."""

    name: str
    quality: tuple[float, ...]
    """a value for each seed"""
    interval: float | None = None
    """half the 95 % interval by the choice of test examples, of one run"""
    per_second: float | None = None
    training_seconds: float | None = None

    @property
    def mean(self) -> float:
        """The mean quality."""
        return statistics.fmean(self.quality)

    @property
    def spread(self) -> float | None:
        """The standard deviation over seeds; None with one run."""
        return statistics.stdev(self.quality) if len(self.quality) > 1 else None

    def __str__(self) -> str:
        around = self.spread if self.spread is not None else self.interval
        return f"{self.mean:.4g}" if around is None else f"{self.mean:.4g} ± {around:.2g}"


def conclude(found: Sequence[Standing], metric: str, lower: bool, chances: Mapping[str, float] | None = None) -> str:
    """Which is best, and whether others are as good and cheaper; `chances` has p-values of differences from the best.

    A difference counts by the first of these that is known: the p-value; the standard deviation over seeds, where
    both have several; the 95 % intervals of both, joined by √(a² + b²). Where none is, the sentence says so.
    """
    best, *others = sorted(found, key=lambda one: one.mean if lower else -one.mean)
    if not others:
        count = len(best.quality)
        over = f" over {count} seeds" if count > 1 else ""
        return f"{best.name} stands alone: {metric} {best}{over}."
    judged = {one.name: _doubt(best, one, (chances or {}).get(one.name)) for one in others}
    as_good = [one for one in others if judged[one.name][0]]
    said = f"{best.name} is best: {metric} {best}"
    if as_good:
        reasons = "; ".join(f"{one.name} ({one}) is as good {judged[one.name][1]}" for one in as_good)
        return f"{said}, but {reasons}{_advice([best, *as_good])}."
    second = others[0]
    alone = "" if min(len(best.quality), len(second.quality)) > 1 else ", with one run each"
    known, reason = judged[second.name]
    if known is None:
        return f"{said} against {second} of {second.name}{_speed(best, others)}; {reason}."
    return f"{said} against {second} of {second.name} ({reason}{alone}){_speed(best, others)}."


def _doubt(best: Standing, other: Standing, chance: float | None) -> tuple[bool | None, str]:
    """Whether the difference may be chance (None: not known), and why."""
    difference = abs(best.mean - other.mean)
    if not difference and best.quality == other.quality:
        return True, "to the last digit"
    if chance is not None:
        word = "as far as these sentences tell" if chance >= _SIGNIFICANT else ""
        return chance >= _SIGNIFICANT, f"{word} (p = {chance:.2g})".strip() if word else f"p = {chance:.2g}"
    if best.spread is not None and other.spread is not None:
        within = difference <= max(best.spread, other.spread)
        return within, "within the spread over seeds" if within else "more than the spread over seeds"
    if best.interval is not None and other.interval is not None:
        within = difference <= (best.interval**2 + other.interval**2) ** 0.5
        return within, "within the 95 % intervals" if within else "outside the 95 % intervals"
    return None, "whether that is more than the luck of a seed, only further seeds would tell"


def _advice(equals: Sequence[Standing]) -> str:
    """Which of those that are as good to take."""
    fast = _fastest(equals)
    if fast is None:
        return ""
    (one, times, how), best = fast, equals[0]
    if one is best:
        return f"; {best.name} is the fastest of them{how}"
    return f": take {one.name}, {times:.2g} times as fast{how}" if times > _FASTER else ", at the same speed"


def _speed(best: Standing, others: Sequence[Standing]) -> str:
    fast = _fastest([best, *others])
    if fast is None:
        return ""
    one, times, how = fast
    if one is best:
        return f", and the fastest too{how}"
    return f"; {one.name} is {times:.2g} times as fast{how}" if times > _FASTER else ", at the same speed"


def _fastest(among: Sequence[Standing]) -> tuple[Standing, float, str] | None:
    """The fastest by evaluation, or else in training; how many times as fast as the first, and where; None: unknown."""
    speeds, how = [one.per_second for one in among], ""
    if None in speeds:
        how = " in training"
        speeds = [1 / one.training_seconds if one.training_seconds else None for one in among]
    known = [speed for speed in speeds if speed is not None]
    if len(known) < len(among):
        return None
    at = max(range(len(known)), key=known.__getitem__)
    return among[at], known[at] / known[0], how
