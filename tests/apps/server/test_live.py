"""Real connections: half-sent requests, hang-ups, broken bytes, and the end."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from regard.apps.server.engines import Engine
from regard.apps.server.live import address_of, bind
from regard.base.errors import RegardError, UsageError
from tests.apps.running import start
from tests.apps.server import serving
from tests.apps.server.serving import TEXTS

ASK = {"source": "en", "target": "de", "q": TEXTS[0]}


def head(length: object, connection: str = "close") -> bytes:
    kind = f"Content-Length: {length}" if length != "chunked" else "Transfer-Encoding: chunked"
    lines = ["POST /translate HTTP/1.1", "Host: x", "Content-Type: application/json", f"Connection: {connection}", kind]
    return "\r\n".join([*lines, "", ""]).encode()


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as made:
        yield made


def everything(connection: socket.socket) -> bytes:
    """What is sent until the other side closes the connection."""
    heard = b""
    while chunk := connection.recv(1 << 16):
        heard += chunk
    return heard


@pytest.fixture(scope="module")
def port(engine: Engine) -> Iterator[int]:
    service = serving.make_service(engine, body_seconds=0.2, body_bytes=100_000)
    with serving.live(service, head_seconds=0.2) as made:
        yield made
        assert httpx.post(f"http://127.0.0.1:{made}/translate", json=ASK, timeout=30).status_code == 200


@pytest.mark.parametrize("sent", [b"", b"POST /tran", head(10)[:-2]])
def test_a_head_that_does_not_come_ends_the_connection(port: int, sent: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(sent)
        assert everything(connection) == b""


@pytest.mark.parametrize(
    "sent", [head(100) + b'{"q":', head("chunked") + b"5\r\nhello\r\n", head("chunked") + b"5\r\nh"]
)
def test_a_body_that_does_not_come_is_answered_and_ends_the_connection(port: int, sent: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(sent)
        assert everything(connection).startswith(b"HTTP/1.1 408 ")


def test_a_second_head_that_does_not_come(port: int) -> None:
    body = json.dumps(ASK).encode()
    with connected(port) as connection:
        connection.sendall(head(len(body), "keep-alive") + body)
        answer = b""
        while not answer.endswith(b"}"):  # head and body may come one after the other
            answer += connection.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"POST /tr")
        assert everything(connection) == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head(4) + b"\xff\xfe{}", b"400"),
        (head(1_000_000) + b"a" * 1_000_000, b"413"),
        (head("chunked") + b"%x\r\n" % 1_000_000 + b"a" * 1_000_000 + b"\r\n0\r\n\r\n", b"413"),
        (head(-5), b"400"),
        (head("chunked") + b"zz\r\n", b"4"),
        (b"\x00\x01\x02\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /%ff%fe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"404"),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
    ],
)
def test_whatever_is_sent_is_refused_and_nothing_breaks(port: int, sent: bytes, status: bytes) -> None:
    with connected(port) as connection:
        connection.sendall(sent)
        assert everything(connection).startswith(b"HTTP/1.1 " + status)


def test_one_megabyte_of_one_character(port: int) -> None:
    for text in ("a" * 1_000_000, "ä" * 10_001):
        refused = httpx.post(f"http://127.0.0.1:{port}/translate", json={**ASK, "q": text}, timeout=30)
        assert refused.status_code == 413
    for text in ("a" * 10_000, "\x00" * 10_000):
        served = httpx.post(f"http://127.0.0.1:{port}/translate", json={**ASK, "q": text}, timeout=60)
        assert served.status_code == 200, served.text


def test_who_hangs_up_is_not_translated_for(engine: Engine) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held)
    with serving.live(service) as port:
        url = f"http://127.0.0.1:{port}/translate"
        answers: list[int] = []
        first = threading.Thread(target=lambda: answers.append(httpx.post(url, json=ASK, timeout=30).status_code))
        first.start()
        assert translator.reached.wait(30)
        body = json.dumps({**ASK, "q": "gone"}).encode()
        with connected(port) as connection:
            connection.sendall(head(len(body)) + body)
            _until(lambda: service.batcher.waiting == 1)
        _until(lambda: service.batcher.waiting == 0)
        translator.gate.set()
        first.join(30)
        assert httpx.post(url, json=ASK, timeout=30).status_code == 200
    assert answers == [200]
    assert ["gone"] not in translator.batches


def test_what_was_accepted_is_answered_before_the_end(engine: Engine) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held)
    answers: list[dict] = []
    with serving.live(service) as port:
        url = f"http://127.0.0.1:{port}/translate"
        asking = [
            threading.Thread(target=lambda: answers.append(httpx.post(url, json=ASK, timeout=30).json())) for _ in "abc"
        ]
        for one in asking:
            one.start()
        _until(lambda: service.batcher.waiting + sum(map(len, translator.batches)) == 3)
        threading.Timer(0.2, translator.gate.set).start()
    for one in asking:
        one.join(30)
    assert answers == [{"translatedText": engine.translator.translate(TEXTS[:1])[0].text}] * 3
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_with_its_work_done(trained: Path, number: int) -> None:
    process = start("serve", trained / "runs/en-de", "--port", "0", stdin=subprocess.DEVNULL)
    assert process.stdout
    said = process.stdout.readline()
    assert said.startswith("Serving en → de on http://127.0.0.1:"), process.communicate()
    url = said.split(" on ")[1].split()[0]
    assert httpx.get(f"{url}/health", timeout=30).json()["status"] == "ok"
    answers: list[int] = []

    def ask() -> None:
        long = {**ASK, "q": "\n".join(TEXTS * 50)}
        answers.append(httpx.post(f"{url}/translate", json=long, timeout=60).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    _until(lambda: "regard_batch_texts_count 0.0" not in httpx.get(f"{url}/metrics", timeout=30).text)
    process.send_signal(number)
    asking.join(60)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, answers, errors) == (0, [200], "")


def test_small_answers_are_sent_at_once() -> None:
    async def accepted() -> bool:
        with bind("127.0.0.1", 0) as held:
            done: asyncio.Future[int] = asyncio.get_running_loop().create_future()

            def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                its = writer.get_extra_info("socket")
                done.set_result(its.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
                writer.close()

            async with await asyncio.start_server(note, sock=held):
                _, writer = await asyncio.open_connection(*held.getsockname())
                writer.close()
                return bool(await done)

    assert asyncio.run(accepted())


def test_addresses() -> None:
    assert address_of("::1", 80) == "http://[::1]:80"
    with bind("127.0.0.1", 0) as held:
        held.listen()
        with pytest.raises(RegardError, match="address already in use; choose another --port"):
            bind("127.0.0.1", held.getsockname()[1])
    with pytest.raises(UsageError, match="no address of this machine"):
        bind("no such host", 80)


def _until(happened) -> None:  # type: ignore[no-untyped-def]
    while not happened():
        time.sleep(0.01)
