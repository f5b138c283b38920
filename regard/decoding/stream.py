"""Translation of lines from a pipe, in order: one at a time when they come slowly, in batches when they come fast."""

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
    """An unbuffered file or pipe to read from."""

    def read(self, size: int, /) -> bytes | None:
        """Read at most `size` bytes; empty at the end."""


@runtime_checkable
class Sink(Protocol):
    """A file or pipe to write to."""

    def write(self, text: str, /) -> int:
        """Write a text."""

    def flush(self) -> None:
        """Flush the buffer."""

    def fileno(self) -> int:
        """The file descriptor."""


class _Over:
    """Marks the end of the lines, with the error that ended the reading, if any."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def translate_stream(
    lines: Iterable[str], translate_batch: TranslateBatch, *, most: int = 512, blank: Callable[[], str] = str
) -> Generator[list[str], None, None]:
    """Translate lines as they arrive; yields the translations in order, a batch at a time.

    A thread reads ahead. Waiting lines are translated as one batch of up to `most`; when none waits, the next line is
    translated as soon as it arrives. A blank line is not given to the model; `blank` makes its output.
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
    """Write the translation of every line to `sink` as soon as it is known; returns how it ended.

    `interrupted` means Ctrl-C, `closed` that the reader of the output has gone. Neither is an error: what was
    translated is written, and no traceback is shown.
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
    except BaseException as error:  # the other thread raises it
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
    """Empty the queue, so that a reader thread that waits for room sees that it must stop."""
    try:
        while True:
            waiting.get_nowait()
    except queue.Empty:
        return


def _silence(sink: Sink) -> None:
    """Redirect a closed output to null, so that flushing its buffer at exit does not raise again."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sink.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return
