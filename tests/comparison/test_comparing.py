"""Settings that are compared before anything is trained."""

from pathlib import Path
from typing import Any

import pytest
import tomli_w

from regard.base.errors import RegardError, UsageError
from regard.comparison.comparing import Budget, Comparison, as_dict, compare_settings, trials_of, verdict

TABLES: dict[str, Any] = {
    "task": "solve",
    "puzzle": {"name": "copy_back", "length": 6, "count": 1, "letters": 2},
    "examples": {"rows": 4, "dev": 8},
    "model": {"name": "bert", "layers": 1, "width": 8, "heads": 2, "positions": "learned(8)"},
    "training": {"metric": "accuracy"},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "full.toml").write_text(tomli_w.dumps(TABLES), encoding="utf-8")
    return tmp_path / "full.toml"


def compared(name: str, quality: tuple[float, ...], seconds: float, lower: bool = False) -> Comparison:
    return Comparison(name, "loss" if lower else "accuracy", lower, quality, seconds, 10.0, 100, 5)


def test_settings_vary_and_commas_in_brackets_part_nothing(file: Path) -> None:
    trials = trials_of([file], ["model.mask=window(2, 1),none", "model.width=8,16"])
    assert [trial.name for trial in trials] == [
        "full, mask=window(2, 1), width=8",
        "full, mask=window(2, 1), width=16",
        "full, mask=none, width=8",
        "full, mask=none, width=16",
    ]
    assert [trial.run.model.width for trial in trials] == [8, 16, 8, 16]  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="write a setting and its values"):
        trials_of([file], ["model.mask"])


def test_they_are_trained_on_the_same_and_not_twice(file: Path, tmp_path: Path) -> None:
    told: list[str] = []
    trials = trials_of([file], ["model.mask=window(2),none"])
    given: dict[str, Any] = {"seeds": 2, "folder": tmp_path / "runs", "tell": lambda one: told.append(one.name)}
    first = compare_settings(trials, Budget(steps=3), **given)
    assert told == ["full, mask=window(2)", "full, mask=none"]
    assert [len(one.quality) for one in first] == [2, 2]
    assert all(0 <= value <= 1 for one in first for value in one.quality)
    assert first[0].weights == first[1].weights > 0
    stamps = [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("runs/*/model.safetensors"))]
    assert compare_settings(trials, Budget(steps=3), **given) == first
    assert [path.stat().st_mtime_ns for path in sorted(tmp_path.glob("runs/*/model.safetensors"))] == stamps
    with pytest.raises(
        UsageError, match="holds a trial of other settings or budget; delete it, or give another --runs"
    ):
        compare_settings(trials, Budget(steps=4), **given)
    assert as_dict(first)["settings"][0]["name"] == told[0]


def test_a_budget_of_answers_is_so_many_steps(file: Path, tmp_path: Path) -> None:
    (one,) = compare_settings(trials_of([file]), Budget(units=9), seeds=1, folder=tmp_path / "runs")
    assert one.steps == 2  # 4 answers a step
    with pytest.raises(RegardError, match=r"no speed was measured; there are: .*accuracy"):
        compare_settings(trials_of([file]), Budget(steps=1), seeds=1, folder=tmp_path / "other", metric="speed")


def test_a_budget_of_seconds_is_so_many_steps(file: Path, tmp_path: Path) -> None:
    (one,) = compare_settings(trials_of([file]), Budget(seconds=0.02), seeds=1, folder=tmp_path / "runs")
    assert one.steps >= 1


def test_other_data_is_refused(file: Path, tmp_path: Path) -> None:
    other = TABLES | {"puzzle": {"name": "copy_back", "length": 8, "count": 1}}
    (tmp_path / "other.toml").write_text(tomli_w.dumps(other), encoding="utf-8")
    with pytest.raises(UsageError, match=r"other has another \[puzzle\] than full"):
        trials_of([file, tmp_path / "other.toml"])
    with pytest.raises(UsageError, match="two of the settings have one name"):
        trials_of([file, file])
    with pytest.raises(UsageError, match="give one budget: --steps, --tokens or --seconds"):
        Budget(steps=3, units=4)


def test_the_verdict_is_one_sentence() -> None:
    slow, fast = compared("slow", (0.90, 0.94), 10.0), compared("fast", (0.90, 0.92), 4.0)
    poor = compared("poor", (0.5, 0.5), 1.0)
    assert verdict([slow, fast, poor]) == (
        "slow is best: accuracy 0.92 ± 0.028; "
        "fast is as good within the spread over seeds, in 40% of the time: take fast."
    )
    assert verdict([slow, poor]) == "slow is best: accuracy 0.92 ± 0.028; poor needs 10% of the time for accuracy 0.5."
    low, high = compared("low", (1.0,), 2.0, lower=True), compared("high", (2.0,), 3.0, lower=True)
    assert verdict([high, low]) == "low is best: loss 1, and the cheapest too."
    like, alike = compared("like", (0.92, 0.90), 11.0), compared("alike", (0.91, 0.91), 12.0)
    assert verdict([slow, like, alike]) == (
        "slow is best: accuracy 0.92 ± 0.028, and the cheapest; "
        "like and alike are as good within the spread over seeds."
    )
