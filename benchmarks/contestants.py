"""The half of a benchmark that starts contestants, each in its own process, and lets them take turns."""

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from environments import PEERS


class Contestant:
    """A process that runs one of `peers/*.py`; `start_up` is how long it took until it was ready, in seconds."""

    def __init__(self, name: str, python: str, script: str, *arguments: str, work: Path) -> None:
        self.name = name
        self._log = work / "logs" / f"{name.replace(' ', '-').replace('/', '-')}.txt"
        self._log.parent.mkdir(parents=True, exist_ok=True)
        command = [python, str(PEERS / script), *arguments]
        began = time.perf_counter()
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, encoding="utf-8"
            )
        self._answer()
        self.start_up = time.perf_counter() - began

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Let the contestant do something, and wait for its answer."""
        if self._process.stdin is None:
            raise RuntimeError(f"{self.name} has no input")
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        return self._answer()

    def peak_mb(self) -> float:
        """The most memory that the process has had so far."""
        return float(self.ask("memory")["peak_mb"])

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            self._process.wait()
            said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise SystemExit(f"{self.name} stopped: {said[-1] if said else 'it said nothing'} (see {self._log})")
        return dict(json.loads(line))


def rounds(
    contestants: Mapping[str, Contestant], requests: list[dict[str, Any]], warm_up: int
) -> dict[str, list[dict[str, Any]]]:
    """Every contestant answers every request, in turns, so that a busy spell of the machine hits all of them."""
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in contestants}
    names = list(contestants)
    for turn, request in enumerate(requests):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            answer = contestants[name].ask(**request)
            if turn >= warm_up:
                answers[name].append(answer)
    return answers
