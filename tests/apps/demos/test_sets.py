from collections.abc import Callable
from pathlib import Path

import pytest

import regard.apps.demos.sets


def test_sums_are_learned_measured_and_drawn(shown: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regard.apps.demos.sets, "_TESTED", 5)
    lines = shown("sets", "training.schedule.warmup=1", "data.validation=5", "data.batch=8", "model.width=8")
    assert any("of 5 sums of 1 to 10 pictures it has never seen are right after rounding" in line for line in lines)
    assert Path("regard-demo/sets/sets.png").read_bytes().startswith(b"\x89PNG")
