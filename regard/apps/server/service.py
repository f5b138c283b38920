"""What the calls share: client checks, waiting for the models, and cancellation when a client disconnects."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import torch
from starlette.requests import Request

from regard.apps.server.batcher import Batcher, BatchWindow, Work
from regard.apps.server.engines import Engine, Engines, load_models, with_glossaries
from regard.apps.server.limits import Bodies, Keys, Limits, Rates
from regard.apps.server.messages import FileCall, Keyed, Refusal
from regard.apps.server.metrics import Metrics
from regard.apps.server.parsing import read_call
from regard.apps.server.served import ServedModels
from regard.apps.server.suggestions import Suggestions
from regard.apps.server.uploads import TranslatedFiles
from regard.base.errors import unknown

_Result = TypeVar("_Result")
Asked = TypeVar("Asked", bound=Keyed)
Ask = Callable[[Work, Sequence[Any]], list[Any]]


@dataclass(frozen=True, eq=False)
class Service:
    """Everything that a call needs."""

    engines: Engines
    batcher: Batcher
    metrics: Metrics
    limits: Limits = field(default_factory=Limits)
    keys: Keys = field(default_factory=Keys)
    suggestions: Suggestions | None = None
    files: TranslatedFiles = field(default_factory=TranslatedFiles)
    models: ServedModels = field(default_factory=ServedModels)
    """those that do not translate"""

    @cached_property
    def _rates(self) -> Rates:
        return Rates(self.limits.rate)

    @cached_property
    def _bodies(self) -> Bodies:
        return Bodies(self.limits)

    @cached_property
    def _file_bodies(self) -> Bodies:
        return Bodies.of_files(self.limits)

    async def serve(self, request: Request, kind: type[Asked], run: Callable[[Asked], Awaitable[_Result]]) -> _Result:
        """The result of a request's call, after its client is checked."""
        bodies = self._file_bodies if issubclass(kind, FileCall) else self._bodies
        call = await read_call(request, await bodies.receive(request), kind)
        self._rates.count(self.keys.check(request, call.api_key))
        return await self.while_wanted(request, run(call))

    async def while_wanted(self, request: Request, work: Awaitable[_Result]) -> _Result:
        """The result of the work, which is canceled on timeout or when the client disconnects."""
        done, gone = asyncio.ensure_future(work), asyncio.ensure_future(_hung_up(request))
        both: set[asyncio.Future[Any]] = {done, gone}
        try:
            await asyncio.wait(both, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if done.done():
                return done.result()
            if gone.done():
                self.metrics.dropped.labels("hung up").inc()
                raise Refusal(499, "The client has gone")
            self.metrics.dropped.labels("out of time").inc()
            raise Refusal(504, f"There was no answer within {self.limits.seconds:g} seconds", retry_after=1)
        finally:
            done.cancel()
            gone.cancel()

    async def ask(self, work: Work, items: Sequence[Any]) -> list[Any]:
        """The results of the items; canceling removes them from the queue."""
        return await asyncio.wrap_future(self.batcher.submit(work, items))

    async def in_thread(self, work: Callable[[Ask], _Result]) -> _Result:
        """The result of a blocking function that asks the models, run in a thread."""
        asked: list[Future[list[Any]]] = []
        over = False

        def ask(kind: Work, items: Sequence[Any]) -> list[Any]:
            if over:
                raise Refusal(504, "The time for this request is over")
            asked.append(self.batcher.submit(kind, items))
            return asked[-1].result()

        try:
            return await asyncio.to_thread(work, ask)
        finally:
            over = True
            for future in asked:
                future.cancel()

    def engine(self, source: str, target: str) -> Engine:
        """The engine of a direction, or a refusal that lists the languages."""
        if found := self.engines.find(source, target):
            return found
        if source not in self.engines.sources:
            raise Refusal(400, unknown("source", source, ["auto", *self.engines.sources], "languages"))
        into = [engine.target for engine in self.engines.all if engine.source == source]
        raise Refusal(400, unknown("target", target, into, f"languages that {source} is translated into"))

    def check_size(self, texts: Sequence[str], most: int | None = None) -> None:
        """Refuse a call with too many or too long texts."""
        if len(texts) > self.limits.texts:
            raise Refusal(413, f"The list has {len(texts)} texts, but {self.limits.texts} are allowed")
        characters, allowed = sum(map(len, texts)), most or self.limits.characters
        if characters > allowed:
            raise Refusal(413, f"The text has {characters} characters, but {allowed} are allowed")


def make_service(
    models: Sequence[str],
    limits: Limits,
    keys: Keys,
    window: BatchWindow,
    device: str = "cpu",
    threads: int | None = None,
    suggestions: Suggestions | None = None,
    glossaries: Sequence[str] = (),
    **settings: Any,
) -> Service:
    """A service with its models loaded. `threads` is the number of CPU threads per batch, by default all cores.

    Further settings are those of `regard.load`.
    """
    metrics = Metrics()
    engines, others = load_models(models, device, threads=threads, **settings)
    engines = with_glossaries(engines, glossaries)
    count = threads or torch.get_num_threads()  # set in the worker thread: OpenMP keeps the number per thread
    batcher = Batcher(metrics, limits.queue, window, lambda: torch.set_num_threads(count))
    return Service(engines, batcher, metrics, limits, keys, suggestions, models=others)


async def _hung_up(request: Request) -> None:
    """Return when the client has disconnected; whatever else it sends is discarded."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
