"""Graphs for the tests of message passing."""

import torch
from torch import Tensor

from regard.data.graph import Graph, sorted_edges
from regard.layers.message import Neighbors

NODES, WIDTH = 7, 5


def example(seed: int = 0, dtype: torch.dtype = torch.float64) -> Graph:
    """Random directed edges; node 6 has none, node 5 one to itself."""
    draw = torch.Generator().manual_seed(seed)
    edges = torch.cat((torch.randint(0, 5, (2, 9), generator=draw), torch.tensor([[5], [5]])), 1)
    features = torch.randn(NODES, WIDTH, generator=draw, dtype=dtype)
    labels = torch.randint(0, 3, (NODES,), generator=draw)
    return Graph(features, sorted_edges(edges, NODES), labels, torch.ones(NODES, dtype=torch.bool))


def neighbors_of(graph: Graph) -> Neighbors:
    return Neighbors(graph.nodes, graph.edges, graph.looped)


def incoming(graph: Graph, node: int, itself: bool) -> list[int]:
    """The nodes with an edge to this one, in a loop over all edges."""
    found = {source for source, target in graph.edges.T.tolist() if target == node}
    return sorted(found | ({node} if itself else set()))


def renumbered(graph: Graph, order: Tensor) -> Graph:
    """P X and P A Pᵀ: what was node order[i] is now node i."""
    place = order.argsort()
    return Graph(
        graph.features[order], sorted_edges(place[graph.edges], graph.nodes), graph.labels[order], graph.chosen[order]
    )
