"""Values as JSON responses."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The content as JSON. A lone half of a surrogate pair, which UTF-8 cannot write, becomes U+FFFD."""
    try:
        body = msgspec.json.encode(content)
    except UnicodeEncodeError:
        body = msgspec.json.encode(_writable(content))
    return Response(body, status, headers, media_type="application/json")


def _writable(content: Any) -> Any:
    match content:
        case str():
            return content.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        case Mapping():
            return {_writable(name): _writable(value) for name, value in content.items()}
        case list() | tuple():
            return [_writable(value) for value in content]
    return content
