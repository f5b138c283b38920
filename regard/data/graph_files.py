"""Graphs as people keep them: a folder of tab-separated files, or one `.npz` file.

A folder holds

    edges.tsv       from, to: the names or numbers of two nodes in a line
    features.tsv    a node and its features, `word` or `word:2.5`, in a line; or features.npy, a row for each node
    labels.tsv      a node and its class; nodes may be missing
    split.tsv       a node and `train`, `dev` or `test`; may be missing

An `.npz` file holds `edges`, `labels`, the node numbers of `train`, `valid` (or `dev`) and `test`, and the features,
dense (`features`) or as sparse rows (`feature_indptr`, `feature_indices`, `feature_values`, `feature_shape`). Nothing
pickled is read: Planetoid's own files, which are pickled, have to be saved as `.npz` first.
"""

import hashlib
import math
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import read_lines
from regard.data.vector_files import LARGEST_FLOAT32, fits_float32

_SPLITS = {"train": "train", "dev": "dev", "valid": "dev", "val": "dev", "validation": "dev", "test": "test"}
_SPARSE = ("feature_indptr", "feature_indices", "feature_values", "feature_shape")


@dataclass(frozen=True)
class GraphFile:
    """What a graph's files hold, by name: nothing is numbered yet that has a name."""

    nodes: tuple[str, ...]
    edges: Tensor
    """(from, to) as numbers of nodes, [2, edges], as given"""
    features: Tensor
    """[nodes, features], dense or CSR"""
    feature_names: tuple[str, ...]
    """empty where features have numbers only"""
    labels: tuple[str | None, ...]
    """the class of each node; None where it is unknown"""
    split: Mapping[str, Tensor]
    """the numbers of the nodes of `train`, `dev` and `test`; empty where the files do not tell"""

    @property
    def fingerprint(self) -> str:
        """Tells whether another file has the same nodes, in the same order, with the same edges."""
        return hashlib.sha256("\n".join(self.nodes).encode() + self.edges.numpy().tobytes()).hexdigest()

    def held_out(self, share: float) -> Bool[Tensor, "nodes"]:
        """Whether each node is held out: about this share of every class but not all of it, always the same nodes."""
        order = sorted(range(len(self.nodes)), key=lambda node: hashlib.sha256(self.nodes[node].encode()).digest())
        left = {name: min(count - 1, math.floor(share * count + 0.5)) for name, count in Counter(self.labels).items()}
        held = torch.zeros(len(self.nodes), dtype=torch.bool)
        for node in order:
            name = self.labels[node]
            if name is not None and left[name] > 0:
                left[name] -= 1
                held[node] = True
        return held


def read_graph(path: Path, feature_names: tuple[str, ...] = ()) -> GraphFile:
    """Read a graph; with `feature_names`, those of a trained model, features are put in its order."""
    if path.is_dir():
        return _folder(path, feature_names)
    if not path.exists():
        raise RegardError(f"{path}: there is no such file or folder")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return _arrays(path, {name: arrays[name] for name in arrays.files})
    except (ValueError, OSError, zipfile.BadZipFile, KeyError, EOFError) as error:
        raise RegardError(
            f"{path}: not a graph: a folder with edges.tsv, or an .npz file of plain arrays, is expected ({error})"
        ) from error


def looks_like_graph(path: Path) -> bool:
    """Whether the path is a graph, judged by names alone."""
    if path.is_dir():
        return (path / "edges.tsv").exists()
    if path.suffix != ".npz" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        held = set(archive.namelist())
        return "edges.npy" in held and not held.isdisjoint({"labels.npy", "features.npy", "feature_indptr.npy"})


