"""What a client sends, read within limits: so many bytes, in so much time, as JSON or as a form."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.apps.server.answers import Refusal
from regard.apps.server.limits import Limits
from regard.apps.server.messages import from_form, from_json

_Call = TypeVar("_Call", bound=Struct)
_MOST_FIELDS = 1_000
_DISCARDED = 16  # times the limit: a client that is still sending does not read its answer


async def read_call(request: Request, kind: type[_Call], limits: Limits) -> _Call:
    """The call that a request makes."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            body = await _read(request, limits.body_bytes)
    except TimeoutError as error:
        raise Refusal(408, f"The body did not arrive within {limits.body_seconds:g} seconds", close=True) from error
    try:
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == "application/json" or media.endswith("+json"):
            return from_json(body, kind)
        return from_form(await _fields(request, media, body), kind)
    except ValueError as error:
        raise Refusal(400, f"Invalid request: {error}") from error


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
