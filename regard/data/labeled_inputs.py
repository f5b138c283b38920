"""Inputs of an encoder with their labels: what probes and reports look at.

| given as | the inputs |
|---|---|
| `.tsv`, `.jsonl` | texts, each with a label; see `regard.data.labels` |
| a text, and a file of labels | the lines of both, one beside the other |
| a folder of folders | the files in each, whose folder is their label |
| `.npz` | `inputs` (numbers, or names of files), `labels`, and `factors` and `factor_names`, where they are known |
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError, UsageError
from regard.base.files import read_lines
from regard.data.labeled_files import read_labeled

_TABLES = (".tsv", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class LabeledInputs:
    """Inputs, a label for each, and the factors that they were made from, where they are known."""

    inputs: Any
    """texts, pairs of texts, names of files, or an array of numbers, [examples, …]"""
    labels: tuple[str, ...]
    factors: NDArray[np.int64] | None = None
    factor_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.labels)

    @property
    def are_texts(self) -> bool:
        """Whether the inputs are texts rather than numbers or files."""
        return not isinstance(self.inputs, np.ndarray) and not all(isinstance(one, Path) for one in self.inputs)

    def pick(self, rows: Any) -> "LabeledInputs":
        """Some of the examples."""
        numbers = np.asarray(rows, dtype=np.int64)
        inputs = self.inputs[numbers] if isinstance(self.inputs, np.ndarray) else [self.inputs[at] for at in numbers]
        factors = None if self.factors is None else self.factors[numbers]
        return replace(self, inputs=inputs, labels=tuple(self.labels[at] for at in numbers), factors=factors)

    def shown(self, at: int) -> str:
        """An input in words."""
        one = self.inputs[at]
        if isinstance(one, Path):
            return f"{one.parent.name}/{one.name}"
        if isinstance(one, np.ndarray | np.number):
            return f"{self.labels[at]}, example {at + 1}"
        return one if isinstance(one, str) else " | ".join(one)


def read_inputs(path: Path, labels: Path | None = None) -> LabeledInputs:
    """The examples of a file or folder, with labels of their own or those of another file."""
    path = Path(path)
    if labels is not None:
        lines, own = list(read_lines(path)), [line.strip() for line in read_lines(labels)]
        if len(lines) != len(own):
            raise RegardError(f"{labels}: has {len(own):,} labels, but {path} has {len(lines):,} lines")
        return LabeledInputs(lines, tuple(own))
    if path.is_dir():
        return _of_folders(path)
    if path.suffix == ".npz":
        return _of_arrays(path)
    if not any(suffix in _TABLES for suffix in path.suffixes):
        raise UsageError(
            f"{path}: there are no labels in it; give a .tsv of label and text, .jsonl, .npz, a folder of folders, or "
            "the labels of its lines with --labels"
        )
    examples = read_labeled(path)
    texts = [one.texts[0] if len(one.texts) == 1 else one.texts for one in examples]
    return LabeledInputs(texts, tuple(one.labels[0] for one in examples))


def held_out(labels: Sequence[Any], share: float = 0.2, seed: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of examples to learn from and to test on, a share of each class; a class of one is learned from."""
    order = np.random.default_rng(seed).permutation(len(labels))
    own = np.asarray([str(label) for label in labels])
    test = []
    for one in np.unique(own):
        rows = order[own[order] == one]
        test.extend(rows[: round(share * len(rows)) if len(rows) > 1 else 0].tolist())
    chosen = np.isin(np.arange(len(own)), test)
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def _of_folders(path: Path) -> LabeledInputs:
    files = [file for folder in sorted(path.iterdir()) if folder.is_dir() for file in sorted(folder.iterdir())]
    files = [file for file in files if file.is_file() and not file.name.startswith(".")]
    if not files:
        raise RegardError(f"{path}: must hold a folder of files for each label, but holds none")
    return LabeledInputs(files, tuple(file.parent.name for file in files))


def _of_arrays(path: Path) -> LabeledInputs:
    try:
        with np.load(path, allow_pickle=False) as content:
            found = {name: content[name] for name in content.files}
    except (OSError, ValueError, EOFError) as error:
        raise RegardError(f"{path}: cannot be read as arrays: {error}") from error
    if "inputs" not in found or not {"labels", "factors"} & found.keys():
        raise RegardError(
            f"{path}: must hold 'inputs', and 'labels' or 'factors', but holds {', '.join(found) or 'nothing'}"
        )
    inputs, factors = found["inputs"], found.get("factors")
    labels = found["labels"] if "labels" in found else found["factors"][:, 0]
    for name, other in (("labels", labels), ("factors", factors)):
        if other is not None and len(other) != len(inputs):
            raise RegardError(f"{path}: has {len(other):,} {name}, but {len(inputs):,} inputs")
    given: Any = [str(one) for one in inputs] if inputs.dtype.kind in "US" else inputs
    names = tuple(map(str, found.get("factor_names", ())))
    if factors is not None and not np.issubdtype(factors.dtype, np.integer):
        raise RegardError(f"{path}: 'factors' must be whole numbers, [examples, factors]")
    return LabeledInputs(given, tuple(map(str, labels)), None if factors is None else factors.astype(np.int64), names)
