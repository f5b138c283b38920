import tomllib
from pathlib import Path

import numpy as np
import pytest

from regard.tasks.point_advice import point_settings
from regard.tasks.run import run_of
from regard.tasks.task import Wishes

POINTS = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("answers", "repeats", "fewest"),
    [
        ([[0, 1, 2], [2, 1, 0]], "all_once", 1),
        ([[0, 2], [1]], "at_most_once", 1),
        ([[0, 0], [1, 2, 1]], "allowed", 2),
    ],
)
def test_the_rule_is_the_strictest_that_all_answers_keep(answers: list[list[int]], repeats: str, fewest: int) -> None:
    advice = point_settings([Path("own.jsonl")], Wishes(), [(POINTS, answer) for answer in answers])
    run = run_of(tomllib.loads(advice.text), "run")
    assert (run.name, run.task.task_name(), run.model.where) == ("own", "points", "pointer")
    assert (run.task.data.rule.repeats, run.task.data.rule.fewest) == (repeats, fewest)
    assert all(run.task.data.rule.complaint(answer, 3) is None for answer in answers)
    assert run.training.metric == "loss"
