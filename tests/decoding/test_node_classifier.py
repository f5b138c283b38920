from pathlib import Path

import pytest
import torch

from regard.base.errors import UsageError
from regard.decoding.node_classifier import NodeClassifier
from regard.models.graph_network import GraphNetwork
from regard.tasks.nodes import GraphSettings, Nodes
from tests.tasks.graph_run import write_graph


def classifier(*designs: GraphNetwork) -> NodeClassifier:
    torch.manual_seed(1)
    models = [design.build({"features": 4, "classes": 2}) for design in designs]
    number = Nodes(data=GraphSettings(train=()))._graph
    return NodeClassifier(models, ("0", "1"), (), lambda file, path: number(file, ("0", "1"), path))


def test_several_models_give_the_mean_of_their_probabilities(tmp_path: Path) -> None:
    path = write_graph(tmp_path)
    both = classifier(GraphNetwork(width=8), GraphNetwork.preset("gcn"))
    graph = both.number(both.read(path), path=path)
    singles = [NodeClassifier([model], both.classes, (), both.number).probabilities(graph) for model in both.models]
    torch.testing.assert_close(both.probabilities(graph), torch.stack(singles).mean(0))


def test_a_neighborhood_is_a_node_and_those_with_an_edge_to_it(tmp_path: Path) -> None:
    path = write_graph(tmp_path)
    one = classifier(GraphNetwork(width=8))
    seen = one.neighborhood(path, "3", "layers.0")
    edges = one.read(path).edges.T.tolist()
    expected = {3} | {b for a, b in edges if a == 3} | {a for a, b in edges if b == 3}
    assert {int(node) for node in seen.neighbors} == expected
    torch.testing.assert_close(seen.weights.sum(-1), torch.ones(8))


def test_mistakes_are_named(tmp_path: Path) -> None:
    path = write_graph(tmp_path)
    with pytest.raises(UsageError, match="has no node '99'; the first are: 0, 1, 2, 3, 4"):
        classifier(GraphNetwork(width=8)).neighborhood(path, "99")
    with pytest.raises(UsageError, match="this model has no attention; gat and gatv2 have"):
        classifier(GraphNetwork.preset("gcn")).neighborhood(path, "3")
