"""Values as JSON."""

import json

from regard.apps.server.answers import answer


def test_content_status_and_headers() -> None:
    made = answer({"a": ["ü", 1, None]}, 418, {"X-More": "yes"})
    assert json.loads(made.body) == {"a": ["ü", 1, None]}
    assert (made.status_code, made.headers["x-more"], made.headers["content-type"]) == (418, "yes", "application/json")


def test_half_a_surrogate_pair_does_not_end_in_a_fault() -> None:
    made = answer({"a\ud800": ["x\udc00", ("\ud800",)]})
    text = made.body.decode("utf-8")
    assert "\ufffd" in text
    assert json.loads(text)
