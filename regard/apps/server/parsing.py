"""Reading the call of a request from JSON, a form, a multipart form with a file, or the query string."""

from collections.abc import AsyncIterator
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from regard.apps.server.messages import Refusal

Field = tuple[str, str | bytes]
_Call = TypeVar("_Call", bound=Struct)
_LISTS = ("q", "translation")  # the fields that a form may give several times, as a list
_OBJECT = "glossary"  # the field that a form gives as JSON
_MOST_FIELDS = 1_000


async def read_call(request: Request, body: bytes, kind: type[_Call]) -> _Call:
    """Parse the call of a request with this body."""
    try:
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == "application/json" or media.endswith("+json"):
            return from_json(body, kind)
        return from_form(await _fields(request, media, body), kind)
    except ValueError as error:
        raise Refusal(400, f"Invalid request: {error}") from error


def from_json(body: bytes, kind: type[_Call]) -> _Call:
    """The call in a JSON body, or a ValueError that says what is wrong with it."""
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("the body is not UTF-8") from error
    except msgspec.MsgspecError as error:
        raise ValueError(_sentence(error)) from error


def from_form(fields: list[Field], kind: type[_Call]) -> _Call:
    """The call in the fields of a form; numbers are written as text, and an empty field counts as missing.

    A file gives two fields: its content, as bytes, and `filename`.
    """
    table: dict[str, Any] = {}
    for name, value in fields:
        if name in _LISTS and name in table:
            table[name] = [*(table[name] if isinstance(table[name], list) else [table[name]]), value]
        elif value or name in _LISTS or isinstance(value, bytes):
            table[name] = value
    try:
        if _OBJECT in table:
            table[_OBJECT] = msgspec.json.decode(table[_OBJECT])
        call = msgspec.convert(table, type=kind, strict=False)
        msgspec.json.encode(call)
    except UnicodeEncodeError as error:  # some character sets can encode a lone surrogate
        raise ValueError("a field has half of a surrogate pair, which is no character") from error
    except msgspec.MsgspecError as error:
        raise ValueError(_sentence(error)) from error
    return call


def _sentence(error: msgspec.MsgspecError) -> str:
    """`Object missing required field `q`` as LibreTranslate says it, everything else as it is."""
    message = str(error)
    if message.startswith("Object missing required field"):
        return f"missing {message.split('`')[1]} parameter"
    return message.replace("`", "'").replace(" - at '$.", " in '").replace("'$", "'the body")


async def _fields(request: Request, media: str, body: bytes) -> list[Field]:
    """The fields of the query string and of the body."""
    fields = _decoded(request.scope["query_string"])
    if media == "multipart/form-data":
        return fields + await _multipart(request, body)
    if media == "application/x-www-form-urlencoded":
        return fields + _decoded(body)
    if body:
        raise ValueError("the Content-Type must be application/json, or that of a form")
    return fields


def _decoded(form: bytes) -> list[Field]:
    try:
        return [*parse_qsl(form.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)]
    except UnicodeDecodeError as error:
        raise ValueError("the form is not UTF-8") from error


async def _multipart(request: Request, body: bytes) -> list[Field]:
    async def whole() -> AsyncIterator[bytes]:
        yield body
        yield b""

    size = max(1, len(body))
    parser = MultiPartParser(request.headers, whole(), max_files=1, max_fields=_MOST_FIELDS, max_part_size=size)  # type: ignore[arg-type]
    parser.spool_max_size = size  # a file stays in memory: its size is limited by that of the body
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, UnicodeDecodeError, LookupError) as error:
        message = getattr(error, "message", None) or "it has no boundary, or is not UTF-8"
        raise ValueError(f"the multipart form cannot be read: {message}") from error
    fields: list[Field] = []
    for name, value in form.multi_items():
        if isinstance(value, str):
            fields += [(name, value)]
        else:
            fields += [("filename", value.filename or ""), (name, await value.read())]
    return fields
