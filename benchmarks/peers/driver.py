"""The half of a benchmark that runs in a contestant's process: it waits for its turn, works, and answers.

Each line of standard input is a request, {"do": "steps", …}; each line of standard output is its answer. Whatever else
the contestant prints goes to standard error. Imports nothing but the standard library: every environment has it.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def answer(**values: Any) -> None:
    """Send an answer."""
    _answers.write(json.dumps(values) + "\n")
    _answers.flush()


def requests() -> Iterator[dict[str, Any]]:
    """Each request as it comes; the first answer, that the contestant is ready, goes out before."""
    answer(ready=True)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "memory":
            answer(peak_mb=peak_mb())
        elif request["do"] == "quit":
            os._exit(0)
        else:
            yield request


def serve(**actions: Callable[..., dict[str, Any]]) -> None:
    """Answer each request by the action of its name."""
    for request in requests():
        name = request.pop("do")
        answer(**actions[name](**request))


def serve_steps(step: Callable[[], float]) -> None:
    """Take as many steps as are asked for at a time, and tell how long they took."""

    def steps(count: int) -> dict[str, Any]:
        began = time.perf_counter()
        losses = [step() for _ in range(count)]
        return {"seconds": time.perf_counter() - began, "loss": losses[-1]}

    serve(steps=steps)


def peak_mb() -> float:
    """The most memory that this process has ever had, in MiB.

    Where there is /proc: getrusage counts in what the parent had when it started this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
