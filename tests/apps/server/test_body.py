"""Bodies within limits, in every form that clients send."""

import asyncio
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from starlette.requests import Request

from regard.apps.server.answers import Refusal
from regard.apps.server.body import Bodies
from regard.apps.server.limits import Limits
from regard.apps.server.messages import Translate

CALL = {"q": "ä\nb", "source": "en", "target": "de"}
FORM = "application/x-www-form-urlencoded"


def read(
    body: bytes | Iterable[bytes], media: str = "application/json", query: str = "", stalls: bool = False, **limits: Any
) -> Translate:
    """What is read of a body that comes in these chunks, and then maybe no further."""
    chunks = iter([body] if isinstance(body, bytes) else body)

    async def receive() -> dict[str, Any]:
        chunk = next(chunks, None)
        if chunk is None and stalls:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    headers = [(b"content-type", media.encode())] if media else []
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers, "query_string": query.encode()}
    return asyncio.run(Bodies(Limits(**limits)).read_call(Request(scope, receive), Translate))


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
        (b"junk", "multipart/form-data; boundary=x", "multipart|missing"),
        (b"", "", "missing q"),
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes, media: str, sentence: str) -> None:
    with pytest.raises(Refusal, match=sentence) as refused:
        read(body, media)
    assert refused.value.status == 400


def test_files_in_a_form_are_refused() -> None:
    made = httpx.Request("POST", "http://x", files={"q": ("name.txt", b"text")})
    with pytest.raises(Refusal) as refused:
        read(made.read(), made.headers["content-type"])
    assert refused.value.status == 400


def test_too_many_bytes_are_refused_even_where_no_length_was_told() -> None:
    assert read(json.dumps(CALL).encode(), body_bytes=100)
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
        headers = [(b"content-type", b"application/json")]
        self.request = Request({"type": "http", "headers": headers, "client": (address, 1)}, self.receive)

    async def receive(self) -> dict[str, Any]:
        await self.rest.wait()
        return {"type": "http.request", "body": json.dumps(CALL).encode(), "more_body": False}


async def what_comes(bodies: Bodies, addresses: list[str]) -> list[Any]:
    """Requests that come one after the other and then all end."""
    requests = [Arriving(address) for address in addresses]
    reading = []
    for one in requests:
        reading.append(asyncio.create_task(bodies.read_call(one.request, Translate)))
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    for one in requests:
        one.rest.set()
    found = await asyncio.gather(*reading, return_exceptions=True)
    return [one.status if isinstance(one, Refusal) else one.target for one in found]


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
        assert set(found) <= {408, "de"}


def test_a_body_that_was_pushed_out_is_told_so() -> None:
    async def push() -> None:
        bodies = Bodies(Limits(bodies=1))
        first = asyncio.create_task(bodies.read_call(Arriving("a").request, Translate))
        await asyncio.sleep(0)
        second = asyncio.create_task(bodies.read_call(Arriving("a").request, Translate))
        try:
            await first
        finally:
            second.cancel()

    with pytest.raises(Refusal, match="others needed its place; send it again") as refused:
        asyncio.run(push())
    assert refused.value.close
