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


def test_without_a_dev_set_some_lines_are_held_out(tmp_path: Path) -> None:
    file, count = tmp_path / "own.jsonl", 200
    lines = [f'{{"elements": [[{at}]], "target": {at}}}\n' for at in range(count)]
    file.write_text("".join(lines), encoding="utf-8")
    examples = [SetExample(np.zeros((1, 1)), (1.0,))] * count
    advice = set_settings([file], Wishes(out=tmp_path / "run.toml"), examples)
    run = run_of(tomllib.loads(advice.text), "run")
    named = (run.task.data.train, run.task.data.dev)
    train, dev = (advice.files[tmp_path / path].splitlines(True) for (path,) in named)
    assert sorted([*train, *dev]) == sorted(lines)
    assert len(dev) >= 10
    assert (run.training.metric, "held out for validation" in advice.reasons[1]) == ("error", True)
    kept = set_settings([file], Wishes(out=tmp_path / "run.toml", hold_out=0), examples)
    assert (kept.files, run_of(tomllib.loads(kept.text), "run").training.metric) == ({}, "loss")
