"""Files of labeled examples: a label, or several, and one or two texts.

| written as | an example |
|---|---|
| `tsv`, `csv`, `xlsx` | a row with a label and one or two texts; several labels are split at commas |
| `jsonl`, `json` | an object with a label and texts; several labels are a list |
| a folder | a file of text in a folder that is named by its label |

Which columns or keys hold label and texts is told by `keys`, or by `regard.data.label_columns`. Text files may be
gzip-compressed.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from regard.base.errors import ConfigError, RegardError, check_one_of
from regard.base.files import digest, read_text
from regard.base.wording import counted
from regard.data.column_choice import are_labels, name_sides
from regard.data.format import TEXT_FORMATS, Hints
from regard.data.formats.jsonl import Jsonl
from regard.data.inflection_tables import inflection_columns
from regard.data.label_columns import OLD_KEYS, label_columns, named_keys
from regard.data.labels import LabelCount, LabeledExample
from regard.data.recognize import kind_by_name
from regard.data.table import Table, one_line

LabeledFormat = Literal["tsv", "csv", "jsonl", "json", "xlsx"]
LabelKeys = Sequence[int | str]
TEXT_ENDINGS = (".txt", ".text")
_LOOKED_AT = 1_000


def read_labeled(
    path: Path,
    *,
    format: LabeledFormat | None = None,  # noqa: A002 the setting's name
    keys: LabelKeys | None = None,
    labels: LabelCount = "one",
) -> list[LabeledExample]:
    """The examples of a file or folder; the first mistake in it is an error that names its line."""
    if keys is not None and not 2 <= len(keys) <= 3:
        raise ConfigError(f"data.keys: name the label and one or two texts, not {len(keys)} keys")
    found: list[LabeledExample] = []
    for where, number, label, texts in _read(Path(path), format, keys):
        chosen = _labels(label, labels, where)
        if found and len(found[0].texts) != len(texts):
            raise RegardError(f"{where}: has {_counted(len(texts))}, but the lines before have {len(found[0].texts)}")
        found.append(LabeledExample(chosen, texts, number))
    if not found:
        raise RegardError(f"{path}: there are no examples")
    return found


def labeled_format(path: Path) -> LabeledFormat | None:
    """The format of labeled examples that a file's name tells, if it tells one."""
    kind: Any = kind_by_name(Path(path))
    return kind if kind in get_args(LabeledFormat) else None


_Read = tuple[str, int, Any, tuple[str, ...]]


def _read(path: Path, form: LabeledFormat | None, keys: LabelKeys | None) -> Iterator[_Read]:
    """Where each example stands, the number of its line, its label and its texts."""
    if path.is_dir():
        yield from _of_folder(path)
        return
    kind = form or kind_by_name(path)
    if kind is None:
        raise ConfigError(
            f"{path}: is this tsv or jsonl, csv, json or xlsx? the file's name does not tell; set data.format"
        )
    check_one_of("data", get_args(LabeledFormat), format=kind)
    member: Any = TEXT_FORMATS.get(kind)
    if issubclass(member, Table):
        yield from _of_rows(path, member.opening(path, Hints()), keys)
    else:
        yield from _of_objects(path, member(), keys)


def _of_rows(path: Path, table: Table, keys: LabelKeys | None) -> Iterator[_Read]:
    records = [record for record in table.records(path) if any(map(str.strip, record.cells))]
    if not records:
        return
    first = records[0]
    found = label_columns([record.cells for record in records], keys, f"{path}, {table.unit} {first.line}")
    for line, cells in records[found.header :]:
        where = f"{path}, {table.unit} {line}"
        if len(cells) == len(first.cells):
            label, *texts = (cells[at] for at in found.places)
        elif len(first.cells) <= 3 and 2 <= len(cells) <= 3:  # one text in some lines, two in others
            label, *texts = cells
        else:
            raise RegardError(
                f"{where}: must be a label and one or two texts, split at tabs, but has {counted(len(cells), 'column')}"
            )
        yield where, line, label, tuple(texts)


