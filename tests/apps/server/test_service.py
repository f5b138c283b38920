"""Waiting for the models, and giving up."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from regard.apps.server.engines import Engine
from regard.apps.server.refusals import Refusal
from regard.apps.server.service import Ask, Service
from regard.apps.server.work import Translating
from tests.apps.server import serving
from tests.apps.server.serving import TEXTS


def request(gone: asyncio.Event | None = None, seconds: float = 30.0) -> Request:
    """A request whose client hangs up when `gone` is set."""

    async def receive() -> dict[str, Any]:
        await (gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    made = Request({"type": "http", "headers": [], "state": {}}, receive)
    made.state.deadline = asyncio.get_running_loop().time() + seconds
    return made


def test_an_answer(service: Service, engine: Engine) -> None:
    async def ask() -> list[Any]:
        return await service.ask(request(), Translating(engine), TEXTS)

    assert asyncio.run(ask()) == engine.translator.translate(TEXTS)


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize(("why", "status"), [("hung up", 499), ("out of time", 504)])
def test_work_that_nobody_waits_for_is_dropped(engine: Engine, in_thread: bool, why: str, status: int) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held)
    first = service.batcher.submit(Translating(held), ["first"])
    assert translator.reached.wait(30)

    async def ask() -> None:
        gone = asyncio.Event()
        if why == "hung up":
            asyncio.get_running_loop().call_later(0.05, gone.set)
        waiting = request(gone, 30.0 if why == "hung up" else 0.05)
        if in_thread:
            await service.in_thread(waiting, lambda ask: ask(Translating(held), ["dropped"]))
        else:
            await service.ask(waiting, Translating(held), ["dropped"])

    with pytest.raises(Refusal) as refused:
        asyncio.run(ask())
    assert refused.value.status == status
    assert service.batcher.waiting == 0
    assert f'regard_dropped_requests_total{{why="{why}"}} 1.0' in service.metrics.text().decode()
    translator.gate.set()
    assert first.result(30)
    service.batcher.close()
    assert translator.batches == [["first"]]


def test_a_thread_whose_time_is_over_asks_no_more(service: Service, engine: Engine) -> None:
    seen: list[Ask] = []

    async def ask() -> None:
        await service.in_thread(request(), seen.append)

    asyncio.run(ask())
    with pytest.raises(Refusal):
        seen[0](Translating(engine), ["late"])


def test_which_engines_there_are(service: Service, engine: Engine) -> None:
    assert service.engine("en", "de") is engine
    with pytest.raises(Refusal, match="source: unknown 'fr'; languages are: auto, en"):
        service.engine("fr", "de")
    with pytest.raises(Refusal, match="target: unknown 'en'; languages that en is translated into are: de"):
        service.engine("en", "en")


def test_sizes(engine: Engine) -> None:
    service = serving.make_service(engine, characters=10, texts=2)
    service.check_size(["12345", "67890"])
    service.check_size(["1" * 11], 11)
    for texts in (["12345", "678901"], ["a", "b", "c"]):
        with pytest.raises(Refusal) as refused:
            service.check_size(texts)
        assert refused.value.status == 413
    service.batcher.close()
