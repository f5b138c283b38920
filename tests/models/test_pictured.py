import torch

from regard.models.pictured import GridSight, class_layer, whole_grid


def test_weights_of_tiles_are_put_where_they_belong() -> None:
    """Two tiles on a line of three cells, the second filled up."""
    sight = GridSight(1, 3, torch.tensor([[2, 0], [1, -1]]))
    weights = torch.arange(1.0, 9.0).view(2, 1, 2, 2)
    found = sight.spread(weights)
    assert found[0].tolist() == [[4.0, 0.0, 3.0], [0.0, 5.0, 0.0], [2.0, 0.0, 1.0]]


def test_a_class_token_is_no_cell() -> None:
    sight = whole_grid(1, 2, before=1)
    assert sight.cells.tolist() == [[-1, 0, 1]]
    weights = torch.arange(9.0).view(1, 1, 3, 3)
    assert sight.spread(weights)[0].tolist() == [[4.0, 5.0], [7.0, 8.0]]


def test_the_output_layer_starts_near_zero() -> None:
    layer = class_layer(64, 10)
    assert float(layer.weight.detach().abs().max()) < 0.15
    assert not layer.bias.any()
