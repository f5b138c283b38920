import torch
import torch.nn.functional as F

from regard.layers.message import Neighbors
from regard.layers.messages.gat import Gat
from regard.layers.messages.gatv2 import Gatv2
from tests.layers.graphs import WIDTH, example, incoming, neighbors_of

KEYS = 10


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


def test_it_can_look_ten_keys_up_which_gat_cannot() -> None:
    """DictionaryLookup (Brody et al., 2022) with k = 10: each query needs the value of its own key, drawn anew.

    All queries are asked about 100 graphs that were never trained on. GATv2 finds every value. Under GAT, all queries
    rank the keys alike, so that they can read one key between them: about one in ten is right.
    """
    found = {}
    for design in (Gatv2(), Gat()):
        torch.manual_seed(1)
        layer, output = design.build(3 * KEYS, 64), torch.nn.Linear(64, KEYS)
        optimizer = torch.optim.Adam([*layer.parameters(), *output.parameters()], 0.01)
        for _ in range(150):
            nodes, neighbors, values = lookups(16)
            answers = output(layer(nodes, neighbors)).unflatten(0, (16, 2 * KEYS))[:, KEYS:]
            optimizer.zero_grad()
            F.cross_entropy(answers.flatten(0, 1), values.flatten()).backward()
            optimizer.step()
        nodes, neighbors, values = lookups(100)
        answers = output(layer(nodes, neighbors)).unflatten(0, (100, 2 * KEYS))[:, KEYS:]
        found[type(design)] = (answers.argmax(-1) == values).float().mean().item()
    assert found[Gatv2] == 1.0
    assert found[Gat] < 0.2


def lookups(count: int) -> tuple[torch.Tensor, Neighbors, torch.Tensor]:
    """So many graphs as one: KEYS nodes [key; -; value] each, and KEYS that ask, [-; key; -], and see those."""
    eye, none = torch.eye(KEYS).expand(count, -1, -1), torch.zeros(count, KEYS, KEYS)
    values = torch.rand(count, KEYS).argsort(1)
    nodes = torch.cat((torch.cat((eye, none, F.one_hot(values, KEYS)), 2), torch.cat((none, eye, none), 2)), 1)
    one = torch.cartesian_prod(torch.arange(KEYS), torch.arange(KEYS, 2 * KEYS)).T
    edges = (2 * KEYS * torch.arange(count)[:, None] + one[:, None]).flatten(1)
    return nodes.flatten(0, 1), Neighbors(2 * KEYS * count, edges, edges), values
