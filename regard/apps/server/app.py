"""The ASGI application: routes, page, OpenAPI description, and the guard around them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any, NamedTuple, get_type_hints
from urllib.parse import quote

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from regard.apps.server.answering import ModelCalls
from regard.apps.server.calls import FORMATS, Calls
from regard.apps.server.docs_page import docs_page
from regard.apps.server.engines import Engines
from regard.apps.server.guard import Guard, Sites, refusal_of
from regard.apps.server.messages import ErrorAnswer, FileCall, OpenAIError, Refusal, answer
from regard.apps.server.openai_calls import OpenAICalls
from regard.apps.server.service import Service
from regard.inspection.page.assets import File, asset, index

_FORMS = ("application/json", "application/x-www-form-urlencoded")
_FILE_FORMS = ("multipart/form-data",)
_PLACE = "#/components/schemas/"
_WHY = {
    400: "The request cannot be understood, or asks for a language that is not served",
    403: "The API key is missing or wrong, or a page of another site asks",
    408: "The request did not arrive in time",
    413: "The request is too large",
    429: "Too many requests are waiting, or came from this client, or wrong API keys",
    503: "The server is overloaded or shutting down",
    504: "There was no answer in time",
}


class Operation(NamedTuple):
    """An endpoint: its route and function, whose annotations give request and response."""

    method: str
    path: str
    run: Callable[..., Awaitable[Any]]

    @property
    def takes(self) -> Any:
        """The type of the request body, or None."""
        return get_type_hints(self.run, include_extras=True).get("call")

    @property
    def wants_request(self) -> bool:
        """Whether the function is also given the request itself."""
        return "request" in get_type_hints(self.run)

    @property
    def gives(self) -> Any:
        """The type of the response."""
        return get_type_hints(self.run, include_extras=True)["return"]


def make_app(service: Service, sites: Sites | None = None) -> Starlette:
    """The application of a service, for the given hosts and origins; by default for this machine alone."""
    sites = sites or Sites()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        # Texts with markup wait for the models in threads; Python's default pool is so small that batches stay small.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(service.limits.queue))
        yield
        service.batcher.close()

    async def refused(request: Request, error: Exception) -> Response:
        return refusal_of(error).response(request.url.path)

    routes = _routes(service)
    paths = {route.endpoint: route.path for route in routes}
    guards = [Middleware(Guard, metrics=service.metrics, limits=service.limits, sites=sites, paths=paths)]
    if sites.origins:
        allowed: Any = {"allow_origins": sites.origins, "allow_methods": ["GET", "POST"], "allow_headers": ["*"]}
        guards += [Middleware(CORSMiddleware, **allowed)]
    handlers = {Refusal: refused, HTTPException: refused}
    return Starlette(routes=routes, middleware=guards, exception_handlers=handlers, lifespan=lifespan)


def _routes(service: Service) -> list[Route]:
    operations = _operations(service)

    @cache
    def described() -> dict[str, Any]:
        return describe(operations, service.engines)

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=service.metrics.content_type)

    async def openapi(request: Request) -> Response:
        return answer(described())

    async def docs(request: Request) -> Response:
        return HTMLResponse(docs_page(described()))

    async def page(request: Request) -> Response:
        return _file(index("index" if service.engines.all else "ask"))

    async def ask_page(request: Request) -> Response:
        return _file(index("ask"))

    async def one_model(request: Request) -> Response:
        return answer(OpenAICalls(service).one_model(request.path_params["name"]))

    async def download(request: Request) -> Response:
        if (content := service.files.find(name := request.path_params["name"])) is None:
            raise Refusal(404, "There is no such file, or its time is over")
        shown = f"attachment; filename*=UTF-8''{quote(name.partition('.')[2])}"
        headers = {"Content-Disposition": shown, "Cache-Control": "no-store"}
        return Response(content, media_type="application/octet-stream", headers=headers)

    async def page_file(request: Request) -> Response:
        return _file(asset(request.path_params["name"]))

    return [
        *[Route(one.path, _endpoint(service, one), methods=[one.method]) for one in operations],
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/docs", docs),
        Route("/", page),
        *([Route("/ask", ask_page), Route("/v1/models/{name}", one_model)] if service.models else ()),
        Route("/assets/{name}", page_file),
        Route("/download_file/{name}", download),
    ]


def _operations(service: Service) -> list[Operation]:
    """The calls of what is served."""
    calls, others, openai = Calls(service), ModelCalls(service), OpenAICalls(service)
    translating = [
        Operation("POST", "/translate", calls.translate),
        Operation("POST", "/detect", calls.detect),
        Operation("GET", "/languages", calls.languages),
        Operation("POST", "/languages", calls.languages),
        Operation("GET", "/frontend/settings", calls.settings),
        Operation("POST", "/translate_file", calls.translate_file),
        Operation("POST", "/suggest", calls.suggest),
        Operation("POST", "/align", calls.align),
        Operation("POST", "/explain", calls.explain),
    ]
    answering = [
        Operation("GET", "/models", others.models),
        Operation("POST", "/predict", others.predict),
        Operation("POST", "/look", others.look),
        Operation("GET", "/v1/models", openai.list_models),
        Operation("POST", "/v1/embeddings", openai.embeddings),
        Operation("POST", "/v1/completions", openai.completions),
    ]
    health = Operation("GET", "/health", others.health)
    return [*(translating if service.engines.all else ()), *(answering if service.models else ()), health]


def _endpoint(service: Service, call: Operation) -> Any:
    takes = call.takes

    async def endpoint(request: Request) -> Response:
        run = partial(call.run, request=request) if call.wants_request else call.run
        found = await (service.serve(request, takes, run) if takes else run())
        return found if isinstance(found, Response) else answer(found)

    return endpoint


def _file(found: File | None) -> Response:
    if found is None:
        raise Refusal(404, "There is no such file")
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": "no-cache"})


def describe(operations: Sequence[Operation], engines: Engines) -> dict[str, Any]:
    """The OpenAPI description of all calls, with the served languages."""
    named = [kind for one in operations for kind in (one.takes, one.gives) if kind is not None]
    kinds = list(dict.fromkeys([*named, ErrorAnswer, OpenAIError]))
    found, components = msgspec.json.schema_components(kinds, ref_template=_PLACE + "{name}")
    schemas = dict(zip(kinds, found, strict=True))
    for component in components.values():
        fields = component.get("properties", {})
        if "description" in fields.get("source", ()):
            fields["source"] |= {"enum": ["auto", *engines.sources]}
            fields["target"] |= {"enum": engines.targets}
        for field in fields.values():
            if field.pop("contentEncoding", None):
                field["format"] = "binary"  # a file, as the part of a form
        if "format" in fields:
            fields["format"] |= {"anyOf": [{"enum": FORMATS}, {"type": "null"}]}
    paths: dict[str, dict[str, Any]] = {one.path: {} for one in operations}
    for one in operations:
        paths[one.path][one.method.lower()] = _operation(one, schemas)
    info = {"title": "Regard", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": components}}


def _operation(call: Operation, schemas: dict[Any, Any]) -> dict[str, Any]:
    refusals = _WHY if call.takes else {503: _WHY[503]}
    openai = call.path.startswith("/v1/")
    told_as = schemas[OpenAIError if openai else ErrorAnswer]
    why = refusals | ({404: "There is no such model"} if openai and call.takes else {})
    responses = {str(status): _content(reason, told_as) for status, reason in why.items()}
    responses["200"] = _content("Done", schemas[call.gives])
    name = f"{call.method.lower()}_{call.run.__name__}"
    told = {"summary": call.run.__doc__, "operationId": name, "responses": responses}
    if call.takes:
        forms = _FILE_FORMS if issubclass(call.takes, FileCall) else _FORMS
        told["requestBody"] = {"required": True} | _content("", schemas[call.takes], forms)
    return told


def _content(description: str, schema: Any, forms: Sequence[str] = _FORMS[:1]) -> dict[str, Any]:
    return {"description": description, "content": {form: {"schema": schema} for form in forms}}
