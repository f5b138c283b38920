"""How files are to be read, told by their content as much as by their names."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice, takewhile
from pathlib import Path

from regard.base.errors import UsageError
from regard.base.files import unreadable
from regard.base.unpacking import PACKED, archive_names, opened
from regard.base.wording import counted
from regard.data.format import TEXT_FORMATS, Doubt, Format, Hints, Recognized
from regard.data.formats.csv import DELIMITERS, even_delimiter
from regard.data.formats.jsonl import Jsonl
from regard.data.formats.marked import dash_of, marks_of
from regard.data.formats.text import Text
from regard.data.formats.tsv import Tsv
from regard.data.languages import language_in, language_of
from regard.data.table import MOST_TITLES, table_lines

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_LOOKED_AT = 1_000
_SOME_TABS = 0.1
_SUFFIXES = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".tmx": "tmx",
    ".xlsx": "xlsx",
    ".xls": "xlsx",
    ".ods": "xlsx",
}
_NO_LINES = {
    ".srt": "a subtitle file",
    ".vtt": "a subtitle file",
    ".po": "a message catalog",
    ".pot": "a message catalog",
    ".xliff": "an XLIFF file",
    ".xlf": "an XLIFF file",
    ".docx": "a document",
    ".pdf": "a document",
    ".html": "a web page",
    ".htm": "a web page",
    ".sgm": "a test set with markup",
    ".sgml": "a test set with markup",
    ".parquet": "a Parquet file",
}
"""files that hold text, but not line by line"""
_HOLDING = {"jsonl": "JSON", "json": "JSON", "tmx": "a translation memory", "xlsx": "a spreadsheet"}


def recognize(files: Sequence[Path], hints: Hints | None = None, name: str | None = None) -> Recognized:
    """The format of one or two files (`name` says which, if it is known), with its settings and languages.

    Two files are parallel text. Of one file, the content decides before its name.
    """
    known = hints or Hints()
    odd = next((file for file in files if _suffix(file) in _NO_LINES), None)
    if odd is not None and name is None:
        what = _NO_LINES[_suffix(odd)]
        raise UsageError(
            f"{odd}: is {what}, not lines of text; write its pairs into two text files, a table or JSON lines"
        )
    if len(files) == 2:
        return _parallel(files, known)
    kind = name or _kind(files[0], known)
    member: type[Format] = TEXT_FORMATS.get(kind, "--format")
    return member.recognize(files[0], known)


def not_in_lines(file: Path) -> str | None:
    """What a file is whose lines are no sentences, by its name: `an XLIFF file`, `a table`; None for plain text."""
    kind = kind_by_name(file)
    return _NO_LINES.get(_suffix(file)) or (None if kind is None else _HOLDING.get(kind, "a table"))


def format_by_name(files: Sequence[Path]) -> Format | None:
    """The format that the names alone tell, without looking at the content; None if they do not tell enough."""
    if len(files) == 2:
        return Text()
    return {"tsv": Tsv(), "jsonl": Jsonl()}.get(kind_by_name(files[0]) or "")


def kind_by_name(file: Path) -> str | None:
    """The name of the format that a file's ending stands for; None for plain text."""
    return _SUFFIXES.get(_suffix(file))


def _parallel(files: Sequence[Path], hints: Hints) -> Recognized:
    tables = [file for file in files if kind_by_name(file) is not None]
    if len(tables) == 2:
        if any(file.name == "edges.tsv" for file in tables):
            raise UsageError(f"{tables[0]}: a graph is the folder that holds its files; give that: {tables[0].parent}")
        raise UsageError(
            f"{tables[0]} and {tables[1]}: each holds both sides; give one of them, and the other after --dev or --test"
        )
    source, target = (language_of(file) for file in files)
    return Recognized(format=Text(), source=hints.source or source, target=hints.target or target)


