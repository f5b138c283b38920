import numpy as np
import torch

from regard.attention.scores.cosine import Cosine


def test_is_the_formula() -> None:
    query, key = torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(2, 3, 6, 5, dtype=torch.float64)
    q, k = query.numpy(), key.numpy()
    lengths = np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :]
    expected = 2.5 * np.einsum("bhid,bhjd->bhij", q, k) / lengths
    np.testing.assert_allclose(Cosine(2.5)(query, key).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_lengths_do_not_count() -> None:
    query, key = torch.randn(1, 1, 4, 5), torch.randn(1, 1, 6, 5)
    torch.testing.assert_close(Cosine()(query * 7, key * 0.01), Cosine()(query, key))


def test_a_vector_of_zeros_has_no_direction() -> None:
    assert not Cosine()(torch.zeros(1, 1, 1, 4), torch.randn(1, 1, 3, 4)).any()
