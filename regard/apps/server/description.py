"""What the OpenAPI description says of each call: its fields, its answer, its refusals."""

from typing import Any

import msgspec

from regard.apps.server.engines import Engines
from regard.apps.server.messages import Align, Detect, Explain, Translate

_FORMS = ("application/json", "application/x-www-form-urlencoded")
_WHY = {
    400: "The request cannot be understood, or asks for a language that is not served",
    403: "The API key is missing or wrong",
    408: "The request did not arrive in time",
    413: "The request is too large",
    429: "Too many requests are waiting, or came from this client",
    503: "The server is overloaded or shutting down",
    504: "There was no answer in time",
}
TEXT = {"type": "string"}
NUMBER = {"type": "number"}
ERROR = {"type": "object", "required": ["error"], "properties": {"error": TEXT}}


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items}


def table(**fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has these fields, and maybe others."""
    return {"type": "object", "required": list(fields), "properties": fields}


LANGUAGES = list_of(table(code=TEXT, name=TEXT, targets=list_of(TEXT)))
DETECTED = table(language=TEXT, confidence=NUMBER | {"minimum": 0, "maximum": 100})
TRANSLATED = {
    "type": "object",
    "required": ["translatedText"],
    "properties": {
        "translatedText": {"anyOf": [TEXT, list_of(TEXT)]},
        "alternatives": {"anyOf": [list_of(TEXT), list_of(list_of(TEXT))]},
        "detectedLanguage": {"anyOf": [DETECTED, list_of(DETECTED)]},
    },
}
_LINK = table(source={"type": "integer"}, target={"type": "integer"}, confidence=NUMBER)
_ALIGNED = table(source=list_of(TEXT), target=list_of(TEXT), links=list_of(_LINK))
ALIGNED = {"anyOf": [_ALIGNED, list_of(_ALIGNED)]}
_WORDS = table(text=TEXT, words=list_of(TEXT))
EXPLAINED = table(source=_WORDS, target=_WORDS, score=NUMBER, links=list_of(_LINK), parts=list_of({"type": "object"}))


def taking(kind: type[msgspec.Struct], result: dict[str, Any]) -> dict[str, Any]:
    """A call with a body of some kind."""
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    body = {"required": True, "content": {form: {"schema": schema} for form in _FORMS}}
    return {"requestBody": body, "responses": _responses(result, *_WHY)}


def giving(result: dict[str, Any]) -> dict[str, Any]:
    """A call without a body."""
    return {"responses": _responses(result, 503)}


def refusing(status: int) -> dict[str, Any]:
    """A call that is never served."""
    return {"responses": {str(status): _response("Not offered here", ERROR)}}


def _responses(result: dict[str, Any], *refusals: int) -> dict[str, Any]:
    return {"200": _response("Done", result)} | {str(status): _response(_WHY[status], ERROR) for status in refusals}


def _response(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def schemas(engines: Engines) -> dict[str, Any]:
    """The fields of every call, with the languages that are served."""
    kinds = (Translate, Detect, Align, Explain)
    _, found = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    for schema in found.values():
        fields = schema["properties"]
        if "source" in fields:
            fields["source"] |= {"enum": ["auto", *engines.sources]}
            fields["target"] |= {"enum": engines.targets}
        if "format" in fields:
            fields["format"] |= {"anyOf": [{"enum": ["text", "html"]}, {"type": "null"}]}
    return found
