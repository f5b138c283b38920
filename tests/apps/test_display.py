"""What a person sees of work that takes its time."""

import io
import sys

import pytest

from regard.apps.display import bar, say_next


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("translating", 10) as advance:
        advance(4)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bar("translating", 10) as advance:
        advance(10)
    assert "translating" in terminal.getvalue()
    assert "10/10" in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_what_comes_next_is_said_to_people_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say_next("regard train run.toml")
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    say_next("regard train run.toml")
    assert terminal.getvalue() == "next: regard train run.toml\n"
