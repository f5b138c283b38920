import pytest
import torch

from regard.models.deep_sets import DeepSets, set_pool

SETS = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(1))
LENGTHS = torch.tensor([4, 2])


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
@pytest.mark.parametrize("exchange", ["none", "mean", "max"])
def test_it_is_the_formula(pool: str, exchange: str) -> None:
    """ρ(pool φ(x)) by a loop over sets and elements."""
    torch.manual_seed(1)
    model = DeepSets(width=5, layers=2, pool=pool, exchange=exchange).build({"elements": 3, "outputs": 2})  # type: ignore[arg-type]
    whole = {"sum": lambda rows: rows.sum(0), "mean": lambda rows: rows.mean(0), "max": lambda rows: rows.amax(0)}
    for row, length in enumerate(LENGTHS.tolist()):
        features = SETS[row, :length]
        for at, layer in enumerate(model.layers):
            others = model.exchanges[at](whole[exchange](features)) if exchange != "none" else 0.0
            features = torch.stack([torch.relu(layer(one) - others) for one in features])
        torch.testing.assert_close(model(SETS, LENGTHS)[row], model.output(whole[pool](features)))


@pytest.mark.parametrize("pool", ["sum", "mean", "max"])
def test_an_empty_set_pools_to_zeros(pool: str) -> None:
    keep = torch.tensor([[False, False], [True, False]])
    x = torch.tensor([[[1.0], [2.0]], [[-3.0], [9.0]]])
    assert set_pool(x, keep, pool).tolist() == [[0.0], [-3.0]]
    assert set_pool(x[:, :0], keep[:, :0], pool).tolist() == [[0.0], [0.0]]
