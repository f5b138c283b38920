"""Word documents (.docx), read and written by python-docx: paragraphs of body, tables, headers, footers and notes.

Runs of one format are one tag: bold and italic words, links and their like enclose the translations of the words that
they enclosed. The format that most of a paragraph has needs no tag. Pictures, breaks, fields and references stay beside
their words; everything else in the file stays as it is.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise
from typing import Any

from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.markup.documents.opened import OpenDocument, Wording
from regard.markup.segments import Inline, Mark

_SPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRESERVE = "{http://www.w3.org/XML/1998/namespace}space"
_SIGN, _END = "\ue000\ue001", "\ue002"
"""what stands for tags: the number of a piece between two signs, and the end of its format"""
_MOST_BYTES = 256 << 20  # of all parts together, unpacked
_DROPPED = frozenset(("proofErr", "lastRenderedPageBreak"))
_IGNORED = frozenset(("lang", "noProof"))
_SEPARATE = frozenset(("tab", "br", "cr", "ptab"))


@dataclass(frozen=True)
class _Piece:
    """A text in some format, or elements that stay: `holders` are runs, or links around them."""

    holders: tuple[Any, ...]
    text: str | None
    style: str = ""
    separates: bool = False
    """a tab or a line break: what is before it and what is after it are translated by themselves"""


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph, its pieces, and the ranges of them that are passages."""

    element: Any
    pieces: list[_Piece]
    ranges: list[range]

    def write(self, done: Sequence[str]) -> None:
        """Replace the passages by these texts."""
        coming = dict(zip(self.ranges, done, strict=True))
        inside = {at for own in self.ranges for at in own}
        for child in list(self.element):
            if _local(child) != "pPr":
                self.element.remove(child)
        for at, piece in enumerate(self.pieces):
            if at not in inside:
                self.element.extend(piece.holders)
            for own, text in coming.items():
                if own.start == at:
                    self.element.extend(_elements(self.pieces, own, text))


def read_word(content: bytes, name: str) -> OpenDocument:
    """Open a Word document."""
    opened = _opened(content, name)
    found = []
    for element in _paragraphs(opened):
        pieces = _pieces(element)
        found.append(_Paragraph(element, pieces, list(_ranges(pieces))))
    passages = [Wording(tuple(_items(one.pieces, own))) for one in found for own in one.ranges]

    def write(done: Sequence[str]) -> bytes:
        coming = iter(done)
        for paragraph in found:
            paragraph.write([next(coming) for _ in paragraph.ranges])
        written = io.BytesIO()
        opened.save(written)
        return written.getvalue()

    return OpenDocument(passages, write)


def _opened(content: bytes, name: str) -> Any:
    try:
        docx = import_module("docx")
    except ImportError as error:
        raise RegardError(f"{name}: Word documents need python-docx: {install_hint('documents')}") from error
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            size = sum(part.file_size for part in packed.infolist())
        if size > _MOST_BYTES:
            raise RegardError(f"{name}: unpacks to {size >> 20} MB, but at most {_MOST_BYTES >> 20} MB are read")
        return docx.Document(io.BytesIO(content))
    except RegardError:
        raise
    except Exception as error:  # zip, XML and package errors of several libraries
        raise RegardError(f"{name}: not a Word document (.docx) that can be read") from error


def _paragraphs(opened: Any) -> Iterator[Any]:
    """The paragraphs of the main part and of the parts that belong to it, such as headers and footnotes."""
    roots = [opened.element]
    for part in {relation.target_part for relation in opened.part.rels.values() if not relation.is_external}:
        kind = part.content_type.rpartition(".")[2].partition("+")[0]
        if kind in ("header", "footer", "footnotes", "endnotes") and hasattr(part, "element"):
            roots.append(part.element)
    for root in roots:
        yield from list(root.iter(f"{_SPACE}p"))


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _pieces(paragraph: Any) -> list[_Piece]:
    """The content of a paragraph; runs are split so that each holds one text or one other element."""
    pieces: list[_Piece] = []
    for child in list(paragraph):
        kind = _local(child)
        if kind == "r":
            pieces += _of_run(child, "")
        elif kind == "hyperlink":
            inner = [piece for run in list(child) if _local(run) == "r" for piece in _of_run(run, f"{id(child)} ")]
            link = deepcopy(child)
            del link[:]
            for piece in inner:
                around = deepcopy(link)
                around.extend(piece.holders)
                pieces.append(replace(piece, holders=(around,)))
        elif kind != "pPr" and kind not in _DROPPED:
            pieces.append(_Piece((child,), None))
    return _with_fields(pieces)


