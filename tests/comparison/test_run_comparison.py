"""Finished runs of several tasks side by side."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from regard.base.errors import UsageError
from regard.comparison.run_comparison import RunComparison, compare_runs
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.training.progress import Silent
from tests.apps.commands.test_predict import written
from tests.comparison.test_comparing import TABLES
from tests.tasks.test_tag import TABLES as TAGGING
from tests.tasks.test_tag import TEXT

FEW = {"steps": 4, "validate_every": 2, "log_every": 1, "average": 1}


def train(folder: Path, name: str, tables: dict[str, Any], **training: Any) -> Path:
    changed = tables | {"training": tables["training"] | FEW | training}
    train_run(run_of(changed, name), folder / name, folder, Silent())
    return folder / name


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of one puzzle model and one of a wider model; two taggers and their test file."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "train.txt").write_text(TEXT, encoding="utf-8")
    wide = TABLES | {"model": TABLES["model"] | {"width": 16}}
    for name, tables, seed in (("small-1", TABLES, 1), ("small-2", TABLES, 2), ("wide", wide, 1)):
        train(folder, name, tables, seed=seed)
    for name, rate in (("slow", 0.0001), ("fast", 0.01)):
        train(folder, name, TAGGING, optimizer={"learning_rate": rate}, steps=12, validate_every=6)
    return folder


def test_runs_are_compared_by_their_own_validations(runs: Path) -> None:
    found = compare_runs([runs / name for name in ("small-1", "small-2", "wide")])
    small, wide = found.compared
    assert (small.name, small.runs, wide.runs) == ("small", ("small-1", "small-2"), ("wide",))
    assert (found.task, found.metric, found.lower, found.tested) == ("solve", "accuracy", False, False)
    assert len(small.quality) == len(small.curves) == 2
    assert [point.step for point in wide.curves[0]][-2:] == [2, 4]
    assert wide.parameters is not None
    assert small.parameters is not None
    assert wide.parameters > small.parameters
    assert all(one.mib > 0 and one.training_per_second and one.steps == 4 for one in found.compared)
    assert found.by_processor
    assert found.verdict.endswith(".")
    assert found.as_dict()["compared"][0]["curves"]


def test_runs_of_any_task_are_compared_on_a_test_set(runs: Path) -> None:
    found = compare_runs([runs / "slow", runs / "fast"], test=[runs / "train.txt"])
    assert (found.task, found.metric, found.what) == ("tag", "F1", "words")
    assert all(one.per_second is not None and one.per_second > 0 for one in found.compared)
    by_accuracy = compare_runs([runs / "slow", runs / "fast"], test=[runs / "train.txt"], metric="accuracy")
    assert by_accuracy.compared[0].quality == (found.scores["slow"][1].value,)
    assert all(one.interval is not None for one in by_accuracy.compared)
    with pytest.raises(UsageError, match="--metric speed: scores are: F1, accuracy"):
        compare_runs([runs / "slow"], test=[runs / "train.txt"], metric="speed")


def test_other_tasks_are_refused(runs: Path) -> None:
    with pytest.raises(UsageError, match="only runs of one task can be compared"):
        compare_runs([runs / "slow", runs / "wide"])


def test_one_seed_twice_is_no_spread(runs: Path) -> None:
    found: RunComparison = compare_runs([runs / "wide", runs / "wide" / "model.safetensors"])
    assert [one.runs for one in found.compared] == [("wide",), ("model",)]
    assert "as good to the last digit" in found.verdict


def test_a_model_without_a_log_needs_a_test_set(tmp_path: Path) -> None:
    file = written(tmp_path, "classify", classes=["no", "yes"])
    with pytest.raises(UsageError, match="no validation is logged beside it; give --test"):
        compare_runs([file])
    (tmp_path / "test.tsv").write_text("no\tthe cat\nyes\tthe dog\n", encoding="utf-8")
    (only,) = compare_runs([file], test=[tmp_path / "test.tsv"]).compared
    assert only.interval is not None
    assert replace(only, quality=(1.0,)).mean == 1.0
    assert only.curves == ()
