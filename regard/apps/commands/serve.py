"""regard serve: an HTTP server for models of every task, with a web page."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import DeviceOption, EngineOption, PrecisionOption, ShortlistOption, ThreadsOption, examples
from regard.base.extras import install_hint

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard serve runs/en-de                              then open http://127.0.0.1:8000",
        "regard serve runs/en-de runs/de-en --port 5000",
        "regard serve fr-en=models/first.safetensors          names the languages of a model",
        "regard serve runs/en-de --host 0.0.0.0 --api-keys keys.txt --rate 60",
        "regard serve runs/reviews runs/novels                a classifier and a language model",
        "regard serve moods=runs/reviews                      names a model that does not translate",
        "curl -d q='two dogs play .' -d source=en -d target=de http://127.0.0.1:8000/translate",
    )
)
def serve(
    models: Annotated[
        list[str], typer.Argument(help="Model files or run folders, as PATH, SOURCE-TARGET=PATH or NAME=PATH.")
    ],
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 is all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    api_keys: Annotated[Path | None, typer.Option(help="A file of API keys, one per line; others get 403.")] = None,
    suggestions: Annotated[
        Path | None, typer.Option(help="Collect suggested translations in this file of JSON lines.")
    ] = None,
    rate: Annotated[int, typer.Option(min=0, help="Rate limit: requests a minute per client; 0: none.")] = 0,
    cors: Annotated[list[str] | None, typer.Option(help="Another origin whose pages are allowed; repeatable.")] = None,
    host_name: Annotated[list[str] | None, typer.Option(help="Another host name of the server; repeatable.")] = None,
    proxy: Annotated[list[str] | None, typer.Option(help="A trusted proxy's address; repeatable.")] = None,
    glossary: Annotated[
        list[str] | None,
        typer.Option(help="Terms that must come out as given, as FILE or SOURCE-TARGET=FILE; repeatable."),
    ] = None,
    characters: Annotated[int, typer.Option(min=1, help="Maximum characters per request.")] = 10_000,
    file_characters: Annotated[int, typer.Option(min=1, help="Maximum characters per file.")] = 100_000,
    texts: Annotated[int, typer.Option(min=1, help="Maximum texts per request.")] = 128,
    queue: Annotated[int, typer.Option(min=1, help="Maximum requests in the queue.")] = 256,
    seconds: Annotated[float, typer.Option(min=0.1, help="Timeout of a request.")] = 30.0,
    window: Annotated[float, typer.Option(min=0, max=1000, help="Milliseconds to wait for a fuller batch.")] = 5.0,
    batch: Annotated[int, typer.Option(min=1, help="Maximum texts in a batch.")] = 64,
    engine: EngineOption = "auto",
    precision: PrecisionOption = "float32",
    shortlist: ShortlistOption = False,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Serve models over HTTP, with a page at / that shows what they look at.

    Translators are asked as LibreTranslate is. All other models answer /predict; language models and encoders of texts
    also answer OpenAI's clients, below /v1.
    """
    _check_installed()
    from regard.apps.server.app import make_app
    from regard.apps.server.batcher import BatchWindow
    from regard.apps.server.guard import Sites
    from regard.apps.server.limits import Keys, Limits
    from regard.apps.server.live import Server, address_of, affordable_connections, bind, serve_on
    from regard.apps.server.service import make_service
    from regard.apps.server.suggestions import Suggestions
    from regard.base.allocator import keep_memory

    keep_memory()
    sizes = {"characters": characters, "file_characters": file_characters, "texts": texts}
    limits = Limits(**sizes, queue=queue, requests=4 * queue, seconds=seconds, rate=rate)
    keys = Keys() if api_keys is None else Keys.read(api_keys)
    collected = None if suggestions is None else Suggestions(suggestions)
    with bind(host, port) as held:
        bound, port = held.getsockname()[:2]
        sites = Sites(host, ip_address(bound).is_loopback, tuple(host_name or ()), tuple(cors or ()))
        waiting = BatchWindow(seconds=window / 1000, items=batch)
        speed: dict[str, Any] = {"precision": precision, "shortlist": shortlist, "engine": engine}
        service = make_service(models, limits, keys, waiting, device, threads, collected, glossary or (), **speed)
        others = [f"{model.name} ({model.task})" for model in service.models.all]
        served = ", ".join([*map(str, service.engines.all), *others])
        server = Server(
            make_app(service, sites),
            head_seconds=limits.body_seconds,
            answer_seconds=seconds,
            connections=affordable_connections(),
            proxies=proxy or (),
            ready=lambda: typer.echo(f"Serving {served} on {address_of(host, port)} (Ctrl-C ends)"),
        )
        service.batcher.clients = lambda: server.clients
        serve_on(server, held)


def _check_installed() -> None:
    from importlib.util import find_spec

    from regard.base.errors import RegardError

    missing = [
        name
        for name in ("babel", "starlette", "uvicorn", "prometheus_client", "python_multipart")
        if not find_spec(name)
    ]
    if missing:
        raise RegardError(f"serve needs {', '.join(missing)}: {install_hint('serve')}")
