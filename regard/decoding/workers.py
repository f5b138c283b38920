"""Several threads that each compute with one core: for small models, more than one thread with several cores gives.

The operations of a step are too small to be shared among cores, but batches have nothing to do with each other, and
Python lets threads go on side by side while they compute.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import torch

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def side_by_side(work: Callable[[_Item], _Result], items: Sequence[_Item], workers: int) -> list[_Result]:
    """What `work` gives for each item, in order; each item is worked on by one thread, with one core."""
    if workers <= 1 or len(items) <= 1:
        return [work(item) for item in items]
    cores = torch.get_num_threads()
    pool = ThreadPoolExecutor(min(workers, len(items)), initializer=torch.set_num_threads, initargs=(1,))
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(cores)  # what threads that are started later begin with


@contextmanager
def one_core() -> Iterator[None]:
    """Inside, this thread computes with one core: what a second one would save on small products, waiting costs."""
    cores = torch.get_num_threads()
    if cores > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if cores > 1:
            torch.set_num_threads(cores)
