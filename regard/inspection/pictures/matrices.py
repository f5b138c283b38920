"""Reads attention matrices from files: JSON or safetensors."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from regard.base.errors import UsageError, unknown

_Tokens = tuple[str, ...] | None
Found = tuple[NDArray[np.float64], _Tokens, _Tokens]


@dataclass(frozen=True, eq=False)
class WeightMatrix:
    """Weights, [query, key], and the tokens of both sides where they are known."""

    where: str
    weights: NDArray[np.float64]
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        height, width = self.weights.shape
        for kind, tokens, size in (("rows", self.rows, height), ("columns", self.columns, width)):
            if tokens is not None and len(tokens) != size:
                raise UsageError(
                    f"{self.where}: the matrix has {size} {kind}, but there are {len(tokens)} tokens for them"
                )

    def named(self, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> "WeightMatrix":
        """The matrix with other tokens, if any are given."""
        return replace(
            self,
            rows=self.rows if rows is None else tuple(rows),
            columns=self.columns if columns is None else tuple(columns),
        )


def read_matrix(path: Path, *, name: str | None = None, index: Sequence[int] = ()) -> WeightMatrix:
    """The matrix in a file; the suffix decides the format.

    `name` is the tensor's in a file that holds several; `index` picks one matrix of an array with more than two axes.
    """
    kind = path.suffix.lower()
    readers: dict[str, Callable[[Path], Found]] = {
        ".json": _read_json,
        ".safetensors": partial(_read_safetensors, name=name),
    }
    if kind not in readers:
        raise UsageError(f"{path}: cannot read a matrix from '{kind}'; known endings are {', '.join(readers)}")
    if path.is_dir():
        raise UsageError(f"{path}: is a folder, not a file")
    if not path.exists():
        raise UsageError(f"{path}: there is no such file")
    if path.stat().st_size == 0:
        raise UsageError(f"{path}: the file is empty")
    if name is not None and kind != ".safetensors":
        raise UsageError(f"{path}: only a .safetensors file has names; leave out --name")
    values, rows, columns = readers[kind](path)
    return WeightMatrix(str(path), _pick(path, values, index), rows, columns)


def _pick(path: Path, values: NDArray[np.float64], index: Sequence[int]) -> NDArray[np.float64]:
    """One matrix of an array: leading axes of size 1 need no index."""
    shape = list(values.shape)
    try:
        values = values[tuple(index)]
    except IndexError as error:
        raise UsageError(f"{path}: --index {','.join(map(str, index))} is outside of the shape {shape}") from error
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    if values.ndim > 2:
        example = ",".join("0" for _ in range(values.ndim - 2))
        raise UsageError(f"{path}: has the shape {shape}, not that of one matrix; choose one: --index {example}")
    if values.ndim < 2 or 0 in values.shape:
        raise UsageError(f"{path}: must hold a matrix, [query, key], but what is asked for has {list(values.shape)}")
    odd = np.argwhere(~np.isfinite(values))
    if len(odd):
        row, column = odd[0] + 1
        raise UsageError(f"{path}: row {row}, column {column} is not a finite number")
    return values


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error


def _read_json(path: Path) -> Found:
    text = _text(path)
    if not text.strip():
        raise UsageError(f"{path}: the file is empty")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}: line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: lists in lists, too deep to be a matrix") from error
    table = found if isinstance(found, dict) else {"weights": found}
    if "weights" not in table:
        raise UsageError(f"{path}: has no 'weights'; its keys are: {', '.join(map(str, table)) or 'none'}")
    return _numbers(path, table["weights"]), _tokens(path, table, "rows"), _tokens(path, table, "columns")


def _tokens(path: Path, table: dict[str, Any], kind: str) -> _Tokens:
    tokens = table.get(kind)
    if tokens is None:
        return None
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise UsageError(f'{path}: {kind} must be a list of texts, as in ["the", "cat"]')
    return tuple(tokens)


def _numbers(path: Path, rows: Any) -> NDArray[np.float64]:
    """Lists of numbers, row by row, all of one length."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise UsageError(f"{path}: weights must be a list of rows, each a list of numbers")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise UsageError(f"{path}: row {number} has {len(row)} numbers, but row 1 has {len(rows[0])}")
        for place, cell in enumerate(row, start=1):
            if isinstance(cell, bool) or not isinstance(cell, int | float):
                raise UsageError(f"{path}: row {number}, column {place}: {_shown(cell)} is not a number")
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError as error:
        raise UsageError(f"{path}: holds a number too large to be drawn") from error


def _shown(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _read_safetensors(path: Path, name: str | None) -> Found:
    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            if name is None and len(names) != 1:
                raise UsageError(f"{path}: choose a tensor with --name; there are: {', '.join(names) or 'none'}")
            if name is not None and name not in names:
                raise UsageError(unknown(str(path), name, names, "tensors"))
            tensor = file.get_tensor(name or names[0])
    except SafetensorError as error:
        raise UsageError(f"{path}: not a safetensors file: {error}") from error
    return tensor.double().numpy(), None, None
