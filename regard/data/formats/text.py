"""Plain text, a sentence a line: two parallel files, or one for a language model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar

from regard.base.errors import RegardError
from regard.base.files import read_lines
from regard.base.wording import counted
from regard.data.format import SIDES, Format, Hints, Recognized, TextRow
from regard.data.languages import language_of


@dataclass(frozen=True)
class Text(Format):
    """Line n of one file translates line n of the other."""

    most: ClassVar[int] = 2

    def sides(self, files: Sequence[Path]) -> int:
        return len(files)

    def rows(self, files: Sequence[Path]) -> Iterator[TextRow]:
        if len(files) == 1:
            return (TextRow(number, (line,)) for number, line in enumerate(read_lines(files[0]), start=1))
        return _parallel(*files)

    def words(self) -> str:
        return "plain text, one sentence a line"

    def place(self, files: Sequence[Path], line: int, side: int) -> str:
        return f"{files[side]}, line {line}"

    def key(self) -> list[str]:
        return ["text", *SIDES]

    @classmethod
    def recognize(cls, file: Path, hints: Hints) -> Recognized:
        return Recognized(format=cls(), source=hints.source or language_of(file))


def _parallel(source: Path, target: Path) -> Iterator[TextRow]:
    lines = zip_longest(read_lines(source), read_lines(target))
    for read, (left, right) in enumerate(lines):
        if left is None or right is None:
            longer = read + 1 + sum(1 for _ in lines)
            counts = (read, longer) if left is None else (longer, read)
            raise RegardError(
                f"{source} has {counted(counts[0], 'line')} but {target} has {counts[1]:,}; line n of one must "
                "translate line n of the other"
            )
        yield TextRow(read + 1, (left, right))
