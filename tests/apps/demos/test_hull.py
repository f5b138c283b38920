import json
from collections.abc import Callable
from pathlib import Path

import pytest

import regard.apps.demos.hull


def test_hulls_are_learned_measured_and_drawn(shown: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regard.apps.demos.hull, "_TESTED", 5)
    lines = shown("hull", "training.schedule.warmup=1", "data.problem=hull(5)", "data.validation=5", "model.width=12")
    home = Path("regard-demo/hull")
    assert any("of 5 hulls it has never seen are right in every point" in line for line in lines)
    assert (home / "hull.png").read_bytes().startswith(b"\x89PNG")
    first = json.loads((home / "test.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert len(first["points"]) == 5
    assert lines[-1] == f"Try your own:  regard predict {home}/runs/hull {home}/test.jsonl"
