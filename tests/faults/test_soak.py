"""A soak of the server: 64 clients, of which some hang up, for ten minutes (seconds in `make test`), then SIGTERM."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from random import Random

import pytest
import torch

from regard.loading import load
from tests.faults.campaign import LONG, report
from tests.faults.served import Serving, answer, request, sentences, serving, write_model

CLIENTS = 64
SECONDS = float(os.environ.get("REGARD_SOAK", 600 if LONG else 3))
GROWTH = 48 << 20  # bytes that a server may grow by after it has warmed up


class Soak:
    """What the clients heard."""

    def __init__(self, server: Serving, expected: dict[str, str]) -> None:
        self.server, self.expected = server, expected
        self.texts, self.draw = list(expected), Random(1)
        self.good = self.tried = self.cancelled = 0
        self.memory: list[int] = []
        self.odd: list[str] = []

    async def ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, whose answer must be right."""
        text = self.draw.choice(self.texts)
        writer.write(request(text))
        self.tried += 1
        heard = await answer(reader)
        self.good += heard == (200, self.expected[text])
        if heard != (200, self.expected[text]) and len(self.odd) < 3:
            self.odd.append(f"{text!r} got {heard}, not {self.expected[text]!r}")

    async def client(self, until: float) -> None:
        """Ask one text after the other; every tenth time, hang up at some moment before the answer."""
        while time.monotonic() < until:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
            for _ in range(self.draw.randint(1, 20)):
                if time.monotonic() >= until:
                    break
                await self.ask(reader, writer)
            if self.draw.random() < 0.5:
                whole = request(self.draw.choice(self.texts))
                writer.write(whole[: self.draw.randint(1, len(whole))])
                self.cancelled += 1
                await asyncio.sleep(self.draw.random() / 50)
                writer.transport.abort()
            else:
                writer.close()

    async def watch(self, until: float) -> None:
        while time.monotonic() < until:
            self.memory.append(self.server.resident())
            await asyncio.sleep(SECONDS / 60)

    async def run(self) -> None:
        """The soak; then every client asks once more, and the server is asked to end before it has answered all."""
        until = time.monotonic() + SECONDS
        await asyncio.gather(self.watch(until), *(self.client(until) for _ in range(CLIENTS)))
        opened = [await asyncio.open_connection("127.0.0.1", self.server.port) for _ in range(CLIENTS)]
        await self.ask(*opened[0])  # the server knows all of them by now
        asking = [asyncio.create_task(self.ask(*one)) for one in opened]
        await asyncio.sleep(0.2)  # sent, and accepted
        self.server.process.send_signal(signal.SIGTERM)
        await asyncio.gather(*asking)


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc, and sends signals")
def test_a_soak(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    path = write_model(tmp_path / "model.safetensors")
    translator, texts = load(path, engine="torch"), sentences(64)
    expected = {text: found.text for text, found in zip(texts, translator.translate(texts), strict=True)}
    with serving(path, "--engine", "torch") as server:
        soak = Soak(server, expected)
        asyncio.run(soak.run())
        assert server.end() == (0, "")
    assert soak.cancelled > 0
    warm, last = soak.memory[len(soak.memory) // 5], max(soak.memory[-5:])
    assert last - warm < GROWTH, f"the server grew from {warm >> 20} to {last >> 20} MiB"
    assert not soak.odd, (soak.good, soak.tried, soak.odd)
    report(
        f"soak of {SECONDS:.0f} s, {soak.cancelled:,} hang-ups, {warm >> 20} to {last >> 20} MiB", soak.good, soak.tried
    )
