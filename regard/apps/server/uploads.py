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
from regard.base.errors import RegardError
from regard.markup.document_files import READERS, open_document
from regard.markup.documents.opened import OpenDocument

_KEPT_SECONDS = 600.0
_MOST_BYTES = 64 << 20  # of all files together; the oldest go first
_NAME = 100  # characters of a file's name
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Upload:
    """A file as it was sent, opened, and its name."""

    document: OpenDocument
    name: str

    def translated_name(self, target: str) -> str:
        """`report.txt` becomes `report_de.txt`, as LibreTranslate names it."""
        path = PurePosixPath(self.name)
        return f"{path.stem}_{target}{path.suffix}"


def read_upload(content: bytes, name: str | None) -> Upload:
    """Open an uploaded file; its format is told by the ending of its name."""
    last = (name or "").replace("\\", "/").rpartition("/")[2]
    ending = PurePosixPath(last).suffix.lower()
    if ending not in READERS:
        raise Refusal(400, f"Invalid request: file format not supported; formats are: {', '.join(READERS)}")
    stem = _UNSAFE.sub("_", last[: -len(ending)]).strip("._")[:_NAME]
    harmless = (stem or "file") + ending
    try:
        return Upload(open_document(content, harmless), harmless)
    except RegardError as error:
        raise Refusal(400, f"Invalid request: {error}") from error


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
