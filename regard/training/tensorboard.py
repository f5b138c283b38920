"""Training progress for TensorBoard."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.training.progress import Progress, StepReport


class TensorBoard(Progress):
    """Writes event files for `tensorboard --logdir`, and passes every call on to another `Progress`."""

    def __init__(self, folder: str | Path, watching: Progress | None = None) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise RegardError(f"tensorboard is not installed: {install_hint('tensorboard')}") from error
        self._open: Any = SummaryWriter
        self._folder, self._watching = str(folder), watching or Progress()
        self._writer: Any = None

    def resumed(self, step: int) -> None:
        self._writer = self._open(self._folder, purge_step=step + 1)
        self._watching.resumed(step)

    def stepped(self, report: StepReport) -> None:
        for name in ("loss", "learning_rate", "gradient_norm"):
            self._writer.add_scalar(f"train/{name}", getattr(report, name), report.step)
        self._writer.add_scalar(f"train/{report.unit}_per_second", report.per_second, report.step)
        self._watching.stepped(report)

    def validated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(f"valid/{name}", value, step)
        self._writer.flush()
        self._watching.validated(step, metrics, improved)

    def say(self, text: str) -> None:
        self._watching.say(text)

    def note(self, text: str) -> None:
        self._watching.note(text)
