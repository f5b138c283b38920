"""JSON lines: an object a line, with a text for each side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from regard.base.errors import ConfigError, RegardError
from regard.base.files import read_lines
from regard.base.wording import counted
from regard.data.column_choice import are_codes, heads_numbers, named_sides
from regard.data.format import SIDES, Doubt, Format, Hints, Recognized, TextRow
from regard.data.languages import language_in, language_pair
from regard.data.table import one_line

_LOOKED_AT = 100
_MANY = 8
"""texts of an object beyond which not all are shown"""
SHAPE = '{"en": …, "de": …}'
_KINDS = {bool: "a truth value", int: "a number", float: "a number", list: "a list", dict: "an object"}
_ONE_SIDE = ("text", "sentence", "content")


@dataclass(frozen=True)
class Jsonl(Format):
    """Keys name the texts; a dot leads into an object, as in `{"translation": {"en": …, "de": …}}`: translation.en."""

    keys: tuple[str, ...] = SIDES
    """of source and target, or one for a language model"""

    def __post_init__(self) -> None:
        if not 1 <= len(self.keys) <= 2:
            raise ConfigError(f"keys: one or two names are wanted, not {len(self.keys)}")
        if len(set(self.keys)) < len(self.keys):
            raise ConfigError(f"keys: {self.keys[0]} is given twice; source and target have different keys")

    def sides(self, files: Sequence[Path]) -> int:
        return len(self.keys)

    def rows(self, files: Sequence[Path]) -> Iterator[TextRow]:
        for line, record in self.records(files[0]):
            texts = tuple(_text(files[0], line, record, key) for key in self.keys) if record else ("",) * len(self.keys)
            yield TextRow(line, texts)

    def records(self, file: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
        """The objects with the lines where they begin; None for a blank line."""
        decoder = msgspec.json.Decoder(dict)
        for number, line in enumerate(read_lines(file), start=1):
            if not line.strip():
                yield number, None
                continue
            try:
                yield number, decoder.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                raise RegardError(f"{file}, line {number}: not a JSON object: {_cause(line, error)}") from error

    def words(self) -> str:
        return f"JSON lines, key{'s' if len(self.keys) == 2 else ''} {' and '.join(self.keys)}"

    def place(self, files: Sequence[Path], line: int, side: int) -> str:
        return f"{files[0]}, line {line}, {self.keys[side]}"

    def key(self) -> list[str]:
        return ["jsonl", *self.keys]

    @classmethod
    def recognize(cls, file: Path, hints: Hints) -> Recognized:
        records = [record for _, record in islice(cls().records(file), _LOOKED_AT) if record]
        if not records:
            raise RegardError(f"{file}: the file holds no JSON object")
        keys = _keys(file, records, hints)
        unread = len({path for record in records for path in _paths(record)} - set(keys))
        languages = [language_in(key.rpartition(".")[2]) or language_in(key) for key in keys]
        if len(keys) == 2 and None in languages:
            languages = list(language_pair(file) or (None, None))
        document = next((key for key in records[0] if key in ("doc", "document", "doc_id", "document_id")), None)
        return Recognized(
            format=cls(keys=keys),
            source=hints.source or languages[0],
            target=hints.target or languages[1] if len(keys) == 2 else None,
            document=document if document and all(isinstance(one.get(document), str) for one in records) else None,
            besides=f", {counted(unread, 'other text')} not read" if unread else "",
        )


def _text(file: Path, line: int, record: Mapping[str, Any], key: str) -> str:
    if key in record:
        value = record[key]
    else:
        value = record
        for part in key.split("."):
            if not isinstance(value, Mapping) or part not in value:
                there = ", ".join(sorted(record))
                raise RegardError(f"{file}, line {line}: '{key}' must be a text, but is missing from {there}")
            value = value[part]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RegardError(f"{file}, line {line}: '{key}' must be a text, but is {_KINDS[type(value)]}")
    return one_line(value)


def _cause(line: str, error: Exception) -> str:
    """What is wrong with a line; the library's words, unless the object goes on in the next line."""
    if "truncated" in str(error) and line.lstrip().startswith("{"):
        return "it does not end on its line, as each object of JSON lines does"
    if line.lstrip().startswith("["):
        return f"an object for each pair is wanted, such as {SHAPE}"
    return str(error)


def _keys(file: Path, records: Sequence[Mapping[str, Any]], hints: Hints) -> tuple[str, ...]:
    """The keys of source and target in the first objects."""
    if hints.columns is not None:
        keys = tuple(map(str, hints.columns))
        for key in keys:
            _text(file, 1, records[0], key)
        return keys
    texts = list(dict.fromkeys(path for record in records for path in _paths(record)))
    named = {path: code for path in texts if (code := language_in(path.rpartition(".")[2]))}
    numbers = {
        path for path in texts if heads_numbers(path, [str(record.get(path, "")) for record in records], len(named))
    }
    filled = {path: [text for record in records if (text := _text_at(record, path).strip())] for path in texts}
    texts = [path for path in texts if path not in numbers and filled[path] and not are_codes(filled[path])]
    languages = {path: code for path, code in named.items() if path in texts}
    if hints.source and hints.target:
        wanted = [[path for path, code in languages.items() if code == one] for one in (hints.source, hints.target)]
        if all(wanted):
            return wanted[0][0], wanted[1][0]
    sides = named_sides([path.rpartition(".")[2] for path in texts])
    if sides is not None and all(2 * len(filled[texts[at]]) > len(records) for at in sides):
        return texts[sides[0]], texts[sides[1]]
    if len(texts) < 2 and texts[:1] in (["source"], ["target"]):
        return SIDES
    found = list(languages) if len(languages) == 2 else texts
    if len(found) == 2:
        return found[0], found[1]
    alone = [key for key in _ONE_SIDE if key in found]
    if len(found) == 1 and alone:
        return (alone[0],)
    if len(records) == 1 and (not texts or len(texts) > _MANY):
        raise RegardError(
            f"{file}: is one JSON object for all texts; an object for each pair is wanted, such as {SHAPE}"
        )
    chats = [key for key, value in records[0].items() if isinstance(value, list) and value and _are_objects(value)]
    if not texts and chats:
        problem = f"{file}: '{chats[0]}' is a list of objects, as of a chat"
        raise RegardError(f"{problem}; an object for each pair is wanted, such as {SHAPE}")
    if not texts and any(isinstance(value, list) for value in records[0].values()):
        raise RegardError(
            f"{file}: holds lists, but no texts; a set has the keys elements and target, a problem of pointing points "
            f"and answer, and this has {', '.join(records[0])}"
        )
    example = ",".join([*languages, *texts][:2]) or "source,target"
    shown = ", ".join(texts[:_MANY]) + (" …" if len(texts) > _MANY else "") or "none"
    raise Doubt(f"{file}: its texts ({shown}) do not tell which are source and target", "--columns", example)


def _are_objects(value: Sequence[Any]) -> bool:
    return all(isinstance(one, Mapping) for one in value)


def _text_at(record: Mapping[str, Any], path: str) -> str:
    """The text at a path of `_paths`; empty where this object has none."""
    outer, _, inner = path.partition(".")
    value = record.get(path, record[outer].get(inner) if isinstance(record.get(outer), Mapping) else None)
    return value if isinstance(value, str) else ""


def _paths(record: Mapping[str, Any]) -> Iterator[str]:
    """The keys of all texts, one level deep: `text`, `translation.en`."""
    for key, value in record.items():
        if isinstance(value, str):
            yield key
        elif isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner, text in value.items() if isinstance(text, str))
