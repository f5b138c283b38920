"""Values and refusals as clients get them."""

import json

from regard.apps.server.messages import Refusal, answer


def test_content_status_and_headers() -> None:
    made = answer({"a": ["ü", 1, None]}, 418, {"X-More": "yes"})
    assert json.loads(made.body) == {"a": ["ü", 1, None]}
    assert (made.status_code, made.headers["x-more"], made.headers["content-type"]) == (418, "yes", "application/json")


def test_half_a_surrogate_pair_does_not_end_in_a_fault() -> None:
    made = answer({"a\ud800": ["x\udc00", ("\ud800",)]})
    text = made.body.decode("utf-8")
    assert "\ufffd" in text
    assert json.loads(text)


def test_a_sentence_with_its_status() -> None:
    made = Refusal(413, "too long").response()
    assert (made.status_code, json.loads(made.body)) == (413, {"error": "too long"})
    assert "retry-after" not in made.headers
    assert "connection" not in made.headers


def test_when_to_come_back_and_that_the_rest_is_not_read() -> None:
    made = Refusal(429, "slow down", retry_after=3, close=True).response()
    assert (made.headers["retry-after"], made.headers["connection"]) == ("3", "close")
