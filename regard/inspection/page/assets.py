"""The web page as files: what a server serves at `/` and below `/assets/`.

The drawing code is shared with the page that `regard inspect` writes, which is one file.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class File(NamedTuple):
    """The content of a file and its media type."""

    content: bytes
    media_type: str


def index(name: str = "index") -> File:
    """The page itself; `ask` is that of models that do not translate."""
    return _read(HERE / f"{name}.html")


def asset(name: str) -> File | None:
    """A file that the page loads, by its name below `/assets/`; None if there is none."""
    path = assets().get(name)
    return None if path is None else _read(path)


@cache
def assets() -> dict[str, Path]:
    """All files that the page may load, by name; no others are served."""
    found = (path for path in sorted(HERE.iterdir()) if path.suffix in TYPES)
    return {path.name: path for path in found if path.suffix != ".html"}


def _read(path: Path) -> File:
    return File(path.read_bytes(), TYPES[path.suffix])
