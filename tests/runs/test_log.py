from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.runs.log import Log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log(tmp_path / "log.jsonl")
    for step in (1, 2, 3):
        log.append("train", step, loss=0.1 * step)
    log.append("valid", 3, loss=0.5, note="ä")
    return log


def test_entries_are_read_back(log: Log) -> None:
    assert [entry["step"] for entry in log.entries()] == [1, 2, 3, 3]
    assert list(log.entries("valid")) == [{"kind": "valid", "step": 3, "loss": 0.5, "note": "ä"}]
    assert next(log.entries("train"))["loss"] == 0.1


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    log = Log(tmp_path / "none.jsonl")
    log.rewind(3)
    log.sync()
    assert list(log.entries()) == []


def test_rewinding_takes_back_later_lines(log: Log) -> None:
    log.rewind(9)
    assert [entry["step"] for entry in log.entries()] == [1, 2, 3, 3]
    log.rewind(2)
    assert [entry["step"] for entry in log.entries()] == [1, 2]
    log.append("train", 3, loss=1.0)
    assert [entry["step"] for entry in log.entries()] == [1, 2, 3]
    log.rewind(0)
    assert log.path.read_bytes() == b""


def test_a_cut_off_last_line_is_taken_back_wherever_it_was_cut(log: Log) -> None:
    whole = log.path.read_bytes()
    before = whole[: whole[:-1].rindex(b"\n") + 1]
    for length in range(len(before) + 1, len(whole)):
        log.path.write_bytes(whole[:length])
        assert [entry["step"] for entry in log.entries()] == [1, 2, 3]
        log.rewind(4)
        assert log.path.read_bytes() == before


def test_a_spoiled_line_inside_hides_nothing_else(log: Log) -> None:
    lines = log.path.read_bytes().splitlines(keepends=True)
    lines[1] = b"\x00\x00\xff\n"
    log.path.write_bytes(b"".join(lines))
    log.rewind(4)
    assert [entry["step"] for entry in log.entries()] == [1, 3, 3]


def test_a_log_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="cannot be written: there is no folder"):
        Log(tmp_path / "gone" / "log.jsonl").append("train", 1)
    with pytest.raises(RegardError, match="cannot be read: it is a folder"):
        list(Log(tmp_path).entries())


def test_syncing_keeps_the_content(log: Log) -> None:
    before = log.path.read_bytes()
    log.sync()
    assert log.path.read_bytes() == before
