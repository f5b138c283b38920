"""The application as a whole: its page and files, and whether it keeps to its OpenAPI description."""

import re
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from regard.apps.server.app import make_app
from regard.apps.server.engines import Engine
from regard.apps.server.guard import Sites
from regard.apps.server.suggestions import Suggestions
from regard.inspection.page.assets import assets
from tests.apps.server import serving
from tests.apps.server.conftest import Call
from tests.apps.server.serving import TEXTS
from tests.apps.server.small_models import small_models

ASK = {"source": "en", "target": "de", "q": TEXTS[0]}


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/no", 404), ("GET", "/translate", 405), ("PUT", "/", 405)]
)
def test_what_is_not_there_is_refused_in_json(call: Call, method: str, path: str, status: int) -> None:
    response = call(method, path)
    assert (response.status_code, list(response.json())) == (status, ["error"])


def test_health_tells_what_is_served(call: Call) -> None:
    assert call("GET", "/health").json() == {
        "status": "ok",
        "waiting": 0,
        "models": [{"source": "en", "target": "de"}],
    }


def test_health_when_the_end_has_come(engine: Engine) -> None:
    service = serving.make_service(engine)
    with serving.called(service) as call:
        service.batcher.close()
        assert call("GET", "/health").status_code == 503
        refused = call("POST", "/translate", json=ASK)
        assert (refused.status_code, "shutting down" in refused.json()["error"]) == (503, True)


def test_requests_are_counted_by_route_and_status(call: Call) -> None:
    call("POST", "/translate", json=ASK)
    call("POST", "/translate", json={**ASK, "source": "xx"})
    call("GET", "/assets/nothing")
    counted = call("GET", "/metrics").text
    for route, status in (("/translate", 200), ("/translate", 400), ("/assets/{name}", 404)):
        assert f'regard_requests_total{{route="{route}",status="{status}"}} 1.0' in counted
    assert "regard_batch_texts_count 1.0" in counted


def test_other_sites_may_ask_only_where_they_were_named(engine: Engine) -> None:
    asked = {"Origin": "https://friend.example", "Access-Control-Request-Method": "POST"}
    with serving.called(serving.make_service(engine)) as call:
        assert "access-control-allow-origin" not in call("POST", "/translate", json=ASK, headers=asked).headers
    with serving.called(serving.make_service(engine), sites=Sites(origins=("https://friend.example",))) as call:
        told = call("OPTIONS", "/translate", headers=asked)
        assert told.headers["access-control-allow-origin"] == "https://friend.example"
        told = call("OPTIONS", "/translate", headers={**asked, "Origin": "https://other.example"})
        assert "access-control-allow-origin" not in told.headers


def test_a_rate_for_each_client(engine: Engine) -> None:
    with serving.called(serving.make_service(engine, rate=2)) as call:
        found = [call("POST", "/translate", json=ASK) for _ in range(3)]
        assert [one.status_code for one in found] == [200, 200, 429]
        assert int(found[-1].headers["retry-after"]) > 0


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
    for name in re.findall(r'href="([^"]+)"', page):
        assert call("GET", f"/{name}").status_code == 200, name
    assert "<script" not in page
    assert "http" not in page


def test_fields_languages_and_refusals_are_described(call: Call) -> None:
    told = call("GET", "/openapi.json").json()
    found = told["components"]["schemas"]["TranslateCall"]
    assert found["required"] == ["q", "source", "target"]
    assert found["properties"]["source"]["enum"] == ["auto", "en"]
    assert found["properties"]["target"]["enum"] == ["de"]
    post = told["paths"]["/translate"]["post"]
    assert set(post["responses"]) == {"200", "400", "403", "408", "413", "429", "503", "504"}
    assert set(post["requestBody"]["content"]) == {"application/json", "application/x-www-form-urlencoded"}
    taken = {
        form["schema"]["$ref"].rpartition("/")[2]
        for methods in told["paths"].values()
        for call in methods.values()
        if "requestBody" in call
        for form in call["requestBody"]["content"].values()
    }
    assert taken == {"TranslateCall", "DetectCall", "AlignCall", "ExplainCall", "FileCall", "SuggestCall"}
    assert list(told["paths"]["/translate_file"]["post"]["requestBody"]["content"]) == ["multipart/form-data"]
    named = [call["operationId"] for methods in told["paths"].values() for call in methods.values()]
    assert len(set(named)) == len(named)


CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("path", ["/translate", "/detect", "/align", "/explain", "/suggest", "/translate_file"])
def test_the_server_keeps_to_its_description(engine: Engine, path: str, mode: GenerationMode, tmp_path: Path) -> None:
    collected = Suggestions(tmp_path / "suggestions.jsonl")
    service = serving.make_service(engine, suggestions=collected, characters=200, texts=3, explained=100)
    api = schemathesis.openapi.from_asgi("/openapi.json", make_app(service, Sites(names=("testserver",))))

    @given(case=api[path]["POST"].as_strategy(generation_mode=mode))
    @settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def keeps(case: schemathesis.Case) -> None:
        case.validate_response(case.call(), checks=CHECKS)

    keeps()
    service.batcher.close()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("path", ["/predict", "/look", "/v1/completions", "/v1/embeddings"])
def test_models_that_do_not_translate_keep_to_their_description(path: str, mode: GenerationMode) -> None:
    service = serving.make_service(models=small_models(), characters=200, texts=3, explained=100, written=64)
    api = schemathesis.openapi.from_asgi("/openapi.json", make_app(service, Sites(names=("testserver",))))

    @given(case=api[path]["POST"].as_strategy(generation_mode=mode))
    @settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def keeps(case: schemathesis.Case) -> None:
        case.validate_response(case.call(), checks=CHECKS)

    keeps()
    service.batcher.close()
