"""API keys, rate limits and size limits, so that no client can exhaust the server."""

import asyncio
import hashlib
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

from starlette.requests import Request

from regard.apps.server.messages import Refusal
from regard.base.errors import UsageError, check_at_least

_CLIENTS = 10_000  # whose rates are kept
_GUESSES = 10  # wrong keys a minute
_DISCARDED = 16  # times the body limit, read and discarded: a client that is still sending does not read its answer


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one request, and of all together."""

    characters: int = 10_000
    """of all texts of a request, including markup"""
    texts: int = 128
    """in the list of a request"""
    body_bytes: int = 1 << 20
    file_bytes: int = 4 << 20
    """of a request with a file"""
    file_characters: int = 100_000
    """of the text of a file"""
    files: int = 16
    """files that are being received, and as many that are being translated"""
    explained: int = 1_000
    """characters of a text to explain: the response grows with their square"""
    written: int = 1_024
    """tokens that a language model writes for a request, all of its texts together"""
    queue: int = 256
    """requests in the queue of the models"""
    requests: int = 1_024
    """requests in progress, including those still being received"""
    bodies: int = 128
    """requests of one client that are still being received; a further one takes the place of the oldest"""
    seconds: float = 30.0
    """from the last byte of a request to its answer"""
    body_seconds: float = 10.0
    """from the first byte of a request to its last"""
    rate: int = 0
    """requests a minute per client; 0: no limit"""

    def __post_init__(self) -> None:
        counts = ("characters", "texts", "body_bytes", "explained", "written", "queue", "requests", "bodies")
        for name in (*counts, "file_bytes", "file_characters", "files"):
            check_at_least("limits", 1, **{name: getattr(self, name)})
        check_at_least("limits", 0.001, seconds=self.seconds, body_seconds=self.body_seconds)
        check_at_least("limits", 0, rate=self.rate)


class Rates:
    """Rate limiting by token bucket: at most so many requests a minute per client."""

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        sentence: str = "Slow down: {} requests a minute are allowed",
    ) -> None:
        self._per_minute, self._clock, self._sentence = per_minute, clock, sentence
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, client: str) -> float:
        """The number of requests a client has left; if none, a refusal that says when to retry."""
        now = self._clock()
        left, since = self._buckets.get(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - since) * self._per_minute / 60)
        if left < 1 <= self._per_minute:
            wait = math.ceil((1 - left) * 60 / self._per_minute)
            raise Refusal(429, self._sentence.format(self._per_minute), retry_after=wait)
        return left

    def count(self, client: str) -> None:
        """Count one request of a client, if it has one left."""
        left = self.check(client)
        if self._per_minute:
            self._buckets[client] = (left - 1, self._clock())
            self._buckets.move_to_end(client)
            if len(self._buckets) > _CLIENTS:
                self._buckets.popitem(last=False)


class Bodies:
    """The bodies of requests, as they arrive.

    Clients that start many bodies and finish none must not block the others: past its limit, a client's newest body
    replaces its oldest, and past half of all requests, the oldest of the client that has most.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._arriving: dict[asyncio.Timeout, str] = {}

    @classmethod
    def of_files(cls, limits: Limits) -> "Bodies":
        """The bodies with a file, which are larger and therefore fewer."""
        most = {"body_bytes": limits.file_bytes, "bodies": limits.files, "requests": 2 * limits.files}
        return cls(replace(limits, **most))

    async def receive(self, request: Request) -> bytes:
        """Receive the body of a request, within the size and time limits."""
        pushed_out = False
        try:
            async with asyncio.timeout(self._limits.body_seconds) as waiting:
                self._arriving[waiting] = client_of(request)
                self._make_room(client_of(request))
                try:
                    return await _read(request, self._limits.body_bytes)
                finally:
                    pushed_out = self._arriving.pop(waiting, None) is None
        except TimeoutError as error:
            late = f"The body did not arrive within {self._limits.body_seconds:g} seconds"
            crowd = "The body was still arriving when others needed its place; send it again"
            raise Refusal(408, crowd if pushed_out else late, close=True) from error

    def _make_room(self, client: str) -> None:
        counts = Counter(self._arriving.values())
        if counts[client] <= self._limits.bodies:
            if len(self._arriving) <= max(1, self._limits.requests // 2):
                return
            [(client, _)] = counts.most_common(1)
        oldest = next(waiting for waiting, other in self._arriving.items() if other == client)
        del self._arriving[oldest]
        oldest.reschedule(0)


class Keys:
    """The API keys; without any, everybody may ask. Only their hashes are kept in memory.

    After too many wrong keys a client has to wait, even with a right one, which prevents guessing.
    """

    def __init__(self, keys: Iterable[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self._hashes = frozenset(_hash(key) for key in keys)
        self._guesses = Rates(
            _GUESSES, clock, "Too many wrong API keys came from this address; {} a minute are allowed"
        )

    def __bool__(self) -> bool:
        return bool(self._hashes)

    @classmethod
    def read(cls, file: Path) -> "Keys":
        """The keys of a file, one per line; blank lines and those that start with # are left out."""
        try:
            lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        except UnicodeDecodeError as error:
            raise UsageError(f"{file}: is not UTF-8; a file of keys has one key a line") from error
        keys = [line for line in lines if line and not line.startswith("#")]
        if not keys:
            raise UsageError(f"{file}: holds no key; write one a line, or leave --api-keys out to let everybody in")
        return cls(keys)

    def check(self, request: Request, api_key: str | None) -> str:
        """The client's identity, for counting; requests without a valid API key get 403."""
        if not self._hashes:
            return client_of(request)
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        key = api_key or request.headers.get("x-api-key") or (bearer.strip() if kind.lower() == "bearer" else "")
        if not key:
            raise Refusal(403, "This server asks for an API key: give it as api_key")
        self._guesses.check(client_of(request))
        if _hash(key) not in self._hashes:
            self._guesses.count(client_of(request))
            raise Refusal(403, "Invalid API key")
        return _hash(key)


def client_of(request: Request) -> str:
    """The address of a client, for counting; for IPv6 the network prefix, which belongs to one client."""
    host = request.client.host if request.client else ""
    try:
        address = IPv6Address(host)
    except ValueError:
        return host
    return str(address.ipv4_mapped or IPv6Network((int(address), 64), strict=False))


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


async def _read(request: Request, most: int) -> bytes:
    body, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > _DISCARDED * most:
            break
        if size <= most:
            body += chunk
    if size > most:
        raise Refusal(413, f"The body has more than the {most} bytes that are allowed", close=True)
    return bytes(body)
