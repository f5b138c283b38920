"""Encoding text into subwords by several processes, in order: each is a worker that reads rows and writes ids.

A worker is this module run as a program. Rows go to it as JSON, ids come back as bytes; the result does not depend on
how many workers there are.
"""

import json
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.data.subwords.open_words import Unknown, encode_pairs
from regard.data.subwords.tokenizer import EOS, Subwords

TextSides = tuple[str, ...]
EncodedSide = tuple[NDArray[Any], NDArray[np.int64]]
"""the ids of some sentences one after the other, and how many each has"""
_HEAD = struct.Struct("<Q")
_AHEAD = 2
"""batches that wait for each worker"""


def encode_rows(
    rows: Sequence[TextSides], vocabularies: Sequence[Subwords], unknown: Unknown = "one"
) -> list[EncodedSide]:
    """The ids of each side of some rows; every sentence ends in `</s>`."""
    texts = list(zip(*rows, strict=True))
    if unknown == "own":
        sides: Sequence[list[list[int]]] = encode_pairs(vocabularies[0], *texts)
    else:
        sides = [vocabulary.encode_batch(side) for vocabulary, side in zip(vocabularies, texts, strict=True)]
    found = []
    for vocabulary, encoded in zip(vocabularies, sides, strict=True):
        lengths = np.array([len(row) + 1 for row in encoded], dtype="<i8")
        flat = np.fromiter(_ended(encoded), id_type(vocabulary, unknown), count=int(lengths.sum()))
        found.append((flat, lengths))
    return found


def _ended(rows: Sequence[Sequence[int]]) -> Iterator[int]:
    for row in rows:
        yield from row
        yield EOS


def id_type(vocabulary: Subwords, unknown: Unknown = "one") -> str:
    """The smallest type that holds the ids of a vocabulary."""
    return "<u2" if len(vocabulary) <= 2**16 and unknown == "one" else "<u4"


def encoded_in_order(
    batches: Iterable[Sequence[TextSides]],
    vocabularies: Sequence[Subwords],
    processes: int,
    unknown: Unknown = "one",
) -> Iterator[list[EncodedSide]]:
    """The ids of each batch of rows, in order; with one process, encoded by this one."""
    if processes <= 1:
        yield from (encode_rows(batch, vocabularies, unknown) for batch in batches)
        return
    with ExitStack() as ends:
        workers: SimpleQueue[_Worker] = SimpleQueue()
        for _ in range(processes):
            workers.put(ends.enter_context(_Worker(vocabularies, unknown)))
        pool = ends.enter_context(ThreadPoolExecutor(processes, "encoding"))

        def work(batch: Sequence[TextSides]) -> list[EncodedSide]:
            worker = workers.get()
            try:
                return worker.encode(batch)
            finally:
                workers.put(worker)

        waiting: deque[Future[list[EncodedSide]]] = deque()
        for batch in batches:
            waiting.append(pool.submit(work, batch))
            if len(waiting) > _AHEAD * processes:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)


class _Worker:
    """A process that encodes."""

    def __init__(self, vocabularies: Sequence[Subwords], unknown: Unknown) -> None:
        self._types = [id_type(vocabulary, unknown) for vocabulary in vocabularies]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "regard.data.encoding"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._first: Any = [unknown, [vocabulary.to_json() for vocabulary in vocabularies]]

    def __enter__(self) -> "_Worker":
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.wait()

    def encode(self, rows: Sequence[TextSides]) -> list[EncodedSide]:
        """The ids of each side of some rows."""
        try:
            if self._first is not None:
                self._send(self._first)
                self._first = None
            self._send(rows)
            parts = [_read(self._process.stdout) for _ in range(2 * len(self._types))]
        except (OSError, EOFError) as error:
            code = self._process.poll()
            raise RegardError(f"encoding: a process that encodes the text ended early ({code})") from error
        pairs = zip(self._types, parts[::2], parts[1::2], strict=True)
        return [(np.frombuffer(flat, dtype), np.frombuffer(lengths, "<i8")) for dtype, flat, lengths in pairs]

    def _send(self, value: Any) -> None:
        if self._process.stdin is not None:
            _write(self._process.stdin, json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            self._process.stdin.flush()


def _write(stream: Any, data: bytes) -> None:
    stream.write(_HEAD.pack(len(data)))
    stream.write(data)


def _read(stream: Any) -> bytes:
    head = b"" if stream is None else stream.read(_HEAD.size)
    if stream is None or len(head) < _HEAD.size:
        raise EOFError
    (size,) = _HEAD.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def serve_encoding(source: Any, sink: Any) -> None:
    """What a worker does: read vocabularies, then rows, and write ids, until there is nothing more to read."""

    def read() -> Any:
        return json.loads(_read(source).decode("utf-8", "surrogatepass"))

    try:
        unknown, texts = read()
        vocabularies = [Subwords.from_json(text) for text in texts]
        while True:
            for flat, lengths in encode_rows([tuple(row) for row in read()], vocabularies, unknown):
                _write(sink, flat.tobytes())
                _write(sink, lengths.tobytes())
            sink.flush()
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


if __name__ == "__main__":
    serve_encoding(sys.stdin.buffer, sys.stdout.buffer)