def _of_run(run: Any, style: str) -> Iterator[_Piece]:
    properties = next((child for child in run if _local(child) == "rPr"), None)
    marks = [] if properties is None else [child for child in properties if _local(child) not in _IGNORED]
    style += "".join(sorted(f"{_local(child)}{sorted(child.attrib.items())}" for child in marks))
    for child in list(run):
        kind = _local(child)
        if kind == "rPr" or kind in _DROPPED:
            continue
        holder = run.makeelement(run.tag, run.attrib, run.nsmap)
        if properties is not None:
            holder.append(deepcopy(properties))
        holder.append(child)
        yield _Piece((holder,), (child.text or "") if kind == "t" else None, style, kind in _SEPARATE)


def _with_fields(pieces: list[_Piece]) -> list[_Piece]:
    """Each field, such as a page number, as one piece; one without an end reaches to the end of the paragraph."""
    found: list[_Piece] = []
    depth = 0
    for piece in pieces:
        inside = depth > 0
        for holder in piece.holders:
            for mark in holder.iter(f"{_SPACE}fldChar"):
                kind = mark.get(f"{_SPACE}fldCharType")
                depth = max(0, depth + (kind == "begin") - (kind == "end"))
        if inside:
            found[-1] = replace(found[-1], holders=found[-1].holders + piece.holders)
        else:
            found.append(piece)
    return found


def _ranges(pieces: list[_Piece]) -> Iterator[range]:
    """The pieces between tabs and line breaks, without other elements at their ends, where there are words."""
    ends = [-1, *(at for at, piece in enumerate(pieces) if piece.separates), len(pieces)]
    for start, end in pairwise(ends):
        told = [at for at in range(start + 1, end) if pieces[at].text]
        if any(re.search(r"\w", pieces[at].text or "") for at in told):
            yield range(told[0], told[-1] + 1)


def _usual(pieces: Sequence[_Piece]) -> str:
    """The format of most letters."""
    letters: dict[str, int] = {}
    for piece in pieces:
        if piece.text is not None:
            letters[piece.style] = letters.get(piece.style, 0) + len(piece.text)
    return max(letters, key=lambda style: letters[style])


def _items(pieces: list[_Piece], own: range) -> Iterator[Inline]:
    """A passage as text with marks; each names the number of its piece."""
    usual = current = _usual([pieces[at] for at in own])
    for at in own:
        piece = pieces[at]
        style = piece.style if piece.text is not None else usual
        if current != usual and style != current:
            yield Mark(_END, "close")
        if style not in (usual, current):
            yield Mark(f"{_SIGN[0]}{at}{_SIGN[1]}", "open")
        current = style
        if piece.text is None:
            yield Mark(f"{_SIGN[0]}{at}{_SIGN[1]}", "single")
        else:
            yield piece.text.translate(dict.fromkeys(map(ord, (*_SIGN, _END))))
    if current != usual:
        yield Mark(_END, "close")


def _elements(pieces: list[_Piece], own: range, text: str) -> Iterator[Any]:
    """The elements of a translated passage, each text in the format of its piece."""
    style = _usual([pieces[at] for at in own])
    usual = next(pieces[at] for at in own if pieces[at].text is not None and pieces[at].style == style)
    current = usual
    for part in re.split(f"({_SIGN[0]}\\d+{_SIGN[1]}|{_END})", text):
        sign = part.strip(_SIGN)
        if part == _END:
            current = usual
        elif part.startswith(_SIGN[0]) and pieces[int(sign)].text is None:
            yield from pieces[int(sign)].holders
        elif part.startswith(_SIGN[0]):
            current = pieces[int(sign)]
        elif part:
            yield _with_text(current.holders[0], part)


def _with_text(holder: Any, text: str) -> Any:
    """A copy of a run, or of the link around it, with another text."""
    copied = deepcopy(holder)
    told = next(copied.iter(f"{_SPACE}t"))
    told.text = text
    told.set(_PRESERVE, "preserve")
    return copied
