"""Parallel decoding: several threads with one core each, which is faster for small models than all cores on one batch.

The operations of a step are too small to be split among cores, but batches are independent, and torch releases
Python's interpreter lock while it computes.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def side_by_side(work: Callable[[_Item], _Result], items: Sequence[_Item], workers: int) -> list[_Result]:
    """Apply `work` to each item in parallel, one thread and one core per item; returns the results in order."""
    if workers <= 1 or len(items) <= 1:
        return [work(item) for item in items]
    cores = torch.get_num_threads()
    pool = ThreadPoolExecutor(min(workers, len(items)), initializer=torch.set_num_threads, initargs=(1,))
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # the default of threads that are started later


@contextmanager
def one_core() -> Iterator[None]:
    """Inside, this thread computes with one core: for small products, synchronizing cores costs more than it saves."""
    cores = torch.get_num_threads()
    if cores > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if cores > 1:
            torch.set_num_threads(cores)
