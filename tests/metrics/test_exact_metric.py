"""Exact match among sacrebleu's metrics."""

import pytest

from regard.metrics.exact_metric import ExactMatch
from regard.metrics.quality import corpus_scores, exact_match

OUTPUTS = ["a b", " c ", "D", "e", "f", "g"]
REFERENCES = ["a b", "c", "d", "e", "f", "x"]


def test_it_counts_what_is_equal_but_for_white_space_around() -> None:
    found = ExactMatch().corpus_score(OUTPUTS, [REFERENCES])
    assert found.score == exact_match(OUTPUTS, REFERENCES) == pytest.approx(400 / 6)
    assert ExactMatch().corpus_score(["b"], [["a"], ["b"]]).score == 100  # of several references, any counts


def test_it_is_resampled_as_the_others_are() -> None:
    (found,) = corpus_scores(OUTPUTS, REFERENCES, measures=["exact match"], samples=200)
    assert 10 < (found.spread or 0) < 50
    assert str(found).startswith("exact match 66.67 ± ")
    (all_right,) = corpus_scores(REFERENCES, REFERENCES, measures=["exact match"], samples=200)
    assert (all_right.value, all_right.spread) == (100, 0)
