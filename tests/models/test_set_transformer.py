import pytest
import torch

from regard.base.errors import ConfigError
from regard.layers.set_attention import InducedBlock
from regard.models.set_transformer import SetTransformer

SIZES = {"elements": 3, "outputs": 2}


def test_presets_have_their_blocks() -> None:
    model = SetTransformer.preset("clusters", width=16).build(SIZES)
    assert all(isinstance(block, InducedBlock) for block in model.blocks)
    assert model.blocks[0].points.shape == (32, 16)
    features, keep = model.encode(torch.randn(2, 4, 3), torch.tensor([4, 1]))
    assert model.pooled(features, keep).shape == (2, 4 * 16)
    assert len(model.after) == 1


@pytest.mark.parametrize("name", ["induced", "seed_layers", "seeds"])
def test_none_of_something_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"set_transformer: {name} must be at least 1, but is 0"):
        SetTransformer(**{name: 0})
