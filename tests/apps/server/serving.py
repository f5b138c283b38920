"""Servers as tests use them: in this process, over a socket, and with a model that waits until it is told to go on."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import httpx
import torch
from starlette.requests import Request

from regard.apps.server.app import make_app
from regard.apps.server.batcher import Batcher, BatchWindow
from regard.apps.server.engines import Engine, Engines
from regard.apps.server.guard import Sites
from regard.apps.server.limits import Bodies, Keys, Limits
from regard.apps.server.live import Server, bind
from regard.apps.server.messages import TranslateCall
from regard.apps.server.metrics import Metrics
from regard.apps.server.parsing import read_call
from regard.apps.server.served import ServedModels
from regard.apps.server.service import Service
from regard.apps.server.suggestions import Suggestions
from regard.decoding.translation import Translation
from regard.decoding.translator import Translator

TEXTS = ["the dog sees the cat", "the house and the tree", "the cat finds water", "small dog hears big cat"]


def make_service(
    *engines: Engine,
    keys: tuple[str, ...] = (),
    window: BatchWindow | None = None,
    suggestions: Suggestions | None = None,
    models: ServedModels | None = None,
    **limits: Any,
) -> Service:
    """A service of these engines and other models, with some limits changed."""
    chosen, metrics = Limits(**limits), Metrics()
    one_thread = partial(torch.set_num_threads, 1)
    batcher = Batcher(metrics, chosen.queue, window or BatchWindow(seconds=0.0), one_thread)
    others = models or ServedModels()
    return Service(Engines(engines), batcher, metrics, chosen, Keys(keys), suggestions, models=others)


@contextmanager
def called(service: Service, **options: Any) -> Iterator[Callable[..., httpx.Response]]:
    """A function that sends a request to the service, without any socket."""
    app = make_app(service, **options)

    def call(method: str, path: str, **request: Any) -> httpx.Response:
        return asyncio.run(send(app, method, path, **request))

    yield call
    service.batcher.close()


async def send(app: Any, method: str, path: str, **request: Any) -> httpx.Response:
    """One request to an application."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        return await client.request(method, path, **request)


@contextmanager
def live(service: Service, sites: Sites | None = None, **settings: Any) -> Iterator[int]:
    """The service on a port of this machine, in a thread."""
    ready = threading.Event()
    chosen = {"head_seconds": 5.0, "answer_seconds": 5.0} | settings
    server = Server(make_app(service, sites), ready=ready.set, **chosen)
    service.batcher.clients = lambda: server.clients
    with bind("127.0.0.1", 0) as held:
        port = held.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
        thread.start()
        assert ready.wait(30)
        yield port
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


class Gated(Translator):
    """A translator that works only while its gate is open, and remembers what it was given."""

    def __init__(self, translator: Translator) -> None:
        self.__dict__.update(translator.__dict__)
        self.gate, self.reached = threading.Event(), threading.Event()
        self.batches: list[list[str]] = []

    def translate(self, texts: Any, **settings: Any) -> list[Translation]:
        self.batches.append(list(texts))
        self.reached.set()
        assert self.gate.wait(30)
        return super().translate(texts, **settings)


def gated(engine: Engine) -> tuple[Engine, Gated]:
    """The engine behind a gate, which is closed."""
    translator = Gated(engine.translator)
    return Engine(engine.source, engine.target, translator), translator


def read(
    body: bytes | Iterable[bytes],
    media: str = "application/json",
    query: str = "",
    stalls: bool = False,
    kind: type[Any] = TranslateCall,
    **limits: Any,
) -> Any:
    """What is read of a body that comes in these chunks, and then maybe no further."""
    chunks = iter([body] if isinstance(body, bytes) else body)

    async def receive() -> dict[str, Any]:
        chunk = next(chunks, None)
        if chunk is None and stalls:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    async def parsed(request: Request) -> Any:
        return await read_call(request, await Bodies(Limits(**limits)).receive(request), kind)

    headers = [(b"content-type", media.encode())] if media else []
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "query_string": query.encode()}
    return asyncio.run(parsed(Request(scope, receive)))
