"""Half a file is never left behind, and a fault in a text is found where it is."""

import errno
import gzip
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.base import files
from regard.base.errors import RegardError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    files.write_text(path, "näw\n")
    assert path.read_bytes() == "näw\n".encode()
    assert names(tmp_path) == ["a.txt"]


def test_a_failing_writer_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyError), files.replacing(path) as file:
        file.write(b"half")
        raise KeyError("stop")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("call", ["fsync", "write"])
def test_a_full_disk_is_one_sentence(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(RegardError, match=r"a\.txt: cannot be written: no space left on device"):  # noqa: SIM117
        with files.replacing(path) as file:
            if call == "write":
                full()
            file.write(b"x")
            monkeypatch.setattr(os, "fsync", full)
    assert names(tmp_path) == []


def test_writing_follows_a_link_and_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "a", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    files.write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_folders_are_made(tmp_path: Path) -> None:
    files.make_folder(tmp_path / "a" / "b")
    files.make_folder(tmp_path / "a" / "b")
    files.write_text(tmp_path / "a" / "b" / "c", "text")
    with pytest.raises(RegardError, match=r"c: the folder cannot be made: file exists"):
        files.make_folder(tmp_path / "a" / "b" / "c")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"there is no folder .*gone"):
        files.write_text(tmp_path / "gone" / "a.txt", "x")


@pytest.mark.parametrize("packed", [False, True])
def test_lines_end_at_newlines_only(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "a"
    data = "\ufeffeins\u2028zwei\r\n\x0c\x85drei\rvier\n\nletzte".encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(files.read_lines(path)) == ["eins\u2028zwei", "\x0c\x85drei\rvier", "", "letzte"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.text(st.characters(exclude_characters="\n\r\ufeff", codec="utf-8")), min_size=1))
def test_what_is_written_is_read(lines: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.write_text(path, "".join(f"{line}\n" for line in lines))
    assert list(files.read_lines(path)) == lines


def test_a_byte_that_is_not_utf8_is_located(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"gut\ngr\xfc\xdfe\n")
    with pytest.raises(RegardError, match=r"a\.txt, line 2: byte 0xfc at column 3 is not UTF-8"):
        list(files.read_lines(path))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (
            "gr\u00fc\u00dfe\n".encode() + b"gr\xfc\xdfe\n",
            "line 2: .*; line 1 is UTF-8, so the file mixes encodings; convert the",
        ),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "line 1: byte 0x89 .*; this is no text; an export as CSV or"),
        ("gut gesagt\nja\n".encode("utf-16-le"), r"a\.txt: is UTF-16 without .*by: iconv -f UTF-16LE -t UTF-8 "),
        ("gut gesagt\nja\n".encode("utf-16-be"), "iconv -f UTF-16BE -t UTF-8 "),
    ],
)
def test_a_file_that_iconv_would_spoil_is_told_as_what_it_is(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(raw)
    with pytest.raises(RegardError, match=told) as error:
        list(files.read_lines(path))
    assert "1252" not in str(error.value)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"sehr gr\xfc\xdfe\n", "; if 'grüße' looks right, by: iconv -f WINDOWS-1252 -t UTF-8 "),
        (b"sehr \xe4hnlich\n", "; if 'ähnlich' looks right, by: "),
        (b"a" * 99 + b"\xe4" + b"b" * 99, f"; if '{'a' * 20}ä{'b' * 19}' looks right, by: "),
        ("Pán tlačí, dětí\n".encode("cp1250"), "; if 'Pán' and 'tlaèí' and 'dìtí' look right, by: "),
        (b"no \x81 letter\n", "to UTF-8$"),
    ],
)
def test_a_file_of_a_spreadsheet_can_be_converted(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "a b.csv"
    path.write_bytes(raw)
    with pytest.raises(RegardError, match=told) as error:
        list(files.read_lines(path))
    assert "by:" not in told or str(error.value).endswith("a b.csv' > 'a b-utf8.csv'")


def test_faulty_files_are_one_sentence(tmp_path: Path) -> None:
    cases = {"gone": "there is no such file", "folder": "it is a folder", "empty": "the file is empty"}
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    for name, cause in cases.items():
        with pytest.raises(RegardError, match=f"{name}: .*{cause}"):
            list(files.read_lines(tmp_path / name))
    assert list(files.read_lines(tmp_path / "empty", allow_empty=True)) == []


def test_permission_denied_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(RegardError, match="cannot be read: permission denied"):
        list(files.read_lines(tmp_path / "a"))


def test_a_gzip_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(os.urandom(5000))[:-100])
    with pytest.raises(RegardError, match=r"a\.gz: the gzip file is damaged or cut off|not UTF-8"):
        list(files.read_lines(path))
    path.write_bytes(gzip.compress(b"line\n" * 5000)[:-9])
    with pytest.raises(RegardError, match="damaged or cut off"):
        list(files.read_lines(path))


def test_the_digest_sees_a_change_that_size_and_time_hide(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5_000_000)
    before, facts = files.digest(path), path.stat()
    with path.open("r+b") as file:
        file.seek(2_500_000)
        file.write(b"y")
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert path.stat().st_mtime_ns == facts.st_mtime_ns
    assert files.digest(path) != before


def test_reading_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a\r\nb")
    assert files.read_bytes(path) == b"a\r\nb"
    assert files.read_text(path) == "a\nb\n"
    with pytest.raises(RegardError, match="there is no such file"):
        files.read_bytes(tmp_path / "gone")
    with pytest.raises(RegardError, match="there is no such file"):
        files.digest(tmp_path / "gone")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf16_is_told_by_its_byte_order_mark(encoding: str, tmp_path: Path) -> None:
    text = "één\r\n日本\u2028語\n\U0001f600\n"
    mark = "" if encoding == "utf-16" else "\ufeff"
    (tmp_path / "a").write_bytes((mark + text).encode(encoding))
    assert list(files.read_lines(tmp_path / "a")) == ["één", "日本\u2028語", "\U0001f600"]
    assert "".join(files.read_pieces(tmp_path / "a")) == text
    (tmp_path / "a").write_bytes((mark + text).encode(encoding)[:-3])
    with pytest.raises(RegardError, match=r"line 3: not UTF-16, as its byte order mark says"):
        list(files.read_lines(tmp_path / "a"))


def test_a_line_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x\n" + bytes(3 << 20)))
    with pytest.raises(RegardError, match=r"a\.gz, line 2: is longer than 1 MiB"):
        list(files.read_lines(tmp_path / "a.gz"))


def test_pieces_are_the_text(tmp_path: Path) -> None:
    text = "ä\n" * 70_000
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert "".join(files.read_pieces(tmp_path / "a")) == text
    (tmp_path / "a").write_bytes(b"a\n\xff\n")
    with pytest.raises(RegardError, match="near line 1: not UTF-8"):
        list(files.read_pieces(tmp_path / "a"))


def test_lines_of_old_macs_are_told(tmp_path: Path) -> None:
    """Three lines were read as one pair."""
    path = tmp_path / "a b.en"
    path.write_bytes(b"One.\rTwo.\rThree.\r")
    with pytest.raises(RegardError, match=r"end in a carriage return alone; convert it by: tr .* > 'a b-lines\.en'"):
        list(files.read_lines(path))
    path.write_bytes(b"One.\rTwo.\rThree.\r\n")
    assert list(files.read_lines(path)) == ["One.\rTwo.\rThree."]
