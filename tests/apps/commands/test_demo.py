"""The demo, made small: dates are written, learned, measured and drawn."""

import sys
from functools import partial
from pathlib import Path

import pytest

import regard.apps.commands.demo
import regard.data.dates
import regard.tasks.run
from regard.base.extras import install_hint
from regard.data.dates import DateSettings
from regard.tasks.run import read_run
from tests.apps.running import Run

SMALL = ("training.steps=4", "training.validate_every=4", "training.schedule.warmup=1")


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few dates and steps, in an empty folder."""
    few = partial(DateSettings, languages=("en", "de"), train=60, dev=5, test=7)
    monkeypatch.setattr(regard.data.dates, "DateSettings", few)
    monkeypatch.setattr(regard.tasks.run, "read_run", partial(read_run, overrides=SMALL))
    monkeypatch.chdir(tmp_path)


def test_dates_are_written_learned_measured_and_drawn(run: Run) -> None:
    lines = run("demo").lines
    home = Path("regard-demo")
    assert len((home / "train.iso").read_text(encoding="utf-8").splitlines()) == 60
    assert any(line.endswith("% of 7 dates, on days it has never seen, are right to the letter") for line in lines)
    assert any("% is the alignment error rate" in line for line in lines)
    assert any(line.startswith("  Tuesday, March 12, 2024  →  ") for line in lines)
    assert (home / "alignment.png").read_bytes().startswith(b"\x89PNG")
    assert lines[-1].endswith("| regard translate regard-demo/runs/dates")
    assert run("translate", "regard-demo/runs/dates", stdin="March 12, 2024\n").code == 0


def test_dates_of_ones_own_and_a_second_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("demo", "3. Oktober 1990", "--folder", "here/there")
    assert any(line.startswith("  3. Oktober 1990  →  ") for line in first.lines)
    picture = Path("here/there/alignment.png")
    picture.unlink()
    monkeypatch.setitem(sys.modules, "regard.inspection.pictures.draw", None)
    again = run("demo", "3. Oktober 1990", "--folder", "here/there")
    assert again.code == 0
    assert "4 steps" not in again.out
    assert "regard: here/there/alignment.png needs matplotlib: pip install 'regard[plots]'" in again.err
    assert [line for line in first.lines if "→" in line] == [line for line in again.lines if "→" in line]


def test_without_babel_one_sentence_says_how_to_get_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)
    regard.data.dates._locale.cache_clear()
    done = run("demo")
    assert done.code == 1
    assert done.err.splitlines()[-1] == "regard: dates: the demo writes its dates with babel: " + install_hint("demo")


def test_the_settings_that_come_with_it_are_sound() -> None:
    file = Path(regard.apps.commands.demo.__file__).with_name("demo.toml")
    settings = read_run(file)
    assert settings.training.schedule.steps is None
    assert settings.training.metric == "exact"
