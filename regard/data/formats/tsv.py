"""Tab-separated text in which nothing is quoted: every tab parts two columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from regard.data.format import SIDES, Hints
from regard.data.table import Record, Table, table_lines


@dataclass(frozen=True)
class Tsv(Table):
    """A row a line, split at tabs; a quotation mark is a character like any other."""

    def records(self, file: Path) -> Iterator[Record]:
        for number, line in enumerate(table_lines(file), start=1):
            yield Record(number, line.split("\t"))

    def kind(self) -> str:
        return "tab-separated"

    def key(self) -> list[str]:
        plain = self.columns in (None, (1, 2)) and not self.header
        return ["tsv", *SIDES] if plain else super().key()

    @classmethod
    def opening(cls, file: Path, hints: Hints) -> Self:
        return cls()
