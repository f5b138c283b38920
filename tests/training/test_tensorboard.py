import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from regard.base.errors import RegardError
from regard.training.progress import Progress, StepReport
from regard.training.tensorboard import TensorBoard

REPORT = StepReport(
    step=3, steps=9, epoch=0, loss=1.5, learning_rate=0.1, gradient_norm=2.0, tokens_per_second=7.0, seconds_left=6.0
)


class Writer:
    made: "Writer"

    def __init__(self, folder: str, purge_step: int) -> None:
        self.folder, self.purge_step, self.scalars = folder, purge_step, dict[tuple[str, int], float]()
        Writer.made = self

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.scalars[name, step] = value

    def flush(self) -> None:
        pass


@pytest.fixture
def tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)


@pytest.mark.usefixtures("tensorboard")
def test_what_is_told_is_written_and_passed_on(tmp_path: Path) -> None:
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
    board.stepped(REPORT)
    board.validated(3, {"bleu": 30.0}, True)
    board.note("a text")
    assert told == [2, REPORT, {"bleu": 30.0}, "a text"]
    assert (Writer.made.folder, Writer.made.purge_step) == (str(tmp_path), 3)
    assert Writer.made.scalars["train/loss", 3] == 1.5
    assert Writer.made.scalars["valid/bleu", 3] == 30.0


def test_without_tensorboard_the_way_to_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RegardError, match="pip install 'regard"):
        TensorBoard(tmp_path)
