"""Requests and responses: the fields of each call, which are also its OpenAPI description.

A call is read from JSON or from a form. A refusal is told as LibreTranslate does it: {"error": "one sentence"}.
"""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, NotRequired, TypedDict, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response

_Call = TypeVar("_Call", bound=Struct)
_LISTS = ("q", "translation")  # the fields that a form may give several times, as a list
_MOST_FIELDS = 1_000

Code = Annotated[str, Meta(description="A language code, as GET /languages lists them", examples=["en"])]
Source = Annotated[str, Meta(description="A language code, or auto", examples=["en"])]
TextOrTexts = Annotated[str | list[str], Meta(description="A text, or several")]
Key = Annotated[str | None, Meta(description="An API key, where the server asks for one")]


class Keyed(Struct, kw_only=True):
    """The fields of every call."""

    api_key: Key = None


class TranslateCall(Keyed, kw_only=True):
    """Texts to translate."""

    q: TextOrTexts
    source: Source
    target: Code
    format: Annotated[str | None, Meta(description="text, or html to keep the markup")] = None
    alternatives: Annotated[int | None, Meta(description="How many alternative translations to give")] = None


class DetectCall(Keyed, kw_only=True):
    """A text whose language is asked for."""

    q: Annotated[str, Meta(description="A text")]


class AlignCall(Keyed, kw_only=True):
    """Texts and their translations, whose words are to be aligned."""

    q: TextOrTexts
    translation: Annotated[str | list[str], Meta(description="Its translation, or one for each text")]
    source: Source
    target: Code


class ExplainCall(Keyed, kw_only=True):
    """A text whose translation is to be explained."""

    q: Annotated[str, Meta(description="A text of one line")]
    source: Source
    target: Code
    prefix: Annotated[str | None, Meta(description="What the translation starts with")] = None


class DetectedLanguage(TypedDict):
    """A language that a text may be in, with a confidence in percent."""

    language: str
    confidence: Annotated[float, Meta(ge=0, le=100)]


class Translations(TypedDict):
    """The translation of each text, as a list if q was a list; alternatives and languages likewise."""

    translatedText: str | list[str]
    alternatives: NotRequired[list[str | list[str]]]
    detectedLanguage: NotRequired[DetectedLanguage | list[DetectedLanguage]]


class ServedLanguage(TypedDict):
    """A language, with what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class WordLink(TypedDict):
    """A link between two words, by number."""

    source: int
    target: int
    confidence: float


class LinkedWords(TypedDict):
    """The words of a text and of its translation, with their links."""

    source: list[str]
    target: list[str]
    links: list[WordLink]


class WordsOfText(TypedDict):
    """A text and its words."""

    text: str
    words: list[str]


class Explained(TypedDict):
    """The explanation of a translation."""

    source: WordsOfText
    target: WordsOfText
    score: float
    links: list[WordLink]
    parts: list[dict[str, Any]]


class Health(TypedDict):
    """Whether the server works, and the length of its queue."""

    status: str
    waiting: int
    models: list[dict[str, str]]


class ErrorAnswer(TypedDict):
    """The reason of a refusal."""

    error: str


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The content as JSON. A lone surrogate, which UTF-8 cannot write, becomes U+FFFD."""
    try:
        body = msgspec.json.encode(content)
    except UnicodeEncodeError:
        text = json.dumps(content, ensure_ascii=False)
        body = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
    return Response(body, status, headers, media_type="application/json")


class Refusal(Exception):
    """An error response. `retry_after` is the number of seconds after which to try again."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None, close: bool = False) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after, self.close = status, message, retry_after, close

    def response(self) -> Response:
        """The HTTP response; `close` ends the connection without reading the rest."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return answer({"error": self.message}, self.status, headers | ({"Connection": "close"} if self.close else {}))


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


def from_form(fields: list[tuple[str, str]], kind: type[_Call]) -> _Call:
    """The call in the fields of a form; numbers are written as text, and an empty field counts as missing."""
    table: dict[str, Any] = {}
    for name, value in fields:
        if name in _LISTS and name in table:
            table[name] = [*(table[name] if isinstance(table[name], list) else [table[name]]), value]
        elif value or name in _LISTS:
            table[name] = value
    try:
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


async def _fields(request: Request, media: str, body: bytes) -> list[tuple[str, str]]:
    """The fields of the query string and of the body."""
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
