import torch

from regard.layers.messages.gcn import Gcn
from tests.layers.graphs import NODES, WIDTH, example, incoming, neighbors_of


def test_it_is_the_formula() -> None:
    graph, layer = example(), Gcn().build(WIDTH, 3).double()
    torch.nn.init.normal_(layer.bias)
    degrees = [len(incoming(graph, node, itself=True)) for node in range(NODES)]
    for node, output in enumerate(layer(graph.features, neighbors_of(graph))):
        expected = layer.bias.clone()
        for source in incoming(graph, node, itself=True):
            expected = (
                expected + layer.project.weight @ graph.features[source] / (degrees[node] * degrees[source]) ** 0.5
            )
        torch.testing.assert_close(output, expected)
