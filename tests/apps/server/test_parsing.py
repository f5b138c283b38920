"""Calls as JSON and as forms, in every way that clients send them."""

import json
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from regard.apps.server.messages import FileCall, Refusal, TranslateCall
from regard.apps.server.parsing import from_form, from_json
from tests.apps.server.serving import read

CALL = {"q": "ä\nb", "source": "en", "target": "de"}
FORM = "application/x-www-form-urlencoded"
HALF = (
    b"".join(
        b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n+2AA-\r\n' % name
        for name in (b"q", b"source", b"target")
    )
    + b"--x--\r\n"
)


def test_the_same_call_as_json_and_as_a_form() -> None:
    as_json = from_json(json.dumps({**CALL, "alternatives": 2, "unknown": {}}).encode(), TranslateCall)
    as_form = from_form([*CALL.items(), ("alternatives", "2"), ("format", "")], TranslateCall)
    assert as_json == as_form
    assert (as_json.alternatives, as_json.format, as_json.api_key) == (2, None, None)


def test_several_texts_in_both() -> None:
    assert from_json(json.dumps({**CALL, "q": ["a", "b"]}).encode(), TranslateCall).q == ["a", "b"]
    assert from_form([("q", "a"), *list(CALL.items())[1:], ("q", "b"), ("q", "")], TranslateCall).q == ["a", "b", ""]


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
        from_json(body, TranslateCall)
    assert "`" not in str(refused.value)


def test_a_form_that_is_no_call() -> None:
    with pytest.raises(ValueError, match="missing target"):
        from_form([("q", "a"), ("source", "en")], TranslateCall)
    with pytest.raises(ValueError, match="alternatives"):
        from_form([*CALL.items(), ("alternatives", "many")], TranslateCall)


def multipart(fields: dict[str, Any]) -> tuple[bytes, str]:
    """The body and the media type that an independent client makes."""
    made = httpx.Request("POST", "http://x", files={name: (None, value) for name, value in fields.items()})
    return made.read(), made.headers["content-type"]


def test_json_forms_and_queries_say_the_same() -> None:
    whole = json.dumps(CALL).encode()
    found = [
        read(whole),
        read([whole[:5], b"", whole[5:]], "application/json; charset=utf-8"),
        read(urlencode(CALL).encode(), FORM),
        read(*multipart(CALL)),
        read(b"", "", query=urlencode(CALL)),
        read(urlencode({"q": CALL["q"]}).encode(), FORM, query="source=en&target=de"),
    ]
    assert {(one.q, one.source, one.target) for one in found} == {("ä\nb", "en", "de")}


@pytest.mark.parametrize(
    ("body", "media", "sentence"),
    [
        (b'{"q": "\xff"}', "application/json", "UTF-8|utf-8"),
        (b"q=%ff&source=en&target=de", FORM, "not UTF-8"),
        (b"q=\xff&source=en&target=de", FORM, "not UTF-8"),
        (b"q=%ED%A0%80&source=en&target=de", FORM, "not UTF-8"),
        (b"&a=1" * 2_000, FORM, "fields"),
        (json.dumps(CALL).encode(), "text/plain", "Content-Type"),
        (json.dumps(CALL).encode(), "", "Content-Type"),
        (b"junk", "multipart/form-data", "multipart"),
        (HALF, "multipart/form-data; boundary=x; charset=utf-7", "surrogate"),
        (b"junk", "multipart/form-data; boundary=x", "multipart|missing"),
        (b"", "", "missing q"),
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes, media: str, sentence: str) -> None:
    with pytest.raises(Refusal, match=sentence) as refused:
        read(body, media)
    assert refused.value.status == 400


def test_a_file_in_the_place_of_a_text_is_refused() -> None:
    made = httpx.Request("POST", "http://x", files={"q": ("name.txt", b"text")})
    with pytest.raises(Refusal) as refused:
        read(made.read(), made.headers["content-type"])
    assert refused.value.status == 400


def test_a_file_is_read_with_its_name() -> None:
    fields = {name: (None, value) for name, value in {"source": "en", "target": "de"}.items()}
    made = httpx.Request("POST", "http://x", files={"file": ("a b.txt", b"\xff\x00"), **fields})
    found = read(made.read(), made.headers["content-type"], kind=FileCall)
    assert (found.file, found.filename, found.source, found.target) == (b"\xff\x00", "a b.txt", "en", "de")


def test_two_files_are_refused() -> None:
    made = httpx.Request("POST", "http://x", files=[("file", ("a.txt", b"a")), ("file", ("b.txt", b"b"))])
    with pytest.raises(Refusal, match="Too many files"):
        read(made.read(), made.headers["content-type"], kind=FileCall)