def _arrays(path: Path, arrays: Mapping[str, Any]) -> GraphFile:
    for name in ("edges", "labels"):
        if name not in arrays:
            raise RegardError(f"{path}: has no array '{name}'; it has: {', '.join(arrays) or 'none'}")
    labels, edges = arrays["labels"], arrays["edges"]
    if labels.ndim != 1 or edges.ndim != 2 or 2 not in edges.shape:
        shapes = f"{list(edges.shape)} and {list(labels.shape)}"
        raise RegardError(f"{path}: edges and labels must be [edges, 2] and [nodes], but are {shapes}")
    edges = edges.T if edges.shape[1] == 2 else edges
    if edges.dtype.kind not in "iu":
        raise RegardError(f"{path}: edges must be whole numbers of nodes, but are of the type {edges.dtype}")
    nodes = len(labels)
    features = _features(path, arrays, nodes)
    split = {_SPLITS[name]: _numbers(path, name, arrays[name], nodes) for name in arrays if name in _SPLITS}
    known = tuple(None if str(label) == "-1" else str(label) for label in labels.tolist())
    names = tuple(map(str, range(nodes)))
    return GraphFile(names, _checked_edges(path, edges, nodes), features, (), known, split)


def _features(path: Path, arrays: Mapping[str, Any], nodes: int) -> Tensor:
    if "features" in arrays:
        found = _dense(path, arrays["features"])
    elif set(_SPARSE) <= arrays.keys():
        starts, columns, values, shape = (arrays[name] for name in _SPARSE)
        _dense(path, values)
        found = sparse_rows(starts, columns, values, int(shape[1]))
    else:
        raise RegardError(f"{path}: has no features: neither 'features' nor {', '.join(_SPARSE)}")
    if found.dim() != 2 or len(found) != nodes:
        raise RegardError(f"{path}: there are {nodes:,} labels, but features of the shape {list(found.shape)}")
    return found


def _dense(path: Path, given: Any) -> Tensor:
    """Numbers as float32, all of which are finite."""
    if given.dtype.kind not in "iufb":
        raise RegardError(f"{path}: features must be numbers, but are of the type {given.dtype}")
    with np.errstate(over="ignore"):
        found = np.asarray(given, dtype=np.float32)
    wrong = np.argwhere(~np.isfinite(found))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        raise RegardError(f"{path}: features{list(at)} is {given[at]}, which is no number of float32")
    return torch.from_numpy(found)


def _numbers(path: Path, name: str, given: Any, nodes: int) -> Tensor:
    """The numbers of some nodes, given as numbers or as True and False for each node."""
    chosen = np.flatnonzero(given) if given.dtype == bool else given.astype(np.int64)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < nodes:
        raise RegardError(f"{path}: '{name}' names node {chosen.max()}, but there are only {nodes:,} nodes, from 0")
    return torch.from_numpy(chosen)


def _checked_edges(path: Path, edges: Any, nodes: int) -> Tensor:
    if edges.size and not 0 <= edges.min() <= edges.max() < nodes:
        wrong = int(edges.max() if edges.max() >= nodes else edges.min())
        raise RegardError(f"{path}: an edge names node {wrong}, but there are only {nodes:,} nodes, from 0")
    return torch.from_numpy(np.ascontiguousarray(edges, dtype=np.int64))


def _folder(folder: Path, feature_names: tuple[str, ...]) -> GraphFile:
    rows = dict(_table(folder / "features.tsv")) if (folder / "features.tsv").exists() else None
    labels = {node: cells[0] for node, cells in _table(folder / "labels.tsv")}
    for line, (node, label) in enumerate(labels.items(), start=1):
        if not label.strip():
            raise RegardError(f"{folder / 'labels.tsv'}: line {line}: node '{node}' has an empty label; leave it out")
    dense = folder / "features.npy"
    if rows is not None:
        nodes = tuple(rows)
        features, feature_names = sparse_words(folder / "features.tsv", rows, feature_names)
    elif dense.exists():
        features = _dense_file(dense)
        nodes = tuple(map(str, range(len(features))))
    else:
        raise RegardError(
            f"{folder}: has neither features.tsv nor features.npy; give a node without features its own name as one"
        )
    numbers = {node: at for at, node in enumerate(nodes)}
    _refuse_others(folder / "labels.tsv", labels, numbers)
    pairs = [(source, cells[0]) for source, cells in _table(folder / "edges.tsv", several=True)]
    for line, pair in enumerate(pairs, start=1):
        for node in pair:
            if node not in numbers:
                raise RegardError(f"{folder / 'edges.tsv'}: line {line}: an edge names '{node}', which has no features")
    edges = torch.tensor([[numbers[node] for node in side] for side in zip(*pairs, strict=True)] or [[], []]).long()
    split = _split(folder / "split.tsv", numbers) if (folder / "split.tsv").exists() else {}
    return GraphFile(nodes, edges, features, feature_names, tuple(labels.get(node) for node in nodes), split)


