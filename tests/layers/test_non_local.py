"""Non-local blocks against a plain loop over pairs of pixels, in float64."""

import typing

import pytest
import torch
from torch import Tensor

from regard.attention.record import record
from regard.base.config import from_dict
from regard.base.errors import ConfigError
from regard.layers.non_local import NonLocal, NonLocalBlock, NonLocalKind

KINDS = typing.get_args(NonLocalKind)


def stirred(kind: str) -> NonLocalBlock:
    torch.manual_seed(1)
    block = NonLocal(kind=kind).build(6).double()
    with torch.no_grad():
        for weight in block.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return block


def by_pairs(block: NonLocalBlock, kind: str, x: Tensor) -> Tensor:
    """z_i = x_i + W_z Σ_j f(x_i, x_j) g(x_j) / C, pixel by pixel."""
    batch, _, height, width = x.shape
    made = x.clone()
    theta, phi, g = (part(x).flatten(2) for part in (block.query, block.key, block.value))
    for row in range(batch):
        for i in range(height * width):
            f = []
            for j in range(height * width):
                pair = theta[row, :, i], phi[row, :, j]
                if kind == "concatenation":
                    joined = torch.cat(pair)
                    weight = torch.cat([block.reading.score.query_weight[0], block.reading.score.key_weight[0]])
                    f.append((weight @ joined).relu())
                else:
                    f.append(pair[0] @ pair[1] if kind == "dot_product" else (pair[0] @ pair[1]).exp())
            total = sum(f) if "gaussian" in kind else height * width
            y = sum(f[j] * g[row, :, j] for j in range(height * width)) / total
            made[row, :, i // width, i % width] += block.output.weight[:, :, 0, 0] @ y + block.output.bias
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_sum_over_pairs(kind: str) -> None:
    block, x = stirred(kind), torch.randn(2, 6, 2, 3).double()
    torch.testing.assert_close(block(x), by_pairs(block, kind, x), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_block_is_the_identity(kind: str) -> None:
    x = torch.randn(2, 6, 4, 4)
    assert torch.equal(NonLocal(kind=kind).build(6)(x), x)


def test_its_weights_are_recorded() -> None:
    block = stirred("embedded_gaussian")
    with record(block) as seen:
        block(torch.randn(1, 6, 2, 3).double())
    assert list(seen.only().shape) == [1, 1, 6, 6]
    torch.testing.assert_close(seen.only().sum(-1), torch.ones(1, 1, 6).double())


def test_wrong_settings() -> None:
    with pytest.raises(ConfigError, match="gausian"):
        from_dict({"kind": "gausian"}, NonLocal)
    with pytest.raises(ConfigError, match="width must be at least 1"):
        NonLocal(width=0)
