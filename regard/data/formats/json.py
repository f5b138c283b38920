"""A JSON array of objects, with a text for each side."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.base.errors import RegardError
from regard.base.files import LONGEST_LINE, read_pieces
from regard.data.formats.jsonl import SHAPE, Jsonl

_BETWEEN = re.compile(r"[\s,]*")


@dataclass(frozen=True)
class Json(Jsonl):
    """`[{"en": …, "de": …}, …]`, read object by object; keys are those of JSON lines."""

    def records(self, file: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
        decode, rest, line, begun = json.JSONDecoder().raw_decode, "", 1, False
        for piece in read_pieces(file):
            rest, at = rest + piece, 0
            while True:
                after = _end(_BETWEEN, rest, at)
                line, at = line + rest.count("\n", at, after), after
                if at == len(rest):
                    break
                if not begun:
                    begun, at = _begin(file, line, rest, at), at + 1
                    continue
                if rest[at] == "]":
                    return
                try:
                    value, after = decode(rest, at)
                except (json.JSONDecodeError, RecursionError) as error:
                    if piece and len(rest) - at < LONGEST_LINE:
                        break  # the object goes on in the next piece
                    raise RegardError(f"{file}, line {line}: not a JSON object: {error}") from error
                if not isinstance(value, dict):
                    found = f"not a JSON object: {rest[at:after][:40]}"
                    raise RegardError(f"{file}, line {line}: {found}; an object for each pair is wanted: {SHAPE}")
                yield line, value
                line, at = line + rest.count("\n", at, after), after
            rest = rest[at:]
        raise RegardError(f"{file}, line {line}: the JSON array that begins the file does not end")

    def words(self) -> str:
        return super().words().replace("JSON lines", "JSON array")

    def key(self) -> list[str]:
        return ["json", *self.keys]


def _end(pattern: "re.Pattern[str]", text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _begin(file: Path, line: int, text: str, at: int) -> bool:
    if text[at] != "[":
        raise RegardError(f"{file}, line {line}: an array of objects is wanted: [{{…}}, …]")
    return True
