import pytest
import torch
import torch.nn.functional as F

from regard.layers.message import Merge
from regard.layers.messages.gat import Gat
from tests.layers.graphs import WIDTH, example, incoming, neighbors_of


@pytest.mark.parametrize(("merge", "each"), [("join", 2), ("mean", 6)])
def test_it_is_the_formula(merge: Merge, each: int) -> None:
    graph, layer = example(), Gat(heads=3).build(WIDTH, 6, merge).double()
    torch.nn.init.normal_(layer.bias)
    score = layer.reading.score
    found = layer(graph.features, neighbors_of(graph))
    projected = (graph.features @ layer.project.weight.T).view(-1, 3, each)
    for node, output in enumerate(found):
        heads = []
        for head in range(3):
            sources = incoming(graph, node, itself=True)
            of_query = score.query_weight[head] @ projected[node, head]
            logits = torch.stack([of_query + score.key_weight[head] @ projected[source, head] for source in sources])
            heads.append(F.leaky_relu(logits, 0.2).softmax(0) @ projected[sources, head])
        expected = torch.cat(heads) if merge == "join" else torch.stack(heads).mean(0)
        torch.testing.assert_close(output, expected + layer.bias)
