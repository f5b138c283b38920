"""Whether one system is better than another, or only luckier: the paired bootstrap test.

The test set is resampled many times, sentences with replacement; each resample scores both systems. The p-value is the
share of resamples in which the difference lies as far from its mean as the observed one: below 0.05, a difference as
large is unlikely to come from the choice of sentences. Koehn, 2004, https://aclanthology.org/W04-3250; the numbers are
those of sacrebleu's `--paired-bs`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.base.errors import UsageError
from regard.base.wording import counted
from regard.metrics.quality import MEASURES, metric_of


@dataclass(frozen=True)
class Judged:
    """The outputs of a system with their references, and how they are compared."""

    outputs: tuple[str, ...]
    references: tuple[str, ...]
    tokenize: str | None = None
    lowercase: bool = False


@dataclass(frozen=True)
class PairedScore:
    """A score of one system, and the p-value of its difference from the baseline."""

    system: str
    measure: str
    value: float
    spread: float
    """half the 95 % confidence interval"""
    difference: float = 0.0
    """from the baseline"""
    p_value: float | None = None
    """None for the baseline itself"""
    signature: str = ""

    def __str__(self) -> str:
        shown = f"{self.value:.2f} ± {self.spread:.2f}"
        return shown if self.p_value is None else f"{shown} ({self.difference:+.2f}, p = {self.p_value:.4f})"


def paired_bootstrap(
    systems: Mapping[str, Judged], *, samples: int = 1000, measures: Sequence[str] = MEASURES
) -> list[PairedScore]:
    """Compare each system with the first, the baseline, by every measure: one score for each, measure by measure.

    >>> first = Judged(("a b c d", "e"), ("a b c d", "f"))
    >>> second = Judged(("a b c d", "f"), ("a b c d", "f"))
    >>> [str(score) for score in paired_bootstrap({"one": first, "two": second}, measures=["exact match"])]

    A p-value is 1 where two scores are equal, such as two BLEU of 0; sacrebleu gives 1 / (samples + 1) there.
    """
    from sacrebleu.significance import PairedTest  # imported here: takes half a second that only a comparison needs

    _check(systems)
    (first, *_), names = systems.values(), list(systems)
    metrics = {name: metric_of(name, first.tokenize, first.lowercase) for name in measures}
    named: Any = [(name, list(judged.outputs)) for name, judged in systems.items()]
    test = PairedTest(named, metrics, [list(first.references)], test_type="bs", n_samples=samples)
    signatures, results = test()
    scores: Any = results
    found = []
    for measure, own in zip(measures, (name for name in scores if name != "System"), strict=True):
        base, *_ = scores[own]
        for name, result in zip(names, scores[own], strict=True):
            score, spread = float(result.score), float(result.ci)
            difference = score - float(base.score)
            p_value = None if result is base else 1.0 if difference == 0 else float(result.p_value)
            found.append(PairedScore(name, measure, score, spread, difference, p_value, str(signatures[own])))
    return found


def _check(systems: Mapping[str, Judged]) -> None:
    """Refuse outputs that belong to other test sets."""
    if len(systems) < 2:
        raise UsageError("significance: it takes two systems to compare, but one is given")
    baseline, first = next(iter(systems.items()))
    for name, judged in systems.items():
        if len(judged.outputs) != len(first.references):
            lines, wanted = len(judged.outputs), len(first.references)
            raise UsageError(
                f"{name}: has {counted(lines, 'output')}, but the test set has {counted(wanted, 'sentence')}"
            )
        if judged.references != first.references:
            raise UsageError(f"{name}: was evaluated on another test set than {baseline}")
