"""What stands around every call: counting, limits on how many are under way, safe headers, faults as JSON."""

import logging
import time
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.apps.server.limits import Limits
from regard.apps.server.metrics import Metrics
from regard.apps.server.public_files import SAFE_HEADERS
from regard.apps.server.refusals import Refusal
from regard.base.errors import RegardError

log = logging.getLogger("regard.serve")
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in SAFE_HEADERS.items()]
_OPEN = ("/health", "/metrics")  # answered however much there is to do


@dataclass
class Guard:
    """An application around another one."""

    app: ASGIApp
    metrics: Metrics
    limits: Limits
    _under_way: int = field(default=0, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def guarded(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        self._under_way += 1
        self.metrics.under_way.inc()
        try:
            await self._serve(scope, receive, guarded)
        finally:
            self._under_way -= 1
            self.metrics.under_way.dec()
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.requests.labels(route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - began)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._under_way > self.limits.requests and scope["path"] not in _OPEN:
            crowd = f"Too many requests are under way ({self.limits.requests}); try again soon"
            await Refusal(503, crowd, retry_after=1, close=True).response()(scope, receive, send)
            return
        started = False

        async def noticing(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, noticing)
        except Exception as error:
            if started:
                raise
            await refusal_of(error).response()(scope, receive, send)


def refusal_of(error: Exception) -> Refusal:
    """What the client is told; a fault of ours is logged, and its details stay here."""
    match error:
        case Refusal():
            return error
        case ClientDisconnect():
            return Refusal(499, "The client has gone")
        case HTTPException():
            return Refusal(error.status_code, _SENTENCES.get(error.status_code, str(error.detail)))
        case RegardError():
            return Refusal(400, str(error))
    log.error("a request failed", exc_info=error)
    return Refusal(500, "This request failed for a reason of the server's own; its log says more")


_SENTENCES = {404: "There is no such call; see /docs", 405: "This call does not take this method; see /docs"}
