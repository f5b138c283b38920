"""What both sides of benchmarks/long.py share: timing a call in processor time, and the memory that it adds."""

import ctypes
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

WIDTH, HEADS, FEATURES, SLOTS, BLOCK, RANDOM = 128, 2, 256, 256, 64, 3


def timed(run: Callable[[], Tensor], fresh: bool = False) -> dict[str, float]:
    """Seconds of processor time and MiB of peak memory of a call, forward and backward.

    Memory that earlier calls left to the process is given back before a fresh one, so that it counts what it takes.
    """
    if fresh and sys.platform.startswith("linux"):
        ctypes.CDLL(None).malloc_trim(0)
    before = _reset_peak()
    began = time.process_time()
    run().sum().backward()
    return {"seconds": time.process_time() - began, "mb": _status("VmHWM") - before}


def keep_memory() -> None:
    """Let the process keep freed memory, as Regard does in training."""
    if sys.platform.startswith("linux"):
        for what in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
            ctypes.CDLL(None).mallopt(what, 2**30)


def layer_inputs(length: int) -> Tensor:
    """The same vectors for both sides."""
    return torch.randn(1, length, WIDTH, generator=torch.Generator().manual_seed(1), requires_grad=True)


def _reset_peak() -> float:
    """Forget the peak so far; returns the memory now, in MiB."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5", encoding="utf-8")
    return _status("VmRSS")


def _status(key: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    return (
        next(int(line.split()[1]) for line in status.read_text(encoding="utf-8").splitlines() if line.startswith(key))
        / 1024
    )
