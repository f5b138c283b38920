"""The server process: its socket, connections, log and shutdown."""

import asyncio
import logging
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_network
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.base.errors import RegardError, UsageError

_BACKLOG = 2_048  # connections that the system holds until they are accepted
_ACCEPTED = 64  # at once
_CONNECTIONS = 4_096
_SPARE_FILES = 256
_KINDS = 1_000  # kinds of log records that are told apart


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the address; port 0 takes a free one."""
    try:
        [(family, *_, address), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host {host}: is no address of this machine") from error
    # asyncio sends small answers at once (TCP_NODELAY) only on sockets that say they are TCP; others wait 40 ms.
    held = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind(address)
    except OSError as error:
        held.close()
        reason = (error.strerror or str(error)).lower()
        raise RegardError(f"{address_of(host, port)}: {reason}; choose another --port or --host") from error
    return held


def address_of(host: str, port: int) -> str:
    """The address as a browser takes it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class PatientProtocol(H11Protocol):
    """HTTP connections with timeouts for a request's head and for reading the response, and a connection limit.

    Past `most` connections, idle ones are closed: the oldest of the address that has most of them.
    """

    head_seconds = 10.0
    answer_seconds = 30.0
    most = _CONNECTIONS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected: the timeout of its first head starts."""
        super().connection_made(transport)
        self.since = self.loop.time()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._start("head", self.head_seconds, self._give_up)
        if len(self.connections) > self.most:
            _make_room(self.connections, self.most)

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived, of a head or of a body."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop("head")
        elif "head" not in self._timers and self.timeout_keep_alive_task is None:
            self._start("head", self.head_seconds, self._give_up)

    def pause_writing(self) -> None:
        """The client does not read its response."""
        super().pause_writing()
        self._start("answer", self.answer_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads on."""
        super().resume_writing()
        self._stop("answer")

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has disconnected."""
        self._stop(*self._timers)
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether no request is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def _start(self, what: str, seconds: float, then: Callable[[], None]) -> None:
        self._timers[what] = self.loop.call_later(seconds, then)

    def _stop(self, *what: str) -> None:
        for name in what:
            if timer := self._timers.pop(name, None):
                timer.cancel()

    def _give_up(self) -> None:
        self._stop("head")
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def _make_room(connections: Iterable[Any], most: int) -> None:
    """Close an eighth of the idle connections of the address that has most of them, the oldest ones."""
    there = [one for one in connections if not one.transport.is_closing()]
    hosts = Counter(one.client[0] if one.client else "" for one in there if one.idle)
    if len(there) > most and hosts:
        [(greedy, count)] = hosts.most_common(1)
        its = [one for one in there if one.idle and (one.client or ("",))[0] == greedy]
        for one in sorted(its, key=lambda one: one.since)[: 1 + count // 8]:
            one.transport.abort()


class Server(uvicorn.Server):
    """A uvicorn server with graceful shutdown: every accepted request is answered."""

    def __init__(
        self,
        app: Any,
        *,
        head_seconds: float,
        answer_seconds: float,
        connections: int = _CONNECTIONS,
        proxies: Sequence[str] = (),
        ready: Callable[[], object] = bool,
    ) -> None:
        """`ready` is called once clients are accepted; `proxies` may name the client's address (X-Forwarded-For)."""
        self._ready = ready
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                right = "that of the proxy, such as 127.0.0.1 or 10.0.0.0/8"
                raise UsageError(f"--proxy {proxy}: is no address; give {right}") from error
        settings = {"head_seconds": head_seconds, "answer_seconds": answer_seconds, "most": connections}
        config = uvicorn.Config(
            app,
            http=type("Protocol", (PatientProtocol,), settings),
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            backlog=_ACCEPTED,
            timeout_graceful_shutdown=int(head_seconds + answer_seconds) + 5,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept clients."""
        await super().startup(sockets)
        for held in sockets or ():
            held.listen(_BACKLOG)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal ends the server, and the process with 0: uvicorn would raise the signal again after its work."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    @property
    def clients(self) -> int:
        """The number of connected clients."""
        return len(self.server_state.connections)


def affordable_connections() -> int:
    """The number of connections that the limit of open files allows; the limit is raised if possible."""
    try:
        import resource
    except ImportError:
        return _CONNECTIONS
    wanted = _CONNECTIONS + _SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _CONNECTIONS if soft < 0 else max(16, min(_CONNECTIONS, soft - _SPARE_FILES))


class Rarely(logging.Filter):
    """Limits log records of a kind to so many a minute, and says how many others there were."""

    def __init__(self, most: int = 5, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._most, self._clock = most, clock
        self._seen: dict[Any, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written."""
        fault = record.exc_info and record.exc_info[0]
        kind, now = (record.name, str(record.msg).partition("\n")[0], fault), self._clock()
        since, count = self._seen.get(kind, (now, 0))
        if now - since >= 60:
            if count > self._most:
                record.msg = f"{record.msg} ({count - self._most} more like it were left out)"
            since, count = now, 0
        if len(self._seen) > _KINDS:
            self._seen.clear()
        self._seen[kind] = since, count + 1
        return count < self._most


def serve_on(server: Server, held: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; the log is rate-limited."""
    rarely = Rarely()
    for name in ("asyncio", "uvicorn.error", "regard.serve"):
        logging.getLogger(name).addFilter(rarely)
    server.run(sockets=[held])
