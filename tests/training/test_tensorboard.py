import sys
from pathlib import Path
from typing import Any

import pytest

from regard.base.errors import RegardError
from regard.training.progress import Progress, StepReport
from regard.training.tensorboard import TensorBoard


def report(step: int, loss: float) -> StepReport:
    speed = {"learning_rate": 0.1, "gradient_norm": 2.0, "unit": "tokens", "per_second": 7.0, "seconds_left": 6.0}
    return StepReport(step=step, steps=9, epoch=0, loss=loss, **speed)


def shown(folder: Path, name: str) -> list[tuple[int, float]]:
    """What TensorBoard draws: steps and values."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_what_is_told_is_shown_and_passed_on(tmp_path: Path) -> None:
    told: list[Any] = []

    class Watcher(Progress):
        def resumed(self, step: int) -> None:
            told.append(step)

        def stepped(self, report: StepReport) -> None:
            told.append(report)

        def validated(self, step: int, metrics: Any, improved: bool) -> None:
            told.append(metrics)

        def note(self, text: str) -> None:
            told.append(text)

    board = TensorBoard(tmp_path, Watcher())
    board.resumed(2)
    board.stepped(report(3, loss=1.5))
    board.validated(3, {"bleu": 30.0}, True)
    board.note("a text")
    assert told == [2, report(3, loss=1.5), {"bleu": 30.0}, "a text"]
    assert shown(tmp_path, "train/loss") == [(3, 1.5)]
    assert shown(tmp_path, "valid/bleu") == [(3, 30.0)]


def test_steps_that_are_done_again_are_shown_once(tmp_path: Path) -> None:
    killed, again = TensorBoard(tmp_path), TensorBoard(tmp_path)
    killed.resumed(0)
    for step in (1, 2, 3):
        killed.stepped(report(step, loss=9.0))
    killed.validated(3, {}, False)
    again.resumed(1)
    again.stepped(report(2, loss=5.0))
    again.validated(2, {}, False)
    assert shown(tmp_path, "train/loss") == [(1, 9.0), (2, 5.0)]


def test_without_tensorboard_the_way_to_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RegardError, match="pip install 'regard"):
        TensorBoard(tmp_path)
