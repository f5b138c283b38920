import numpy as np
import pytest
import torch

from regard.attention.position import POSITIONS
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.base.errors import ConfigError


def waves(at: list[int], width: int, base: float, first: int = 0) -> np.ndarray:
    expected = np.zeros((len(at), width))
    for row, position in enumerate(at):
        for dimension in range(width):
            angle = position / base ** (2 * (dimension // 2 + first) / width)
            expected[row, dimension] = np.sin(angle) if dimension % 2 == 0 else np.cos(angle)
    return expected


@pytest.mark.parametrize("width", [1, 6, 7])
@pytest.mark.parametrize(("base", "first"), [(10_000.0, 0), (30.0, 1)])
def test_is_the_formula(width: int, base: float, first: int) -> None:
    at = [0, 1, 5, 1000]
    vectors = Sinusoidal(base, first).vectors(torch.tensor(at), width)
    np.testing.assert_allclose(vectors.numpy(), waves(at, width, base, first), atol=1e-12)


def test_dot_products_depend_on_the_distance_alone() -> None:
    p = Sinusoidal().vectors(torch.arange(40), 16)
    products = p @ p.mT
    for apart in range(40):
        line = products.diagonal(apart)
        torch.testing.assert_close(line, line[:1].expand_as(line))


def test_added_at_the_input() -> None:
    x = torch.randn(2, 3, 6)
    placed = Sinusoidal().place(x, torch.arange(3), "input")
    np.testing.assert_allclose(placed.numpy(), x.numpy() + waves([0, 1, 2], 6, 10_000), atol=1e-6)


@pytest.mark.parametrize("role", ["query", "key", "value"])
def test_added_to_queries_keys_and_values_in_every_layer(role: str) -> None:
    x, at = torch.randn(2, 3, 2, 4, dtype=torch.float64), [7, 2]
    placed = Sinusoidal(layers="every").place(x, torch.tensor(at), role)
    expected = waves(at, 12, 10_000).reshape(2, 3, 4).transpose(1, 0, 2)
    np.testing.assert_allclose(placed.numpy(), x.numpy() + expected, atol=1e-12)


@pytest.mark.parametrize(("layers", "acts"), [("first", "input"), ("every", "projection")])
def test_stands_beside(layers: str, acts: str) -> None:
    x, position = torch.randn(2, 3, 6, dtype=torch.float64), Sinusoidal(join="concatenate", layers=layers, width=4)
    placed = position.place(x, torch.arange(3), acts)
    assert torch.equal(placed[..., :6], x)
    np.testing.assert_allclose(placed[..., 6:].numpy(), np.broadcast_to(waves([0, 1, 2], 4, 10_000), (2, 3, 4)))
    for role in {"input", "projection"} - {acts}:
        assert position.place(x, torch.arange(3), role) is x


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match=r"sinusoidal: base must be above 1, but is 1\.0"):
        Sinusoidal(1.0)
    with pytest.raises(ConfigError, match="sinusoidal: join='concatenate' needs width=…"):
        Sinusoidal(join="concatenate")
    with pytest.raises(ConfigError, match=r"positions\.sinusoidal\.layers: unknown 'all'; choices are: every, first"):
        POSITIONS.make("sinusoidal(layers='all')")
