"""Losses by other formulas, and what outputs mean."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal, Poisson

from regard.base.errors import RegardError
from regard.data.set_examples import Scale, SetExample
from regard.data.set_goals import ClassGoal, ClusterGoal, CountGoal, Goal, NumberGoal, goal_from, set_batch

ONE = Scale((0.0,), (1.0,))
SETS = [np.array([[1.0, 2.0]]), np.array([[0.0, 1.0], [3.0, 1.0], [2.0, 2.0]]), np.zeros((0, 2))]
PLANE = Scale((1.0, 2.0), (2.0, 4.0))
GOALS = [NumberGoal(ONE, "squared"), CountGoal(ONE), ClassGoal(Scale((), ()), ("a", "b")), ClusterGoal(PLANE, 3)]


def test_numbers_are_told_in_their_own_units() -> None:
    goal = NumberGoal(Scale((10.0,), (2.0,)))
    batch = set_batch([SetExample(one, (14.0,)) for one in SETS], PLANE, goal)
    assert batch.targets.tolist() == [[2.0]] * 3
    made = torch.tensor([[2.0], [1.0], [0.0]])
    assert goal.answers(made) == [14.0, 12.0, 10.0]
    assert float(goal.loss(made, batch)) == 3.0
    assert goal.scores(made, batch, [(14.0,)] * 3)["error"].tolist() == [0, 2, 4]
    assert float(NumberGoal(goal.scale, "squared").loss(made, batch)) == 5.0


def test_a_count_is_poisson() -> None:
    goal = CountGoal(ONE)
    batch = set_batch([SetExample(one, (float(at),)) for at, one in enumerate(SETS)], PLANE, goal)
    rates = torch.tensor([0.3, 1.2, 1.6])
    made = rates.log()[:, None]
    constant = sum(math.lgamma(at + 1) for at in range(3))
    wanted = -Poisson(rates).log_prob(torch.arange(3.0)).sum() - constant
    assert float(goal.loss(made, batch)) == pytest.approx(float(wanted), abs=1e-5)
    assert goal.answers(made) == [0, 1, 2]
    assert goal.scores(made, batch, [(0.0,), (1.0,), (4.0,)])["accuracy"].tolist() == [100, 100, 0]


def test_a_class_is_told_by_name() -> None:
    goal = GOALS[2]
    batch = set_batch([SetExample(one, "b") for one in SETS], PLANE, goal)
    made = torch.tensor([[0.0, 1.0], [2.0, 1.0], [0.0, 3.0]])
    assert goal.answers(made) == ["b", "a", "b"]
    assert goal.scores(made, batch, ["b"] * 3)["accuracy"].mean() == pytest.approx(200 / 3)
    wanted = torch.nn.functional.cross_entropy(made, torch.tensor([1, 1, 1]), reduction="sum")
    torch.testing.assert_close(goal.loss(made, batch), wanted)
    with pytest.raises(RegardError, match="the class 'c' is not among those of the training data: a, b"):
        goal.targets(["a", "c"])


def test_clusters_are_a_mixture() -> None:
    """The density against torch's own mixture, in the units of the data."""
    goal = ClusterGoal(PLANE, 3)
    batch = set_batch([SetExample(one, (0.5,)) for one in SETS], PLANE, goal)
    made = torch.randn(3, goal.outputs, generator=torch.Generator().manual_seed(1))
    found = goal.scores(made, batch, [(0.5,)] * 3)
    for row, told in enumerate(goal.answers(made)[:2]):
        parts = [torch.tensor(told[name]) for name in ("weights", "centers", "deviations")]
        mixture = MixtureSameFamily(Categorical(parts[0]), Independent(Normal(*parts[1:]), 1))
        wanted = float(mixture.log_prob(torch.from_numpy(SETS[row]).float()).mean())
        assert found["likelihood"][row] == pytest.approx(wanted, abs=1e-4)
        assert found["behind"][row] == pytest.approx(0.5 - wanted, abs=1e-4)
    units = 2 * math.log(2.0 * 4.0)
    assert float(goal.loss(made, batch)) == pytest.approx(-found["likelihood"][:2].sum() - units, abs=1e-4)


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: type(goal).__name__)
def test_a_model_file_keeps_the_goal(goal: Goal) -> None:
    import dataclasses

    from regard.data.set_goals import GOALS as KINDS

    kind = next(name for name, one in KINDS.items() if type(goal) is one)
    assert goal_from({"kind": kind, **dataclasses.asdict(goal)}) == goal
