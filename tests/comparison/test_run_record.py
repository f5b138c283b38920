"""What a finished run tells of itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.base.errors import RegardError, UsageError
from regard.comparison.run_record import RunRecord, check_comparable, named, parameters_of, read_record, shared_metric
from regard.runs.artifact import load_artifact
from regard.tasks.language import Language
from regard.tasks.solve import Solve
from tests.apps.commands.test_predict import written

STEPS = [{"kind": "train", "step": step, "tokens": 10 * step, "tokens_per_second": 5.0} for step in (2, 4)]
VALID = [
    {"kind": "valid", "step": 1, "epoch": 0, "tokens": 10, "loss": 3.0, "perplexity": 20.0},
    {"kind": "valid", "step": 4, "epoch": 0, "tokens": 40, "loss": 1.0, "perplexity": 3.0},
    {"kind": "average", "step": 4, "loss": 2.0, "perplexity": 7.0},
]


def record(place: str = "a", **changes: Any) -> RunRecord:
    given: dict[str, Any] = {
        "place": Path(place),
        "task": Language,
        "settings": {"name": place, "training": {"seed": 1, "metric": "loss"}},
        "tokenizers": {"text": "one"},
        "parameters": 5,
        "train": tuple(STEPS),
        "valid": tuple(VALID),
    }
    return RunRecord(**given | changes)


def test_quality_grows_with_steps_and_with_processor_time() -> None:
    by_clock = record()
    assert not by_clock.by_processor
    assert [point.seconds for point in by_clock.curve()] == [2.0, 8.0]  # 20 tokens in 4 seconds
    timed = record(train=tuple({**entry, "processor_seconds": 0.5 * entry["step"]} for entry in STEPS))
    assert timed.by_processor
    assert [(point.step, point.seconds, point.value) for point in timed.curve("perplexity")] == [
        (1, 1.0, 20.0),
        (4, 6.0, 3.0),
    ]
    assert timed.per_second == pytest.approx(40 / 6)
    assert (timed.steps, timed.metrics) == (4, ["loss", "perplexity"])


def test_the_model_has_the_weights_of_the_best_validation() -> None:
    assert record().quality() == 1.0
    assert record(valid=(*VALID[:2], {**VALID[2], "loss": 0.5})).quality("perplexity") == 7.0
    with pytest.raises(UsageError, match="no bleu is in its log; there are: loss, perplexity"):
        record().quality("bleu")
    with pytest.raises(UsageError, match="no validation is logged beside it; give --test"):
        record(valid=()).quality()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match=r"b is for the task solve, but a for language; only runs of one task"):
        check_comparable([record(), record("b", task=Solve)])
    other = record("b", settings={"training": {"metric": "perplexity"}})
    with pytest.raises(UsageError, match="b was trained for perplexity, but a for loss; --metric chooses one"):
        shared_metric([record(), other], None)
    assert shared_metric([record(), other], "perplexity") == "perplexity"
    with pytest.raises(UsageError, match="b has other tokens than a"):
        shared_metric([record(), record("b", tokenizers={"text": "two"})], None)
    with pytest.raises(RegardError, match="given twice"):
        named([record(), record()])


def test_runs_that_differ_in_the_seed_alone_are_a_family() -> None:
    other = record("b", settings={"name": "b", "training": {"seed": 2, "metric": "loss"}})
    assert other.family == record().family
    assert record(settings={"training": {"seed": 1, "metric": "perplexity"}}).family != other.family
    assert named([record("x/a"), record("y/a"), record("b")]) == ["x/a", "y/a", "b"]


def test_a_model_file_has_parameters_and_beside_it_perhaps_a_log(tmp_path: Path) -> None:
    file = written(tmp_path, "masked")
    alone = read_record(file)
    assert (
        alone.parameters
        == parameters_of(load_artifact(file))
        == sum(parameter.numel() for parameter in load_artifact(file).model().parameters())
    )
    assert alone.steps is alone.seconds is alone.per_second is None
    file.rename(tmp_path / "model.safetensors")
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in (*STEPS, *VALID)))
    for place in (tmp_path, tmp_path / "model.safetensors"):
        assert read_record(place).steps == 4
