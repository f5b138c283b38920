"""Few-shot learning: episodes of new classes, trained, evaluated and used."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.base.errors import ConfigError, RegardError
from regard.decoding.few_shot import FewShot
from regard.tasks.episodes import Episodes
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Evaluation
from regard.training.progress import Progress


def tables(**changes: Any) -> dict[str, Any]:
    return {
        "task": "episodes",
        "data": {"source": "handwritten", "hold_out": 0.3},
        "episodes": {"ways": 3, "queries": 4, "validations": 10},
        "model": {"name": "cnn", "stage_widths": [8, 16], "stage_strides": [1, 2], "pooling": "flat"},
        "training": {"steps": 2, "validate_every": 2, "optimizer": {"learning_rate": 0.003}, "schedule": "constant"},
        **changes,
    }


@pytest.mark.parametrize("method", ["prototypes", "matching", {"name": "maml", "steps": 2}, "reptile"])
def test_every_method_trains_and_is_loaded(method: Any, tmp_path: Path) -> None:
    table = tables()
    table["training"] |= {"method": method}
    train_run(run_of(table, "run"), tmp_path / "run", tmp_path, Progress())
    few = regard.load(tmp_path / "run", expect=FewShot)
    rows = run_of(table, "run").task.data.source.rows()
    pictures, labels = rows.inputs.reshape(-1, 8, 8), [str(label) for label in rows.labels]
    told = few.tell(pictures[:3], ["a", "b", "c"], pictures[3:9])
    assert len(told) == 6 and set(told) <= {"a", "b", "c"}
    assert few.embed(pictures[:2]).shape[0] == 2
    np.savez(tmp_path / "digits.npz", pictures=pictures[:200], labels=np.array(labels[:200]))
    (score,) = Episodes.evaluate(few, [tmp_path / "digits.npz"], Evaluation())
    assert 0 <= score.value <= 100 and "400 episodes, 3 classes" in score.after


def test_digits_never_seen_are_told(tmp_path: Path) -> None:
    table = tables()
    table["training"] |= {"steps": 60, "validate_every": 60}
    train_run(run_of(table, "run"), tmp_path / "run", tmp_path, Progress())
    task: Any = run_of(table, "run").task
    (tmp_path / "again").mkdir()
    prepared = task.prepare(tmp_path / "again", tmp_path)
    few = regard.load(tmp_path / "run", expect=FewShot)
    found = task.metrics(few.model, prepared)
    assert found["accuracy"] > 0.6  # a third by chance


def test_too_few_examples_or_classes_are_told(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for alphabet in ("greek", "latin"):
        for character in "abc":
            (tmp_path / "all" / alphabet / character).mkdir(parents=True)
            for at in range(3):
                picture = np.full((10, 10), 80 * at, np.uint8)
                image.fromarray(picture).save(tmp_path / "all" / alphabet / character / f"{at}.png")
    table = tables(data={"train": ["all"], "height": 8, "width": 8, "hold_out": 0.5})
    table["episodes"] = {"ways": 3, "queries": 3}
    with pytest.raises(RegardError, match="has 3 examples, but 1 shots and 3 queries need 4"):
        run_of(table, "run").task.prepare(tmp_path, tmp_path)
    table["episodes"] = {"ways": 4, "queries": 1}
    with pytest.raises(RegardError, match=r"4 classes \(episodes\.ways\), but the largest group 3"):
        run_of(table, "run").task.prepare(tmp_path, tmp_path)


def test_bad_settings(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set either source"):
        run_of(tables(data={}), "run").task.prepare(tmp_path, tmp_path)
    with pytest.raises(RegardError, match="there is no such file or folder"):
        run_of(tables(data={"train": ["gone"]}), "run").task.prepare(tmp_path, tmp_path)
    with pytest.raises(ConfigError, match="hold_out must be above 0"):
        run_of(tables(data={"source": "handwritten", "hold_out": 0.0}), "run")
    with pytest.raises(ConfigError, match="unknown 'protos'"):
        run_of(tables(training={"steps": 1, "method": "protos"}), "run")
