"""Translation memories: TMX 1.4, https://www.gala-global.org/tmx-14b; one translation unit is read at a time."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from xml.parsers import expat

from regard.base.errors import ConfigError, RegardError, unknown
from regard.base.files import LONGEST_LINE, unreadable
from regard.base.unpacking import unpacked
from regard.data.format import Doubt, Format, Hints, Recognized, TextRow
from regard.data.table import one_line

_CODES = frozenset({"bpt", "ept", "it", "ph", "ut"})  # what they hold is markup of the original document, not text
_CHUNK = 1 << 16
_LOOKED_AT = 1_000


@dataclass(frozen=True)
class Tmx(Format):
    """The segments of two languages; `en` also reads segments in `en-US`. Units that lack one of them are blank."""

    languages: tuple[str, str]
    """of source and target, by the codes that the file has"""

    def __post_init__(self) -> None:
        if _folded(self.languages[0]) == _folded(self.languages[1]):
            raise ConfigError(f"languages: source and target are both {self.languages[0]}")

    def sides(self, files: Sequence[Path]) -> int:
        return 2

    def rows(self, files: Sequence[Path]) -> Iterator[TextRow]:
        for line, segments in _units(files[0]):
            yield TextRow(line, tuple(_segment(segments, language) for language in self.languages))

    def words(self) -> str:
        return f"TMX, from {self.languages[0]} to {self.languages[1]}"

    def place(self, files: Sequence[Path], line: int, side: int) -> str:
        return f"{files[0]}, line {line}, {self.languages[side]}"

    @classmethod
    def recognize(cls, file: Path, hints: Hints) -> Recognized:
        units = [segments for _, segments in islice(_units(file), _LOOKED_AT)]
        found = list(dict.fromkeys(language for segments in units for language in segments))
        if not found:
            raise RegardError(f"{file}: holds no translation unit")
        chosen: list[str] = []
        for wanted in filter(None, (hints.source, hints.target)):
            if not any(_segment({language: "x"}, wanted) for language in found):
                raise ConfigError(unknown(str(file), wanted, found, "its languages"))
            chosen.append(wanted)
        if not chosen:
            chosen = found
        elif len(chosen) == 1:
            others = [language for language in found if not _segment({language: "x"}, chosen[0])]
            chosen = [*chosen, *others] if hints.source else [*others, *chosen]
        if len(found) == 1:
            raise RegardError(f"{file}: all of its texts are in {found[0]}; a translation needs two languages")
        if len(chosen) != 2:
            raise Doubt(f"{file}: its languages are {', '.join(found)}", "--source", f"{found[0]} --target {found[-1]}")
        return Recognized(format=cls((chosen[0], chosen[1])), source=chosen[0], target=chosen[1])


def _segment(segments: dict[str, str], language: str) -> str:
    """The text in a language: with exactly this code, else with this code and any region."""
    wanted = _folded(language)
    exact = [text for code, text in segments.items() if _folded(code) == wanted]
    near = [text for code, text in segments.items() if _folded(code).startswith(f"{wanted}-")]
    return (exact or near or [""])[0]


def _folded(code: str) -> str:
    return code.casefold().replace("_", "-")


@dataclass
class _Reader:
    """What expat's callbacks collect: the units that were read to their end, and the parts of the present one."""

    file: Path
    parser: Any = None
    units: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    segments: dict[str, str] = field(default_factory=dict)
    language: str = ""
    text: list[str] = field(default_factory=list)
    size: int = 0
    line: int = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.path and name != "tmx":
            raise RegardError(f"{self.file}, line {self.parser.CurrentLineNumber}: XML, but <{name}> is not <tmx>")
        self.path.append(name)
        if name == "tu":
            self.segments, self.line = {}, self.parser.CurrentLineNumber
        elif name == "tuv":
            self.language = attributes.get("xml:lang") or attributes.get("lang") or ""
            if not self.language:
                raise RegardError(f"{self.file}, line {self.parser.CurrentLineNumber}: <tuv> names no language")
        elif name == "seg":
            self.text, self.size = [], 0

    def end(self, name: str) -> None:
        self.path.pop()
        if name == "seg":
            self.segments.setdefault(self.language, re.sub(r" {2,}", " ", one_line("".join(self.text))))
        elif name == "tu":
            self.units.append((self.line, self.segments))

    def words(self, text: str) -> None:
        if "seg" not in self.path or not _CODES.isdisjoint(self.path):
            return
        self.size += len(text)
        if self.size > LONGEST_LINE:
            raise RegardError(f"{self.file}, line {self.line}: a segment is longer than {LONGEST_LINE >> 20} MiB")
        self.text.append(text)

    def entity(self, name: str, *_: Any) -> None:
        raise RegardError(
            f"{self.file}, line {self.parser.CurrentLineNumber}: declares the entity '{name}'; "
            "a file with entities of its own is not read"
        )


def _units(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The translation units with the lines where they begin, as texts by language. No entity is ever expanded."""
    reader = _Reader(file)
    parser = reader.parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.words, reader.entity
    try:
        with unpacked(file) as content:
            last = False
            while not last:
                chunk = content.read(_CHUNK)
                last = not chunk
                parser.Parse(chunk, last)
                yield from reader.units
                reader.units = []
    except expat.ExpatError as error:
        raise RegardError(f"{file}, line {error.lineno}: not valid XML: {expat.ErrorString(error.code)}") from error
    except OSError as error:
        raise unreadable(file, error) from error
