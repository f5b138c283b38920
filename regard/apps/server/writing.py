"""Texts that a language model writes for a client: whole, or told piece by piece while they are written."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from regard.apps.server.batcher import Work
from regard.apps.server.messages import Refusal
from regard.apps.server.served import ServedModel
from regard.apps.server.service import Service
from regard.decoding.generator import Generation
from regard.decoding.strategy import Strategy
from regard.decoding.streaming import write_aloud

_A_BATCH = 1 << 30


@dataclass(frozen=True)
class Writing(Work):
    """Go on with texts."""

    model: ServedModel
    strategy: Strategy

    def run(self, items: list[str]) -> list[list[Generation]]:
        found: list[list[Generation]] = self.model.opened.generate(items, self.strategy)
        return found

    def cost(self, item: str) -> int:
        return len(item) + 8 * (self.strategy.max_length or 0)


class Enough(Exception):
    """The rest of a text is not wanted."""


@dataclass(eq=False)
class Speech:
    """Passes on what is written after `skip` characters, up to the first of the `stops`."""

    prompt: str
    skip: int
    stops: tuple[str, ...]
    tell: Callable[[str], object]
    over: bool = False
    """set when nobody listens any more"""
    stopped: bool = field(default=False, init=False)
    """whether one of the stops was reached"""
    text: str = field(default="", init=False)
    """what was passed on"""
    _heard: str = field(default="", init=False)

    def __call__(self, piece: str) -> None:
        """Take the next piece of the text; ends the writing by `Enough`."""
        if self.over:
            raise Enough
        self._heard += piece
        written = self._heard[self.skip :]
        end = stop_in(written, self.stops)
        if end is not None:
            self.stopped = True
            self._pass_on(written[:end])
            raise Enough
        self._pass_on(written[: len(written) - held_back(written, self.stops)])

    def finish(self) -> None:
        """Pass on what might have been the beginning of a stop."""
        if not self.stopped:
            self._pass_on(self._heard[self.skip :])

    def _pass_on(self, text: str) -> None:
        if len(text) > len(self.text):
            self.tell(text[len(self.text) :])
            self.text = text


def stop_in(text: str, stops: Sequence[str]) -> int | None:
    """Where the first of the stops begins, if there is one."""
    return min((at for stop in stops if (at := text.find(stop)) >= 0), default=None)


def held_back(text: str, stops: Sequence[str]) -> int:
    """How many of the last characters may be the beginning of a stop."""
    sizes = (size for stop in stops for size in range(1, len(stop)) if text.endswith(stop[:size]))
    return max(sizes, default=0)


@dataclass(frozen=True)
class Telling(Work):
    """Write one text at a time, aloud; the result is None where its end was not wanted."""

    model: ServedModel
    strategy: Strategy

    def run(self, items: list[Speech]) -> list[Generation | None]:
        return [self._written(speech) for speech in items]

    def cost(self, item: Speech) -> int:
        return _A_BATCH

    def _written(self, speech: Speech) -> Generation | None:
        with suppress(Enough):
            found = write_aloud(self.model.opened, speech.prompt, self.strategy, speech)
            speech.finish()
            return found
        return None


async def told(service: Service, work: Telling, speech: Speech) -> AsyncIterator[str | Generation | None]:
    """The pieces of a text as they are written, and last what was written; None if it was ended by a stop.

    Past the time of a request it ends with a refusal. A listener who leaves ends the writing.
    """
    loop = asyncio.get_running_loop()
    pieces: asyncio.Queue[Any] = asyncio.Queue()
    speech.tell = lambda piece: loop.call_soon_threadsafe(pieces.put_nowait, piece)
    future = service.batcher.submit(work, [speech])
    future.add_done_callback(
        lambda done: None if done.cancelled() else loop.call_soon_threadsafe(pieces.put_nowait, done)
    )
    try:
        async with asyncio.timeout(service.limits.seconds):
            while isinstance(piece := await pieces.get(), str):
                yield piece
        [found] = piece.result()
        yield found
    except TimeoutError as error:
        service.metrics.dropped.labels("out of time").inc()
        raise Refusal(504, f"There was no answer within {service.limits.seconds:g} seconds") from error
    finally:
        speech.over = True
        future.cancel()
