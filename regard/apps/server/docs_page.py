"""The API's documentation as a page: what `/docs` shows, made from the OpenAPI description."""

from collections.abc import Sequence
from html import escape
from typing import Any

_STYLES = ("colors.css", "style.css", "docs.css")
_JSON = "application/json"


def docs_page(description: dict[str, Any]) -> str:
    """The OpenAPI description as an HTML page in the look of the server's own; it has no script."""
    calls = [
        (method.upper(), path, call)
        for path, methods in description["paths"].items()
        for method, call in methods.items()
    ]
    title = escape(description["info"]["title"])
    styles = "".join(f'<link rel="stylesheet" href="assets/{name}">' for name in _STYLES)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: the API</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f'<link rel="icon" href="assets/icon.svg" type="image/svg+xml">{styles}</head>'
        f'<body><header class="top"><a class="mark" href="./">regard</a>'
        f'<a class="plain" href="openapi.json">openapi.json</a></header>'
        f"<main><h1>The API</h1>"
        f'<p class="hint">The calls are those of LibreTranslate, and a few more. Send JSON or a form. A refusal is '
        f"answered with <code>{{&quot;error&quot;: &quot;one sentence&quot;}}</code>.</p>"
        f"{_contents(calls)}{''.join(_section(description, *call) for call in calls)}</main></body></html>"
    )


def _contents(calls: Sequence[tuple[str, str, dict[str, Any]]]) -> str:
    first = {path: method for method, path, _ in reversed(calls)}
    paths = dict.fromkeys(path for _, path, _ in calls)
    links = [f'<li><a href="#{_anchor(first[path], path)}">{escape(path)}</a></li>' for path in paths]
    return f'<nav aria-label="Calls"><ul class="calls">{"".join(links)}</ul></nav>'


def _section(description: dict[str, Any], method: str, path: str, call: dict[str, Any]) -> str:
    fields = _fields(description, call)
    refusals = "".join(
        f"<li><code>{status}</code> {escape(own['description'])}</li>"
        for status, own in sorted(call["responses"].items())
        if status != "200"
    )
    return (
        f'<section class="card call" id="{_anchor(method, path)}">'
        f'<h2><code><span class="method">{method}</span> {escape(path)}</code></h2>'
        f"<p>{escape(call['summary'])}</p>{fields}"
        f"<details><summary>Refusals</summary><ul>{refusals}</ul></details></section>"
    )


def _anchor(method: str, path: str) -> str:
    return f"{method.lower()}{path.replace('/', '-')}"


def _fields(description: dict[str, Any], call: dict[str, Any]) -> str:
    """The fields of the request as a list of terms; empty for a call without any."""
    if "requestBody" not in call:
        return ""
    content = call["requestBody"]["content"]
    name = content.get(_JSON, next(iter(content.values())))["schema"]["$ref"].rpartition("/")[2]
    schema = description["components"]["schemas"][name]
    rows = [
        f"<dt><code>{field}</code>{'' if field in schema.get('required', ()) else ' (optional)'}</dt>"
        f"<dd>{escape(own['description'])}{_choices(own)}</dd>"
        for field, own in schema["properties"].items()
    ]
    return f"<dl>{''.join(rows)}</dl>"


def _choices(field: dict[str, Any]) -> str:
    values = ", ".join(f"<code>{escape(str(value))}</code>" for value in field.get("enum", ()))
    return f": {values}" if values else ""
