"""What stands around every call: names that are answered to, pages that may ask, limits, faults."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse

from regard.apps.server.engines import Engine
from regard.apps.server.guard import Guard, Sites, refusal_of
from regard.apps.server.limits import Limits
from regard.apps.server.messages import Refusal
from regard.apps.server.metrics import Metrics
from regard.base.errors import UsageError
from tests.apps.server import serving
from tests.apps.server.conftest import Call
from tests.apps.server.serving import TEXTS, send
from tests.browser import Open, browser, visit


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Refusal(418, "x"), 418),
        (HTTPException(404), 404),
        (HTTPException(405), 405),
        (ClientDisconnect(), 499),
        (UsageError("x"), 400),
        (KeyError("secret"), 500),
    ],
)
def test_every_error_becomes_a_sentence(error: Exception, status: int) -> None:
    refusal = refusal_of(error)
    assert refusal.status == status
    assert "secret" not in refusal.message


def test_faults_are_answered_and_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("secret")

    metrics = Metrics()
    with caplog.at_level(logging.ERROR, "regard.serve"):
        response = asyncio.run(send(Guard(broken, metrics, Limits()), "GET", "/"))
    assert (response.status_code, list(response.json())) == (500, ["error"])
    assert "secret" in caplog.text
    assert 'regard_requests_total{route="other",status="500"} 1.0' in metrics.text().decode()
    assert "regard_requests_under_way 0.0" in metrics.text().decode()


def test_every_answer_has_safe_headers() -> None:
    response = asyncio.run(send(Guard(PlainTextResponse("x"), Metrics(), Limits()), "GET", "/"))
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "unsafe" not in policy


def test_too_many_at_once_are_refused_but_not_those_who_ask_how_it_is() -> None:
    async def crowd() -> list[int]:
        gate, inside = asyncio.Event(), asyncio.Semaphore(0)

        async def slow(scope: Any, receive: Any, send: Any) -> None:
            if scope["path"] != "/health":
                inside.release()
                await gate.wait()
            await PlainTextResponse("x")(scope, receive, send)

        app = Guard(slow, Metrics(), Limits(requests=2))
        held = [asyncio.create_task(send(app, "GET", "/")) for _ in range(2)]
        for _ in held:
            await inside.acquire()
        refused, healthy = await send(app, "GET", "/"), await send(app, "GET", "/health")
        assert refused.headers["retry-after"] == "1"
        gate.set()
        return [refused.status_code, healthy.status_code, *[(await one).status_code for one in held]]

    assert asyncio.run(crowd()) == [503, 200, 200, 200]


__all__ = ["browser", "visit"]

ASK = {"source": "en", "target": "de", "q": TEXTS[0]}
EVERYWHERE = Sites("0.0.0.0", local=False)


def served(sites: Sites, method: str = "GET", **headers: str) -> bool:
    try:
        sites.check(method, Headers({name.replace("_", "-"): value for name, value in headers.items()}))
    except Refusal as refused:
        assert refused.status == 403
        return False
    return True


@pytest.mark.parametrize(
    ("host", "local", "everywhere"),
    [
        ("127.0.0.1:8000", True, True),
        ("localhost", True, True),
        ("LocalHost.:8000", True, True),
        ("regard.localhost:8000", True, True),
        ("127.8.9.1", True, True),
        ("[::1]:8000", True, True),
        ("192.168.1.7:8000", False, True),
        ("[2001:db8::1]", False, True),
        ("box:8000", False, True),
        ("evil.example", False, False),
        ("127.0.0.1.evil.example", False, False),
        ("localhost.evil.example:8000", False, False),
        ("evillocalhost", False, True),
        ("localhost@evil.example", False, False),
        ("[", False, False),
        ("\xff.example", False, False),
    ],
)
def test_a_name_that_a_stranger_could_turn_on_us_is_refused(host: str, local: bool, everywhere: bool) -> None:
    assert (served(Sites(), host=host), served(EVERYWHERE, host=host)) == (local, everywhere)
    assert served(Sites(names=("*",)), host=host) == (host != "[")


def test_names_that_were_given_and_the_machines_own() -> None:
    named = Sites("translate.lan", names=("a.Example",))
    assert served(named, host="translate.lan:80")
    assert served(named, host="A.Example")
    assert not served(named, host="b.a.example")
    assert served(EVERYWHERE, host=socket.gethostname())
    assert served(EVERYWHERE, host=f"{socket.gethostname()}.local")
    assert not served(Sites(), host=f"{socket.gethostname()}.local")
    assert served(Sites())  # HTTP/1.0 has no name; browsers always give one


@pytest.mark.parametrize(
    ("headers", "may"),
    [
        ({}, True),  # programs
        ({"origin": "http://localhost:8000"}, True),
        ({"origin": "https://localhost:8000"}, True),  # a proxy in between has the certificate
        ({"origin": "https://a.example", "sec_fetch_site": "same-origin"}, True),  # and may hide its name
        ({"origin": "http://localhost:3000"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "https://evil.example", "sec_fetch_site": "cross-site"}, False),
        ({"origin": "null"}, False),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"origin": "https://friend.example"}, False),
    ],
)
def test_pages_of_other_sites_may_not_make_us_work(headers: dict[str, str], may: bool) -> None:
    assert served(Sites(), "POST", host="localhost:8000", **headers) == may
    assert served(Sites(), "GET", host="localhost:8000", **headers)  # what they look at, they cannot read
    friendly = Sites(origins=("https://friend.example",))
    friend = headers.get("origin") == "https://friend.example"
    assert served(friendly, "POST", host="localhost:8000", **headers) == may or friend
    if "origin" in headers:
        assert served(Sites(origins=("*",)), "POST", host="localhost:8000", **headers)


def test_a_refusal_says_what_to_do(call: Call) -> None:
    refused = call("POST", "/translate", json=ASK, headers={"Host": "evil.example"})
    assert (refused.status_code, "--host-name" in refused.json()["error"]) == (403, True)
    for path in ("/", "/health", "/metrics", "/languages", "/nowhere"):
        assert call("GET", path, headers={"Host": "evil.example"}).status_code == 403
    refused = call("POST", "/translate", data=ASK, headers={"Origin": "https://evil.example"})
    assert (refused.status_code, "--cors" in refused.json()["error"]) == (403, True)
    assert len(call("GET", "/", headers={"Host": "evil." * 2_000}).json()["error"]) < 300


@pytest.mark.parametrize(
    "right", ["*", "https://a.example", "http://localhost:3000", "moz-extension://ab-12", "http://[::1]:8080"]
)
def test_origins(right: str) -> None:
    assert Sites(origins=(right,)).origins == (right,)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("nonsense", None),
        ("", None),
        ("null", None),
        ("a.example", None),
        ("https://", None),
        ("https://*.a.example", None),
        ("https://a.example/", "https://a.example"),
        ("https://a.example/page", "https://a.example"),
        ("HTTPS://A.example", "https://a.example"),
        ("https://a.example:443", "https://a.example"),
        ("http://a.example:80/", "http://a.example"),
        ("https://a.example:8443 ", "https://a.example:8443"),
    ],
)
def test_what_no_browser_would_send_is_refused_with_what_was_meant(wrong: str, meant: str | None) -> None:
    with pytest.raises(UsageError, match=r"^--cors .*: is no origin.*; give one as browsers send it") as refused:
        Sites(origins=(wrong,))
    assert ("did you mean" in str(refused.value)) == (meant is not None)
    assert meant is None or f"'{meant}'" in str(refused.value)


@pytest.mark.parametrize("wrong", ["", "a b", "https://a.example", "a.example:80", "*.a.example", "a/b"])
def test_names_that_no_host_has(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"^--host-name .*: is no name of a host; give one as browsers show it"):
        Sites(names=(wrong,))


# In a browser


@contextmanager
def page_of_a_stranger(html: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_our_own_page_is_served(engine: Engine, visit: Open) -> None:
    with serving.live(serving.make_service(engine)) as port:
        page = visit(f"http://127.0.0.1:{port}/")
        page.locator("#text").fill(TEXTS[0])
        page.wait_for_selector("#stage:not(.stale) #target .word")
        said = " ".join(page.locator("#target .word").all_text_contents())
        page.close()
    assert said == engine.translator.translate(TEXTS[:1])[0].text


def test_the_form_of_a_stranger_is_not_translated(engine: Engine, browser: Any) -> None:
    held, translator = serving.gated(engine)
    translator.gate.set()
    with serving.live(serving.make_service(held)) as port:
        fields = "".join(f'<input name="{name}" value="{value}">' for name, value in ASK.items())
        form = f'<form action="http://127.0.0.1:{port}/translate" method="post">{fields}<button>Win</button></form>'
        with page_of_a_stranger(f"<!doctype html><title>x</title>{form}") as address:
            page = browser.new_page()
            page.goto(address)
            with page.expect_response(f"http://127.0.0.1:{port}/translate") as waiting:
                page.get_by_role("button").click()
            assert waiting.value.status == 403
            page.close()
    assert translator.batches == []
