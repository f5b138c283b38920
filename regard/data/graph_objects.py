"""A graph as one JSON object, as servers are sent it:

    {"features": {"a": "word word:2.5", "b": ["word"]}, "edges": [["a", "b"]]}      features with names
    {"features": [[0.1, 0.7], [0.3, 0.2]], "edges": [[0, 1]]}                       a row of numbers for each node

The nodes are those that have features; where these are a list, nodes are called by their number.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.base.errors import RegardError
from regard.data.graph_files import GraphFile, sparse_words
from regard.data.vector_files import member_of, vectors_in


def graph_in(record: Mapping[str, Any], where: str, feature_names: tuple[str, ...], width: int) -> GraphFile:
    """The graph of an object, its features in the order of `feature_names`, or `width` numbers for each node."""
    given = member_of(record, "features", where)
    rows = given if isinstance(given, dict) else None
    if not isinstance(given, dict | list) or not given:
        raise RegardError(f"{where}: features must be a list or an object with a row for each node")
    nodes = tuple(rows) if rows is not None else tuple(map(str, range(len(given))))
    features = _named(rows, where, feature_names) if feature_names else _numbers(given, where, width)
    numbers = {node: at for at, node in enumerate(nodes)}
    edges = member_of(record, "edges", where)
    if not isinstance(edges, list):
        raise RegardError(f"{where}: edges must be a list of pairs of nodes")
    pairs = [_pair(one, numbers, where) for one in edges]
    ends = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T.contiguous()
    return GraphFile(nodes, ends, features, feature_names, (None,) * len(nodes), {})


def _named(rows: dict[str, Any] | None, where: str, known: tuple[str, ...]) -> Tensor:
    if rows is None:
        raise RegardError(
            f'{where}: this model knows features by name; give an object, as in {{"node": "word word:2"}}'
        )
    cells = {node: row if isinstance(row, list) else [row] for node, row in rows.items()}
    for node, row in cells.items():
        if not all(isinstance(word, str) for word in row):
            raise RegardError(f"{where}: the features of node '{node}' must be words, as in \"word word:2\"")
    return sparse_words(where, cells, known)[0]


def _numbers(given: Any, where: str, width: int) -> Tensor:
    rows = list(given.values()) if isinstance(given, dict) else given
    return torch.from_numpy(vectors_in(rows, f"{where}: features", width)).float()


def _pair(edge: Any, numbers: Mapping[str, int], where: str) -> tuple[int, int]:
    if not isinstance(edge, list) or len(edge) != 2:
        raise RegardError(f'{where}: an edge must be a pair of nodes, as in ["a", "b"]')
    for end in edge:
        if str(end) not in numbers:
            raise RegardError(f"{where}: an edge names '{str(end)[:60]}', which has no features")
    return numbers[str(edge[0])], numbers[str(edge[1])]
