"""Lines from a pipe: at once when they come slowly, many together when they come fast, always in order."""

import os
import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Literal, Protocol, runtime_checkable

from regard.base.errors import RegardError, check_at_least

TranslateBatch = Callable[[list[str]], Sequence[str]]
Ended = Literal["finished", "interrupted", "closed"]
_CHUNK = 1 << 16


@runtime_checkable
class Bytes(Protocol):
    """Where bytes come from, as they are there: an unbuffered file or pipe."""

    def read(self, size: int, /) -> bytes | None:
        """Some bytes, at most `size`; none at the end."""


@runtime_checkable
class Sink(Protocol):
    """Where text goes: a file, a pipe."""

    def write(self, text: str, /) -> int:
        """Take a text."""

    def flush(self) -> None:
        """Hand on what was taken."""

    def fileno(self) -> int:
        """The number of the file that is written to."""


class _Over:
    """Comes after the last line, with the error that ended the reading, if one did."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def translate_stream(
    lines: Iterable[str], translate_batch: TranslateBatch, *, most: int = 512, blank: Callable[[], str] = str
) -> Generator[list[str], None, None]:
    """For lines as they come, their translations in the same order, some lines at a time.

    A thread reads ahead. Whatever lines wait are worked on together, up to `most`; when none waits, the next one is
    worked on as soon as it is there. A blank line is not shown to the model; `blank` says what is written for it.
    """
    check_at_least("translate_stream", 1, most=most)
    waiting: queue.Queue[str | _Over] = queue.Queue(maxsize=2 * most)
    stop = threading.Event()
    threading.Thread(target=_read, args=(lines, waiting, stop), daemon=True).start()
    over = None
    try:
        while over is None:
            batch, over = _take(waiting, most)
            if batch:
                yield _translate(batch, translate_batch, blank)
        if over.error is not None:
            raise over.error
    finally:
        stop.set()
        _drain(waiting)


def pump(
    source: Iterable[str],
    sink: Sink,
    translate_batch: TranslateBatch,
    *,
    most: int = 512,
    blank: Callable[[], str] = str,
) -> Ended:
    """Write the translation of every line to `sink` as soon as it is known; says how it ended.

    `interrupted` by Ctrl-C, `closed` when nobody reads the output any more. Neither is an error: what was translated
    is written, and no traceback is shown.
    """
    stream = translate_stream(source, translate_batch, most=most, blank=blank)
    try:
        for translations in stream:
            sink.write("".join(f"{line}\n" for line in translations))
            sink.flush()
    except KeyboardInterrupt:
        return "interrupted"
    except BrokenPipeError:
        _silence(sink)
        return "closed"
    finally:
        stream.close()
    return "finished"


def pipe_lines(source: Bytes | None = None, name: str = "standard input") -> Iterator[str]:
    r"""The UTF-8 lines of an unbuffered binary stream, standard input by default; only `\n` ends a line.

    Read without Python's buffer: a thread that waits inside a buffered read holds a lock that the interpreter wants
    when it ends, so Ctrl-C would end in a crash.
    """
    raw: Bytes = os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False) if source is None else source
    number, pieces = 0, []
    while chunk := raw.read(_CHUNK):
        first, *others = chunk.split(b"\n")
        pieces.append(first)
        for start in others:
            number += 1
            yield _decode(b"".join(pieces), number, name)
            pieces = [start]
    if rest := b"".join(pieces):
        yield _decode(rest, number + 1, name)


def _decode(line: bytes, number: int, name: str) -> str:
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise RegardError(
            f"{name}, line {number}: byte 0x{line[error.start]:02x} at column {error.start + 1} is not UTF-8; "
            "convert the text to UTF-8"
        ) from error


def _read(lines: Iterable[str], waiting: "queue.Queue[str | _Over]", stop: threading.Event) -> None:
    over = _Over()
    try:
        for line in lines:
            waiting.put(line.removesuffix("\n"))
            if stop.is_set():
                return
    except BaseException as error:  # whatever it is, the other thread has to hear of it
        over = _Over(error)
    waiting.put(over)


def _take(waiting: "queue.Queue[str | _Over]", most: int) -> tuple[list[str], _Over | None]:
    """Wait for a line, then take what else is there."""
    batch: list[str] = []
    try:
        item = waiting.get()
        while not isinstance(item, _Over):
            batch.append(item)
            if len(batch) == most:
                return batch, None
            item = waiting.get_nowait()
        return batch, item
    except queue.Empty:
        return batch, None


def _translate(batch: list[str], translate_batch: TranslateBatch, blank: Callable[[], str]) -> list[str]:
    full = [line for line in batch if line.strip()]
    translated = iter(translate_batch(full) if full else ())
    return [next(translated) if line.strip() else blank() for line in batch]


def _drain(waiting: "queue.Queue[str | _Over]") -> None:
    """Make room, so that a reader that waits to put a line down sees that it is to stop."""
    try:
        while True:
            waiting.get_nowait()
    except queue.Empty:
        return


def _silence(sink: Sink) -> None:
    """Nobody reads any more: what is still in the buffer must not raise again when the program ends."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sink.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return
