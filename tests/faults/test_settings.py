"""Any value in any place of a run.toml: one sentence, or it trains."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.base.errors import RegardError
from tests.faults.campaign import LONG, report, times
from tests.faults.runs import TABLES, changed, train, write_data

MISTAKES: list[tuple[str, Any, str]] = [
    ("model.width", 10**7, "more weights than"),
    ("model.width", 10**18, "model"),
    ("model", None, "model: must be one of .*gpt, .*, but is none"),
    ("model", "none", "model: must be one of .*gpt, .*, but is none"),
    ("training.seed", 10**30, "seed must be at most"),
    ("training.optimizer.learning_rate", float("nan"), "learning_rate must be more than 0, and finite"),
    ("training.optimizer.learning_rate", float("inf"), "learning_rate must be more than 0, and finite"),
    ("training.clip", float("nan"), "clip must be more than 0"),
    ("training.lanes", 10**6, "lanes must be at most"),
    ("training.accumulate", 2**31, "accumulate must be at most"),
    ("subwords.size", 10**12, "size must be at most"),
    ("name", "a\0b", "must be the name of a folder"),
    ("data.train", ["a\0", "b"], "cannot|NUL"),
    ("decoding.size", 10**12, "size must be at most"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    torch.set_num_threads(1)
    write_data(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("where", "value", "sentence"), MISTAKES, ids=lambda one: str(one)[:30])
def test_a_mistake_is_one_sentence(home: Path, where: str, value: Any, sentence: str) -> None:
    with pytest.raises((RegardError, OSError, ValueError), match=sentence) as refused:
        train(changed(tuple(where.split(".")), value), home, home / "run")
    assert isinstance(refused.value, RegardError)
    assert len(str(refused.value).splitlines()) == 1


def places(tree: Any, here: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every place in the tables."""
    for name, value in tree.items():
        yield (*here, name)
        if isinstance(value, dict):
            yield from places(value, (*here, name))


NUMBERS = st.integers(-3, 9) | st.sampled_from([10**6, 10**12, 2**63, 10**30, -(10**30)])
ODD = st.sampled_from([float("nan"), float("inf"), -0.0, 1e-300, "", "none", "\0", "..", "softmax", "cosine", "word"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | ODD | st.floats(width=16) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "size", "x"]), inner),
    max_leaves=4,
)
SLOW = ("steps", "epochs", "size", "max_length", "accumulate", "lanes", "width", "embedding", "tokens")


def takes_long(where: tuple[str, ...], value: Any) -> bool:
    """Whether a value is allowed, and would train for hours."""
    if where[-1] in SLOW and isinstance(value, int | float) and 100 < value < 10**9:
        return True
    if where[-1] in ("steps", "tokens") and isinstance(value, int) and value >= 10**9:
        return True
    training = changed(where, value).get("training")
    return isinstance(training, dict) and "steps" not in training  # as many as by default


def test_any_value_in_any_place_is_refused_or_trains(tmp_path_factory: pytest.TempPathFactory) -> None:
    tried = 0

    @settings(
        max_examples=times(30),
        deadline=None,
        derandomize=not LONG,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(where=st.sampled_from(sorted(places(TABLES))), value=VALUES)
    def refused_or_trains(where: tuple[str, ...], value: Any) -> None:
        nonlocal tried
        if takes_long(where, value):
            return
        home = tmp_path_factory.mktemp("settings")
        write_data(home)
        try:
            train(changed(where, value), home, home / "run")
        except RegardError as error:
            assert len(str(error).splitlines()) == 1
        shutil.rmtree(home)
        tried += 1

    refused_or_trains()
    report("settings", tried, tried)  # the first that is neither refused nor trains ends the campaign
