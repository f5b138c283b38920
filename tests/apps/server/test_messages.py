"""Calls as JSON and as forms."""

import json

import pytest

from regard.apps.server.messages import Translate, from_form, from_json

CALL = {"q": "a", "source": "en", "target": "de"}


def test_the_same_call_as_json_and_as_a_form() -> None:
    as_json = from_json(json.dumps({**CALL, "alternatives": 2, "unknown": {}}).encode(), Translate)
    as_form = from_form([*CALL.items(), ("alternatives", "2"), ("format", "")], Translate)
    assert as_json == as_form
    assert (as_json.alternatives, as_json.format, as_json.api_key) == (2, None, None)


def test_several_texts_in_both() -> None:
    assert from_json(json.dumps({**CALL, "q": ["a", "b"]}).encode(), Translate).q == ["a", "b"]
    assert from_form([("q", "a"), *list(CALL.items())[1:], ("q", "b"), ("q", "")], Translate).q == ["a", "b", ""]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "JSON|truncated"),
        (b"[]", "Expected 'object'"),
        (b'{"source": "en", "target": "de"}', "missing q parameter"),
        (b'{"q": 1, "source": "en", "target": "de"}', "in 'q'"),
        (b'{"q": ["a", null], "source": "en", "target": "de"}', "got 'null'"),
        (b'{"q": "\xff", "source": "en", "target": "de"}', "UTF-8|utf-8"),
        (b'{"q": "\\ud800", "source": "en", "target": "de"}', "surrogate"),
        (b'{"q": "\xed\xa0\x80", "source": "en", "target": "de"}', "UTF-8|utf-8|surrogate"),
        (b'{"x":' * 100_000, "nested too deeply|truncated"),
    ],
)
def test_what_is_no_call_is_refused_with_a_sentence(body: bytes, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        from_json(body, Translate)
    assert "`" not in str(refused.value)


def test_a_form_that_is_no_call() -> None:
    with pytest.raises(ValueError, match="missing target"):
        from_form([("q", "a"), ("source", "en")], Translate)
    with pytest.raises(ValueError, match="alternatives"):
        from_form([*CALL.items(), ("alternatives", "many")], Translate)
