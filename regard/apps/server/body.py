"""What a client sends, read within limits: so many bytes, in so much time, as JSON or as a form."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import TypeVar
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.apps.server.answers import Refusal
from regard.apps.server.limits import Limits, client_of
from regard.apps.server.messages import from_form, from_json

_Call = TypeVar("_Call", bound=Struct)
_MOST_FIELDS = 1_000
_DISCARDED = 16  # times the limit: a client that is still sending does not read its answer


class Bodies:
    """The bodies of requests, as they arrive.

    Clients who begin many and finish none must not keep the others out: past its limit, a client's newest body takes
    the place of its oldest, and past half of all requests, of the oldest of the client that has most.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._arriving: dict[asyncio.Timeout, str] = {}

    async def read_call(self, request: Request, kind: type[_Call]) -> _Call:
        """The call that a request makes."""
        body = await self._receive(request)
        try:
            media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if media == "application/json" or media.endswith("+json"):
                return from_json(body, kind)
            return from_form(await _fields(request, media, body), kind)
        except ValueError as error:
            raise Refusal(400, f"Invalid request: {error}") from error

    async def _receive(self, request: Request) -> bytes:
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


async def _fields(request: Request, media: str, body: bytes) -> list[tuple[str, str]]:
    """The fields of the address and of the body."""
    fields = _decoded(request.scope["query_string"])
    if media == "multipart/form-data":
        return fields + await _multipart(request, body)
    if media == "application/x-www-form-urlencoded":
        return fields + _decoded(body)
    if body:
        raise ValueError("the Content-Type must be application/json, or that of a form")
    return fields


def _decoded(form: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(form.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except UnicodeDecodeError as error:
        raise ValueError("the form is not UTF-8") from error


async def _multipart(request: Request, body: bytes) -> list[tuple[str, str]]:
    async def whole() -> AsyncIterator[bytes]:
        yield body
        yield b""

    size = max(1, len(body))
    parser = MultiPartParser(request.headers, whole(), max_files=0, max_fields=_MOST_FIELDS, max_part_size=size)  # type: ignore[arg-type]
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, UnicodeDecodeError, LookupError) as error:
        message = getattr(error, "message", None) or "it has no boundary, or is not UTF-8"
        raise ValueError(f"the multipart form cannot be read: {message}") from error
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
