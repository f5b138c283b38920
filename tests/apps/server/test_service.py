"""Waiting for the models, and giving up; a service from settings."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from starlette.requests import Request

from regard.apps.server.batcher import BatchWindow
from regard.apps.server.engines import Engine, Translating
from regard.apps.server.limits import Keys, Limits
from regard.apps.server.messages import Refusal
from regard.apps.server.service import Ask, Service, make_service
from regard.base.errors import RegardError
from tests.apps.server import serving
from tests.apps.server.serving import TEXTS


def request(gone: asyncio.Event | None = None) -> Request:
    """A request whose client hangs up when `gone` is set."""

    async def receive() -> dict[str, Any]:
        await (gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "headers": []}, receive)


def test_an_answer(service: Service, engine: Engine) -> None:
    async def ask() -> list[Any]:
        return await service.while_wanted(request(), service.ask(Translating(engine), TEXTS))

    assert asyncio.run(ask()) == engine.translator.translate(TEXTS)


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize(("why", "status"), [("hung up", 499), ("out of time", 504)])
def test_work_that_nobody_waits_for_is_dropped(engine: Engine, in_thread: bool, why: str, status: int) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held, seconds=30.0 if why == "hung up" else 0.05)
    first = service.batcher.submit(Translating(held), ["first"])
    assert translator.reached.wait(30)

    async def ask() -> None:
        gone = asyncio.Event()
        if why == "hung up":
            asyncio.get_running_loop().call_later(0.05, gone.set)
        if in_thread:
            work = service.in_thread(lambda ask: ask(Translating(held), ["dropped"]))
        else:
            work = service.ask(Translating(held), ["dropped"])
        await service.while_wanted(request(gone), work)

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
        await service.in_thread(seen.append)

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


class Asking:
    """Work that says how many threads compute it."""

    def run(self, items: list[int]) -> list[int]:
        return [torch.get_num_threads() for _ in items]

    def cost(self, item: int) -> int:
        return 1


def test_limits_keys_models_and_threads_arrive(trained: Path) -> None:
    limits = Limits(queue=7, rate=3)
    path = os.fspath(trained / "runs/en-de")
    service = make_service([path], limits, Keys(["k"]), BatchWindow(), threads=2)
    assert [str(engine) for engine in service.engines.all] == ["en → de"]
    assert (service.limits, bool(service.keys)) == (limits, True)
    assert service.batcher.submit(Asking(), [0]).result(30) == [2]
    service.batcher.close()
    for setting, wrong in {"precision": "int9", "shortlist": True, "engine": "none"}.items():
        with pytest.raises(RegardError, match=setting):
            make_service([path], limits, Keys(), BatchWindow(), **{setting: wrong})
