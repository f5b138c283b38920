"""Who may ask, and how often."""

import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from starlette.requests import Request

from regard.apps.server.refusals import Refusal
from regard.base.errors import UsageError

_CLIENTS = 10_000


class Keys:
    """The keys that open the server; without any, everybody may ask. Only their hashes are kept in memory."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._hashes = frozenset(_hash(key) for key in keys)

    def __bool__(self) -> bool:
        return bool(self._hashes)

    @classmethod
    def read(cls, file: Path) -> "Keys":
        """The keys of a file, one a line; blank lines and those that start with # are left out."""
        try:
            lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        except UnicodeDecodeError as error:
            raise UsageError(f"{file}: is not UTF-8; a file of keys has one key a line") from error
        keys = [line for line in lines if line and not line.startswith("#")]
        if not keys:
            raise UsageError(f"{file}: holds no key; write one a line, or leave --api-keys out to let everybody in")
        return cls(keys)

    def check(self, request: Request, api_key: str | None) -> str:
        """Who asks, for counting; a client without a key that is wanted is refused."""
        key = api_key or request.headers.get("x-api-key") or _bearer(request)
        if self._hashes:
            if not key:
                raise Refusal(403, "This server asks for an API key: give it as api_key")
            if _hash(key) not in self._hashes:
                raise Refusal(403, "Invalid API key")
            return _hash(key)
        return request.client.host if request.client else ""


class Rates:
    """At most so many requests a minute of each client, as a bucket that fills up again steadily."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, client: str) -> None:
        """One more request of a client, or a refusal that says when the next may come."""
        if not self._per_minute:
            return
        now = self._clock()
        left, since = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - since) * self._per_minute / 60)
        self._buckets[client] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) * 60 / self._per_minute)
            raise Refusal(429, f"Slow down: {self._per_minute} requests a minute are allowed", retry_after=wait)


def _bearer(request: Request) -> str:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else ""


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
