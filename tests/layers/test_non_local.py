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


def stirred(kind: str, heads: int = 1) -> NonLocalBlock:
    torch.manual_seed(1)
    block = NonLocal(kind=kind, heads=heads).build(6).double()
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


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"gaussian"}))
def test_heads_are_blocks_side_by_side(kind: str) -> None:
    both, x = stirred(kind, heads=2), torch.randn(2, 6, 2, 3).double()
    wanted = x + both.output.bias[:, None, None]
    for head in range(2):
        one, own = stirred(kind), slice(3 * head, 3 * head + 3)
        with torch.no_grad():
            for name in ("query", "key", "value"):
                alone, part = one.get_submodule(name), both.get_submodule(name)
                alone.weight.copy_(part.weight[own])
                alone.bias.copy_(part.bias[own])
            one.output.weight.copy_(both.output.weight[:, own])
            one.output.bias.zero_()
            for alone, part in zip(one.reading.parameters(), both.reading.parameters(), strict=True):
                alone.copy_(part[head : head + 1])
        wanted = wanted + by_pairs(one, kind, x) - x
    torch.testing.assert_close(both(x), wanted, atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_learned_steps_are_added_to_comparisons(kind: str) -> None:
    torch.manual_seed(1)
    block, x = NonLocal(kind=kind, steps="learned").build(6, (2, 3)).double(), torch.randn(1, 6, 2, 3).double()
    table = block.reading.positions.weight
    with torch.no_grad():
        table.normal_()
        block.output.weight.normal_()
        flat, read = (part(x)[0].flatten(1).T for part in (block.query, block.key)), block.value(x)[0].flatten(1).T
        logits = block.reading.score(*(side[None, None] for side in flat))[0, 0]
        for i in range(6):
            for j in range(6):
                down, right = i // 3 - j // 3, i % 3 - j % 3
                logits[i, j] += table[0, (down + 1) * 5 + right + 2]
        weights = logits.softmax(-1) if "gaussian" in kind else logits / 6
        wanted = x[0].flatten(1) + block.output.weight[:, :, 0, 0] @ (weights @ read).T
        torch.testing.assert_close(block(x)[0].flatten(1), wanted, atol=1e-12, rtol=1e-10)
    with pytest.raises(ConfigError, match="needs the rows and columns"):
        NonLocal(kind=kind, steps="learned").build(6)


def test_sloped_steps_begin_with_what_is_near_and_what_is_far_by_turns() -> None:
    block = NonLocal(heads=3, steps="sloped").build(6, (2, 3))
    table = block.reading.positions.weight
    for head, slope in enumerate((-1.0, 1.0, -0.5)):
        for down in (-1, 0, 1):
            for right in (-2, -1, 0, 1, 2):
                wanted = slope * (down**2 + right**2) ** 0.5
                assert float(table.detach()[head, (down + 1) * 5 + right + 2]) == pytest.approx(wanted)
    assert table.requires_grad
    x = torch.randn(2, 6, 2, 3)
    assert torch.equal(block(x), x)
    with pytest.raises(ConfigError, match="steps = 'sloped' needs the rows and columns"):
        NonLocal(steps="sloped").build(6)


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
    with pytest.raises(ConfigError, match="heads must be at least 1"):
        NonLocal(heads=0)
    with pytest.raises(ConfigError, match="all heads of kind gaussian would be the same"):
        NonLocal(kind="gaussian", heads=2)
