import pytest
import torch

from regard.attention.record import record
from regard.base.errors import ConfigError
from regard.layers.messages.gat import Gat
from tests.layers.graphs import NODES, WIDTH, example, neighbors_of


def test_its_weights_are_recorded_on_the_edges() -> None:
    graph, layer = example(), Gat(heads=2).build(WIDTH, 6).double()
    with record(layer) as seen:
        layer(graph.features, neighbors_of(graph))
    weights = seen.only()
    assert weights.shape == (1, 2, NODES, NODES)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, NODES).double())
    visible = torch.zeros(NODES, NODES, dtype=torch.bool)
    visible[graph.looped[1], graph.looped[0]] = True
    assert (weights > 0).eq(visible).all()


def test_dropout_takes_edges_in_training_alone() -> None:
    graph, layer = example(), Gat(heads=2, dropout=0.5).build(WIDTH, 6).double()
    neighbors = neighbors_of(graph)
    assert not torch.equal(layer(graph.features, neighbors), layer(graph.features, neighbors))
    layer.eval()
    assert torch.equal(layer(graph.features, neighbors), layer(graph.features, neighbors))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match=r"model.width \(7\) must be a multiple of the heads \(2\), for example 8"):
        Gat(heads=2).build(WIDTH, 7)
    with pytest.raises(ConfigError, match="gat: heads must be at least 1"):
        Gat(heads=0)
    with pytest.raises(ConfigError, match="gat: dropout must be at least 0 and below 1"):
        Gat(dropout=1.0)
