import pytest
import torch

from regard.data.graph import joined_graphs
from regard.layers.messages.gat import Gat
from regard.layers.messages.gcn import Gcn
from regard.models.graph_network import GraphNetwork
from tests.layers.graphs import NODES, WIDTH, example, renumbered

SIZES = {"features": WIDTH, "classes": 3}
PRESETS = pytest.mark.parametrize("preset", GraphNetwork.presets)


def made(preset: str) -> torch.nn.Module:
    torch.manual_seed(1)
    return GraphNetwork.preset(preset, dropout=0.0).build(SIZES).double().eval()


@PRESETS
def test_renumbering_the_nodes_renumbers_the_classes(preset: str) -> None:
    """F(P X, P A Pᵀ) = P F(X, A)."""
    graph, model = example(), made(preset)
    order = torch.randperm(NODES)
    torch.testing.assert_close(model(renumbered(graph, order)), model(graph)[order])


@PRESETS
def test_a_graph_in_company_is_a_graph_alone(preset: str) -> None:
    graphs, model = [example(seed) for seed in range(3)], made(preset)
    torch.testing.assert_close(model(joined_graphs(graphs)), torch.cat([model(graph) for graph in graphs]))


def test_layers_are_those_of_the_design() -> None:
    model = GraphNetwork(layers=3, width=8, message=Gat(heads=2), last=Gcn()).build(SIZES)
    assert [type(layer).__name__ for layer in model.layers] == ["SharedProjection"] * 2 + ["GraphConvolution"]
    graph = example(dtype=torch.float32)
    assert model(graph).shape == (NODES, 3)
    assert model.hidden(graph).shape == (NODES, 8)


def test_the_number_of_parameters_is_that_of_the_paper() -> None:
    """GAT on Cora: 8 heads of 8 and one of 7; Kipf's GCN: 1433 · 16 + 16 + 16 · 7 + 7."""
    sizes = {"features": 1433, "classes": 7}
    counts = {
        name: sum(weight.numel() for weight in GraphNetwork.preset(name).build(sizes).parameters())
        for name in ("gat", "gcn")
    }
    assert counts == {"gat": 92_373, "gcn": 23_063}
