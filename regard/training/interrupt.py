"""Signals that ask training to stop: Ctrl-C (SIGINT), SIGTERM, and SIGHUP of a closed terminal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from regard.base.errors import RegardError

_CAUSES = {"SIGINT": "Ctrl-C", "SIGTERM": "a request to end", "SIGHUP": "a closed terminal"}


class Interrupted(RegardError):
    """A signal stopped the training; `exit_code` is 128 plus the signal's number, as in shells.

    >>> try:
    ...     train("run.toml")
    ... except Interrupted as stopped:
    ...     sentence = str(stopped)             # the same call goes on from here
    """

    def __init__(self, number: int, step: int | None = None) -> None:
        cause = _CAUSES[signal.Signals(number).name]
        where = "" if step is None else f" after step {step}; the run is saved, start it again to go on"
        super().__init__(f"training was stopped by {cause}{where}")
        self.number = number
        self.exit_code = 128 + number


class Signals:
    """Signal handlers: the first signal waits for the next `check`; a second one acts as if there were no handler."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._impatient = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            for name in _CAUSES:
                number = getattr(signal, name, None)
                # A signal that is ignored, as under nohup, stays ignored.
                if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def check(self) -> None:
        """Raise Interrupted if a signal was received."""
        if self.received is not None:
            raise Interrupted(self.received)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside, a signal raises Interrupted immediately; for work that can be repeated."""
        self._impatient = True
        try:
            self.check()
            yield
        finally:
            self._impatient = False

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.received = number
        self.__exit__()
        if self._impatient:
            self.check()
