"""Real connections: half-sent requests, hang-ups, broken bytes, and the end."""

import asyncio
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from regard.apps.server import live
from regard.apps.server.engines import Engine
from regard.apps.server.live import Rarely, Server, address_of, affordable_connections, bind
from regard.base.errors import RegardError, UsageError
from regard.inspection.page.assets import File
from tests.apps.running import start
from tests.apps.server import serving
from tests.apps.server.serving import TEXTS

ASK = {"source": "en", "target": "de", "q": TEXTS[0]}


def head(length: object, connection: str = "close") -> bytes:
    kind = f"Content-Length: {length}" if length != "chunked" else "Transfer-Encoding: chunked"
    lines = [
        "POST /translate HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Connection: {connection}",
        kind,
    ]
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
        (b"GET /%ff%fe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"404"),
        (b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
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


def test_texts_with_markup_wait_together_like_others(engine: Engine) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held)
    statuses: list[int] = []
    with serving.live(service) as port:

        def ask() -> None:
            told = httpx.post(f"http://127.0.0.1:{port}/translate", json={**ASK, "format": "html"}, timeout=30)
            statuses.append(told.status_code)

        asking = [threading.Thread(target=ask) for _ in range(40)]
        for one in asking:
            one.start()
        _until(lambda: service.batcher.waiting + sum(map(len, translator.batches)) == 40)
        translator.gate.set()
        for one in asking:
            one.join(30)
    assert statuses == [200] * 40


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


def test_half_bodies_push_out_one_another_and_nobody_else(engine: Engine) -> None:
    service = serving.make_service(engine, requests=16, bodies=4, body_seconds=600.0)
    body = json.dumps(ASK).encode()
    with serving.live(service, head_seconds=600.0) as port, ExitStack() as stack:
        opened = [stack.enter_context(connected(port)) for _ in range(40)]
        for number, one in enumerate(opened):
            one.sendall(head(len(body)) + body[:10])
            if number >= 4:
                assert everything(opened[number - 4]).startswith(b"HTTP/1.1 408 ")
            under_way = f"regard_requests_under_way {min(4, 1 + number)}.0".encode()
            _until(lambda there=under_way: there in service.metrics.text())
        assert httpx.post(f"http://127.0.0.1:{port}/translate", json=ASK, timeout=30).status_code == 200
        opened[-1].sendall(body[10:])
        assert everything(opened[-1]).startswith(b"HTTP/1.1 200 ")


def test_connections_that_ask_nothing_make_room_for_others(engine: Engine) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held)
    body = json.dumps(ASK).encode()
    with serving.live(service, head_seconds=600.0, connections=4) as port, ExitStack() as stack:
        busy = stack.enter_context(connected(port))
        busy.sendall(head(len(body)) + body)
        assert translator.reached.wait(30)
        idle = [stack.enter_context(connected(port)) for _ in range(20)]
        for one in idle[:-3]:
            with suppress(ConnectionResetError):
                assert one.recv(1) == b""
        translator.gate.set()
        assert everything(busy).startswith(b"HTTP/1.1 200 ")
        idle[-1].sendall(head(len(body)) + body)
        assert everything(idle[-1]).startswith(b"HTTP/1.1 200 ")


class Stranger:
    """A connection, as far as making room goes."""

    def __init__(self, host: str, since: float, idle: bool = True) -> None:
        self.client, self.since, self.idle, self.transport = (host, 1), since, idle, self
        self.aborted = False

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


def test_the_address_with_most_idle_connections_loses_its_oldest() -> None:
    modest = [Stranger("10.0.0.1", since=0.0), Stranger("10.0.0.2", since=1.0)]
    busy = [Stranger("10.0.0.3", since=0.0, idle=False) for _ in range(50)]
    greedy = [Stranger("10.0.0.4", since=float(number)) for number in range(16)]
    everybody: Any = [*greedy[::-1], *busy, *modest]
    live._make_room(everybody, len(everybody))
    assert not any(one.aborted for one in everybody)
    live._make_room(everybody, len(everybody) - 1)
    assert [one for one in everybody if one.aborted] == greedy[:3][::-1]
    live._make_room(everybody, len(everybody) - 3)
    assert sum(one.aborted for one in everybody) == 3
    live._make_room(busy, 1)
    assert not any(one.aborted for one in busy)


