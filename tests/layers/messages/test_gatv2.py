import torch
import torch.nn.functional as F

from regard.layers.message import Neighbors
from regard.layers.messages.gat import Gat
from regard.layers.messages.gatv2 import Gatv2
from tests.layers.graphs import WIDTH, example, incoming, neighbors_of


def test_it_is_the_formula() -> None:
    graph, layer = example(), Gatv2(heads=2).build(WIDTH, 6).double()
    for weight in layer.parameters():
        torch.nn.init.normal_(weight)
    found = layer(graph.features, neighbors_of(graph))
    query, source = layer.query(graph.features).view(-1, 2, 3), layer.source(graph.features).view(-1, 2, 3)
    for node, output in enumerate(found):
        heads = []
        for head in range(2):
            seen = incoming(graph, node, itself=True)
            inside = F.leaky_relu(query[node, head] + source[seen, head], 0.2)
            heads.append((inside @ layer.reading.score.readout[head]).softmax(0) @ source[seen, head])
        torch.testing.assert_close(output, torch.cat(heads) + layer.bias)


def test_it_can_look_each_key_up_which_gat_cannot() -> None:
    """DictionaryLookup of the paper: query i has to find key i among all keys, so each ranks them differently."""
    count = 4
    eye = torch.eye(count)
    features = torch.cat(
        (torch.cat((eye, torch.zeros(count, count)), 1), torch.cat((torch.zeros(count, count), eye), 1))
    )
    edges = torch.cartesian_prod(torch.arange(count), torch.arange(count, 2 * count)).T
    neighbors = Neighbors(2 * count, edges, edges)  # queries look at keys alone
    found = {}
    for design in (Gatv2(), Gat()):
        torch.manual_seed(1)
        layer = design.build(2 * count, 32)
        optimizer = torch.optim.Adam(layer.parameters(), 0.02)
        output = torch.nn.Linear(32, count)
        optimizer.add_param_group({"params": output.parameters()})
        for _ in range(400):
            loss = F.cross_entropy(output(layer(features, neighbors))[count:], torch.arange(count))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        found[type(design)] = (output(layer(features, neighbors))[count:].argmax(1) == torch.arange(count)).sum().item()
    assert found[Gatv2] == count
    assert found[Gat] < count
