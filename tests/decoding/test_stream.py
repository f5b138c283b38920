import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from regard.base.errors import ConfigError, RegardError
from regard.decoding.stream import pipe_lines, pump, translate_stream

PATIENCE = 30
"""seconds after which a test that would hang fails instead"""


def shout(batch: list[str]) -> list[str]:
    assert all(line.strip() for line in batch)
    return [line.upper() for line in batch]


def flat(stream: Iterator[list[str]]) -> list[str]:
    return [line for lines in stream for line in lines]


@pytest.mark.parametrize("most", [1, 3, 512])
def test_order_is_kept_and_blank_lines_stay_blank(most: int) -> None:
    lines = ["a", "", "b", "  ", "c\n", "", ""]
    assert flat(translate_stream(lines, shout, most=most)) == ["A", "", "B", "", "C", "", ""]
    assert flat(translate_stream([], shout)) == []
    assert flat(translate_stream(["", " "], shout)) == ["", ""]


def test_a_slow_pipe_has_each_line_answered_before_the_next_comes() -> None:
    answered = [threading.Event() for _ in range(3)]

    def slow() -> Iterator[str]:
        for at, line in enumerate("abc"):
            if at:
                assert answered[at - 1].wait(PATIENCE), "the line before was not answered while the pipe was idle"
            yield line

    got = []
    for at, lines in enumerate(translate_stream(slow(), shout)):
        got += lines
        answered[at].set()
    assert got == ["A", "B", "C"]


def test_a_fast_pipe_is_worked_on_in_full_batches() -> None:
    everything_read, sizes = threading.Event(), []

    def fast() -> Iterator[str]:
        yield from map(str, range(9))
        everything_read.set()

    def work(batch: list[str]) -> list[str]:
        assert everything_read.wait(PATIENCE)
        sizes.append(len(batch))
        return batch

    assert flat(translate_stream(fast(), work, most=5)) == list(map(str, range(9)))
    assert sizes[0] <= 5
    assert len(sizes) <= 3


def test_an_error_of_the_reader_comes_after_the_lines_before_it() -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise RegardError("the pipe broke")

    got = []
    with pytest.raises(RegardError, match="the pipe broke"):
        for lines in translate_stream(broken(), shout):
            got += lines
    assert got == ["A"]


def test_a_batch_of_no_lines_is_refused() -> None:
    with pytest.raises(ConfigError, match="most must be at least 1"):
        next(translate_stream(["a"], shout, most=0))


def test_the_reader_stops_when_nobody_listens() -> None:
    read, closed = [], threading.Event()

    def endless() -> Iterator[str]:
        try:
            while True:
                read.append(1)
                yield "a"
        finally:
            closed.set()

    stream = translate_stream(endless(), shout, most=2)
    assert set(next(stream)) == {"A"}
    stream.close()
    assert closed.wait(PATIENCE)


def test_pump_writes_all_and_says_that_it_finished() -> None:
    sink = io.StringIO()
    assert pump(["a", "", "b"], sink, shout) == "finished"
    assert sink.getvalue() == "A\n\nB\n"


def test_pump_ends_quietly_on_ctrl_c() -> None:
    def interrupted(batch: list[str]) -> list[str]:
        raise KeyboardInterrupt

    assert pump(["a"], io.StringIO(), interrupted) == "interrupted"


def test_pump_ends_quietly_when_nobody_reads() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as sink:
        assert pump(iter(["a"] * 9), sink, shout) == "closed"


def test_lines_come_as_they_are_read() -> None:
    chunks = [b"\xef\xbb\xbfeins\r\nzw", b"ei\n\n", "drei\u2028vier\xe4".encode()[:-1], "ä".encode()[1:], b""]

    class Chunks:
        def read(self, size: int, /) -> bytes:
            return chunks.pop(0)

    assert list(pipe_lines(Chunks())) == ["eins", "zwei", "", "drei\u2028vierä"]


def test_bytes_that_are_no_text_are_named() -> None:
    with pytest.raises(RegardError, match="standard input, line 2: byte 0xff at column 3"):
        list(pipe_lines(io.BytesIO(b"good\nba\xff\n")))


FILTER = """
import sys
from regard.decoding.stream import pipe_lines, pump
print(pump(pipe_lines(), sys.stdout, lambda batch: [line.upper() for line in batch]), file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_filter_that_waits_for_input_ends_cleanly_on_ctrl_c() -> None:
    command = [sys.executable, "-c", FILTER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdin.write(b"one\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ONE\n"
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (stdout, stderr, process.returncode) == (b"", b"interrupted\n", 0)
