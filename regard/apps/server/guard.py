"""What stands around every call: counting, who may ask from where, how many at once, safe headers, faults as JSON."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.apps.server.answers import Refusal
from regard.apps.server.limits import Limits
from regard.apps.server.metrics import Metrics
from regard.apps.server.sites import Sites
from regard.base.errors import RegardError

log = logging.getLogger("regard.serve")
_POLICY = b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = [
    (b"content-security-policy", _POLICY),  # nothing from elsewhere, no script or style inside a page
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
_OPEN = ("/health", "/metrics")  # answered however much there is to do
_SENTENCES = {404: "There is no such call; see /docs", 405: "This call does not take this method; see /docs"}


@dataclass
class Guard:
    """An application around another one; `paths` are what the requests of each endpoint are counted under."""

    app: ASGIApp
    metrics: Metrics
    limits: Limits
    sites: Sites = field(default_factory=Sites)
    paths: Mapping[Any, str] = field(default_factory=dict)
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
            self._check(scope)
            await self.app(scope, receive, guarded)
        except Exception as error:
            if status:
                raise
            await refusal_of(error).response()(scope, receive, guarded)
        finally:
            self._under_way -= 1
            self.metrics.under_way.dec()
            path = self.paths.get(scope.get("endpoint"), "other")
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - began)

    def _check(self, scope: Scope) -> None:
        self.sites.check(scope["method"], Headers(scope=scope))
        if self._under_way > self.limits.requests and scope["path"] not in _OPEN:
            crowd = f"Too many requests are under way ({self.limits.requests}); try again soon"
            raise Refusal(503, crowd, retry_after=1, close=True)


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
