import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.pointing import PointingRule, point_batch

KEEP = torch.tensor([[True, True, True, True, False]])


def allowed(rule: PointingRule, *choices: int) -> list[int]:
    """The valid choices after these, of three points and one of padding; 0 is the end."""
    visited = torch.zeros_like(KEEP)
    visited[0, list(choices)] = True
    return rule.allowed(visited, torch.tensor([len(choices)]), KEEP)[0].nonzero()[:, 0].tolist()


def test_an_order_takes_every_position_once() -> None:
    rule = PointingRule("all_once")
    assert allowed(rule) == [1, 2, 3]
    assert allowed(rule, 2) == [1, 3]
    assert allowed(rule, 2, 1, 3) == [0]


def test_a_choice_takes_no_position_twice_and_may_end() -> None:
    rule = PointingRule("at_most_once", fewest=2)
    assert allowed(rule, 2) == [1, 3]
    assert allowed(rule, 2, 1) == [0, 3]
    assert allowed(rule, 2, 1, 3) == [0]
    assert allowed(rule, 2, 1, 0) == [0]
    assert allowed(PointingRule("at_most_once", fewest=9), 2, 1, 3) == [0], "there are no more"


def test_repeats_may_be_allowed() -> None:
    rule = PointingRule("allowed", fewest=1, most=2)
    assert allowed(rule) == [1, 2, 3]
    assert allowed(rule, 2) == [0, 1, 2, 3]
    assert allowed(rule, 2, 2) == [0]


@pytest.mark.parametrize("rule", [PointingRule("all_once"), PointingRule(fewest=3), PointingRule("allowed", most=4)])
def test_along_an_answer_is_step_by_step(rule: PointingRule) -> None:
    answer = [1, 3, 2]
    choices = torch.tensor([[*answer, 0]])
    along = rule.allowed_along(choices, KEEP)[0]
    for step in range(4):
        assert along[step].nonzero()[:, 0].tolist() == allowed(rule, *choices[0, :step].tolist())
        assert along[step, choices[0, step]], "the right answer is allowed"


@pytest.mark.parametrize(
    ("rule", "answer", "complaint"),
    [
        (PointingRule(), [0, 3], "names position 3, but there are 3 points, from 0"),
        (PointingRule(), [1, 1], "names position 1 twice"),
        (PointingRule("all_once"), [0, 1], "has 2 positions, but there must be 3 to 3"),
        (PointingRule(fewest=2), [0], "has 1 positions, but there must be 2 to 3"),
        (PointingRule("allowed", most=4), [0, 0, 0, 0], None),
        (PointingRule("all_once"), [2, 0, 1], None),
    ],
)
def test_complaints(rule: PointingRule, answer: list[int], complaint: str | None) -> None:
    assert rule.complaint(answer, 3) == complaint


def test_rules_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="most must be at least 3, but is 2"):
        PointingRule(fewest=3, most=2)


def test_batches_are_padded_and_shared() -> None:
    points = [np.ones((3, 2)), np.ones((5, 2)), np.ones((2, 2))]
    batch = point_batch(points, [[0, 2], [4, 3, 2, 1, 0], [1]])
    assert batch.lengths.tolist() == [3, 5, 2]
    assert batch.choices.tolist() == [[1, 3, 0, -1, -1, -1], [5, 4, 3, 2, 1, 0], [2, 0, -1, -1, -1, -1]]
    assert batch.points[0, 3:].sum() == 0
    assert (batch.count, batch.size) == (11, 18)
    shares = batch.shares(2)
    assert sum(share.count for share in shares) == batch.count
