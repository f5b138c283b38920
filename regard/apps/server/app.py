"""The application, put together."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from regard.apps.server import description, public_files
from regard.apps.server.answers import answer
from regard.apps.server.guard import Guard, refusal_of
from regard.apps.server.libretranslate import LibreTranslate
from regard.apps.server.looking import Looking
from regard.apps.server.messages import Align, Detect, Explain, Translate
from regard.apps.server.refusals import Refusal
from regard.apps.server.service import Service


def make_app(service: Service, origins: Sequence[str] = ()) -> FastAPI:
    """The application of a service. `origins` are the other sites whose pages may call it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.batcher.close()

    app = FastAPI(title="Regard", version="1", openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    _add_calls(app, service)
    _add_description(app, service)
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(HTTPException, _refused)
    if origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "POST"], allow_headers=["*"]
        )
    app.add_middleware(Guard, metrics=service.metrics, limits=service.limits)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    return refusal_of(error).response()


def _add_calls(app: FastAPI, service: Service) -> None:
    libre, looking = LibreTranslate(service), Looking(service)
    calls: list[tuple[str, str, Any, dict[str, Any]]] = [
        ("POST", "/translate", libre.translate, description.taking(Translate, description.TRANSLATED)),
        ("POST", "/detect", libre.detect, description.taking(Detect, description.list_of(description.DETECTED))),
        ("GET", "/languages", libre.languages, description.giving(description.LANGUAGES)),
        ("GET", "/frontend/settings", libre.settings, description.giving({"type": "object"})),
        ("POST", "/translate_file", libre.no_files, description.refusing(400)),
        ("POST", "/align", looking.align, description.taking(Align, description.ALIGNED)),
        ("POST", "/explain", looking.explain, description.taking(Explain, description.EXPLAINED)),
        ("GET", "/health", _health(service), description.giving({"type": "object"})),
    ]
    for method, path, call, told in calls:
        app.add_api_route(path, call, methods=[method], openapi_extra=told, summary=call.__doc__, response_model=None)
    app.add_api_route("/metrics", _metrics(service), methods=["GET"], include_in_schema=False)
    app.add_api_route("/", public_files.page, methods=["GET"], include_in_schema=False)
    app.add_api_route("/assets/{name}", public_files.page_file, methods=["GET"], include_in_schema=False)


def _add_description(app: FastAPI, service: Service) -> None:
    @cache
    def described() -> dict[str, Any]:
        from fastapi.openapi.utils import get_openapi

        found = get_openapi(title="Regard", version="1", routes=app.routes)
        found["components"] = {"schemas": description.schemas(service.engines)}
        for methods in found["paths"].values():
            for call in methods.values():
                call["responses"] = {status: own for status, own in call["responses"].items() if own.get("content")}
        return found

    async def openapi(request: Request) -> Response:
        return answer(described())

    async def docs(request: Request) -> Response:
        return public_files.calls_page(described())

    app.add_api_route("/openapi.json", openapi, methods=["GET"], include_in_schema=False)
    app.add_api_route("/docs", docs, methods=["GET"], include_in_schema=False)


def _health(service: Service) -> Any:
    async def health(request: Request) -> Response:
        """Say whether the server works, and how much waits."""
        batcher = service.batcher
        models = [{"source": one.source, "target": one.target} for one in service.engines.all]
        told = {"status": "ok" if batcher.alive else "closing", "waiting": batcher.waiting, "models": models}
        return answer(told, 200 if batcher.alive else 503)

    return health


def _metrics(service: Service) -> Any:
    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=service.metrics.content_type)

    return metrics
