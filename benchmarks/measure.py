"""Timing on a machine that is busy with other things: take turns, repeat, compare within each round."""

import json
import math
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Timing:
    """How long each contestant took in each round, in seconds."""

    rounds: dict[str, list[float]]

    def median(self, name: str) -> float:
        """The middle time of a contestant."""
        return statistics.median(self.rounds[name])

    def ratio(self, name: str, other: str) -> tuple[float, float, float]:
        """name / other, round by round: the median and the quartiles around it."""
        return quartiles([a / b for a, b in zip(self.rounds[name], self.rounds[other], strict=True)])


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and the quartiles around it."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all is not above."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def take_turns(
    contestants: Mapping[str, Callable[[], object]],
    rounds: int = 15,
    warm_up: int = 2,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Time the contestants in turn, so that a busy spell of the machine hits all of them."""
    for _ in range(warm_up):
        for run in contestants.values():
            run()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            began = clock()
            contestants[name]()
            times[name].append(clock() - began)
    return Timing(times)


def in_new_process(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints when it runs the code."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def machine() -> str:
    """What the figures were taken on."""
    names = (line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name"))
    model = next(names, platform.processor())
    threads = torch.get_num_threads()
    return f"{model}, {threads} threads, Python {platform.python_version()}, torch {torch.__version__}"


def print_table(title: str, rows: list[dict[str, str]]) -> None:
    """A Markdown table."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(rows[0]) + " |")
    print("|" + "---|" * len(rows[0]))
    for row in rows:
        print("| " + " | ".join(row.values()) + " |")


def write_json(path: str | None, results: dict[str, list[dict[str, str]]]) -> None:
    """The same tables for programs to read."""
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        content = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "results": results}
        Path(path).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def milliseconds(seconds: float) -> str:
    """A time for a table."""
    return f"{seconds * 1000:.1f} ms"


def spread(value: tuple[float, float, float], digits: int = 3) -> str:
    """A median with its quartiles, for a table."""
    middle, low, high = (f"{number:,.{digits}f}" for number in value)
    return f"{middle} ({low}–{high})"


def _cpu_lines() -> list[str]:
    info = Path("/proc/cpuinfo")
    return info.read_text(encoding="utf-8").splitlines() if info.exists() else []
