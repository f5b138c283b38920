"""What `regard serve` gains by working on the requests of many clients together.

    python benchmarks/server.py runs/en-de test.en --seconds 60 [-- options of regard serve]

Each client sends one sentence at a time over a connection of its own and waits for the answer: first one client, then
64, then twice as many as the server lets wait. Every answer is compared with what `regard translate` says. Prints a
table, then the same as JSON.
"""

import argparse
import asyncio
import gzip
import itertools
import json
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from measure import machine, print_table

COMMAND = [sys.executable, "-m", "regard"]
CLIENTS = 64


@dataclass
class Heard:
    """What came back to all clients of a phase."""

    seconds: float = 0.0
    latencies: dict[int, list[float]] = field(default_factory=dict)
    """by status, in seconds"""
    wrong: int = 0
    """answers that are not what `regard translate` says"""

    @property
    def rate(self) -> float:
        """Sentences a second."""
        return len(self.latencies.get(200, ())) / self.seconds

    def row(self, name: str) -> dict[str, str]:
        """The phase as a row of a table."""
        good = self.latencies.get(200, [])
        refused = [one for status in (429, 503) for one in self.latencies.get(status, [])]
        others = sum(len(some) for status, some in self.latencies.items() if status not in (200, 429, 503))
        return {
            "clients": name,
            "sentences / s": f"{self.rate:.1f}",
            "median": _milliseconds(good, 0.5),
            "p95": _milliseconds(good, 0.95),
            "refused at once": str(len(refused)),
            "p95 of refusals": _milliseconds(refused, 0.95),
            "errors": str(others),
            "other texts": str(self.wrong),
        }


def main() -> None:
    """Run the phases and print what each gave."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("texts", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of the first two phases")
    parser.add_argument("--lines", type=int, default=256, help="how many sentences are sent in turn")
    parser.add_argument("--queue", type=int, default=256, help="how many requests the server lets wait")
    parser.add_argument("options", nargs="*", help="for regard serve")
    options = parser.parse_args()
    opened = gzip.open if options.texts.suffix == ".gz" else open
    with opened(options.texts, "rt", encoding="utf-8") as file:
        lines = [line.strip() for line in itertools.islice(file, options.lines) if line.strip()]
    expected = dict(zip(lines, _translated(options.model, lines), strict=True))
    with serving(options.model, "--queue", str(options.queue), *options.options) as (port, languages):
        asyncio.run(load(port, languages, expected, 4, 2.0))
        one = asyncio.run(load(port, languages, expected, 1, options.seconds))
        many = asyncio.run(load(port, languages, expected, CLIENTS, options.seconds))
        crowd = asyncio.run(load(port, languages, expected, 2 * options.queue, min(options.seconds, 10.0)))
        after = asyncio.run(load(port, languages, expected, 1, 2.0))
    print(f"{machine()}\n")
    phases = [("1", one), (str(CLIENTS), many), (f"{2 * options.queue} (overload)", crowd), ("1, afterwards", after)]
    print_table("Serving", [heard.row(name) for name, heard in phases])
    print(f"{CLIENTS} clients / 1 client: {many.rate / one.rate:.2f}")
    print(json.dumps({name: heard.row(name) for name, heard in phases} | {"ratio": many.rate / one.rate}))


@contextmanager
def serving(model: str, *options: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """A server as a process of its own: its port and its languages."""
    command = [*COMMAND, "serve", model, "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        found = re.match(r"Serving (\S+) → (\S+) on \S+:(\d+) ", process.stdout.readline())
        assert found, "the server did not start"
        try:
            yield int(found[3]), (found[1], found[2])
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, "the server did not end well"


async def load(port: int, languages: tuple[str, str], expected: dict[str, str], clients: int, seconds: float) -> Heard:
    """So many clients for so many seconds."""
    heard = Heard()
    texts = itertools.cycle(expected)
    began = time.perf_counter()

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < began + seconds:
            text = next(texts)
            sent = time.perf_counter()
            writer.write(_request(text, *languages))
            status, body = await _response(reader)
            heard.latencies.setdefault(status, []).append(time.perf_counter() - sent)
            if status == 200:
                heard.wrong += json.loads(body)["translatedText"] != expected[text]
            else:
                await asyncio.sleep(1.0)
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    heard.seconds = time.perf_counter() - began
    print(f"{clients} clients: {heard.rate:.1f} sentences / s", file=sys.stderr)
    return heard


def _request(text: str, source: str, target: str) -> bytes:
    body = json.dumps({"q": text, "source": source, "target": target}).encode()
    heads = [
        "POST /translate HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*heads, "", ""]).encode() + body


async def _response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
    return int(head.split(" ")[1]), await reader.readexactly(length)


def _translated(model: str, lines: list[str]) -> list[str]:
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([*COMMAND, "translate", model], input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _milliseconds(some: list[float], share: float) -> str:
    return f"{1000 * statistics.quantiles([*some, some[-1]], n=100)[int(100 * share) - 1]:.0f} ms" if some else ""


if __name__ == "__main__":
    main()
