"""Reading of compressed files and of files inside zip archives, as streams.

What a file is compressed with is told by its first bytes, not by its name: gzip, bzip2, xz, Zstandard. The path
`corpus.zip/train.en` is the file train.en inside the archive corpus.zip. Nothing is unpacked to memory or to disk.
"""

import bz2
import gzip
import importlib
import io
import lzma
import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from regard.base.errors import RegardError
from regard.base.extras import install_hint

PACKED = (".gz", ".bz2", ".xz", ".zst")
"""the usual endings of compressed files"""
_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "Zstandard"}
_LONGEST = max(map(len, _MAGIC))
_TAR, _TAR_AT = b"ustar", 257
_ADDRESS = re.compile(r"([a-z][a-z0-9+]+):/+(.+)")


@contextmanager
def opened(path: str | Path) -> Iterator[io.BufferedReader]:
    """Open a file, or a file inside a zip archive, for reading its bytes as they are."""
    if "\0" in str(path):
        raise RegardError(f"{str(path)!r}: a file name cannot hold the character NUL")
    place = Path(path)
    if (address := remote_address(place)) is not None:
        with _remote(address) as file:
            yield file
        return
    archive = next((parent for parent in place.parents if parent.is_file()), None)
    if archive is None:
        with place.open("rb") as file:
            yield file
        return
    with _archive(archive) as members, members.open(_member(members, archive, place)) as file:
        yield io.BufferedReader(cast(Any, file))


def remote_address(path: str | Path) -> str | None:
    """The address that a path stands for, such as s3://bucket/train.en, which a path has with one slash; else None."""
    found = _ADDRESS.fullmatch(str(path))
    return f"{found[1]}://{found[2]}" if found and not Path(path).exists() else None


def located(folder: Path, file: Path) -> Path:
    """The place of a file whose name starts at a folder, unless it is an address or an absolute path."""
    return file if remote_address(file) is not None else folder / file


@contextmanager
def _remote(address: str) -> Iterator[io.BufferedReader]:
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError as error:
        raise RegardError(f"{address}: addresses need the package fsspec: {install_hint('remote')}") from error
    try:
        with fsspec.open(address, "rb") as file:
            yield io.BufferedReader(cast(Any, file), 1 << 20)
    except (ImportError, ValueError) as error:  # such as s3fs, which is not installed, or an unknown protocol
        raise RegardError(f"{address}: cannot be read: {error}") from error


@contextmanager
def unpacked(path: str | Path) -> Iterator[io.BufferedReader]:
    """Open a file for reading its content, decompressed if it is compressed."""
    with opened(path) as file:
        start = file.peek(_LONGEST)[:_LONGEST]
        kind = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), None)
        if kind is None:
            _refuse_tar(path, file)
            yield file
            return
        try:
            with _OPENERS[kind](file) as content:
                buffered = io.BufferedReader(content, 1 << 16)
                _refuse_tar(path, buffered)
                yield buffered
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, _Damaged) as error:
            raise RegardError(f"{path}: the {kind} file is damaged or cut off: {error}") from error
        except OSError as error:
            if kind == "bzip2" and error.errno is None:  # bz2 has no exception of its own
                raise RegardError(f"{path}: the {kind} file is damaged or cut off: {error}") from error
            raise


def _refuse_tar(path: str | Path, content: io.BufferedReader) -> None:
    """Refuse a tar archive: its files would be read as one text, with the archive's own bytes between them."""
    if content.peek(_TAR_AT + len(_TAR))[_TAR_AT:].startswith(_TAR):
        unpack = f"tar -xf {shlex.quote(str(path))}"
        raise RegardError(f"{path}: is a tar archive; unpack it by: {unpack}, and give the files that were in it")


def archive_names(path: str | Path) -> list[str]:
    """The names of the files inside a zip archive."""
    with _archive(Path(path)) as members:
        return [entry.filename for entry in members.infolist() if not entry.is_dir()]


class _Damaged(Exception):
    """Zstandard data that cannot be read."""


class _Zstandard(io.RawIOBase):
    """The content of a Zstandard file; the exceptions of the library become one of ours."""

    def __init__(self, library: Any, file: BinaryIO) -> None:
        self._content, self._error = library.ZstdFile(file), library.ZstdError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return int(self._content.readinto(buffer))
        except self._error as error:
            raise _Damaged(error) from error


def _zstandard(file: BinaryIO) -> _Zstandard:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return _Zstandard(importlib.import_module(name), file)
        except ImportError:
            continue
    raise RegardError(f"Zstandard files need the package backports.zstd: {install_hint('formats')}")


_OPENERS: dict[str, Callable[[BinaryIO], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="rb"),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "Zstandard": _zstandard,
}


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as members:
            yield members
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise RegardError(f"{path}: the zip archive is damaged: {error}") from error
    except NotImplementedError as error:  # such as Deflate64, which Windows packs large files with
        raise RegardError(
            f"{path}: is packed in a way that is not known here; unpack it, and give the files"
        ) from error
    except RuntimeError as error:  # what zipfile raises for an encrypted file
        why = "is protected by a password; unpack it first" if "password" in str(error) else f"cannot be read: {error}"
        raise RegardError(f"{path}: {why}") from error


def _member(members: zipfile.ZipFile, archive: Path, place: Path) -> str:
    name = place.relative_to(archive).as_posix()
    if name not in members.namelist():
        raise RegardError(f"{archive}: the archive holds no file {name}")
    return name
