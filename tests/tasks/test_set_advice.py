import tomllib
from pathlib import Path

import numpy as np

from regard.data.set_examples import SetExample
from regard.tasks.run import run_of
from regard.tasks.set_advice import set_settings
from regard.tasks.task import Wishes


def test_large_sets_get_induced_points() -> None:
    for size, induced in ((5, None), (100, 16)):
        examples = [SetExample(np.zeros((size, 2)), (1.0,))]
        run = run_of(tomllib.loads(set_settings([Path("own.jsonl")], Wishes(), examples).text), "run")
        assert (run.task.task_name(), run.task.data.goal, run.model.induced) == ("sets", "number", induced)
