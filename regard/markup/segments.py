"""A segment: text that is translated as a whole, with the tags and placeholders in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from regard.markup.placeholders import Kept


@dataclass(frozen=True)
class Atom:
    """Something that is copied unchanged: `text` is what the model reads, `written` what is written."""

    text: str
    written: str | None = None
    """None: the text, escaped like other text"""


@dataclass(frozen=True)
class Mark:
    """A tag. Within a segment every `open` has its `close`, properly nested; a `single` stands for itself."""

    written: str
    role: Literal["open", "close", "single"]
    hollow: bool = True
    """whether it may enclose nothing; `****` is no emphasis of Markdown"""


Inline = str | Atom | Mark


@dataclass(frozen=True)
class SegmentText:
    """A segment as one text, with the spans of its atoms and the positions of its marks."""

    text: str
    atoms: tuple[tuple[int, int], ...]
    marks: tuple[tuple[int, Mark], ...]


@dataclass(frozen=True)
class Segment:
    """Texts, atoms and marks in their order."""

    items: tuple[Inline, ...]

    @property
    def atoms(self) -> list[Atom]:
        """The parts that are copied unchanged."""
        return [item for item in self.items if isinstance(item, Atom)]

    def read(self, spelled: Sequence[str] | None = None) -> SegmentText:
        """The segment as one text, atoms as they are or as `spelled`."""
        pieces: list[str] = []
        atoms: list[tuple[int, int]] = []
        marks: list[tuple[int, Mark]] = []
        length = 0
        for item in self.items:
            if isinstance(item, Mark):
                marks.append((length, item))
                continue
            piece = item if isinstance(item, str) else spelled[len(atoms)] if spelled else item.text
            if isinstance(item, Atom):
                atoms.append((length, length + len(piece)))
            pieces.append(piece)
            length += len(piece)
        return SegmentText("".join(pieces), tuple(atoms), tuple(marks))


def with_placeholders(items: Iterable[Inline], kept: Kept) -> Segment:
    """The segment of some items, with an atom for every placeholder in their texts."""
    found: list[Inline] = []
    for item in items:
        found += _cut(item, kept) if isinstance(item, str) else [item]
    return Segment(tuple(found))


def _cut(text: str, kept: Kept) -> list[Inline]:
    items: list[Inline] = []
    at = 0
    for start, end in kept.find(text):
        items += [text[at:start], Atom(text[start:end])]
        at = end
    return [item for item in [*items, text[at:]] if item != ""]
