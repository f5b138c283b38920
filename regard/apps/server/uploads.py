"""Files to translate: which are accepted, and where translated ones wait until they are fetched.

A translated file is kept in memory under a random name that nobody can guess, for a limited time and in limited number,
so that nothing of a client is left on the disk.
"""

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from regard.apps.server.messages import Refusal

FILE_FORMATS = {".txt": "text", ".html": "html", ".htm": "html"}
"""the format of a file by the ending of its name"""
_KEPT_SECONDS = 600.0
_MOST_BYTES = 64 << 20  # of all files together; the oldest go first
_NAME = 100  # characters of a file's name
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Document:
    """A file as it was sent: its text, its format, and its name."""

    text: str
    form: str
    name: str

    def translated_name(self, target: str) -> str:
        """`report.txt` becomes `report_de.txt`, as LibreTranslate names it."""
        path = PurePosixPath(self.name)
        return f"{path.stem}_{target}{path.suffix}"


def read_document(content: bytes, name: str | None) -> Document:
    """The document in an uploaded file; its format is told by the ending of its name."""
    last = (name or "").replace("\\", "/").rpartition("/")[2]
    ending = PurePosixPath(last).suffix.lower()
    if ending not in FILE_FORMATS:
        raise Refusal(400, f"Invalid request: file format not supported; formats are: {', '.join(FILE_FORMATS)}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refusal(400, f"Invalid request: byte {error.start + 1} of the file is not UTF-8") from error
    stem = _UNSAFE.sub("_", last[: -len(ending)]).strip("._")[:_NAME]
    return Document(text, FILE_FORMATS[ending], (stem or "file") + ending)


@dataclass
class TranslatedFiles:
    """The translated files that can be fetched, each for a while."""

    seconds: float = _KEPT_SECONDS
    most_bytes: int = _MOST_BYTES
    clock: Callable[[], float] = time.monotonic
    _kept: dict[str, tuple[float, bytes]] = field(default_factory=dict, init=False)

    def keep(self, name: str, content: bytes) -> str:
        """Keep a file, and return the name under which it can be fetched."""
        self.forget()
        secret = f"{secrets.token_hex(16)}.{name}"
        self._kept[secret] = (self.clock() + self.seconds, content)
        while sum(len(other) for _, other in self._kept.values()) > self.most_bytes:
            del self._kept[next(iter(self._kept))]
        return secret

    def find(self, secret: str) -> bytes | None:
        """The content of a file, or None if there is none, or none any more."""
        self.forget()
        return self._kept[secret][1] if secret in self._kept else None

    def forget(self) -> None:
        """Delete the files whose time is over."""
        now = self.clock()
        for secret in [own for own, (until, _) in self._kept.items() if until <= now]:
            del self._kept[secret]
