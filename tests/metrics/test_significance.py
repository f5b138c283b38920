"""The paired bootstrap test gives sacrebleu's own numbers."""

import random
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

from regard.base.errors import UsageError
from regard.metrics.significance import Judged, PairedScore, paired_bootstrap

WORDS = "the a cat dog sees hears big small house tree and water".split()


def texts(seed: int, change: float, count: int = 60) -> list[str]:
    """Sentences of which this share of words is drawn anew."""
    true, chance = random.Random(1), random.Random(seed)
    rows = [[true.choice(WORDS) for _ in range(true.randint(4, 9))] for _ in range(count)]
    return [" ".join(chance.choice(WORDS) if chance.random() < change else word for word in row) for row in rows]


REFERENCES = texts(0, 0.0)
GOOD, BAD, NEAR = texts(2, 0.1), texts(3, 0.5), texts(4, 0.1)


def judged(outputs: list[str], references: list[str] = REFERENCES) -> Judged:
    return Judged(tuple(outputs), tuple(references))


@pytest.mark.parametrize(("measure", "metric"), [("BLEU", BLEU()), ("chrF", CHRF()), ("TER", TER())])
def test_the_numbers_are_sacrebleus_own(measure: str, metric: Any) -> None:
    systems = [("bad", BAD), ("good", GOOD), ("near", NEAR)]
    signatures, scores = PairedTest(systems, {measure: metric}, [REFERENCES], test_type="bs", n_samples=200)()
    found = paired_bootstrap({name: judged(lines) for name, lines in systems}, samples=200, measures=[measure])
    (name,) = signatures
    assert [(one.value, one.spread, one.p_value) for one in found] == [
        (pytest.approx(result.score), pytest.approx(result.ci), result.p_value) for result in scores[name]
    ]
    assert {one.signature for one in found} == {str(signatures[name])}


def test_a_large_difference_is_significant_and_a_small_one_is_not() -> None:
    found = paired_bootstrap({"good": judged(GOOD), "bad": judged(BAD), "near": judged(NEAR)}, samples=300)
    values = {(one.system, one.measure): one for one in found}
    for measure in ("BLEU", "chrF", "TER", "exact match"):
        assert values["good", measure].p_value is None
        assert values["bad", measure].p_value == pytest.approx(1 / 301)
        assert (values["near", measure].p_value or 0) > 0.05
    assert values["bad", "BLEU"].difference == values["bad", "BLEU"].value - values["good", "BLEU"].value < 0


def test_exact_match_is_resampled_by_the_same_sentences() -> None:
    found = paired_bootstrap({"one": judged(GOOD), "two": judged(BAD)}, samples=200, measures=["exact match"])
    rows = np.random.default_rng(12345).choice(len(REFERENCES), size=(200, len(REFERENCES)), replace=True)
    for one, outputs in zip(found, (GOOD, BAD), strict=True):
        right = np.array([own == wanted for own, wanted in zip(outputs, REFERENCES, strict=True)])
        means = np.sort(100 * right[rows].mean(1))
        assert one.spread == pytest.approx((means[200 - 5 - 1] - means[5]) / 2, abs=1e-4)


def test_equal_outputs_are_no_difference() -> None:
    (_, same) = paired_bootstrap({"one": judged(GOOD), "two": judged(GOOD)}, samples=50, measures=["BLEU"])
    assert (same.difference, same.p_value) == (0, 1)


def test_equal_scores_are_no_difference() -> None:
    systems = {"one": judged(["xx"] * 60), "two": judged(["yy zz"] * 60)}
    _, two = paired_bootstrap(systems, samples=50, measures=["BLEU"])
    assert (two.value, two.difference, two.p_value) == (0.0, 0.0, 1.0)


def test_it_reads_at_a_glance() -> None:
    assert str(PairedScore("a", "BLEU", 30.0, 1.0)) == "30.00 ± 1.00"
    assert str(PairedScore("b", "BLEU", 32.5, 1.0, 2.5, 0.003)) == "32.50 ± 1.00 (+2.50, p = 0.0030)"


def test_only_outputs_of_one_test_set_are_compared() -> None:
    with pytest.raises(UsageError, match="it takes two systems"):
        paired_bootstrap({"one": judged(GOOD)})
    with pytest.raises(UsageError, match="two: has 59 outputs, but the test set has 60 sentences"):
        paired_bootstrap({"one": judged(GOOD), "two": judged(BAD[1:])})
    with pytest.raises(UsageError, match="two: was evaluated on another test set than one"):
        paired_bootstrap({"one": judged(GOOD), "two": judged(GOOD, BAD)})
