"""Demonstrations with a few steps, in an empty folder."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import regard.tasks.run
from regard.tasks.run import read_run
from tests.apps.running import Run


@pytest.fixture
def shown(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Show a demonstration with other settings; what it printed."""
    monkeypatch.chdir(tmp_path)

    def show(name: str, *changes: str) -> list[str]:
        few = ("training.steps=2", "training.validate_every=2", *changes)
        monkeypatch.setattr(regard.tasks.run, "read_run", partial(read_run, overrides=few))
        return run("demo", name).lines

    return show
