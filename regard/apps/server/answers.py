"""What goes back to a client: values as JSON, and refusals as LibreTranslate says them, {"error": "one sentence"}."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The content as JSON. A lone half of a surrogate pair, which UTF-8 cannot write, becomes U+FFFD."""
    try:
        body = msgspec.json.encode(content)
    except UnicodeEncodeError:
        text = json.dumps(content, ensure_ascii=False)
        body = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
    return Response(body, status, headers, media_type="application/json")


class Refusal(Exception):
    """A request that is not served. `retry_after` are the seconds after which it may be tried again."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None, close: bool = False) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after, self.close = status, message, retry_after, close

    def response(self) -> Response:
        """The refusal as the client gets it; `close` ends the connection, whose rest is not read."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return answer({"error": self.message}, self.status, headers | ({"Connection": "close"} if self.close else {}))
