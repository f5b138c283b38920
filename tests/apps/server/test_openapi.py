"""The OpenAPI description, and whether the server keeps to it under whatever a generator thinks of."""

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
from regard.apps.server.sites import Sites
from tests.apps.server import serving
from tests.apps.server.conftest import Call


def test_fields_languages_and_refusals_are_described(call: Call) -> None:
    told = call("GET", "/openapi.json").json()
    found = told["components"]["schemas"]["Translate"]
    assert found["required"] == ["q", "source", "target"]
    assert found["properties"]["source"]["enum"] == ["auto", "en"]
    assert found["properties"]["target"]["enum"] == ["de"]
    post = told["paths"]["/translate"]["post"]
    assert set(post["responses"]) == {"200", "400", "403", "408", "413", "429", "503", "504"}
    assert set(post["requestBody"]["content"]) == {"application/json", "application/x-www-form-urlencoded"}
    taken = {
        call["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for methods in told["paths"].values()
        for call in methods.values()
        if "requestBody" in call
    }
    assert taken == {"Translate", "Detect", "Align", "Explain"}


CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("path", ["/translate", "/detect", "/align", "/explain"])
def test_the_server_keeps_to_its_description(engine: Engine, path: str, mode: GenerationMode) -> None:
    service = serving.make_service(engine, characters=200, texts=3, explained=100)
    api = schemathesis.openapi.from_asgi("/openapi.json", make_app(service, Sites(names=("testserver",))))

    @given(case=api[path]["POST"].as_strategy(generation_mode=mode))
    @settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    def keeps(case: schemathesis.Case) -> None:
        case.validate_response(case.call(), checks=CHECKS)

    keeps()
    service.batcher.close()
