"""What a person sees of a training."""

import sys

import pytest

from regard.training.progress import StepReport
from regard.training.watch import Watch
from tests.apps.test_display import Terminal

REPORT = StepReport(
    step=1200,
    steps=5000,
    epoch=2,
    loss=3.25,
    learning_rate=0.001,
    gradient_norm=1.0,
    unit="tokens",
    per_second=12345.6,
    seconds_left=3725.0,
)


def test_elsewhere_than_on_a_terminal_validations_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch() as watch:
        watch.resumed(0)
        watch.resumed(1000)
        watch.stepped(REPORT)
        watch.validated(1200, {"loss": 3.0, "bleu": 12.3456, "other": 1.0}, improved=True)
        watch.validated(1300, {"loss": 3.5}, improved=False)
        watch.note("half of it")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "resumes after step 1,000",
        "step   1,200  loss 3.000  bleu 12.346  other 1.000  12,346 tokens/s  ← best",
        "step   1,300  loss 3.500  12,346 tokens/s",
        "regard: half of it",
    ]


@pytest.mark.parametrize(("left", "shown"), [(3725.0, "1:02:05 left"), (65.0, "1:05 left"), (None, "tokens/s")])
def test_a_terminal_shows_a_bar(left: float | None, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    with Watch() as watch:
        watch.stepped(StepReport(**(vars(REPORT) | {"seconds_left": left})))
        watch.validated(1200, {"loss": 3.0}, improved=True)
    assert "step 1,200  epoch 3  loss 3.250" in terminal.getvalue()
    assert "12,346 tokens/s" in terminal.getvalue()
    assert shown in terminal.getvalue()
    assert "← best" in terminal.getvalue()