def _of_objects(path: Path, objects: Jsonl, keys: LabelKeys | None) -> Iterator[_Read]:
    names = None if keys is None else [str(key) for key in keys]
    for line, content in objects.records(path):
        if content is None:
            continue
        where = f"{path}, line {line}"
        names = names or list(named_keys(list(content)) or OLD_KEYS)
        missing = next((name for name in names if name not in content), None)
        if missing is not None:
            raise RegardError(f"{where}: must be a JSON object with {', '.join(names)} ('{missing}' is missing)")
        label, *texts = (content[name] for name in names)
        if not all(isinstance(text, str) for text in texts):
            raise RegardError(f"{where}: {' and '.join(names[1:])} must be texts")
        yield where, line, label, tuple(map(one_line, texts))


def tells_labels(path: Path) -> bool:
    """Whether the first rows of a file, or the folders of a folder, say that these are labels and texts."""
    try:
        if path.is_dir():
            return bool(text_files_by_class(path))
        kind = kind_by_name(path) or ""
        if kind not in get_args(LabeledFormat):
            return False
        member: Any = TEXT_FORMATS.get(kind)
        return _rows_tell(path, member) if issubclass(member, Table) else _objects_tell(path, member())
    except RegardError:  # whatever it is, another task says it
        return False


def _rows_tell(path: Path, member: type[Table]) -> bool:
    records = islice(member.opening(path, Hints()).records(path), _LOOKED_AT)
    rows = [record.cells for record in records if any(map(str.strip, record.cells))]
    if len(rows) < 2 or inflection_columns(rows[1:]) is not None:
        return False
    found, names = label_columns(rows, None, str(path)), [cell.strip() for cell in rows[0]]
    named = found.header and named_keys(names) is not None
    if found.header and not named and name_sides(names):
        return False
    own = [row[found.places[0]] for row in rows[found.header :] if len(row) == len(rows[0])]
    return len(set(own)) > 1 and (are_labels(own) or (named and len(set(own)) <= len(own) // 2))


def _objects_tell(path: Path, objects: Jsonl) -> bool:
    some = [content for _, content in islice(objects.records(path), _LOOKED_AT) if content is not None]
    keys = named_keys(list(some[0])) if some else None
    if keys is None:
        return False
    values = [content.get(keys[0]) for content in some]
    if any(isinstance(value, list) for value in values):
        return True
    return 1 < len(set(map(str, values))) <= max(2, len(values) // 2)


def labels_in(path: Path) -> LabelCount:
    """Whether an example has one label or, where JSON has lists of them, several."""
    if path.is_dir() or kind_by_name(path) not in ("json", "jsonl"):
        return "one"
    objects: Any = TEXT_FORMATS.get(str(kind_by_name(path)))
    some = [content for _, content in islice(objects().records(path), _LOOKED_AT) if content is not None]
    keys = named_keys(list(some[0])) if some else None
    return "several" if keys and any(isinstance(content.get(keys[0]), list) for content in some) else "one"


def labeled_digest(path: Path) -> str:
    """The hash of a file of examples, or of all files of a folder."""
    if not path.is_dir():
        return digest(path)
    told = "".join(f"{file.relative_to(path)} {digest(file)}\n" for file in text_files_by_class(path))
    return hashlib.sha256(told.encode()).hexdigest()


def text_files_by_class(folder: Path) -> list[Path]:
    """The text files in folders that are named by their label, in order."""
    below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [file for label in below for file in sorted(label.iterdir()) if file.suffix.lower() in TEXT_ENDINGS]


def _of_folder(folder: Path) -> Iterator[_Read]:
    files = text_files_by_class(folder)
    if not files:
        raise RegardError(f"{folder}: must hold a folder of .txt files for each label, but holds none")
    for number, file in enumerate(files, start=1):
        yield str(file), number, file.parent.name, (" ".join(read_text(file).split()),)


def _labels(label: Any, count: LabelCount, where: str) -> tuple[str, ...]:
    if count == "several":
        parts = label if isinstance(label, list) else str(label).split(",")
        return tuple(dict.fromkeys(stripped for part in parts if (stripped := str(part).strip())))
    if isinstance(label, list | dict) or not str(label).strip():
        raise RegardError(f'{where}: must have one label; set data.labels = "several" if there may be more or none')
    return (str(label).strip(),)


def _counted(texts: int) -> str:
    return "one text" if texts == 1 else f"{texts} texts"
