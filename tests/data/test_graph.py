import pytest
import torch

from regard.base.errors import RegardError
from regard.data.graph import Graph, GraphBatches, joined_graphs, sorted_edges, undirected
from regard.data.item import Batches, Item
from regard.data.plan import BatchPosition
from tests.layers.graphs import NODES, example


def test_edges_are_sorted_and_stand_once() -> None:
    edges = torch.tensor([[3, 0, 3, 1], [1, 2, 1, 0]])
    assert sorted_edges(edges, 4).tolist() == [[1, 3, 0], [0, 1, 2]]
    assert undirected(edges).shape == (2, 8)


def test_self_loops_are_added_once() -> None:
    graph = example()
    assert {(node, node) for node in range(NODES)} <= {tuple(edge) for edge in graph.looped.T.tolist()}
    assert len(set(map(tuple, graph.looped.T.tolist()))) == graph.looped.shape[1]


def test_it_is_an_item_of_one_share() -> None:
    graph = example()
    assert isinstance(graph, Item)
    assert graph.shares(4) == [graph]
    assert graph.to("cpu") is graph
    assert graph.choosing(torch.arange(NODES) < 2).count == 2


def test_batches_go_round() -> None:
    batches = GraphBatches((example(0), example(1)))
    assert isinstance(batches, Batches)
    walk = batches.walk(BatchPosition(epoch=3, index=1))
    seen = [next(walk) for _ in range(3)]
    assert [item is batches.graphs[at] for (_, item), at in zip(seen, (1, 0, 1), strict=True)] == [True] * 3
    assert batches.epoch() == (2, 2 * NODES)


@pytest.mark.parametrize("sparse", [False, True])
def test_joined_graphs_do_not_meet(sparse: bool) -> None:
    parts = [example(0), example(1), example(2)]
    if sparse:
        parts = [Graph(one.features.to_sparse_csr(), one.edges, one.labels, one.chosen) for one in parts]
    whole = joined_graphs(parts)
    assert torch.equal(whole.features.to_dense(), torch.cat([part.features.to_dense() for part in parts]))
    assert (whole.edges[0] // NODES == whole.edges[1] // NODES).all()
    assert torch.equal(whole.edges, sorted_edges(whole.edges, 3 * NODES))
    for at, part in enumerate(parts):
        own = whole.edges[:, whole.edges[0] // NODES == at] - at * NODES
        assert torch.equal(own, part.edges)


def test_graphs_of_other_features_are_not_joined() -> None:
    other = Graph(torch.ones(2, 3), torch.empty(2, 0).long(), torch.zeros(2).long(), torch.ones(2).bool())
    with pytest.raises(RegardError, match=r"graphs: all must have the same features, but they have \[3, 5\] of them"):
        joined_graphs([example(), other])
