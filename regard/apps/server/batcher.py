"""Dynamic batching: requests of many clients are computed together.

The first waiting request opens a short window; requests that arrive within it, or until a batch is full, are computed
together. Requests take turns (round robin): each adds one item to the batch, then each another, so that a long text
does not delay short ones. There is one worker thread, since a batch keeps all cores busy by itself.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from regard.apps.server.messages import Refusal
from regard.apps.server.metrics import Metrics


@runtime_checkable
class Work(Protocol):
    """What to compute for items; items of equal works share a batch. Hashable, as a frozen dataclass is."""

    def run(self, items: list[Any]) -> Sequence[Any]:
        """The result of each item."""

    def cost(self, item: Any) -> int:
        """The approximate cost of an item, in characters."""


@dataclass(frozen=True, kw_only=True)
class BatchWindow:
    """The limits of a batch."""

    seconds: float = 0.005
    items: int = 64
    cost: int = 8_192


@dataclass(eq=False)
class _Request:
    work: Work
    items: list[Any]
    future: "Future[list[Any]]"
    taken: int = 0
    results: dict[int, Any] = field(default_factory=dict)


_Batch = list[tuple[_Request, int]]


class Batcher:
    """A queue of at most `limit` requests, and the worker thread.

    `clients` gives the number of connected clients: if every one is already waiting, the batch starts at once.
    `prepare` is called in the worker thread before it starts.
    """

    def __init__(
        self,
        metrics: Metrics,
        limit: int,
        window: BatchWindow | None = None,
        prepare: Callable[[], object] = bool,
    ) -> None:
        self._metrics, self._limit, self._window = metrics, limit, window or BatchWindow()
        self.clients: Callable[[], float] = lambda: float("inf")
        self._waiting: dict[_Request, None] = {}
        self._changed = threading.Condition(threading.RLock())
        self._closed = False
        self._prepare = prepare
        self._thread = threading.Thread(target=self._serve, name="regard-batcher", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """Whether the worker thread is running."""
        return self._thread.is_alive() and not self._closed

    def submit(self, work: Work, items: Sequence[Any]) -> "Future[list[Any]]":
        """A future of the items' results; canceling it removes the request. A full queue refuses."""
        future: Future[list[Any]] = Future()
        if not items:
            future.set_result([])
            return future
        request = _Request(work, list(items), future)
        with self._changed:
            if self._closed:
                raise Refusal(503, "The server is shutting down", retry_after=5)
            if len(self._waiting) >= self._limit:
                raise Refusal(429, f"Too many requests are waiting ({self._limit}); try again soon", retry_after=1)
            self._waiting[request] = None
            self._metrics.waiting.set(len(self._waiting))
            self._changed.notify()
        future.add_done_callback(lambda _: self._forget(request))
        return future

    def close(self) -> None:
        """Accept nothing more, finish what is queued, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _forget(self, request: _Request) -> None:
        with self._changed:
            self._waiting.pop(request, None)
            self._metrics.waiting.set(len(self._waiting))

    def _serve(self) -> None:
        self._prepare()
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                self._gather()
                batch = self._take()
            if batch:
                self._work_on(batch)

    def _gather(self) -> None:
        """Wait for more requests while the window is open and some client is not yet waiting."""
        until = time.monotonic() + self._window.seconds
        while (left := until - time.monotonic()) > 0 and not self._closed:
            if len(self._waiting) >= min(self._window.items, self.clients()):
                return
            self._changed.wait(left)

    def _take(self) -> _Batch:
        """One item of each request with the same work as the oldest, in turns, until the batch is full."""
        if not self._waiting:
            return []
        work = next(iter(self._waiting)).work
        turns = deque(request for request in self._waiting if request.work == work)
        batch: _Batch = []
        cost = 0
        while turns and len(batch) < self._window.items:
            request = turns.popleft()
            cost += work.cost(request.items[request.taken])
            if batch and cost > self._window.cost:
                break
            batch.append((request, request.taken))
            request.taken += 1
            if request.taken < len(request.items):
                turns.append(request)
        for request in dict.fromkeys(request for request, _ in batch):
            del self._waiting[request]
            if request.taken < len(request.items):
                self._waiting[request] = None
        self._metrics.waiting.set(len(self._waiting))
        return batch

    def _work_on(self, batch: _Batch) -> None:
        self._metrics.batches.observe(len(batch))
        with self._metrics.batch_seconds.time():
            try:
                _run(batch)
            except Exception as error:
                _blame(batch, error)


def _run(batch: _Batch) -> None:
    done = batch[0][0].work.run([request.items[at] for request, at in batch])
    for (request, at), result in zip(batch, done, strict=True):
        request.results[at] = result
        if len(request.results) == len(request.items):
            with suppress(InvalidStateError):  # its client has disconnected
                request.future.set_result([request.results[number] for number in range(len(request.items))])


def _blame(batch: _Batch, error: Exception) -> None:
    """After a batch failed, run its requests one by one, so that only the failing ones get the error."""
    alone = list(dict.fromkeys(request for request, _ in batch))
    for request in alone:
        try:
            if len(alone) == 1:
                raise error
            _run([(other, at) for other, at in batch if other is request])
        except Exception as own:
            with suppress(InvalidStateError):
                request.future.set_exception(own)
