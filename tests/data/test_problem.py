import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.problem import PROBLEMS, exact_share

NAMES = pytest.mark.parametrize("name", PROBLEMS.names)


@NAMES
def test_answers_keep_the_rule_and_are_exact(name: str) -> None:
    problem = PROBLEMS.make({"name": name, "size": 7, "smallest": 4})
    draw, sizes = np.random.default_rng(1), set()
    for _ in range(12):
        points = problem.draw(draw, 3)
        sizes.add(points.shape[1])
        truth = problem.solve(points)
        answers = [row[row >= 0].tolist() for row in truth]
        assert all(problem.rule.complaint(answer, points.shape[1]) is None for answer in answers)
        assert problem.scores(list(points), answers, answers)["exact"] == 100
    assert sizes == {4, 5, 6, 7}


@NAMES
def test_renumbering_the_points_renumbers_the_answer(name: str) -> None:
    """The start and the direction are those of the points, not of their numbers."""
    problem, order = PROBLEMS.make({"name": name, "size": 8}), np.random.default_rng(2).permutation(8)
    points = problem.draw(np.random.default_rng(3), 20)
    before, after = problem.solve(points), problem.solve(points[:, order])
    assert np.array_equal(np.where(after >= 0, order[after], -1), before)


@NAMES
def test_sizes_that_make_no_sense_are_refused(name: str) -> None:
    kind = PROBLEMS.get(name)
    with pytest.raises(ConfigError, match=f"{name}: size must be at least"):
        kind(0)
    with pytest.raises(ConfigError, match=rf"{name}: smallest \(9\) must be at most size \(8\)"):
        kind(8, 9)
    with pytest.raises(ConfigError, match=f"{name}: size must be at most"):
        kind(100_000)


def test_only_what_is_right_in_all_steps_is_exact() -> None:
    assert exact_share([(0, 1), (1,), (2, 0)], [[0, 1], [1, 0], [2, 0]]) == pytest.approx(200 / 3)
