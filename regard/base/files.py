"""Atomic writing of files, and reading of text with precise errors.

A writer that is killed leaves the old file as it was; a read error names the file, the line and the byte.
"""

import codecs
import hashlib
import io
import os
import re
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from regard.base.errors import RegardError
from regard.base.unpacking import opened, unpacked

_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""bytes that no text has, in whatever encoding of single bytes"""
_WORDS = 3
LONGEST_LINE = 1 << 24
"""bytes; a longer line is no text, and would fill the memory"""


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for atomic writing: it replaces `path` only once it is complete and on the disk.

    The bytes go to a temporary name in the same folder, are synced, then renamed over `path`. On any failure (a full
    disk, an interrupt, an error of the caller) the temporary file is removed and an older file stays untouched.
    """
    final = Path(path).resolve()
    temporary = temporary_beside(final)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(final)
        sync_folder(final.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as file:
        file.write(data)


def write_text(path: str | Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    write_bytes(path, text.encode("utf-8"))


def make_folder(path: Path) -> None:
    """Make a folder, and those around it, unless they are there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RegardError(f"{path}: the folder cannot be made: {(error.strerror or str(error)).lower()}") from error


def cache_folder() -> Path:
    """The user's cache folder for Regard."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "regard"


def temporary_beside(path: Path) -> Path:
    """An unused hidden name in the same folder, so that a rename never crosses file systems."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries (fsync), so that a rename survives a power cut; does nothing outside POSIX."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_lines(path: str | Path, *, allow_empty: bool = False) -> Iterator[str]:
    r"""The lines of a text file, plain or compressed (told by its content), one at a time.

    Text is UTF-8, or UTF-16 where its byte order mark says so. Only `\n` ends a line (a carriage return before it is
    dropped), so U+2028 and its like stay inside their line and two parallel files cannot drift apart. A byte order mark
    is dropped. Bytes that are not UTF-8 are an error, as is a line of more than 16 MiB.
    """
    empty = True
    with _reading(path) as file:
        decoded = _wide_lines if file.peek(2)[:2] in _WIDE else _lines
        for line in decoded(path, file):
            if empty and line.rstrip("\r\n").count("\r") > 1 and not line.endswith("\n"):
                told = f"tr '\\r' '\\n' < {shlex.quote(str(path))} > {_beside(path, 'lines')}"
                raise RegardError(f"{path}: its lines end in a carriage return alone; convert it by: {told}")
            empty = False
            yield line.removesuffix("\n").removesuffix("\r")
    if empty and not allow_empty:
        raise RegardError(f"{path}: the file is empty")


def read_pieces(path: str | Path) -> Iterator[str]:
    """A text file like that of `read_lines`, in pieces of some 64 KiB that may end within a line."""
    with _reading(path) as file:
        encoding = "utf-16" if file.peek(2)[:2] in _WIDE else "utf-8-sig"
        decoder, line = codecs.getincrementaldecoder(encoding)(), 1
        for raw in chain(iter(partial(file.read, 1 << 16), b""), [b""]):
            try:
                piece = decoder.decode(raw, final=not raw)
            except UnicodeError as error:
                raise RegardError(
                    f"{path}, near line {line}: not {encoding.removesuffix('-sig').upper()}; convert the file"
                ) from error
            line += piece.count("\n")
            yield piece


def read_text(path: str | Path) -> str:
    """Read a whole UTF-8 text file; every line ends in a single newline character."""
    return "".join(f"{line}\n" for line in read_lines(path, allow_empty=True))


def read_bytes(path: str | Path) -> bytes:
    """Read a whole file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def digest(path: str | Path) -> str:
    """The SHA-256 hash of a file's content.

    Size and modification time do not tell whether the content changed; hashing takes about a second per gigabyte.
    """
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: str | Path, error: OSError) -> RegardError:
    """The error for a file that cannot be read."""
    return RegardError(f"{path}: cannot be read: {_cause(path, error)}")


def unwritable(path: str | Path, error: OSError) -> RegardError:
    """The error for a file that cannot be written."""
    return RegardError(f"{path}: cannot be written: {_cause(path, error)}")


@contextmanager
def _reading(path: str | Path) -> Iterator[io.BufferedReader]:
    try:
        with unpacked(path) as file:
            yield file
    except OSError as error:
        raise unreadable(path, error) from error


def _lines(path: str | Path, file: io.BufferedReader) -> Iterator[str]:
    wide = None
    for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE + 1), b""), start=1):
        if len(raw) > LONGEST_LINE:
            raise _too_long(path, number)
        if number == 1 and raw.startswith(_BOM):
            raw = raw[len(_BOM) :]
        if number == 1 and (wide_order := _byte_order(raw)):
            raise RegardError(
                f"{path}: is UTF-16 without a byte order mark; convert it by: {_converted(path, wide_order)}"
            )
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            wrong = f"{path}, line {number}: byte 0x{raw[error.start]:02x} at column {error.start + 1} is not UTF-8"
            raise RegardError(f"{wrong}; {_mending(path, raw + file.peek(1024), wide)}") from error
        if wide is None and not raw.isascii():
            wide = number
        yield line


