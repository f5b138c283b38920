"""The one source of random numbers of a training step beside torch's: fast, and deterministic in every thread.

Whatever is drawn follows from `torch.manual_seed`, or, inside `drawing`, from its seed alone. So lanes, which are
threads, do not disturb each other, and a resumed run draws what the killed one would have drawn.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

_own = threading.local()


@contextmanager
def drawing(*seed: int) -> Iterator[None]:
    """Inside, what this thread draws is deterministic: it depends on the seed alone."""
    _own.bits = np.random.SFC64(seed)
    try:
        yield
    finally:
        _own.bits = None


def random_bytes(count: int) -> UInt8[Tensor, "count"]:
    """Random bytes; deterministic after the same `torch.manual_seed`, or within the same `drawing`."""
    bits = getattr(_own, "bits", None) or np.random.SFC64(int(torch.randint(2**62, ())))
    words = bits.random_raw(-(-count // 8))
    return torch.from_numpy(words.view(np.uint8))[:count]


def random_seed() -> int:
    """A random number to seed a generator with, drawn like `random_bytes`."""
    return int(random_bytes(8).view(torch.int64)) % 2**62


def draws_so_far() -> Any:
    """The state of this thread's `drawing`, to be given to `DrawingAgain`; None outside of one."""
    bits = getattr(_own, "bits", None)
    return None if bits is None else bits.state


class DrawingAgain:
    """Inside, this thread draws the same numbers as it did after the state was taken; it may be entered repeatedly."""

    def __init__(self, state: Any) -> None:
        self._state, self._before = state, list[Any]()

    def __enter__(self) -> None:
        self._before.append(getattr(_own, "bits", None))
        if self._state is not None:
            _own.bits = np.random.SFC64()
            _own.bits.state = self._state

    def __exit__(self, *error: object) -> None:
        _own.bits = self._before.pop()
