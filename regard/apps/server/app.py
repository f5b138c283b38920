"""The application, put together: calls, page, description, and the guard around them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from regard.apps.server.answers import Refusal, answer
from regard.apps.server.calls import Calls
from regard.apps.server.guard import Guard, refusal_of
from regard.apps.server.openapi import Operation, as_page, describe
from regard.apps.server.service import Service
from regard.apps.server.sites import Sites
from regard.inspection.page.assets import File, asset, index


def make_app(service: Service, sites: Sites | None = None) -> Starlette:
    """The application of a service, for those who may ask; for this machine alone unless told otherwise."""
    sites = sites or Sites()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.batcher.close()

    async def refused(request: Request, error: Exception) -> Response:
        return refusal_of(error).response()

    routes = _routes(service)
    paths = {route.endpoint: route.path for route in routes}
    guards = [Middleware(Guard, metrics=service.metrics, limits=service.limits, sites=sites, paths=paths)]
    if sites.origins:
        allowed: Any = {"allow_origins": sites.origins, "allow_methods": ["GET", "POST"], "allow_headers": ["*"]}
        guards += [Middleware(CORSMiddleware, **allowed)]
    handlers = {Refusal: refused, HTTPException: refused}
    return Starlette(routes=routes, middleware=guards, exception_handlers=handlers, lifespan=lifespan)


def _routes(service: Service) -> list[Route]:
    calls = Calls(service)
    operations = [
        Operation("POST", "/translate", calls.translate),
        Operation("POST", "/detect", calls.detect),
        Operation("GET", "/languages", calls.languages),
        Operation("GET", "/frontend/settings", calls.settings),
        Operation("POST", "/translate_file", calls.no_files),
        Operation("POST", "/align", calls.align),
        Operation("POST", "/explain", calls.explain),
        Operation("GET", "/health", calls.health),
    ]

    @cache
    def described() -> dict[str, Any]:
        return describe(operations, service.engines)

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=service.metrics.content_type)

    async def openapi(request: Request) -> Response:
        return answer(described())

    async def docs(request: Request) -> Response:
        return HTMLResponse(as_page(described()))

    async def page(request: Request) -> Response:
        return _file(index())

    async def page_file(request: Request) -> Response:
        return _file(asset(request.path_params["name"]))

    return [
        *[Route(one.path, _endpoint(service, one), methods=[one.method]) for one in operations],
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/docs", docs),
        Route("/", page),
        Route("/assets/{name}", page_file),
    ]


def _endpoint(service: Service, call: Operation) -> Any:
    async def endpoint(request: Request) -> Response:
        return answer(await (service.serve(request, call.takes, call.run) if call.takes else call.run()))

    return endpoint


def _file(found: File | None) -> Response:
    if found is None:
        raise Refusal(404, "There is no such file")
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": "no-cache"})
