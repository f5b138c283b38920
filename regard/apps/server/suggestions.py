"""Translations that readers suggest, kept in a file of JSON lines for a later training."""

import json
import os
import threading
from pathlib import Path

from regard.apps.server.messages import Refusal, SuggestCall
from regard.base.errors import UsageError
from regard.base.files import unwritable

_MOST_BYTES = 256 << 20


class Suggestions:
    """A file of suggestions, one JSON object per line with q, s, source and target, as LibreTranslate exports them.

    Each line is appended by one write and synced before the client is answered. Lines of several servers do not mix.
    A line that a crash has cut off is ended first, so that it costs no other.
    """

    def __init__(self, path: Path, most_bytes: int = _MOST_BYTES) -> None:
        self.path, self._most, self._lock = path, most_bytes, threading.Lock()
        try:
            with path.open("a+b") as file:
                if file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n":
                    file.write(b"\n")
        except OSError as error:
            raise UsageError(f"--suggestions {unwritable(path, error)}") from error

    def add(self, call: SuggestCall) -> None:
        """Append a suggestion."""
        fields = {"q": call.q, "s": call.s, "source": call.source, "target": call.target}
        line = (json.dumps(fields, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        with self._lock, self.path.open("ab", buffering=0) as file:
            if file.tell() + len(line) > self._most:
                raise Refusal(503, "The file of suggestions is full")
            if file.write(line) != len(line):
                raise OSError("a suggestion was not written whole")
            os.fsync(file.fileno())
