"""Rows of vectors as people bring them: JSON lines, with the vectors of an example as a list of lists of numbers.

    {"points": [[0.1, 0.7], [0.4, 0.2], …], "answer": [1, 0, …]}
    {"elements": [[3.2], [9.1]], "target": 9.1}

A list of plain numbers stands for vectors of one number.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.data.formats.jsonl import Jsonl
from regard.data.pointing import PointingRule

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
Vectors = NDArray[np.float64]
"""[size, width]"""


def vectors_in(content: Any, where: str, width: int | None = None) -> Vectors:
    """The vectors of a JSON list; all must have one width, which is `width` where that is known."""
    if not isinstance(content, list):
        raise RegardError(f"{where}: must be a list of vectors, but is {_shown(content)}")
    rows = [row if isinstance(row, list) else [row] for row in content]
    for at, row in enumerate(rows):
        wanted = len(rows[0]) if width is None else width
        if not row or not all(isinstance(number, int | float) and not isinstance(number, bool) for number in row):
            raise RegardError(f"{where}: vector {at} must be numbers, but is {_shown(content[at])}")
        if len(row) != wanted:
            raise RegardError(f"{where}: vector {at} has {len(row)} numbers, but {wanted} are expected")
        if not all(fits_float32(number) for number in row):
            raise RegardError(
                f"{where}: vector {at} has a number that is none of float32, whose largest is {LARGEST_FLOAT32:.1e}"
            )
    return np.array(rows, dtype=np.float64).reshape(len(rows), -1 if rows else width or 0)


def fits_float32(number: float) -> bool:
    """Whether a number is finite as float32, in which models compute."""
    return abs(number) <= LARGEST_FLOAT32


def objects_in(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a file of JSON lines, each with its place; blank lines are skipped."""
    for line, record in Jsonl().records(path):
        if record is not None:
            yield f"{path}, line {line}", record


def object_in(text: str, where: str) -> Mapping[str, Any]:
    """The object of one line."""
    try:
        return msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RegardError(f"{where}: not a JSON object: {error}") from error


def member_of(record: Mapping[str, Any], key: str, where: str) -> Any:
    """An entry of an object."""
    if key not in record:
        raise RegardError(f"{where}: has no '{key}'; it has: {', '.join(record) or 'nothing'}")
    return record[key]


def holds_objects_with(files: Sequence[Path], *keys: str) -> bool:
    """Whether the first lines of the files are JSON objects that have these keys."""
    try:
        first = [record for file in files for _, record in islice(objects_in(file), 1)]
    except RegardError:
        return False
    return bool(first) and all(set(keys) <= record.keys() for record in first)


def read_points(path: Path, rule: PointingRule, width: int | None = None) -> list[tuple[Vectors, list[int]]]:
    """The points and answers of a file of JSON lines; the first mistake in it is an error that names its line."""
    found: list[tuple[Vectors, list[int]]] = []
    for where, record in objects_in(path):
        points = points_in(record, where, width if width is not None else found[0][0].shape[1] if found else None)
        answer = member_of(record, "answer", where)
        if not isinstance(answer, list) or not all(type(at) is int for at in answer):
            raise RegardError(f"{where}: the answer must be a list of positions, but is {_shown(answer)}")
        complaint = rule.complaint(answer, len(points))
        if complaint is not None:
            raise RegardError(f"{where}: the answer {complaint}")
        found.append((points, answer))
    if not found:
        raise RegardError(f"{path}: there are no examples")
    return found


def points_in(record: Mapping[str, Any], where: str, width: int | None = None) -> Vectors:
    """The points of an object; there must be one at least."""
    points = vectors_in(member_of(record, "points", where), where, width)
    if not len(points):
        raise RegardError(f"{where}: there are no points to choose from")
    return points


def _shown(content: Any) -> str:
    text = msgspec.json.encode(content).decode()
    return text if len(text) <= 60 else f"{text[:57]}…"
