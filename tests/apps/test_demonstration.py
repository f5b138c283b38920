from pathlib import Path

import pytest

import regard.apps.demonstration
from regard.apps.demonstration import DEMOS, demonstrations, draw_to, menu
from regard.base.errors import RegardError
from regard.tasks.run import read_run
from tests.apps.running import Run

HOME = Path(regard.apps.demonstration.__file__).parent / "demos"


def test_the_menu_names_every_demonstration(run: Run) -> None:
    lines = run("demo", "list").lines
    assert [line.split()[2] for line in lines] == ["dates", *demonstrations()]
    assert menu().splitlines() == lines


@pytest.mark.parametrize("name", DEMOS.names)
def test_the_settings_beside_each_are_sound(name: str) -> None:
    settings = read_run(HOME / f"{name}.toml")
    assert settings.name == DEMOS.make(name).name
    assert settings.training.steps is not None


def test_without_matplotlib_one_sentence_says_how_to_get_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def figure() -> object:
        raise ImportError("matplotlib")

    draw_to(tmp_path / "none.png", figure, "Nothing")
    assert "none.png needs matplotlib: pip install 'regard[plots]'" in capsys.readouterr().err


def test_an_unknown_name_is_a_date(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that name no demonstration are dates of one's own, as they always were."""
    given: list[list[str]] = []
    monkeypatch.setattr("regard.apps.commands.demo._show_dates", lambda dates, folder: given.append(dates))
    assert run("demo", "5 mai 2025").code == run("demo", "dates", "1 mai 2025").code == 0
    assert given == [["5 mai 2025"], ["1 mai 2025"]]
    with pytest.raises(RegardError, match="unknown 'nothing'"):
        DEMOS.make("nothing")
