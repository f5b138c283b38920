"""What a file is packed with is told by its bytes, and a damaged one by a sentence."""

import bz2
import gzip
import importlib
import lzma
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.base.files import digest, read_lines
from regard.base.unpacking import archive_names, located, remote_address, unpacked

ZSTD = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "Zstandard": ZSTD.compress,
}
TEXT = "".join(f"line {number}\n" for number in range(5_000))


@pytest.mark.parametrize(
    ("flags", "method", "fault"),
    [
        (1, 0, "is protected by a password; unpack it first"),
        (0, 9, "is packed in a way that is not known here; unpack"),
    ],
)
def test_what_an_archive_hides_is_told(flags: int, method: int, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", TEXT)
    data = bytearray(path.read_bytes())
    for at, flag in ((0, 6), (data.rindex(b"PK\x01\x02"), 8)):
        data[at + flag : at + flag + 4] = bytes([flags, 0, method, 0])
    path.write_bytes(data)
    with pytest.raises(RegardError, match=fault):
        list(read_lines(path / "a.txt"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_tar_archive_is_no_text(packed: bool, tmp_path: Path) -> None:
    """Its headers were read as lines of a language model."""
    (tmp_path / "train.en").write_text(TEXT, encoding="utf-8")
    path = tmp_path / "corpus.tgz"
    with tarfile.open(path, "w:gz" if packed else "w") as archive:
        archive.add(tmp_path / "train.en")
    with pytest.raises(RegardError, match=r"corpus.tgz: is a tar archive; unpack it by: tar -xf "):
        list(read_lines(path))


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_text_is_read_like_plain_text(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "any-name"
    path.write_bytes(PACKERS[kind](TEXT.encode()))
    assert "".join(f"{line}\n" for line in read_lines(path)) == TEXT
    with unpacked(path) as file:
        assert file.read() == TEXT.encode()


@pytest.mark.parametrize("kind", PACKERS)
def test_a_damaged_file_is_one_sentence(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    data = PACKERS[kind](TEXT.encode())
    for broken in (data[: len(data) // 2], data[:20] + bytes(40) + data[60:]):
        path.write_bytes(broken)
        with pytest.raises(RegardError, match=f"a: the {kind} file is damaged or cut off"):
            list(read_lines(path))


def test_two_packed_parts_are_one_text(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert list(read_lines(tmp_path / "a.gz")) == ["one", "two"]


def test_files_in_an_archive_have_paths(tmp_path: Path) -> None:
    path = tmp_path / "corpus.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/train.en", TEXT)
        archive.writestr("train.de.gz", gzip.compress(b"eins\n"))
        archive.mkdir("empty")
    assert archive_names(path) == ["a/train.en", "train.de.gz"]
    assert len(list(read_lines(path / "a" / "train.en"))) == 5_000
    assert list(read_lines(path / "train.de.gz")) == ["eins"]
    (tmp_path / "plain").write_text(TEXT, encoding="utf-8")
    assert digest(path / "a" / "train.en") == digest(tmp_path / "plain")
    with pytest.raises(RegardError, match=r"corpus\.zip: the archive holds no file train\.fr"):
        list(read_lines(path / "train.fr"))


def test_what_is_no_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"a\.txt: the zip archive is damaged"):
        list(read_lines(tmp_path / "a.txt" / "b"))
    data = bytearray()
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b", TEXT)
    data += (tmp_path / "b.zip").read_bytes()
    data[60:90] = bytes(30)
    (tmp_path / "b.zip").write_bytes(bytes(data))
    with pytest.raises(RegardError, match=r"b\.zip: the zip archive is damaged"):
        list(read_lines(tmp_path / "b.zip" / "b"))


def test_a_name_with_nul_is_one_sentence() -> None:
    with pytest.raises(RegardError, match=r"'a\\x00b': a file name cannot hold the character NUL"):
        list(read_lines("a\0b"))


def test_an_address_is_streamed_and_decompressed() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://corpus/train.en.gz", "wb") as file:
        file.write(gzip.compress(b"one\ntwo\n"))
    path = Path("memory://corpus/train.en.gz")
    assert list(read_lines(path)) == ["one", "two"]
    assert len(digest(path)) == 64


def test_addresses_are_told_from_paths(tmp_path: Path) -> None:
    assert remote_address(Path("s3://bucket/a/train.en")) == "s3://bucket/a/train.en"
    assert located(tmp_path, Path("s3://bucket/a")) == Path("s3://bucket/a")
    assert located(tmp_path, Path("train.en")) == tmp_path / "train.en"
    assert remote_address("C:/train.en") is None
    assert remote_address(tmp_path / "train.en") is None


def test_an_address_that_cannot_be_read_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RegardError, match=r"odd://bucket/train.en: cannot be read: Protocol not known"):
        list(read_lines(Path("odd://bucket/train.en")))
    with pytest.raises(RegardError, match=r"memory:/+none.en: cannot be read"):
        list(read_lines(Path("memory://none.en")))
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(RegardError, match=r"addresses need the package fsspec: .*remote"):
        list(read_lines(Path("s3://bucket/train.en")))