def _mending(path: str | Path, raw: bytes, wide: int | None) -> str:
    """What to do about bytes that are not UTF-8, where line `wide` before them has letters beyond ASCII that are."""
    if _BINARY.search(raw):
        return "this is no text; an export as CSV or plain text can be read"
    if wide is not None:
        return f"line {wide} is UTF-8, so the file mixes encodings; convert the lines that are not, each part by itself"
    return f"convert the file to UTF-8{_from_windows(path, raw)}"


def _from_windows(path: str | Path, raw: bytes) -> str:
    """How to convert a file that a spreadsheet wrote, and words by which to tell: several, of different letters.

    Encodings of Windows share some letters: one word may look right in the wrong one.
    """
    words: dict[bytes, None] = {}
    seen: set[int] = set()
    for word in re.findall(rb"[^\s\"',;.:!?()]{0,20}[\x80-\xff][^\s\"',;.:!?()]{0,19}", raw):
        letters = {byte for byte in word if byte >= 0x80}
        if len(words) < _WORDS and not letters <= seen:
            words[word] = None
            seen |= letters
    try:
        shown = " and ".join(repr(word.decode("cp1252")) for word in words)
    except UnicodeDecodeError:
        return ""
    if not shown:
        return ""
    return f"; if {shown} look{'s' * (len(words) == 1)} right, by: {_converted(path, 'WINDOWS-1252')}"


def _byte_order(raw: bytes) -> str | None:
    """The encoding of a first line with a zero beside most letters, before or after each; None if it has not."""
    before, after = raw[::2].count(0), raw[1::2].count(0)
    if len(raw) < 8 or 4 * (before + after) < len(raw) or (before and after > 1):
        return None
    return "UTF-16BE" if before > after else "UTF-16LE"


def _converted(path: str | Path, encoding: str) -> str:
    """The command that converts a file to UTF-8."""
    return f"iconv -f {encoding} -t UTF-8 {shlex.quote(str(path))} > {_beside(path, 'utf8')}"


def _beside(path: str | Path, what: str) -> str:
    """The name of a converted file, as a command has it."""
    return shlex.quote(f"{Path(path).stem}-{what}{Path(path).suffix}")


def _wide_lines(path: str | Path, file: io.BufferedReader) -> Iterator[str]:
    text = io.TextIOWrapper(file, encoding="utf-16", newline="\n")
    number = 0
    try:
        for number, line in enumerate(iter(partial(text.readline, LONGEST_LINE + 1), ""), start=1):
            if len(line) > LONGEST_LINE:
                raise _too_long(path, number)
            yield line
    except UnicodeError as error:
        raise RegardError(f"{path}, line {number + 1}: not UTF-16, as its byte order mark says it is") from error


def _too_long(path: str | Path, number: int) -> RegardError:
    return RegardError(f"{path}, line {number}: is longer than {LONGEST_LINE >> 20} MiB; this is no text of lines")


def _cause(path: str | Path, error: OSError) -> str:
    match error:
        case FileNotFoundError() if Path(path).parent.is_dir():
            return "there is no such file"
        case FileNotFoundError():
            return f"there is no folder {Path(path).parent}"
        case IsADirectoryError():
            return "it is a folder, not a file"
        case PermissionError():
            return "permission denied"
    return (error.strerror or str(error)).lower()
