"""Refusals as clients get them."""

import json

from regard.apps.server.refusals import Refusal


def test_a_sentence_with_its_status() -> None:
    made = Refusal(413, "too long").response()
    assert (made.status_code, json.loads(made.body)) == (413, {"error": "too long"})
    assert "retry-after" not in made.headers
    assert "connection" not in made.headers


def test_when_to_come_back_and_that_the_rest_is_not_read() -> None:
    made = Refusal(429, "slow down", retry_after=3, close=True).response()
    assert (made.headers["retry-after"], made.headers["connection"]) == ("3", "close")
