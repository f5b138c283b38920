import torch

from regard.layers.messages.sage import Sage
from tests.layers.graphs import WIDTH, example, incoming, neighbors_of


def test_it_is_the_formula() -> None:
    graph, layer = example(), Sage().build(WIDTH, 3).double()
    torch.nn.init.normal_(layer.bias)
    for node, output in enumerate(layer(graph.features, neighbors_of(graph))):
        sources = incoming(graph, node, itself=False)
        mean = graph.features[sources].mean(0) if sources else torch.zeros(WIDTH, dtype=torch.float64)
        expected = layer.neighbors.weight @ mean + layer.own.weight @ graph.features[node] + layer.bias
        torch.testing.assert_close(output, expected)
