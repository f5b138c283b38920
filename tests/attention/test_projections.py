import math

import pytest
import torch
import torch.nn.functional as F

from regard.attention.projections import Projections
from regard.base.errors import ShapeError


@pytest.mark.parametrize("bias", [True, False])
def test_joint_and_apart_are_the_same_maps(bias: bool) -> None:
    joint, apart = Projections(6, None, 8, 4, 2, bias), Projections(6, 6, 8, 4, 2, bias)
    weight = joint.joint.weight.detach()
    with torch.no_grad():
        apart.query.weight.copy_(weight[:8])
        apart.source.weight.copy_(weight[8:])
        if bias:
            joint.joint.bias.normal_()
            apart.query.bias.copy_(joint.joint.bias[:8])
            apart.source.bias.copy_(joint.joint.bias[8:])
    x = torch.randn(2, 3, 6)
    whole = F.linear(x, weight, joint.joint.bias)
    for maps in (joint, apart):
        for found in (maps.of_both(x), (maps.of_query(x), *maps.of_source(x))):
            torch.testing.assert_close(torch.cat(found, dim=-1), whole)
            assert [side.shape[-1] for side in found] == [8, 4, 2]
    assert joint.is_joint
    assert not apart.is_joint


@pytest.mark.parametrize("source_width", [None, 40])
def test_each_map_starts_as_xavier_would_have_it(source_width: int | None) -> None:
    maps = Projections(50, source_width, 80, 30, 20, bias=True)
    if source_width is None:
        blocks = maps.joint.weight.split([80, 30, 20])
    else:
        blocks = (maps.query.weight, *maps.source.weight.split([30, 20]))
    for block in blocks:
        bound = math.sqrt(6 / sum(block.shape))
        assert 0.95 * bound < block.abs().max() <= bound
    assert not any(parameter.any() for name, parameter in maps.named_parameters() if name.endswith("bias"))


def test_what_does_not_fit_is_told() -> None:
    maps = Projections(6, 5, 8, 4, 2, bias=True)
    with pytest.raises(ShapeError, match="attention: the input has width 6, but the layer takes 5"):
        maps.of_source(torch.randn(2, 3, 6))
    with pytest.raises(
        ShapeError, match=r"attention: the input must be \[batch, length, width\], but has the shape \[3, 6\]"
    ):
        maps.of_query(torch.randn(3, 6))
