"""Limits that can be kept: who may ask, and how often."""

from pathlib import Path

import pytest
from starlette.requests import Request

from regard.apps.server.answers import Refusal
from regard.apps.server.limits import Keys, Limits, Rates
from regard.base.errors import ConfigError, UsageError


@pytest.mark.parametrize("name", ["characters", "texts", "body_bytes", "explained", "queue", "requests", "seconds"])
def test_nothing_is_limited_to_nothing(name: str) -> None:
    with pytest.raises(ConfigError, match=f"limits: {name} must be at least"):
        Limits(**{name: 0})


def test_no_rate_is_any_rate() -> None:
    assert Limits(rate=0).rate == 0
    with pytest.raises(ConfigError, match="rate"):
        Limits(rate=-1)


def request(**headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": pairs, "client": ("10.0.0.7", 1)})


def test_without_keys_everybody_may_ask_and_is_known_by_address() -> None:
    assert not Keys()
    assert Keys().check(request(), None) == "10.0.0.7"
    assert Keys().check(request(), "whatever") == "10.0.0.7"


def test_a_key_opens_in_each_place_where_it_may_stand() -> None:
    keys = Keys(["one", "two"])
    who = keys.check(request(), "one")
    assert keys.check(request(x_api_key="one"), None) == who
    assert keys.check(request(authorization="Bearer one"), "") == who
    assert keys.check(request(), "two") != who


@pytest.mark.parametrize(
    ("headers", "key"), [({}, None), ({}, ""), ({}, "One"), ({"authorization": "Basic one"}, None)]
)
def test_without_the_right_key_nobody_may(headers: dict[str, str], key: str | None) -> None:
    with pytest.raises(Refusal) as refused:
        Keys(["one"]).check(request(**headers), key)
    assert refused.value.status == 403


def test_keys_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# of friends\none\n\n  two  \n")
    keys = Keys.read(file)
    assert keys.check(request(), "two")
    with pytest.raises(Refusal):
        keys.check(request(), "# of friends")
    file.write_text("# none yet\n")
    with pytest.raises(UsageError, match="holds no key"):
        Keys.read(file)
    file.write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        Keys.read(file)


def test_so_many_a_minute_and_then_a_wait_that_is_told() -> None:
    now = 0.0
    rates = Rates(3, lambda: now)
    for _ in range(3):
        rates.count("a")
    with pytest.raises(Refusal) as refused:
        rates.count("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 20)
    rates.count("b")
    now = 20.0
    rates.count("a")
    with pytest.raises(Refusal):
        rates.count("a")
    now = 1000.0
    for _ in range(3):
        rates.count("a")
    with pytest.raises(Refusal):
        rates.count("a")


def test_without_a_rate_nobody_waits() -> None:
    for _ in range(1000):
        Rates(0).count("a")
