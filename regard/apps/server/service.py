"""What the calls have in common: who asks, the wait for the models, and giving up when nobody waits any more."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request

from regard.apps.server.batcher import Batcher, Work
from regard.apps.server.body import read_call
from regard.apps.server.engines import Engine, Engines
from regard.apps.server.keys import Keys, Rates
from regard.apps.server.limits import Limits
from regard.apps.server.messages import Keyed
from regard.apps.server.metrics import Metrics
from regard.apps.server.refusals import Refusal
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
    rates: Rates = field(default_factory=lambda: Rates(0))

    async def receive(self, request: Request, kind: type[Asked]) -> Asked:
        """The call of a request, from somebody who may ask; the time for its answer begins."""
        call = await read_call(request, kind, self.limits)
        self.rates.count(self.keys.check(request, call.api_key))
        request.state.deadline = asyncio.get_running_loop().time() + self.limits.seconds
        return call

    def engine(self, source: str, target: str) -> Engine:
        """The engine of a direction, or a refusal that says which there are."""
        if found := self.engines.find(source, target):
            return found
        if source not in self.engines.sources:
            raise Refusal(400, unknown("source", source, ["auto", *self.engines.sources], "languages"))
        into = [engine.target for engine in self.engines.all if engine.source == source]
        raise Refusal(400, unknown("target", target, into, f"languages that {source} is translated into"))

    def check_size(self, texts: Sequence[str], most: int | None = None) -> None:
        """The texts of a call are few and short enough."""
        if len(texts) > self.limits.texts:
            raise Refusal(413, f"The list has {len(texts)} texts, but {self.limits.texts} are allowed")
        characters, allowed = sum(map(len, texts)), most or self.limits.characters
        if characters > allowed:
            raise Refusal(413, f"The text has {characters} characters, but {allowed} are allowed")

    async def ask(self, request: Request, work: Work, items: Sequence[Any]) -> list[Any]:
        """What comes of each item; the work is dropped when time is up or the client has gone."""
        future = asyncio.wrap_future(self.batcher.submit(work, items))
        try:
            return await self._while_wanted(request, future)
        finally:
            future.cancel()

    async def in_thread(self, request: Request, work: Callable[[Ask], _Result]) -> _Result:
        """What comes of a function that asks the models on its own, as often as it likes."""
        asked: list[Future[list[Any]]] = []
        over = False

        def ask(kind: Work, items: Sequence[Any]) -> list[Any]:
            if over:
                raise Refusal(504, "The time for this request is over")
            asked.append(self.batcher.submit(kind, items))
            return asked[-1].result()

        thread = asyncio.ensure_future(asyncio.to_thread(work, ask))
        try:
            return await self._while_wanted(request, thread)
        finally:
            over = True
            for future in asked:
                future.cancel()

    async def _while_wanted(self, request: Request, work: "asyncio.Future[_Result]") -> _Result:
        gone: asyncio.Future[Any] = asyncio.ensure_future(_hung_up(request))
        left = request.state.deadline - asyncio.get_running_loop().time()
        try:
            both: set[asyncio.Future[Any]] = {work, gone}
            await asyncio.wait(both, timeout=max(0, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if work.done():
            return work.result()
        if gone.done():
            self.metrics.dropped.labels("hung up").inc()
            raise Refusal(499, "The client has gone")
        self.metrics.dropped.labels("out of time").inc()
        raise Refusal(504, f"There was no answer within {self.limits.seconds:g} seconds", retry_after=1)


async def _hung_up(request: Request) -> None:
    """Returns when the client has gone; whatever else it sends is let go."""
    message = await request.receive()
    while message["type"] != "http.disconnect":
        message = await request.receive()