def _dense_file(path: Path) -> Tensor:
    try:
        given = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise RegardError(f"{path}: cannot be read as an array of numbers: {error}") from error
    if given.ndim != 2:
        raise RegardError(f"{path}: must have a row of features for each node, but has the shape {list(given.shape)}")
    return _dense(path, given)


def _table(path: Path, several: bool = False) -> list[tuple[str, list[str]]]:
    """The lines of a table: the first cell and the others; a first cell may come again only if `several`."""
    found, seen = [], set[str]()
    for number, line in enumerate(read_lines(path), start=1):
        first, *others = line.split("\t")
        if not others:
            raise RegardError(f"{path}: line {number}: must have two columns with a tab between, but is '{line[:60]}'")
        if first in seen and not several:
            raise RegardError(f"{path}: line {number}: node '{first}' comes a second time")
        seen.add(first)
        found.append((first, others))
    return found


def sparse_words(
    path: Path | str, rows: Mapping[str, list[str]], known: tuple[str, ...]
) -> tuple[Tensor, tuple[str, ...]]:
    """Sparse rows from words; in the order of the `known` words, if given, and without others."""
    places: dict[str, int] = {name: at for at, name in enumerate(known)}
    starts, columns, values = [0], list[int](), list[float]()
    for number, cells in enumerate(rows.values(), start=1):
        row: dict[int, float] = {}
        for word in " ".join(cells).split():
            name, colon, value = word.rpartition(":")
            name, amount = (name, _amount(path, number, value)) if colon else (word, 1.0)
            if not known:
                places.setdefault(name, len(places))
            if name in places:
                row[places[name]] = row.get(places[name], 0.0) + amount
        columns += sorted(row)
        values += [row[column] for column in sorted(row)]
        starts.append(len(columns))
    if not places:
        raise RegardError(f"{path}: no node has a feature")
    return sparse_rows(np.array(starts), np.array(columns), np.array(values), len(places)), tuple(places)


def _amount(path: Path | str, line: int, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise RegardError(f"{path}: line {line}: behind the colon must stand a number, but there is '{text}'") from None
    if not fits_float32(found):
        raise RegardError(
            f"{path}: line {line}: '{text}' is no number of float32, whose largest is {LARGEST_FLOAT32:.1e}"
        )
    return found


def _split(path: Path, numbers: Mapping[str, int]) -> dict[str, Tensor]:
    parts: dict[str, list[int]] = {"train": [], "dev": [], "test": []}
    rows = dict(_table(path))
    _refuse_others(path, rows, numbers)
    for node, cells in rows.items():
        if cells[0] not in _SPLITS:
            line = 1 + list(rows).index(node)
            raise RegardError(
                f"{path}: line {line}: node '{node}' must be of train, dev or test, but is of '{cells[0]}'"
            )
        parts[_SPLITS[cells[0]]].append(numbers[node])
    return {name: torch.tensor(chosen).long() for name, chosen in parts.items()}


def _refuse_others(path: Path, named: Mapping[str, Any], numbers: Mapping[str, int]) -> None:
    for line, node in enumerate(named, start=1):
        if node not in numbers:
            raise RegardError(f"{path}: line {line}: names node '{node}', which has no features")


def sparse_rows(starts: Any, columns: Any, values: Any, width: int) -> Tensor:
    """Rows in torch's CSR layout, checked."""
    first, places = (torch.from_numpy(np.ascontiguousarray(part, dtype=np.int64)) for part in (starts, columns))
    numbers = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch says once that its CSR layout is in beta
            return torch.sparse_csr_tensor(first, places, numbers, (len(starts) - 1, width), check_invariants=True)
    except RuntimeError as error:
        raise ValueError(f"the sparse rows of the features do not fit together: {error}") from error
