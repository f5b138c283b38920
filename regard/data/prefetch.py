"""Prefetching: a background thread makes the next items while the current one is used."""

import queue
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class _Failed:
    error: BaseException


class _Ended:
    """There are no more items."""


class Prefetch(Generic[_Item]):
    """An iterator that prefetches up to `depth` items, in order.

    An error of the thread is raised where the reader would have got the item. `close` (or leaving the `with` block)
    ends the thread, also while it waits for room; prefetched items are dropped.
    """

    def __init__(self, items: Iterable[_Item], depth: int = 2) -> None:
        self._items = iter(items)
        self._ready: queue.Queue[_Item | _Failed | _Ended] = queue.Queue(maxsize=max(1, depth))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._make, name="prefetch", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[_Item]:
        return self

    def __next__(self) -> _Item:
        if self._stop.is_set():
            raise StopIteration
        item = self._ready.get()
        if isinstance(item, _Ended):
            self.close()
            raise StopIteration
        if isinstance(item, _Failed):
            self.close()
            raise item.error
        return item

    def __enter__(self) -> "Prefetch[_Item]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread and drop its items; closing twice does no harm."""
        self._stop.set()
        while self._thread.is_alive():
            # The thread may be waiting for room: take items away until it has noticed.
            try:
                self._ready.get_nowait()
            except queue.Empty:
                self._thread.join(timeout=0.01)

    def _make(self) -> None:
        try:
            for item in self._items:
                self._ready.put(item)
                if self._stop.is_set():
                    return
            self._ready.put(_Ended())
        except BaseException as error:
            self._ready.put(_Failed(error))
