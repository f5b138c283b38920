import pytest
import torch

from regard.models.contrastive import Contrastive


@pytest.mark.parametrize("network", ["perceptron", "convolution"])
def test_features_are_before_the_projector(network: str) -> None:
    model = Contrastive(network=network, width=6, layers=2, code=5, projection=3).build({"numbers": 11, "views": 2})  # type: ignore[arg-type]
    x = torch.randn(4, 11)
    features, keep = model.encode(x)
    assert features.shape == (4, 1, 5)
    assert keep.all()
    first, second = model.projector.layers
    torch.testing.assert_close(model(x), second(first(features[:, 0].relu()).relu()))


def test_convolutions_see_their_neighbors_alone() -> None:
    """Along the signal, with a stride of 2 and zeros beyond its ends."""
    model = Contrastive(width=2, layers=1, kernel=3).build({"numbers": 7, "views": 2})
    (layer,) = model.network.layers
    x = torch.randn(1, 7)
    padded = torch.nn.functional.pad(x, (1, 1))[0]
    hidden = torch.stack([(layer.weight[:, 0] * padded[at : at + 3]).sum(1) + layer.bias for at in range(0, 7, 2)], 1)
    torch.testing.assert_close(model.code(x)[0], model.network.output(hidden.relu().flatten()))