def test_who_does_not_read_the_answer_is_given_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.apps.server.app.asset", lambda name: File(b"a" * 50_000_000, "text/css"))
    service = serving.make_service(engine)
    with serving.live(service, answer_seconds=0.2) as port, connected(port) as connection:
        connection.sendall(b"GET /assets/long HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        _until(lambda: not service.batcher.clients())


@pytest.mark.skipif(sys.platform == "win32", reason="limits the number of files")
def test_a_flood_of_connections_is_survived_with_few_words(trained: Path) -> None:
    import resource

    def few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))

    process = start("serve", trained / "runs/en-de", "--port", "0", stdin=subprocess.DEVNULL, preexec_fn=few_files)
    assert process.stdout
    url = process.stdout.readline().split(" on ")[1].split()[0]
    with ExitStack() as stack:
        for _ in range(500):
            stack.enter_context(connected(int(url.rpartition(":")[2])))
        assert httpx.post(f"{url}/translate", json=ASK, timeout=60).status_code == 200
    for _ in range(200):
        with connected(int(url.rpartition(":")[2])) as connection:
            connection.sendall(b"\x00\r\n\r\n")
            assert everything(connection).startswith(b"HTTP/1.1 400 ")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.count("Invalid HTTP request received.")) == (0, 5), errors[:2_000]
    assert len(errors) < 10_000


def test_a_log_says_the_same_thing_a_few_times_and_then_how_often(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log = logging.Logger("regard.test")
    log.addHandler(caplog.handler)
    log.addFilter(Rarely(2, lambda: now))
    for number in range(1_000):
        log.warning("bad request %d", number)
    log.warning("something else")
    now = 61.0
    log.warning("bad request %d", 1_000)
    log.warning("something else")
    wanted = ["bad request 0", "bad request 1", "something else"]
    assert caplog.messages == [*wanted, "bad request 1000 (998 more like it were left out)", "something else"]


def test_proxies_say_who_asks_only_where_they_are_believed(engine: Engine) -> None:
    for proxies, second in (((), 429), (("127.0.0.1",), 200)):
        service = serving.make_service(engine, rate=1)
        with serving.live(service, proxies=proxies) as port:
            asked = [
                httpx.post(
                    f"http://127.0.0.1:{port}/translate", json=ASK, headers={"X-Forwarded-For": client}, timeout=30
                ).status_code
                for client in ("10.0.0.1", "10.0.0.2")
            ]
        assert asked == [200, second]
    with pytest.raises(UsageError, match="--proxy somebody: is no address"):
        Server(None, head_seconds=1, answer_seconds=1, proxies=["somebody"])


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


@pytest.mark.skipif(sys.platform == "win32", reason="reads the limit of open files")
@pytest.mark.parametrize(
    ("limits", "count", "raised"),
    [
        ((1_024, 1_024), 768, None),
        ((1_024, 2_000), 1_744, 2_000),
        ((256, -1), 4_096, 4_352),
        ((100, 100), 16, None),
        ((-1, -1), 4_096, None),
        ((100_000, 100_000), 4_096, None),
    ],
)
def test_as_many_connections_as_there_may_be_files(
    limits: tuple[int, int], count: int, raised: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    now = list(limits)
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(now))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: now.__setitem__(slice(None), pair))
    assert affordable_connections() == count
    assert now == [raised or limits[0], limits[1]]


def _until(happened: Callable[[], object]) -> None:
    for _ in range(3_000):
        if happened():
            return
        time.sleep(0.01)
    pytest.fail("it does not happen")
