"""Why a request is not served, as LibreTranslate says it: {"error": "one sentence"} with the status that fits."""

from starlette.responses import Response

from regard.apps.server.answers import answer


class Refusal(Exception):
    """A request that is not served. `retry_after` are the seconds after which it may be tried again."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None, close: bool = False) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after, self.close = status, message, retry_after, close

    def response(self) -> Response:
        """The refusal as the client gets it; `close` ends the connection, whose rest is not read."""
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        if self.close:
            headers["Connection"] = "close"
        return answer({"error": self.message}, self.status, headers)
