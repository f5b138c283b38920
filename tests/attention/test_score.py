import pytest
import torch

from regard.attention.score import SCORES, Score
from regard.base.errors import ConfigError, UsageError


def test_a_score_without_a_formula_says_so() -> None:
    sides = torch.randn(1, 1, 2, 3), torch.randn(1, 1, 4, 3)
    for use in (Score(), Score().factors):
        with pytest.raises(UsageError, match=r"Score has weights: use Score\(…\)\.build\(sizes\)"):
            use(*sides)


def test_the_formulas_of_the_lectures_are_there() -> None:
    assert {"dot", "scaled_dot", "bilinear", "additive"} <= set(SCORES.names)


def test_unknown_scores_are_named_with_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"attention\.score: unknown 'scaled' \(did you mean 'scaled_dot'\?\); scores are"
    ):
        SCORES.make("scaled", "attention.score")


def test_scores_are_not_composed() -> None:
    with pytest.raises(ConfigError, match="scores: scores are not composed with &; only masks are"):
        SCORES.make("dot & cosine")
    with pytest.raises(ConfigError, match="scores are not composed with ~"):
        SCORES.make("~dot")
