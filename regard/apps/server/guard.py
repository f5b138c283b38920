"""Middleware around every call: metrics, host and origin checks, concurrency limit, security headers, errors as JSON.

A browser runs pages of other sites beside the server's. A page whose host name is made to resolve to this machine (DNS
rebinding) would count as the server's own, so the Host header must be one that the server answers to. And any page may
send a form anywhere (CSRF), so calls that cost work are served only to the server's own pages, allowed origins, and
programs.
"""

import logging
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.apps.server.limits import Limits
from regard.apps.server.messages import Refusal
from regard.apps.server.metrics import Metrics
from regard.base.errors import RegardError, UsageError

log = logging.getLogger("regard.serve")
_POLICY = b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
_HEADERS = [
    (b"content-security-policy", _POLICY),  # nothing from other sites, no inline script or style
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
_OPEN = ("/health", "/metrics")  # answered under any load
_SENTENCES = {404: "There is no such call; see /docs", 405: "This call does not take this method; see /docs"}
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")
_NAME = re.compile(r"[a-z0-9_.-]+|\*")
_USUAL = {"http": ":80", "https": ":443"}  # ports that browsers leave out
_SHOWN = 100  # characters of a header, in a refusal


@dataclass(frozen=True)
class Sites:
    """The hosts and origins that are served; * stands for all of them.

    A server that only this machine can reach (`local`) answers to the names of this machine's loopback. Others answer
    to their machine's name, and to addresses and names without a dot, which no stranger can give a meaning to.
    """

    host: str = "127.0.0.1"
    local: bool = True
    names: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.names:
            if not _NAME.fullmatch(name.lower()):
                right = "one as browsers show it, such as translate.example.org, or * for all"
                raise UsageError(f"--host-name {name}: is no name of a host; give {right}")
        for origin in self.origins:
            found = _ORIGIN.match(origin.lower())
            scheme, host, port = found.groups(default="") if found else ("", "", "")
            meant = f"{scheme}://{host}" + ("" if port == _USUAL.get(scheme) else port)
            if origin not in ("*", meant):
                hint = f" (did you mean '{meant}'?)" if found else ""
                right = "one as browsers send it, such as https://a.example or http://localhost:3000, or * for all"
                raise UsageError(f"--cors {origin}: is no origin{hint}; give {right}")

    def check(self, method: str, headers: Headers) -> None:
        """Refuse a request for an unknown host, or one that costs work and comes from a page of another site."""
        host = headers.get("host", "")
        if host and not self._is_ours(host):
            shown = host[:_SHOWN]
            raise Refusal(403, f"This server does not answer to the name {shown}; --host-name allows one", close=True)
        if method not in ("GET", "HEAD", "OPTIONS") and not self._may_ask(host, headers):
            shown = headers.get("origin", "another site")[:_SHOWN]
            raise Refusal(403, f"Pages of {shown} may not ask this server; --cors allows a site", close=True)

    @cached_property
    def _names(self) -> frozenset[str]:
        machine = socket.gethostname().lower()
        ours = () if self.local else (machine, f"{machine}.local")
        return frozenset(("localhost", self.host.lower(), *map(str.lower, self.names), *ours))

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if name in self._names or "*" in self.names or name.endswith(".localhost"):
            return True
        try:
            return ip_address(name).is_loopback or not self.local
        except ValueError:
            return "." not in name and not self.local

    def _may_ask(self, host: str, headers: Headers) -> bool:
        """Whether a request comes from a program, from our own page, or from an allowed origin."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if site in ("same-origin", "none"):  # browsers say so, and no page can; true behind any proxy
            return True
        if origin is None:
            return site is None
        return "*" in self.origins or origin in self.origins or origin.partition("://")[2].lower() == host.lower()


@dataclass
class Guard:
    """The middleware; `paths` are the names under which each endpoint's requests are counted."""

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
            await refusal_of(error).response(scope["path"])(scope, receive, guarded)
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
    """The error response; an internal error is logged, and its details are not sent."""
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
