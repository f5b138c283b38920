"""Limits that can be kept: who may ask, and how often."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from regard.apps.server import limits
from regard.apps.server.limits import Bodies, Keys, Limits, Rates, client_of
from regard.apps.server.messages import Refusal
from regard.base.errors import ConfigError, UsageError
from tests.apps.server.serving import read


@pytest.mark.parametrize(
    "name", ["characters", "texts", "body_bytes", "explained", "queue", "requests", "bodies", "seconds"]
)
def test_nothing_is_limited_to_nothing(name: str) -> None:
    with pytest.raises(ConfigError, match=f"limits: {name} must be at least"):
        Limits(**{name: 0})


def test_no_rate_is_any_rate() -> None:
    assert Limits(rate=0).rate == 0
    with pytest.raises(ConfigError, match="rate"):
        Limits(rate=-1)


def request(address: str = "10.0.0.7", **headers: str) -> Request:
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": pairs, "client": (address, 1)})


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


def test_who_guesses_at_keys_has_to_wait_and_nobody_else() -> None:
    now = 0.0
    keys = Keys(["right"], lambda: now)

    def tried(key: str, address: str = "10.0.0.7") -> int:
        try:
            return 200 if keys.check(request(address), key) else 0
        except Refusal as refused:
            assert (refused.status == 429) == (refused.retry_after is not None)
            return refused.status

    statuses = [tried(f"guess {number}") for number in range(1_500)]
    assert statuses == [403] * 10 + [429] * 1_490
    assert tried("right") == 429  # else it would be found by guessing on
    assert tried("right", "10.0.0.8") == 200
    now = 6.0
    assert [tried("right"), tried("wrong"), tried("wrong"), tried("right")] == [200, 403, 429, 429]
    now = 66.0
    assert [tried("right") for _ in range(100)] == [200] * 100


def test_without_a_key_there_is_no_guess() -> None:
    keys = Keys(["right"])
    for _ in range(100):
        with pytest.raises(Refusal, match="asks for an API key"):
            keys.check(request(), None)
    assert keys.check(request(), "right")


def test_so_many_clients_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_CLIENTS", 2)
    rates = Rates(1, lambda: 0.0)
    for client in "abc":
        rates.count(client)
    for client in "bc":
        with pytest.raises(Refusal):
            rates.count(client)
    rates.count("a")


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("testclient", "testclient"),
    ],
)
def test_an_address_is_a_client_and_so_is_a_network_of_the_newer_kind(address: str, client: str) -> None:
    assert client_of(request(address)) == client


def test_a_client_without_an_address() -> None:
    assert client_of(Request({"type": "http", "headers": [], "client": None})) == ""


def test_too_many_bytes_are_refused_even_where_no_length_was_told() -> None:
    assert read(b'{"q": "a", "source": "en", "target": "de"}', body_bytes=100)
    for chunks in ([b"x" * 101], [b"x"] * 101, (b"x" * 100 for _ in range(10**9))):
        with pytest.raises(Refusal) as refused:
            read(chunks, body_bytes=100)
        assert (refused.value.status, refused.value.close) == (413, True)


def test_a_body_that_stops_coming_is_given_up() -> None:
    with pytest.raises(Refusal) as refused:
        read([b'{"q":'], stalls=True, body_seconds=0.05)
    assert (refused.value.status, refused.value.close) == (408, True)


class Arriving:
    """A request of some address, whose body comes when it is told to."""

    def __init__(self, address: str) -> None:
        self.rest = asyncio.Event()
        self.request = Request({"type": "http", "headers": [], "client": (address, 1)}, self.receive)

    async def receive(self) -> dict[str, Any]:
        await self.rest.wait()
        return {"type": "http.request", "body": b"all of it", "more_body": False}


async def what_comes(bodies: Bodies, addresses: list[str]) -> list[Any]:
    """Requests that come one after the other and then all end."""
    requests = [Arriving(address) for address in addresses]
    reading = []
    for one in requests:
        reading.append(asyncio.create_task(bodies.receive(one.request)))
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    for one in requests:
        one.rest.set()
    found = await asyncio.gather(*reading, return_exceptions=True)
    return [one.status if isinstance(one, Refusal) else one for one in found]


@pytest.mark.parametrize(
    ("addresses", "most", "pushed_out"),
    [
        ("aaaa", 100, [0, 1]),  # two of one client are enough
        ("aabbcc", 100, []),
        ("abaacab", 100, [0, 2]),
        ("aabbcd", 8, [0, 2]),  # four of all, and who has most goes first
        ("abcdef", 8, [0, 1]),
    ],
)
def test_new_bodies_take_the_place_of_old_ones(addresses: str, most: int, pushed_out: list[int]) -> None:
    bodies = Bodies(Limits(bodies=2, requests=most, body_seconds=600.0))
    for _ in range(2):  # nothing is left behind
        found = asyncio.run(what_comes(bodies, list(addresses)))
        assert [at for at, one in enumerate(found) if one == 408] == pushed_out
        assert set(found) <= {408, b"all of it"}


def test_a_body_that_was_pushed_out_is_told_so() -> None:
    async def push() -> None:
        bodies = Bodies(Limits(bodies=1))
        first = asyncio.create_task(bodies.receive(Arriving("a").request))
        await asyncio.sleep(0)
        second = asyncio.create_task(bodies.receive(Arriving("a").request))
        try:
            await first
        finally:
            second.cancel()

    with pytest.raises(Refusal, match="others needed its place; send it again") as refused:
        asyncio.run(push())
    assert refused.value.close
