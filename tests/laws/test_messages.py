"""Laws of message passing: whatever a node reads from its neighbors, they hold for every file in `layers/messages`."""

from typing import Any

import pytest
import torch

from regard.layers.message import MESSAGES
from tests.layers.graphs import NODES, WIDTH, example, neighbors_of, renumbered

from .examples import examples

every = pytest.mark.parametrize("message", examples(MESSAGES))


def built(message: Any) -> Any:
    torch.manual_seed(2)
    layer = message.build(WIDTH, 6).double()
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, std=0.7)
    return layer


@every
@pytest.mark.parametrize("seed", range(3))
def test_renumbering_the_nodes_renumbers_the_outputs(message: Any, seed: int) -> None:
    """F(P X, P A Pᵀ) = P F(X, A)."""
    graph, layer = example(seed), built(message)
    order = torch.randperm(NODES, generator=torch.Generator().manual_seed(seed))
    other = renumbered(graph, order)
    expected = layer(graph.features, neighbors_of(graph))[order]
    torch.testing.assert_close(layer(other.features, neighbors_of(other)), expected)


@every
def test_only_neighbors_are_seen(message: Any) -> None:
    """The Jacobian is zero wherever there is no edge."""
    graph, layer = example(), built(message)
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x, neighbors_of(graph)), graph.features)
    sees = (jacobian != 0).any(-1).any(1)
    visible = torch.zeros(NODES, NODES, dtype=torch.bool)
    visible[graph.looped[1], graph.looped[0]] = True
    assert torch.equal(sees, visible)


@every
def test_sparse_features_are_dense_ones(message: Any) -> None:
    graph, layer = example(), built(message)
    features = graph.features * (graph.features > 0)
    found = layer(features.to_sparse_csr(), neighbors_of(graph))
    torch.testing.assert_close(found, layer(features, neighbors_of(graph)))


@every
def test_gradients_are_slopes(message: Any) -> None:
    graph, layer = example(), built(message)
    torch.autograd.gradcheck(lambda x: layer(x, neighbors_of(graph)), graph.features.requires_grad_())


@every
@pytest.mark.parametrize("merge", ["join", "mean"])
def test_the_output_has_the_width_that_was_asked_for(message: Any, merge: Any) -> None:
    graph = example(dtype=torch.float32)
    assert message.build(WIDTH, 6, merge)(graph.features, neighbors_of(graph)).shape == (NODES, 6)
