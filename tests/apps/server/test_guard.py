"""What stands around every call."""

import asyncio
import logging
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse

from regard.apps.server.answers import Refusal
from regard.apps.server.guard import Guard, refusal_of
from regard.apps.server.limits import Limits
from regard.apps.server.metrics import Metrics
from regard.base.errors import UsageError
from tests.apps.server.serving import send


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Refusal(418, "x"), 418),
        (HTTPException(404), 404),
        (HTTPException(405), 405),
        (ClientDisconnect(), 499),
        (UsageError("x"), 400),
        (KeyError("secret"), 500),
    ],
)
def test_every_error_becomes_a_sentence(error: Exception, status: int) -> None:
    refusal = refusal_of(error)
    assert refusal.status == status
    assert "secret" not in refusal.message


def test_faults_are_answered_and_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("secret")

    metrics = Metrics()
    with caplog.at_level(logging.ERROR, "regard.serve"):
        response = asyncio.run(send(Guard(broken, metrics, Limits()), "GET", "/"))
    assert (response.status_code, list(response.json())) == (500, ["error"])
    assert "secret" in caplog.text
    assert 'regard_requests_total{route="other",status="500"} 1.0' in metrics.text().decode()
    assert "regard_requests_under_way 0.0" in metrics.text().decode()


def test_every_answer_has_safe_headers() -> None:
    response = asyncio.run(send(Guard(PlainTextResponse("x"), Metrics(), Limits()), "GET", "/"))
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy


def test_too_many_at_once_are_refused_but_not_those_who_ask_how_it_is() -> None:
    async def crowd() -> list[int]:
        gate, inside = asyncio.Event(), asyncio.Semaphore(0)

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] != "/health":
                inside.release()
                await gate.wait()
            await PlainTextResponse("x")(scope, receive, send)

        app = Guard(slow, Metrics(), Limits(requests=2))
        held = [asyncio.create_task(send(app, "GET", "/")) for _ in range(2)]
        for _ in held:
            await inside.acquire()
        refused, healthy = await send(app, "GET", "/"), await send(app, "GET", "/health")
        assert refused.headers["retry-after"] == "1"
        gate.set()
        return [refused.status_code, healthy.status_code, *[(await one).status_code for one in held]]

    assert asyncio.run(crowd()) == [503, 200, 200, 200]
