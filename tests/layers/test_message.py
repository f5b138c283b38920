import torch

from regard.layers.message import FeatureDropout, FeatureLinear

ROWS = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]])


def test_sparse_rows_are_projected_like_dense_ones() -> None:
    layer = FeatureLinear(3, 4)
    torch.nn.init.normal_(layer.bias)
    found, expected = layer(ROWS.to_sparse_csr()), layer(ROWS)
    torch.testing.assert_close(found, expected)
    slopes = torch.randn(3, 4)
    for one, other in zip(
        torch.autograd.grad(found, list(layer.parameters()), slopes),
        torch.autograd.grad(expected, list(layer.parameters()), slopes),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_dropout_of_sparse_rows_keeps_the_expectation() -> None:
    rows, dropout = ROWS.to_sparse_csr(), FeatureDropout(0.5)
    several = torch.stack([dropout(rows).to_dense() for _ in range(4_000)])
    torch.testing.assert_close(several.mean(0), ROWS, atol=0.15, rtol=0)
    assert {0.0, 4.0} == set(several[:, 0, 1].tolist())
    dropout.eval()
    assert torch.equal(dropout(rows).to_dense(), ROWS)
