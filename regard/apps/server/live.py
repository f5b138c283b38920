"""The server as a process: its address, its connections, its end."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.base.errors import RegardError, UsageError

_BACKLOG = 2_048


def bind(host: str, port: int) -> socket.socket:
    """A socket that holds the address; port 0 takes a free one."""
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
    """HTTP connections that are closed when the head of a request does not arrive in time."""

    head_seconds = 10.0
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come: the time for its first head begins."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Some bytes have come, of a head or of a body."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._head is None and self.timeout_keep_alive_task is None:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._head = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _give_up(self) -> None:
        self._head = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """A uvicorn that ends with its work done: whoever was accepted is answered."""

    def __init__(
        self, app: Any, *, head_seconds: float, answer_seconds: float, ready: Callable[[], object] = bool
    ) -> None:
        """`ready` is called once clients are accepted."""
        self._ready = ready
        protocol = type("Protocol", (PatientProtocol,), {"head_seconds": head_seconds})
        config = uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=int(head_seconds + answer_seconds) + 5,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept clients."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    @property
    def clients(self) -> int:
        """How many are connected."""
        return len(self.server_state.connections)


def serve_on(server: Server, held: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM."""
    with _ends_quietly():
        server.run(sockets=[held])


@contextmanager
def _ends_quietly() -> Iterator[None]:
    """Signals that the server has served end the process with 0: uvicorn raises them again after its work."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
