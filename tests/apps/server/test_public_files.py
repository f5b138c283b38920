"""The page, its files, and the page of the calls."""

import re

import pytest

from regard.inspection.page.assets import assets
from tests.apps.server.conftest import Call


def test_the_page_loads_only_what_is_there(call: Call) -> None:
    page = call("GET", "/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', page.text)
    assert loaded
    for name in loaded:
        assert call("GET", f"/{name}").status_code == 200, name
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style| on\w+=|https?://", page.text)


def test_every_file_has_its_type(call: Call) -> None:
    for name in assets():
        found = call("GET", f"/assets/{name}")
        kind = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[name.rpartition(".")[2]]
        assert found.headers["content-type"].startswith(kind)


@pytest.mark.parametrize("name", ["files.py", "index.html", "..%2f..%2f__init__.py", "%2e%2e/serve.py", "nothing.js"])
def test_no_other_file_can_be_had(call: Call, name: str) -> None:
    found = call("GET", f"/assets/{name}")
    assert (found.status_code, list(found.json())) == (404, ["error"])


def test_the_calls_are_listed_without_any_script(call: Call) -> None:
    page = call("GET", "/docs").text
    for path in ("/translate", "/detect", "/languages", "/align", "/explain", "/health"):
        assert f" {path}</code>" in page
    assert "<code>alternatives</code> (optional)" in page
    assert "<script" not in page
    assert "http" not in page
