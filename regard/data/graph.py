"""Graphs as training data: nodes with features, directed edges, and labels of some of the nodes.

A graph is an item: one step learns from all of it, and the loss is that of the chosen nodes. Several graphs become one
by `joined_graphs`: their edges never meet, so that each is computed as if alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from regard.base.errors import RegardError
from regard.data.plan import BatchPosition


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes 0, 1, 2, … with their features, edges, labels, and which of the labels are to be learned or predicted."""

    features: Tensor
    """[nodes, features]: dense, or sparse in torch's CSR layout"""
    edges: Int64[Tensor, "2 edges"]
    """(from, to), each once, sorted by `to`, then by `from`"""
    labels: Int64[Tensor, "nodes"]
    """the class of each node; -1 where it is unknown"""
    chosen: Bool[Tensor, "nodes"]
    """the nodes whose labels count"""

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.features.shape[0]

    @property
    def count(self) -> int:
        """The number of chosen nodes."""
        return self._count

    @property
    def size(self) -> int:
        """The number of nodes that are computed."""
        return self.nodes

    @cached_property
    def _count(self) -> int:
        return int(self.chosen.sum())

    @cached_property
    def looped(self) -> Int64[Tensor, "2 edges_and_nodes"]:
        """The edges with one from each node to itself (self-loops)."""
        loops = torch.arange(self.nodes, device=self.edges.device).expand(2, -1)
        return sorted_edges(torch.cat((self.edges, loops), 1), self.nodes)

    def to(self, device: torch.device | str) -> Self:
        """The graph on another device."""
        if self.edges.device == torch.empty(0, device=device).device:
            return self
        return replace(
            self,
            features=self.features.to(device),
            edges=self.edges.to(device),
            labels=self.labels.to(device),
            chosen=self.chosen.to(device),
        )

    def shares(self, count: int) -> list[Self]:
        """A graph cannot be split: every node may depend on every other."""
        return [self]

    def choosing(self, chosen: Bool[Tensor, "nodes"]) -> "Graph":
        """The same graph with other nodes chosen; what is known of its edges is kept."""
        other = replace(self, chosen=chosen)
        if "looped" in self.__dict__:
            other.__dict__["looped"] = self.looped
        return other


@dataclass(frozen=True)
class GraphBatches:
    """Training on whole graphs, one per step, in turn."""

    graphs: tuple[Graph, ...]

    def at(self, position: BatchPosition) -> Graph:
        """The graph at a position."""
        return self.graphs[position.index]

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Graph]]:
        """Each position and its graph from the given one on, without end."""
        position = position or BatchPosition()
        while True:
            yield position, self.at(position)
            position = position.next(len(self.graphs))

    def epoch(self) -> tuple[int, int]:
        """The number of graphs, and of chosen nodes."""
        return len(self.graphs), sum(graph.count for graph in self.graphs)


def sorted_edges(edges: Int64[Tensor, "2 edges"], nodes: int) -> Int64[Tensor, "2 sorted"]:
    """The edges (from, to), each once, sorted by `to`, then by `from`."""
    codes = torch.unique(edges[1] * nodes + edges[0])
    return torch.stack((codes % max(1, nodes), codes // max(1, nodes)))


def undirected(edges: Int64[Tensor, "2 edges"]) -> Int64[Tensor, "2 both"]:
    """The edges in both directions."""
    return torch.cat((edges, edges.flip(0)), 1)


def joined_graphs(graphs: Sequence[Graph]) -> Graph:
    """Several graphs as one; there are no edges between them."""
    widths = {graph.features.shape[1] for graph in graphs}
    if len(widths) != 1:
        raise RegardError(f"graphs: all must have the same features, but they have {sorted(widths)} of them")
    firsts = torch.tensor([0, *(graph.nodes for graph in graphs)]).cumsum(0).tolist()
    dense = any(graph.features.layout == torch.strided for graph in graphs)
    features = [graph.features.to_dense() if dense else graph.features for graph in graphs]
    return Graph(
        features=torch.cat(features) if dense else _stacked(features),
        edges=torch.cat([graph.edges + first for graph, first in zip(graphs, firsts, strict=False)], 1),
        labels=torch.cat([graph.labels for graph in graphs]),
        chosen=torch.cat([graph.chosen for graph in graphs]),
    )


def _stacked(rows: Sequence[Tensor]) -> Tensor:
    """Sparse rows below one another."""
    starts, total = [torch.zeros(1, dtype=torch.long)], 0
    for part in rows:
        starts.append(part.crow_indices()[1:] + total)
        total += part.values().numel()
    columns, values = torch.cat([part.col_indices() for part in rows]), torch.cat([part.values() for part in rows])
    height, width = sum(part.shape[0] for part in rows), rows[0].shape[1]
    return torch.sparse_csr_tensor(torch.cat(starts), columns, values, (height, width), check_invariants=False)