def _kind(file: Path, hints: Hints) -> str:
    """The name of a file's format."""
    binary = _binary(file)
    if binary is not None:
        return binary
    lines = [line for line in islice(table_lines(file), _LOOKED_AT) if line.strip()]
    first = lines[0].lstrip() if lines else ""
    by_name = kind_by_name(file)
    if not first:
        return by_name or "text"
    if by_name in ("tmx", "xlsx") or re.match(r"<(\?xml|tmx|!DOCTYPE tmx)\b", first):
        return "tmx" if by_name != "xlsx" else "xlsx"
    if first[0] == "{" and (by_name in ("json", "jsonl") or re.match(r'\{\s*"', first)):
        return "jsonl"
    if by_name in ("json", "jsonl"):
        return by_name
    if first[0] == "[" and re.match(r"\[\s*\{\s*\"|\[\s*$", first) and "{" in "".join(lines[:2]):
        return "json"
    if by_name == "csv" and all("\t" in line for line in lines) and not _quoted(lines):
        return "tsv"
    if by_name == "csv" or hints.delimiter not in (None, "\t"):
        return "csv"
    return _tabbed(file, lines, by_name, hints)


def _tabbed(file: Path, lines: Sequence[str], by_name: str | None, hints: Hints) -> str:
    """Whether lines are rows of a table or sentences of a text."""
    counts = Counter(line.count("\t") for line in lines)
    share = 1 - counts[0] / len(lines)
    above = sum(1 for _ in takewhile(lambda line: "\t" not in line, lines))
    titled = above <= MOST_TITLES and counts[0] == above < len(lines) - above
    if by_name == "tsv" or (titled and len(counts) == 1 + bool(above)):
        return "csv" if _quoted(lines[above:]) else "tsv"
    if share >= _SOME_TABS:
        usual = counts.most_common(1)[0][0]
        odd = next(line for line in lines if line.count("\t") != usual)
        tabs = f"most lines have {counted(usual, 'tab')}, but others {odd.count(chr(9))}"
        raise Doubt(
            f"{file}: {tabs}, as in “{odd[:40].strip()}”: a table or plain text?", "--format", "tsv or --format text"
        )
    names = re.split("[,;]", lines[0])
    if len(names) >= 2 and len(lines) > 1 and sum(language_in(name.strip('" ')) is not None for name in names) >= 2:
        return "csv"
    if marks_of(lines) is not None:
        return "marked"
    even, dash = even_delimiter(file), dash_of(lines)
    if even is not None or dash is not None:
        mark, way = (DELIMITERS[even], "csv") if even else (str(dash).strip(), "marked")
        raise Doubt(f"{file}: a {mark} parts every line: pairs or plain text?", "--format", f"{way} or --format text")
    if hints.columns is not None:
        raise UsageError(f"{file}: has no columns: its lines have neither tabs nor a header")
    return "text"


def _quoted(lines: Sequence[str]) -> bool:
    """Whether cells between tabs are put in quotes: all of them, or those with quotes, which are doubled."""
    cells = [cell for line in lines for cell in line.split("\t")]
    marked = [cell for cell in cells if cell.startswith('"')]
    sound = all(re.fullmatch(r'"(?:[^"]|"")*"', cell) for cell in marked)
    return bool(marked) and sound and (len(marked) == len(cells) or any('""' in cell[1:-1] for cell in marked))


def _binary(file: Path) -> str | None:
    """The format of a file that is no text."""
    if file.is_dir():
        raise UsageError(f"{file}: is a folder; regard init finds the files in it, other commands want files")
    try:
        with opened(file) as raw:
            start = raw.read(4)
    except OSError as error:
        raise unreadable(file, error) from error
    if start == _OLE:
        return "xlsx"
    if start != _ZIP:
        return None
    names = archive_names(file)
    if any(name.startswith("xl/") for name in names) or "content.xml" in names:
        return "xlsx"
    shown = ", ".join(f"{file / name}" for name in names[:3])
    raise UsageError(f"{file}: is an archive; name the files in it: {shown}{' …' if len(names) > 3 else ''}")


def _suffix(file: Path) -> str:
    suffixes = [suffix for suffix in file.suffixes if suffix not in PACKED]
    return suffixes[-1].lower() if suffixes else ""
