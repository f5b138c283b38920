"""What a browser gets: the page, its files, the description of the calls."""

from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from regard.apps.server.refusals import Refusal
from regard.inspection.page.assets import asset, index

POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
"""nothing from elsewhere, no script or style inside a page"""
SAFE_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_FRESH = {"Cache-Control": "no-cache"}


async def page(request: Request) -> Response:
    """The page."""
    found = index()
    return Response(found.content, media_type=found.media_type, headers=_FRESH)


async def page_file(request: Request) -> Response:
    """A file that the page loads."""
    found = asset(request.path_params["name"])
    if found is None:
        raise Refusal(404, "There is no such file")
    return Response(found.content, media_type=found.media_type, headers=_FRESH)


def calls_page(description: dict[str, Any]) -> Response:
    """The OpenAPI description as a page that needs nothing else."""
    rows = [
        f"<tr><td><code>{method.upper()} {escape(path)}</code></td><td>{escape(call.get('summary', ''))}</td>"
        f"<td>{_fields(description, call)}</td></tr>"
        for path, methods in description["paths"].items()
        for method, call in methods.items()
    ]
    title = escape(description["info"]["title"])
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="assets/look.css">'
        f'<h1>{title}</h1><p>All of it, for programs: <a href="openapi.json">openapi.json</a></p>'
        f"<table><thead><tr><th>call</th><th>what it does</th><th>fields, as JSON or a form</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></html>"
    )


def _fields(description: dict[str, Any], call: dict[str, Any]) -> str:
    content = call.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return ""
    schema = description["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    needed = schema.get("required", [])
    fields = [
        f"<li><code>{name}</code>{'' if name in needed else ' (optional)'}: {escape(own.get('description', ''))}</li>"
        for name, own in schema["properties"].items()
    ]
    return f"<ul>{''.join(fields)}</ul>"
