"""The log of a run as JSON lines: one entry per line, each with its kind and step, in the order of steps."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.base.files import unreadable, unwritable


@dataclass(frozen=True)
class Log:
    """An append-only log; a resumed run truncates it to the number of lines that its checkpoint holds."""

    path: Path

    def append(self, kind: str, step: int, **values: Any) -> None:
        """Append an entry."""
        line = json.dumps({"kind": kind, "step": step} | values) + "\n"
        try:
            with self.path.open("ab") as file:
                file.write(line.encode())
        except OSError as error:
            raise unwritable(self.path, error) from error

    def entries(self, kind: str | None = None) -> Iterator[dict[str, Any]]:
        """The entries of one kind, or all; a half-written line is skipped."""
        for _, entry in self._lines():
            if entry is not None and kind in (None, entry["kind"]):
                yield entry

    def rewind(self, lines: int) -> None:
        """Truncate the log to its first `lines` lines; a half-written last line goes too."""
        if not self.path.exists():
            return
        kept = islice(self._lines(), lines)
        try:
            os.truncate(self.path, sum(size for size, _ in kept))
        except OSError as error:
            raise unwritable(self.path, error) from error

    def sync(self) -> None:
        """Flush the log to the disk (fsync), so that it survives a power cut."""
        if not self.path.exists():
            return
        try:
            with self.path.open("ab") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _lines(self) -> Iterator[tuple[int, dict[str, Any] | None]]:
        """The size in bytes of each line (0 for a half-written one), and its entry if it is complete."""
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as file:
                for line in file:
                    yield (len(line) if line.endswith(b"\n") else 0), _entry(line)
        except OSError as error:
            raise unreadable(self.path, error) from error


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    whole = line.endswith(b"\n") and isinstance(entry, dict) and {"kind", "step"} <= entry.keys()
    return entry if whole else None
